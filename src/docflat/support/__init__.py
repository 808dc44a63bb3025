"""What every room uses: errors, the console, whole-or-nothing writing, strict YAML, text files.

In come paths, bytes and settings as people wrote them; out come checked values, or an `InputError`.
"""
