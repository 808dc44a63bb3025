"""Engines: what computes a model's numbers, behind one small interface in numpy.

In come sides of the flat layout; out come translations, log-probabilities and what of the source each word reads.
"""
