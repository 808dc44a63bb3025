"""The KV cache: what decoding keeps of the tokens so far.

In come keys and values, fixed ones and those of hypotheses; out comes the attention of the newest tokens to them.
"""
