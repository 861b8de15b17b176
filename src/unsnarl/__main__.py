"""`python -m unsnarl` is the command `unsnarl`."""

from unsnarl.cli.main import main

main()
