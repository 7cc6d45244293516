"""A user's own code: tasks, autoencoders, kinds of emitters and schedulers that are given by name or as objects.

In configurations a thing has a name: that of a built-in thing, or `module:name` of a user's own, which is imported. In Python it may also
be given as an object. An object that can be found as `module:name` is called so. Any other is called `given:name`: that
name says what it was, but cannot bring it back, so whoever resumes the run gives the object again.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any, TypeVar

from stax.errors import InvalidInputError, in_one_line
from stax.working_folder import import_user_module

_GIVEN = "given:"
_GIVEN_NAME = re.compile(rf"{_GIVEN}[\w.<>]+")
"""Names of objects; those of classes within functions hold `<locals>`."""
_MAY_BE_OBJECTS = ("autoencoder", "emitter_kinds", "scheduler")
"""Parameters of a search whose values may be objects."""

Made = TypeVar("Made")


def names_code(name: str) -> bool:
    """Return whether this is the name of a user's own code, `module:name`, which has to be imported."""
    module, colon, attribute = name.partition(":")
    parts = (*module.split("."), *attribute.split("."))
    return bool(colon) and not name.startswith(_GIVEN) and all(part.isidentifier() for part in parts)


def names_object(name: str) -> bool:
    """Return whether this is the name of something that was given as an object."""
    return bool(_GIVEN_NAME.fullmatch(name))


def name_of(given: Any) -> str:
    """Return the name of an object for configurations: `module:name` if it can be found by that, otherwise `given:name`."""
    if isinstance(given, (tuple, list)):
        return f"{_GIVEN}pair"
    owner = given if inspect.isclass(given) or inspect.isfunction(given) else type(given)
    module, name = owner.__module__, owner.__qualname__
    is_importable = module != "__main__" and getattr(sys.modules.get(module), name, None) is given
    return f"{module}:{name}" if is_importable else f"{_GIVEN}{name}"


def without_objects(parameters: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of a search with names in place of objects, and the parameters that had objects, with these.

    Among the latter, `emitter_kinds` is always a tuple with an entry for each kind.
    """
    named: dict[str, Any] = dict(parameters)
    objects: dict[str, Any] = {}
    for parameter in _MAY_BE_OBJECTS:
        value = parameters.get(parameter)
        is_several = parameter == "emitter_kinds"
        items = tuple(value) if is_several and isinstance(value, (list, tuple)) else (value,)
        if any(item is not None and not isinstance(item, str) for item in items):
            names = tuple(item if isinstance(item, str) else name_of(item) for item in items)
            named[parameter] = names if is_several else names[0]
            objects[parameter] = items if is_several else value
    return named, objects


def find_code(given: Any, who: str) -> Any:
    """Return what a user gave: an object as it is, or what `module:name` names, imported; `who` begins error messages."""
    if not isinstance(given, str):
        return given
    if names_object(given):
        raise InvalidInputError(f"{who} was given as an object, which its name cannot bring back; give it again in Python.")
    module_name, _, attribute = given.partition(":")
    try:
        found: Any = import_user_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not module_name.startswith(error.name):
            raise InvalidInputError(f"{who} needs the module {error.name!r}, which is not installed.") from None
        raise InvalidInputError(f"{who} names the module {module_name!r}, which cannot be found.") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise InvalidInputError(f"{who} cannot be imported: {in_one_line(error)}.") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise InvalidInputError(f"{who} names {attribute!r}, which is not in the module {module_name!r}.")
        found = getattr(found, part)
    return found


def make_part(given: Any, who: str, base: type[Made]) -> Made:
    """Return an object of a user's own class derived from `base`, from the object, its class, or the name of either."""
    found = find_code(given, who)
    if inspect.isclass(found) and issubclass(found, base):
        try:
            found = found()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise InvalidInputError(f"{who} cannot be made: {in_one_line(error)}.") from error
    if not isinstance(found, base):
        raise InvalidInputError(f"{who} must be a subclass of stax.{base.__name__}, not {found!r}.")
    return found
