"""File formats: each reads a file into segments of text and writes it again with other text in their place."""
