"""`python -m stax` is the `stax` command."""

from stax.cli.main import entry_point

entry_point()
