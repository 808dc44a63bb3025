"""Word, PowerPoint and OpenDocument.

In comes a package of XML parts; out come its paragraphs as segments, and the package with other text in their places.
"""
