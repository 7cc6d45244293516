"""Templates of a working task and its test, for a user to start from."""

from __future__ import annotations

import keyword
import re
import sys
from dataclasses import dataclass
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from string import Template

from stax.errors import InvalidInputError


@dataclass(frozen=True)
class Written:
    """Files that were written, and the name of the task in them."""

    task: Path
    test: Path
    target: str
    """Name of the task for `make_task`."""


def write_task(name: str, folder: Path, *, function: bool = False) -> Written:
    """Write a small task of this name and its test; existing files are kept and reported as an error.

    Args:
        name: letters, digits, dashes and underscores, beginning with a letter: `my-robot` becomes `my_robot.py`.
        folder: folder to write to, made if it does not exist.
        function: whether the task is a function instead of a class.
    """
    if not re.fullmatch(r"[A-Za-z](?:[A-Za-z0-9_-]*[A-Za-z0-9])?", name):
        raise InvalidInputError(f"A task's name must be letters, digits and dashes, beginning with a letter, not {name!r}.")
    module = name.replace("-", "_").lower()
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or module == "stax":
        raise InvalidInputError(f"A task cannot be called {name!r}: that is a keyword or a module of Python, or stax itself.")
    if find_spec(module) is not None and not (folder / f"{module}.py").exists():
        raise InvalidInputError(
            f"A task cannot be called {name!r}: the module {module!r} is installed here, and one of them would hide the other."
        )
    class_name = "".join(word[:1].upper() + word[1:] for word in re.split("[-_]+", name))
    target = f"{module}:{module if function else class_name}"
    files = {"task": folder / f"{module}.py", "test": folder / f"test_{module}.py"}
    for path in files.values():
        if path.exists():
            raise InvalidInputError(f"{str(path)!r} exists already; give another name, or another folder with --out.")
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
