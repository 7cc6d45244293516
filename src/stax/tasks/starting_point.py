"""A working task and its test, for a user to start from."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

from stax.errors import InvalidInputError


@dataclass(frozen=True)
class Written:
    """What was written, and the name of the task in it."""

    task: Path
    test: Path
    target: str
    """As `make_task` takes it."""


def write_task(name: str, folder: Path, *, function: bool = False) -> Written:
    """Writes a small task of this name and its test; files that are there already are left alone and told.

    Args:
        name: letters, digits, dashes and underscores, beginning with a letter: `my-robot` becomes `my_robot.py`.
        folder: where to write; it is made if it is not there.
        function: whether the task is a function instead of a class.
    """
    if not re.fullmatch(r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?", name):
        raise InvalidInputError(f"A task's name must be letters, digits and dashes, beginning with a letter, not {name!r}.")
    module = name.replace("-", "_").lower()
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module == "stax":
        raise InvalidInputError(f"A task cannot be called {name!r}: that is a word or a module of Python's, or stax itself.")
    class_name = "".join(word[:1].upper() + word[1:] for word in re.split("[-_]+", name))
    target = f"{module}:{module if function else class_name}"
    files = {"task": folder / f"{module}.py", "test": folder / f"test_{module}.py"}
    for path in files.values():
        if path.exists():
            raise InvalidInputError(f"{str(path)!r} is there already; give another name, or another folder with --out.")
    words = {"name": name, "target": target, "class_name": class_name, "function_name": module, "test_file": files["test"].name}
    texts = {"task": _text("function" if function else "class", words), "test": _text("test", words)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidInputError(f"{str(folder)!r} cannot be a folder: there is a file in its place.") from None
    for kind, path in files.items():
        with path.open("x", encoding="utf-8") as file:
            file.write(texts[kind])
    return Written(files["task"], files["test"], target)


def _text(kind: str, words: dict[str, str]) -> str:
    template = resources.files("stax.tasks").joinpath("starting_points", f"{kind}.py.txt").read_text(encoding="utf-8")
    return Template(template).substitute(words)
