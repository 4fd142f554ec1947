"""What is at one name: its records, packed as they go into a message."""

import struct
from collections.abc import Iterable
from typing import Final

from tenure.model.dnsdata import Record

FIXED: Final = struct.Struct(">HHIH")
"""Type, class, TTL and length, before the rdata."""

A: Final = b"\x00\x01"
NS: Final = b"\x00\x02"
CNAME: Final = b"\x00\x05"
SOA: Final = b"\x00\x06"
AAAA: Final = b"\x00\x1c"

IN: Final = 1

Node = bytes | tuple[bytes, ...]
"""A name's records, each as type, class, TTL, length and rdata: bytes if there is one, a sorted tuple if more.

So a million names cost two byte strings and one dictionary entry each.
"""


def packed(record: Record) -> bytes:
    """The record without its owner."""
    return FIXED.pack(record.type, IN, record.ttl, len(record.rdata)) + record.rdata


def same(one: bytes, other: bytes) -> bool:
    """Tell whether both are one record: the TTL is no part of its identity (RFC 2181 section 5)."""
    return one[:2] == other[:2] and one[8:] == other[8:]


def listed(node: Node | None) -> tuple[bytes, ...]:
    """The records of a name."""
    if node is None:
        return ()
    return (node,) if isinstance(node, bytes) else node


def joined(records: Iterable[bytes]) -> Node | None:
    """The records of a name as one value; None if there is none."""
    ordered = tuple(sorted(records))
    if len(ordered) < 2:
        return ordered[0] if ordered else None
    return ordered
