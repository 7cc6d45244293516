"""The commands of `stax`, a module each.

A module has `add_parser(commands)`, which adds the command with its arguments and returns its parser, and `run(options)`,
which returns the exit code. The parser is built for every command, so a module imports what takes time inside functions.
"""

COMMANDS = (
    "run",
    "resume",
    "campaign",
    "tasks",
    "algos",
    "show",
    "reevaluate",
    "find",
    "replay",
    "export",
    "report",
    "explore",
    "share",
    "record",
    "compare",
    "completion",
    "reproduce",
    "check_task",
    "new_task",
    "bench",
)
"""Names of the modules, in the order of the help."""
