"""From documents to batches of ids.

In come parallel documents as text; out come rows, and batches of them in the flat layout that models read.
"""
