"""PDF. In come the bytes of one; out comes a Word file with its headings, paragraphs and lists.

A PDF says where letters stand, not what is a paragraph; its layout is not kept, and no PDF is written.
"""
