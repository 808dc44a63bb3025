"""From text to text, and from file to file.

In come documents or files; out come their translations, and a report of what became of every sentence.
"""
