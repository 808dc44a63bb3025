"""Contrastive sets: does a model prefer the right translation in its context?

In come published sets or aligned documents; out come examples, and the accuracy of a model on them.
"""
