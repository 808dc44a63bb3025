"""The engine for all systems and for GPUs: the torch models themselves.

In come sides of the flat layout; out come translations, log-probabilities and what of the source each word reads.
"""
