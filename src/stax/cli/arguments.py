"""The parser of a command, with the arguments that several commands share."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias

from stax.cli.outcome import WRONG_USAGE
from stax.errors import shortened
from stax.input_limits import MOST_EVALUATIONS, MOST_RUNS
from stax.run_settings import BACKENDS, DEVICES

Commands: TypeAlias = "argparse._SubParsersAction[CommandParser]"
"""The object that a command adds its parser to."""


def whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """Return a function that parses a whole number within these bounds."""

    def parse(text: str) -> int:
        digits = text.replace("_", "")
        is_number = digits.isascii() and digits.isdecimal()
        # The length is checked first: Python refuses to convert thousands of digits.
        if is_number and (len(digits.lstrip("0")) > len(str(most)) or int(digits) > most):
            raise argparse.ArgumentTypeError(f"must be a whole number of at most {most:,}, not {shortened(text, 50)!r}")
        if not is_number or int(digits) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number of at least {least}, not {shortened(text, 50)!r}")
        return int(digits)

    return parse


class CommandParser(argparse.ArgumentParser):
    """A parser that answers wrong usage with one line, and has a method for each argument that several commands share."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known, others = super().parse_known_args(args, namespace)
        # In some versions of Python an option ends a list of IDs, and the IDs behind it are unknown arguments.
        if others and hasattr(known, "ids") and all(word.isascii() and word.isdecimal() and len(word) < 19 for word in others):
            known.ids, others = [*known.ids, *map(int, others)], []
        return known, others

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG_USAGE, f"{self.prog}: {message} (see '{self.prog} --help')\n")

    def add_number(self, name: str, about: str, *, least: int = 1, metavar: str = "N", **more: Any) -> None:
        """Add an option that takes a whole number of at least `least`."""
        self.add_argument(name, type=whole_number(least), metavar=metavar, help=about, **more)

    def add_seed(self, about: str, **more: Any) -> None:
        """Add `--seed S`."""
        self.add_number("--seed", about, least=0, metavar="S", **more)

    def add_budget(self, about: str) -> None:
        """Add `--budget N`, the evaluations of a run."""
        self.add_argument("--budget", type=whole_number(1, MOST_EVALUATIONS), metavar="N", help=about)

    def add_processes(self, default: str) -> None:
        """Add `--processes N`, the runs done at the same time."""
        self.add_argument("--processes", type=whole_number(1, MOST_RUNS), metavar="N", help=f"runs at a time ({default})")

    def add_preset(self, about: str) -> None:
        """Add `--preset NAME`."""
        self.add_argument("--preset", metavar="NAME", help=f"default, paper or published-code ({about})")

    def add_settings(self, about: str, metavar: str = "KEY=VALUE") -> None:
        """Add `--set`, which may be given several times; `parse_settings` reads its values."""
        self.add_argument("--set", action="append", default=[], metavar=metavar, help=f"{about} (repeatable)")

    def add_backend(self, about: str) -> None:
        """Add `--backend` and the address of its cluster."""
        self.add_argument("--backend", choices=BACKENDS, help=about)
        self.add_argument("--address", metavar="ADDRESS", help="address of the Ray cluster (default: one on this machine)")

    def add_resources(self) -> None:
        """Add the options that say where a search runs, and with what."""
        self.add_backend("where evaluations run (default local: this machine; ray: a cluster)")
        self.add_number("--workers", "cores to use (default all)")
        self.add_argument("--device", choices=DEVICES, help="where the autoencoder runs (default auto)")
        self.add_argument(
            "--tensorboard",
            metavar="DIR",
            help="write events for TensorBoard into DIR/NAME, where NAME is the name of the run's folder",
        )

    def add_run_folder(self) -> None:
        """Add the positional argument DIR."""
        self.add_argument("dir", metavar="DIR", help="the run's folder")

    def add_best(self) -> None:
        """Add `--best AREA`, which chooses a policy."""
        self.add_argument("--best", metavar="AREA", help="the best policy of a reward area, by its name or number")

    def add_out(self, metavar: str, about: str, default: str | None = None) -> None:
        """Add `--out`, the file or folder to write."""
        self.add_argument("--out", metavar=metavar, default=default, help=about)

    def add_flag(self, name: str, about: str) -> None:
        """Add an option without a value."""
        self.add_argument(name, action="store_true", help=about)

    def add_json(self, about: str = "print JSON") -> None:
        """Add `--json`."""
        self.add_flag("--json", about)

    def add_trust(self, about: str = "import the task's code if the run's configuration names any") -> None:
        """Add `--trust`, which allows code that only a file names to be imported."""
        self.add_flag("--trust", about)

    def add_quiet(self) -> None:
        """Add `--quiet`."""
        self.add_flag("--quiet", "print only warnings and errors")


def shell_command(words: Sequence[str], options: argparse.Namespace, names: Iterable[str]) -> str:
    """Return a `stax` command for a shell to call it again, with those of the named options that were given."""
    given = [(f"--{name}", str(getattr(options, name))) for name in names if getattr(options, name) is not None]
    return shlex.join(["stax", *words, *(word for pair in given for word in pair)])
