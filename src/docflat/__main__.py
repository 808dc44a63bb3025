"""`python -m docflat` is the command line."""

from docflat.cli import main

main()
