"""Models of Marian: Hugging Face's MarianMT folders and Marian's own files.

In comes a folder that others wrote; out comes a model folder of ours, with the same weights under our names.
"""
