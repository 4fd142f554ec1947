"""Whole zones over TCP (AXFR, RFC 5936), from one snapshot and in bounded memory."""

import struct
from collections.abc import Iterator
from typing import Final

from tenure.surfaces.dns import wire
from tenure.surfaces.dns.paths import path_of
from tenure.surfaces.dns.snapshot import Snapshot
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.wire import Query, WireError

MESSAGE_SIZE: Final = 16383
"""The longest message made: beyond it, nothing can be pointed at."""

_AXFR_IN: Final = b"\x00\xfc\x00\x01"
_COUNTS: Final = struct.Struct(">4H")
_LENGTH: Final = struct.Struct(">H")
_TO_QUESTION: Final = b"\xc0\x0c"
_NAMES: Final = frozenset((b"\x00\x02", b"\x00\x05", b"\x00\x0c"))
_FIXED: Final = 10


def asked(query: bytes) -> Query | None:
    """Return the question of `query` if it asks for a whole zone; None for anything else, malformed too."""
    if _AXFR_IN not in query or len(query) < wire.HEADER or query[2] & 0xF8:
        return None
    try:
        question = wire.decode(query)
    except WireError:
        return None
    usual = question.kind == wire.AXFR and question.class_ == wire.CLASS_IN
    return question if usual and not (question.edns and question.edns.version) else None


def transfer(query: bytes, question: Query, table: ZoneTable, *, permitted: bool) -> Iterator[bytes]:
    """Yield the messages that answer `query`, each without TCP's length.

    The zone is that of the call, however long the reading takes: the SOA comes
    first and last, and between them every record once, many in a message, owners and
    targets compressed.

    Args:
        question: What `asked` made of `query`.
        permitted: Whether this peer may have zones; if not, one REFUSED.

    Returns:
        One message at least: NOTAUTH alone if the name asked is not that of a zone served here.

    Cost: about 1 µs a record; memory as for a snapshot, and one message.
    """
    served = table.zones.get(question.name)
    if not permitted or served is None:
        rcode = wire.NOTAUTH if permitted else wire.REFUSED
        return iter((wire.reply(query, rcode, question.end, question.edns),))
    if served.closed:
        return iter((wire.reply(query, wire.SERVFAIL, question.end, question.edns),))
    return _messages(query, question, served.snapshot())


def _messages(query: bytes, question: Query, snapshot: Snapshot) -> Iterator[bytes]:
    message = _Message(query, question)
    for path, packed in _soa_around(snapshot):
        if not message.add(path, packed):
            yield message.whole()
            message = _Message(query, question)
            message.add(path, packed)
    yield message.whole()


def _soa_around(snapshot: Snapshot) -> Iterator[tuple[bytes, bytes]]:
    yield b"", snapshot.soa
    yield from snapshot
    yield b"", snapshot.soa


class _Message:
    """One message in the making. The question is repeated in each, as what owners point to."""

    def __init__(self, query: bytes, question: Query) -> None:
        self._start = query[:2] + bytes((0x84 | query[2] & 1, 0))
        self._opt = wire.opt(question.edns)
        self._parts = [query[wire.HEADER : question.end]]
        self._size = question.end
        self._count = 0
        self._domains = {question.name: _TO_QUESTION}

    def add(self, path: bytes, packed: bytes) -> bool:
        """Add a record, unless there is no room for it; a message always has room for its first one."""
        owner = path_of(path) + _TO_QUESTION
        record = owner + (self._compressed(packed, len(owner)) if packed[:2] in _NAMES else packed)
        if self._count and self._size + len(record) + len(self._opt) > MESSAGE_SIZE:
            return False
        self._parts.append(record)
        self._size += len(record)
        self._count += 1
        return True

    def whole(self) -> bytes:
        """Return the message."""
        counts = _COUNTS.pack(1, self._count, 0, 1 if self._opt else 0)
        return b"".join((self._start, counts, *self._parts, self._opt))

    def _compressed(self, packed: bytes, owner: int) -> bytes:
        """The record with its target's domain as a pointer, if this message has named that domain."""
        label = _FIXED + 1 + packed[_FIXED]
        domain = packed[label:]
        pointer = self._domains.get(domain)
        if pointer is None:
            if len(domain) > 1 and self._size + owner + label < MESSAGE_SIZE - wire.LONGEST_NAME:
                self._domains[domain] = _LENGTH.pack(0xC000 | self._size + owner + label)
            return packed
        short = packed[_FIXED:label] + pointer
        return packed[: _FIXED - 2] + _LENGTH.pack(len(short)) + short
