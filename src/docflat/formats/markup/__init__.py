"""HTML and Markdown.

In comes a page; out come its blocks as segments, and the page with other text in their places.
"""
