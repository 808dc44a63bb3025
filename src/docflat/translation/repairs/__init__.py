"""Rules that put right what a model gets wrong.

In come a sentence and its translation; out comes the translation, changed only where the rule is surer than the model.
"""
