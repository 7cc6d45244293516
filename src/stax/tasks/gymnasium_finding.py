"""Gymnasium's environments by id: found and made, or refused in one sentence that says what to do.

An id without a module is one of Gymnasium's own environments. All others are third-party code and are named `module:id`. A run
folder that names one is therefore trusted only with `--trust`, and worker processes know which module to import.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr
from importlib.util import find_spec
from typing import Any

import gymnasium
from gymnasium import error as gymnasium_error
from gymnasium.envs.registration import EnvSpec, registry
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from stax.errors import InvalidInputError, in_one_line
from stax.working_folder import import_user_module

_PACKAGES = (
    ("gymnasium_robotics", "'stax-qd[robotics]'", ("AdroitHand", "AntMaze", "Fetch", "FrankaKitchen", "Hand", "PointMaze")),
    ("ale_py", "ale-py", ("ALE/",)),
    ("minigrid", "minigrid", ("BabyAI-", "MiniGrid-")),
    ("highway_env", "highway-env", ("highway-", "merge-", "parking-", "roundabout-")),
)
"""Modules that register environments when they are imported, what installs them, and how their ids begin."""
_RESERVED_KEYWORDS = ("id", "disable_env_checker", "max_episode_steps", "render_mode")
"""Keywords of `gymnasium.make` that the task sets itself."""
_MOST_SUGGESTIONS = 3
"""Similar ids that the message about an unknown id suggests at most."""


def find_environment(name: str) -> EnvSpec:
    """Return Gymnasium's specification of an environment.

    Args:
        name: `CartPole-v1`, for instance, or `module:id` for an environment that a module registers when it is imported.
    """
    module, _, environment = name.rpartition(":")
    if not environment or ":" in module or (":" in name and not module):
        raise InvalidInputError(
            f"Task 'gym:{name}' names no environment; write gym:ID, for instance gym:CartPole-v1, or gym:MODULE:ID for an environment"
            " that a module registers."
        )
    if module:
        _import(module, environment)
    found = registry.get(environment)
    if found is None:
        raise InvalidInputError(_not_found_message(module, environment))
    if not module and not _is_built_in(found):
        raise InvalidInputError(
            f"Environment {environment!r} is none of Gymnasium's own; write gym:MODULE:{environment} with the module that registers it,"
            " so that workers can import it, too."
        )
    return found


def _is_built_in(spec: EnvSpec) -> bool:
    """Return whether an environment comes with Gymnasium or STAX; the name of any other must include the module that registers it."""
    target = spec.entry_point
    module = target.partition(":")[0] if isinstance(target, str) else getattr(target, "__module__", "")
    return module.partition(".")[0] in ("gymnasium", "stax")


def _import(module: str, environment: str) -> None:
    try:
        # Some modules print to stderr or warn when they are imported; a failure is reported by its exception.
        with redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_user_module(module)
    except ModuleNotFoundError as error:
        known = {name: install for name, install, _ in _PACKAGES}
        install = f": pip install {known[module]}" if module in known else ""
        if error.name and not module.startswith(error.name):
            raise InvalidInputError(
                f"Environment {environment!r}: the module {module!r} needs {error.name!r}, which is not installed{install}."
            ) from None
        raise InvalidInputError(
            f"Environment {environment!r} is to come from the module {module!r}, which cannot be found{install}."
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidInputError(
            f"Environment {environment!r}: the module {module!r} cannot be imported: {in_one_line(error)}."
        ) from error


def _not_found_message(module: str, environment: str) -> str:
    start = f"There is no environment {environment!r}"
    for package, install, beginnings in _PACKAGES:
        if not module and environment.startswith(beginnings):
            if find_spec(package):
                return f"{start} unless {package} is imported; write gym:{package}:{environment}."
            return f"{start} unless {package} is installed (pip install {install}); then write gym:{package}:{environment}."
    near = difflib.get_close_matches(environment, list(registry), _MOST_SUGGESTIONS, cutoff=0.55)
    # An id without its version, or in other letters, is near enough, too.
    plain = environment.lower().partition("-v")[0]
    near += [known for known in registry if known.lower().partition("-v")[0] == plain and known not in near]
    said = (
        f"near it {'are' if len(near) > 1 else 'is'} {', '.join(near[:_MOST_SUGGESTIONS])}"
        if near
        else f"Gymnasium knows {len(registry)} others"
    )
    where = f" in the module {module!r}" if module else ", and one of another package is written gym:MODULE:ID"
    return f"{start}{where}; {said}."


def make_environment(
    spec: EnvSpec, keywords: Mapping[str, Any], horizon: int | None, *, render: bool = False
) -> gymnasium.Env[Any, Any]:
    """Make an environment without Gymnasium's own checks and time limit, which cost time at every step; the caller counts the steps.

    Args:
        spec: as `find_environment` gives it.
        keywords: for the environment, as `gymnasium.make` takes them.
        horizon: steps of an episode; None for the environment's own.
        render: whether it must be able to draw itself as an array.
    """
    for name in keywords:
        if name in _RESERVED_KEYWORDS:
            instead = {"max_episode_steps": "; give horizon", "render_mode": "; give observe"}.get(name, "")
            raise InvalidInputError(f"make must not have {name!r}, which the task sets itself{instead}.")
    if render:
        _choose_offscreen_drawing()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made: gymnasium.Env[Any, Any] = gymnasium.make(
                spec.id,
                max_episode_steps=horizon,
                disable_env_checker=True,
                **({"render_mode": "rgb_array"} if render else {}),
                **keywords,
            )
    except (gymnasium_error.DependencyNotInstalled, ImportError) as error:
        words = " ".join(str(error).split()).rstrip(".")
        raise InvalidInputError(f"Environment {spec.id!r} needs a package that is not there: {words}.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # an environment may raise anything
        given = f" with make = {dict(keywords)!r}" if keywords else ""
        raise InvalidInputError(f"Environment {spec.id!r} cannot be made{given}: {in_one_line(error)}.") from error
    if render and made.render_mode != "rgb_array":
        made.close()
        raise InvalidInputError(cannot_render(spec.id, made.metadata.get("render_modes") or []))
    while isinstance(made, (TimeLimit, OrderEnforcing, PassiveEnvChecker)):
        made = made.env
    return made


def cannot_render(environment: str, modes: list[str]) -> str:
    """Return the message that an environment renders no pictures, with the render modes that it has."""
    can = f"it can only render {', '.join(repr(mode) for mode in modes)}" if modes else "it cannot render at all"
    return f"Environment {environment!r} cannot draw itself as an array ('rgb_array'): {can}."


def _choose_offscreen_drawing() -> None:
    """Set MuJoCo and SDL to draw without a window where there is no screen.

    MuJoCo otherwise tries to open a window first, which takes long and fails.
    """
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("MUJOCO_GL", "egl")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
