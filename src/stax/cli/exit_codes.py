"""How a command tells how it went."""

DONE, FAILED, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
