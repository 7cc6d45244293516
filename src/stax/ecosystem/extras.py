"""Packages that come with an extra, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from stax.errors import InvalidInputError


def import_extra(module: str, extra: str, what: str) -> Any:
    """The module, or one sentence that says what needs it and how to install it.

    Args:
        module: its full name.
        extra: the extra of `stax-qd` that brings it.
        what: what cannot be done without, as the beginning of a sentence.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or module).partition(".")[0]
        raise InvalidInputError(f"{what} needs the package {package!r}: pip install 'stax-qd[{extra}]'.") from None
