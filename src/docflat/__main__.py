from docflat.cli import main

main()
