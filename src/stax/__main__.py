"""`python -m stax` is the `stax` command."""

from stax_command import main

main()
