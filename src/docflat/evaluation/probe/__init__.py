"""A made-up language that shows how far a system sees.

In come the names of systems; out come accuracies by distance, after the same training for all.
"""
