"""From ids to ids: beam search, and the ways to walk through a document with it.

In come documents of ids and a model; out come translations, scores of given translations, and alignments.
"""
