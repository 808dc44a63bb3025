from docflat.cli.main import main

main()
