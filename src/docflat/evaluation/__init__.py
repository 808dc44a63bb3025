"""How good translations are, and what a model does with its context.

In come translations, references and contrastive sets; out come scores, accuracies and tests between systems.
"""
