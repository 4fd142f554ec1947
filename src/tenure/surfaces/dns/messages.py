"""Many records as messages: as many in each as there is room for, owners and targets compressed."""

import struct
from collections.abc import Iterable, Iterator
from typing import Final

from tenure.surfaces.dns import wire
from tenure.surfaces.dns.journal import Packed
from tenure.surfaces.dns.paths import path_of
from tenure.surfaces.dns.wire import Query

MESSAGE_SIZE: Final = 16383
"""The longest message made: beyond it, nothing can be pointed at."""

_COUNTS: Final = struct.Struct(">4H")
_LENGTH: Final = struct.Struct(">H")
_TO_QUESTION: Final = b"\xc0\x0c"
_NAMES: Final = frozenset((b"\x00\x02", b"\x00\x05", b"\x00\x06", b"\x00\x0c"))
_NUMBERS: Final = 20
"""Octets of the numbers at the end of a SOA, which follow its two names."""
_FIXED: Final = 10
_SOA: Final = 6


class Messages:
    """What answers one query with many records.

    The question is repeated in each message, as what owners point to.

    Args:
        query: As it came; `question` is what was read of it, and is the zone that the records are of.
        size: Octets that a message has at most.
    """

    def __init__(self, query: bytes, question: Query, size: int = MESSAGE_SIZE) -> None:
        self._start = query[:2] + bytes((0x84 | query[2] & 1, 0))
        self._opt = wire.opt(question.edns)
        self._question = query[wire.HEADER : question.end]
        self._most = size - len(self._opt)
        self._name = question.name
        self._shorter: dict[bytes, bytes] = {}
        self._parts: list[bytes]
        self._size: int
        self._domains: dict[bytes, bytes]
        self._begin()

    def write(self, records: Iterable[Packed]) -> Iterator[bytes]:
        """Add records, and yield each message that is full. Cost: about 1 µs a record."""
        parts, size, most = self._parts, self._size, self._most
        for path, packed in records:
            owner = path if not path or path[0] + 1 == len(path) else path_of(path)
            short = self._compressed(packed, size + len(owner) + 2) if packed[:2] in _NAMES else packed
            longer = size + len(owner) + 2 + len(short)
            if longer > most and len(parts) > 1:
                yield self.whole()
                parts, size = self._parts, self._size
                short = self._compressed(packed, size + len(owner) + 2) if packed[:2] in _NAMES else packed
                longer = size + len(owner) + 2 + len(short)
            parts.append(owner + _TO_QUESTION + short)
            size = self._size = longer

    def whole(self) -> bytes:
        """The message that is in the making, which is never empty; the next one begins."""
        counts = _COUNTS.pack(1, len(self._parts) - 1, 0, 1 if self._opt else 0)
        message = b"".join((self._start, counts, *self._parts, self._opt))
        self._begin()
        return message

    def _begin(self) -> None:
        self._parts = [self._question]
        self._size = wire.HEADER + len(self._question)
        self._domains = {self._name: _TO_QUESTION}

    def _compressed(self, packed: bytes, at: int) -> bytes:
        """The record, which begins at `at`, with its target's domain as a pointer if this message has named that."""
        if packed[1] == _SOA:
            return self._start_of_authority(packed)
        label = _FIXED + 1 + packed[_FIXED]
        domain = packed[label:]
        pointer = self._domains.get(domain)
        if pointer is None:
            if len(domain) > 1 and at + label < MESSAGE_SIZE - wire.LONGEST_NAME:
                self._domains[domain] = _LENGTH.pack(0xC000 | at + label)
            return packed
        short = packed[_FIXED:label] + pointer
        return packed[: _FIXED - 2] + _LENGTH.pack(len(short)) + short

    def _start_of_authority(self, packed: bytes) -> bytes:
        """The SOA with what its two names share with the zone as pointers: of steps it is nearly all there is."""
        names = packed[_FIXED:-_NUMBERS]
        short = self._shorter.get(names)
        if short is None:
            end = names.index(b"\0") + 1
            short = self._shorter[names] = self._pointing(names[:end]) + self._pointing(names[end:])
        return packed[: _FIXED - 2] + _LENGTH.pack(len(short) + _NUMBERS) + short + packed[-_NUMBERS:]

    def _pointing(self, name: bytes) -> bytes:
        at = 0
        while at < len(name):
            if name[at:] == self._name:
                return name[:at] + _TO_QUESTION
            at += 1 + name[at]
        return name
