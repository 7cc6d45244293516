"""The pages of a Parquet file, looked at before any is unpacked.

The footer of a Parquet file says how large its columns are, but what a reader allocates is what the header of every page says, and the
two need not agree. Headers are in the compact protocol of Apache Thrift.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

_HEADER_BYTES = 2**16
_DEPTH = 8
_UNCOMPRESSED, _COMPRESSED, _DICTIONARY = 2, 3, 7
"""Fields of a page's header; the first field of a dictionary page's own header is its number of values."""


def page_sizes(file: BinaryIO, start: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield the unpacked bytes of every page of a column, and the values of its dictionary if it is one.

    Args:
        file: the Parquet file.
        start: where the first page begins.
        length: bytes of all pages.
    """
    place, end = start, start + length
    while place < end:
        file.seek(place)
        content = file.read(min(_HEADER_BYTES, end - place))
        header = _Header(content)
        fields = header.fields(_DEPTH)
        unpacked, packed = fields.get(_UNCOMPRESSED), fields.get(_COMPRESSED)
        dictionary = fields.get(_DICTIONARY)
        values = dictionary.get(1, 0) if isinstance(dictionary, dict) else 0
        if not (isinstance(unpacked, int) and isinstance(packed, int) and isinstance(values, int)):
            raise ValueError("a page has no size")
        if min(unpacked, packed, values) < 0 or place + header.place + packed > end:
            raise ValueError("a page does not fit into its column")
        yield unpacked, values
        place += header.place + packed


class _Header:
    """A structure in Thrift's compact protocol; what its numbers and structures say is kept, the rest is skipped."""

    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def fields(self, depth: int) -> dict[int, Any]:
        if not depth:
            raise ValueError("a page's header is too deep")
        found: dict[int, Any] = {}
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._integer()
            found[number] = self._value(byte & 15, depth)
        return found

    def _byte(self) -> int:
        if self.place >= len(self._content):
            raise ValueError("a page's header is cut off")
        self.place += 1
        return self._content[self.place - 1]

    def _unsigned(self) -> int:
        number = shift = 0
        while shift < 70:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
        raise ValueError("a page's header has a number that is too long")

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 12:
            return self.fields(depth - 1)
        sizes = {3: 1, 7: 8}
        if kind not in (*sizes, 8):
            raise ValueError("a page's header has a field of a type that is not read")
        size = sizes[kind] if kind in sizes else self._unsigned()
        self.place += size
        return None
