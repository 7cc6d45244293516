"""The `stax` command."""
