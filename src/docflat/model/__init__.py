"""The Transformer all systems are made of.

In come batches in the flat layout, or the newest token of each hypothesis; out come states, logits and losses.
"""
