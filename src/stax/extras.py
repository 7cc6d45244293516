"""Packages of the optional extras: imported when they are needed, and named in one sentence when they are missing."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from stax.errors import InvalidInputError

EXTRAS: dict[str, tuple[str, ...]] = {
    "box2d": ("Box2D",),
    "classic-control": ("pygame",),
    "explorer": ("starlette", "uvicorn"),
    "onnx": ("onnx",),
    "pandas": ("pandas",),
    "plots": ("matplotlib", "PIL"),
    "ray": ("ray",),
    "report": ("matplotlib", "PIL", "plotly", "jinja2"),
    "ribs": ("ribs",),
    "robotics": ("gymnasium_robotics", "mujoco"),
    "sb3": ("stable_baselines3",),
    "tensorboard": ("tensorboard",),
    "video": ("av",),
    "wandb": ("wandb",),
}
"""Modules that each extra of `stax-qd` provides."""
_PACKAGES = {"PIL": "pillow"}
"""Packages whose name differs from that of their module."""


def require_extra(extra: str, what: str) -> None:
    """Raise an error that says how to install an extra if one of its modules is missing.

    Args:
        extra: a name in `EXTRAS`.
        what: the thing that needs the extra, as the beginning of a sentence.
    """
    for module in EXTRAS[extra]:
        if find_spec(module) is None:
            raise _missing(module, extra, what)


def import_extra(module: str, extra: str, what: str) -> Any:
    """Import and return a module of an extra, or raise an error that says how to install it.

    Args:
        module: full name of the module.
        extra: a name in `EXTRAS`.
        what: the thing that needs the module, as the beginning of a sentence.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise _missing((error.name or module).partition(".")[0], extra, what) from None


def explain_missing(error: ModuleNotFoundError, what: str) -> Exception:
    """Return the error that says how to install a missing module of an extra; the same error if no extra provides it."""
    module = (error.name or "").partition(".")[0]
    extra = next((extra for extra in EXTRAS if module in EXTRAS[extra]), None)
    return error if extra is None else _missing(module, extra, what)


def _missing(module: str, extra: str, what: str) -> InvalidInputError:
    return InvalidInputError(f"{what} needs the package {_PACKAGES.get(module, module)!r}: pip install 'stax-qd[{extra}]'.")
