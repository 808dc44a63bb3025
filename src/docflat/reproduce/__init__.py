"""The paper's tables and figures, measured.

In come prepared corpora and the names of cells; out come results, one a line, and a report beside the paper's numbers.
"""
