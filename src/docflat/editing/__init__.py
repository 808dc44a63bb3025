"""Editing drafts: words that context decides.

In come sentences and their translation by anybody; out comes that translation with those words changed that context
asks for, each with its reason. A table by language pair holds which words these are.
"""
