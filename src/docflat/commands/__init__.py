"""The verbs of the command line, a file each: `arguments` adds their options to a parser, `run` does the work."""
