"""Messages of JSON and arrays, as the page and the worker process read them.

A message is the length of its header in four bytes, the header as JSON, and the bytes of the arrays, each at a multiple of eight. The
header's entry `arrays` lists name, type, shape and place of each. Reading a message runs nobody's code.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stax.errors import InvalidInputError

_DTYPES = ("uint8", "int8", "uint16", "int16", "int32", "float32", "float64")
_LENGTH = struct.Struct("<I")
_ALIGNMENT = 8

Arrays = Mapping[str, NDArray[Any]]


def pack(about: Mapping[str, Any], arrays: Arrays | None = None) -> bytes:
    """Return a message with this JSON and these arrays; 64-bit integers become 32-bit, since JavaScript has no others."""
    parts: list[bytes] = []
    entries, place = [], 0
    for name, values in (arrays or {}).items():
        array = np.ascontiguousarray(values)
        if array.dtype == np.bool_:
            array = array.astype(np.uint8)
        elif array.dtype == np.int64:
            array = np.clip(array, -(2**31), 2**31 - 1).astype(np.int32)
        content = array.tobytes()
        content += bytes(-len(content) % _ALIGNMENT)
        entries.append({"name": name, "dtype": array.dtype.name, "shape": array.shape, "place": place})
        parts.append(content)
        place += len(content)
    header = json.dumps({**about, "arrays": entries}, allow_nan=False).encode()
    header += b" " * (-(len(header) + _LENGTH.size) % _ALIGNMENT)
    return b"".join([_LENGTH.pack(len(header)), header, *parts])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the JSON and the arrays of a message."""
    try:
        start = _LENGTH.size + _LENGTH.unpack_from(message)[0]
        about = json.loads(message[_LENGTH.size : start])
        arrays = {}
        for entry in about.pop("arrays"):
            if entry["dtype"] not in _DTYPES:
                raise ValueError(f"an array of type {entry['dtype']}")
            count = math.prod(entry["shape"])
            values = np.frombuffer(message, entry["dtype"], count, start + entry["place"])
            arrays[entry["name"]] = values.reshape(entry["shape"])
        return about, arrays
    except (KeyError, TypeError, ValueError, struct.error, AttributeError) as error:
        raise InvalidInputError(f"A message of the explorer is damaged ({type(error).__name__}).") from None


def finite(value: Any) -> Any:
    """Return the value for JSON, which has no nan: numbers that are not finite become None, also within lists and tables."""
    if isinstance(value, dict):
        return {str(name): finite(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
