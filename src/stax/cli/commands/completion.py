"""`stax completion`: prints a script that lets a shell complete the command's words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from stax.cli.arguments import CommandParser, Commands
from stax.cli.outcome import DONE


def add_parser(commands: Commands) -> CommandParser:
    parser = commands.add_parser(
        "completion",
        help="print a script that completes the command's words in your shell",
        description='Prints a script for your shell. For bash, put this into ~/.bashrc: eval "$(stax completion bash)"',
    )
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish", "tcsh"), help="bash, zsh, fish or tcsh")
    return parser


def run(options: argparse.Namespace) -> int:
    """Print the script for the shell."""
    import shtab

    from stax.cli.main import build_parser
    from stax.search.methods import METHODS
    from stax.search.parameters import PRESETS
    from stax.tasks import BUILT_IN

    words = {"TASK": tuple(BUILT_IN), "--algo": tuple(METHODS), "--preset": tuple(PRESETS)}
    files = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE}
    parser = build_parser()
    for action in _actions(parser):
        name = action.option_strings[-1] if action.option_strings else str(action.metavar)
        if name in words:
            action.choices = words[name]
        elif action.metavar in files:
            action.complete = files[action.metavar]  # type: ignore[attr-defined]
    print(shtab.complete(parser, options.shell))
    return DONE


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
