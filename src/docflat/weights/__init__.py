"""Model folders and what is done with weights.

In comes a folder of safetensors and JSON; out comes a model with its subwords, and the folder again in other forms.
"""
