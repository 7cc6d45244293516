"""Code of a user's own, by its name: tasks, autoencoders, kinds of emitters and schedulers are given as `module:name`."""

from __future__ import annotations

from typing import Any

from stax.errors import InvalidInputError, in_one_line
from stax.working_folder import import_user_module


def import_named(name: str, who: str) -> Any:
    """What `module:name` names; a name may have points in it, for what lies within a class.

    Args:
        name: the module, a colon, and what is in it.
        who: what it is called in sentences.
    """
    module_name, _, attribute = name.partition(":")
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
