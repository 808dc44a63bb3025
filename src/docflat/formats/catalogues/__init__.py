"""PO, XLIFF and JSON: messages of programs.

In comes a catalogue; out come its messages as segments, and the catalogue with their translations filled in.
"""
