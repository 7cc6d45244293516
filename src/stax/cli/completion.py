"""`stax completion`: a script that lets a shell complete the command's words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import shtab

from stax.search.methods import METHODS
from stax.search.parameters import PRESETS
from stax.tasks import BUILT_IN

_WORDS = {"TASK": tuple(BUILT_IN), "--algo": tuple(METHODS), "--preset": tuple(PRESETS)}
_FILES = {"DIR": shtab.DIRECTORY, "FILE": shtab.FILE}


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """For a parser that is used for nothing else."""
    for action in _actions(parser):
        name = action.option_strings[-1] if action.option_strings else str(action.metavar)
        if name in _WORDS:
            action.choices = _WORDS[name]
        elif action.metavar in _FILES:
            action.complete = _FILES[action.metavar]  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
