"""From a recipe to a model folder.

In come a recipe and a prepared corpus; out come checkpoints, a log and model folders.
"""
