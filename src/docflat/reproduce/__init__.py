"""The paper's tables and figures, measured: what is run, how it is kept, and the report."""
