"""Inputs made to break readers: made from seeds by chance, read, translated by a stub, written, read again."""
