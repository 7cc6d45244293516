"""Lazy attributes of packages, for names whose modules take a while to import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from stax.extras import explain_missing


def lazy_attributes(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports the module of a name only when the name is used.

    Args:
        package: name of the package.
        modules: module of each name, relative to the package.
    """

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(f"{package}.{modules[name]}")
        except ModuleNotFoundError as error:
            raise explain_missing(error, f"{package}.{name}") from None
        return getattr(module, name)

    return get
