"""Protection from files in the working folder, which may be somebody else's: settings are ignored, and code is imported only on request.

Matplotlib and Numba look for settings in the working folder, and some of these settings run code: the folder of a cache whose
entries are unpickled, the path of a program, or the name of a module.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

MATPLOTLIB_SETTINGS = "matplotlibrc"
NUMBA_SETTINGS = ".numba_config.yaml"

_code_allowed = False


@contextlib.contextmanager
def without_settings(name: str) -> Iterator[None]:
    """Change to another folder while inside if the working folder has a settings file of this name, so that it is not read."""
    if not os.path.lexists(name):
        yield
        return
    with contextlib.chdir(Path(__file__).parent):
        yield


def ignore_matplotlib_settings() -> None:
    """Make Matplotlib ignore the settings of the working folder; those of the user's account still apply."""
    if os.path.lexists(MATPLOTLIB_SETTINGS) and "matplotlib" not in sys.modules:
        with without_settings(MATPLOTLIB_SETTINGS):
            importlib.import_module("matplotlib")


@contextlib.contextmanager
def code_allowed() -> Iterator[None]:
    """Let `import_user_module` also find modules in the working folder while inside."""
    global _code_allowed
    before, _code_allowed = _code_allowed, True
    try:
        yield
    finally:
        _code_allowed = before


def _working_folder() -> str | None:
    """Return the path of the working folder; None if it has been removed."""
    try:
        return str(Path.cwd())
    except OSError:
        return None


def import_user_module(name: str) -> ModuleType:
    """Import a module that the user has named.

    If it is not installed and code of the working folder is allowed, the working folder is appended to the end of the import path. It
    stays there, because the module may import other modules beside it later, and worker processes use the same path.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        folder = _working_folder()
        is_missing_itself = error.name is not None and (name == error.name or name.startswith(f"{error.name}."))
        if not is_missing_itself or not _code_allowed or folder is None or folder in sys.path:
            raise
    sys.path.append(folder)
    importlib.invalidate_caches()
    return importlib.import_module(name)
