"""From a query's bytes to its answer's bytes.

Authoritative only. What is usual is answered by looking up and joining
bytes; what is not is taken apart with care first, and then answered by the same code.
Served: any stored type, what `resolution` finds, ANY by one RRset (RFC 8482),
NXDOMAIN and NODATA with the zone's SOA (RFC 2308), EDNS version 0 (RFC 6891).
"""

import struct
from typing import Final

from tenure.surfaces.dns import wire
from tenure.surfaces.dns.nodes import CNAME, Node
from tenure.surfaces.dns.paths import path_of
from tenure.surfaces.dns.resolution import ANY, DS, TARGETS, Reply, resolve
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.wire import Edns, Query, WireError

_NO_RECORDS: Final = b"\x00\x01\x00\x00\x00\x00\x00\x00"
_ONE_MORE: Final = b"\x00\x01\x00\x00\x00\x00\x00\x01"
_IN: Final = b"\x00\x01"
_OPT: Final = b"\x00\x29"
_NOT_AT_ONCE: Final = frozenset((*TARGETS, DS, ANY))
"""Types with more to tell, or told by another zone, or of many types."""
_FIRST_META: Final = b"\x00\x80"
_META: Final = range(128, 255)
_LONGEST_USUAL: Final = wire.HEADER + wire.LONGEST_NAME
_TO_QUESTION: Final = b"\xc0\x0c"
_OPT_PLAIN: Final = wire.opt(Edns(0, 0, False))
_OPT_DO: Final = wire.opt(Edns(0, 0, True))
_HEAD: Final = struct.Struct(">BB4H")
_POINTER: Final = struct.Struct(">H")


def answer(query: bytes, table: ZoneTable, over_tcp: bool, reserve: int = 0) -> bytes | None:
    """Answer one query from `table`.

    Never raises, whatever the octets are. The question is repeated as it came, its case included.

    Args:
        query: One message, without TCP's length.
        over_tcp: Whether the answer may be as long as a message can be; over UDP it is cut to nothing, with
            TC set, if it is longer than the asker or 1232 octets allow.
        reserve: Octets, under 512, that the answer leaves free of those: for a TSIG.

    Returns:
        The message to send, or None where silence is right: a response, or less than a header.

    Cost: about 2 µs for a name of a few labels, 6 µs for a PTR of IPv6 and for what is not there, 15 µs for what
    is unusual.
    """
    name_end = query.find(0, wire.HEADER) + 1
    end = name_end + 4
    kind = query[name_end : name_end + 2]
    opt = query[end:]
    if (
        0 < name_end <= _LONGEST_USUAL
        and query[2] < 2
        and query[name_end + 2 : end] == _IN
        and kind < _FIRST_META
        and kind != _OPT
        and _is_usual(query[4:12], opt)
    ):
        found = table.find(query[wire.HEADER : name_end].lower())
        if found and not found[0].closed:
            given = (_OPT_DO if opt[7] & 0x80 else _OPT_PLAIN) if opt else b""
            room = _room(opt[3:5], over_tcp) - reserve
            return _answer_from(table, found, query, kind=kind, end=end, opt=given, room=room)
    return _answer_with_care(query, table, over_tcp, reserve)


def truncated(query: bytes) -> bytes | None:
    """Return the answer that asks to come again over TCP, no longer than the query; None where silence is right.

    Never raises, whatever the octets are.
    """
    if len(query) < wire.HEADER or query[2] & 0xF8:
        return None
    try:
        asked = wire.decode(query)
    except WireError:
        return None
    return wire.reply(query, wire.NOERROR, asked.end, asked.edns, wire.TRUNCATED)


def _is_usual(counts: bytes, opt: bytes) -> bool:
    """Tell whether what follows the question is nothing, or one OPT of version 0 to its last octet."""
    if not opt:
        return counts == _NO_RECORDS
    return (
        counts == _ONE_MORE
        and len(opt) > 10
        and opt[:3] == b"\x00\x00\x29"
        and opt[6] == 0
        and len(opt) == 11 + (opt[9] << 8 | opt[10])
    )


def _answer_from(
    table: ZoneTable,
    found: tuple[ServedZone, bytes],
    query: bytes,
    *,
    kind: bytes,
    end: int,
    opt: bytes,
    room: int,
) -> bytes:
    served, owner = found
    path = path_of(owner)
    node = served.nodes.get(path)
    if node is None and served.computed is not None:
        node = served.computed.find(path)
    matching: list[bytes] | None
    if kind in _NOT_AT_ONCE or (served.cuts and served.cut(path) is not None):
        matching = None
    elif isinstance(node, bytes) and node[:2] == kind:
        matching = [_TO_QUESTION + node]
    else:
        matching = _matching(served, node, kind)
    if matching is None:
        return _whole(resolve(table, query[wire.HEADER : end - 4].lower(), kind, end), query, end, opt, room)
    rcode, denials, records = wire.NOERROR, 0, b"".join(matching)
    if not matching:
        rcode = wire.NXDOMAIN if node is None and not served.exists(path) else wire.NOERROR
        denials, records = 1, _POINTER.pack(0xC000 | wire.HEADER + len(owner)) + served.denial
    if end + len(records) + len(opt) > room:
        return _cut(query, end, opt)
    head = _HEAD.pack(0x84 | query[2] & 1, rcode, 1, len(matching), denials, 1 if opt else 0)
    return b"".join((query[:2], head, query[wire.HEADER : end], records, opt))


def _matching(served: ServedZone, node: Node | None, kind: bytes) -> list[bytes] | None:
    """The records of the type asked, owners included; None if more than one look is needed to tell."""
    if node is None:
        return None if served.wildcards else []
    records = (node,) if isinstance(node, bytes) else node
    found = [_TO_QUESTION + each for each in records if each[:2] == kind]
    if not found and any(each[:2] == CNAME for each in records):
        return None
    return found


def _whole(reply: Reply, query: bytes, end: int, opt: bytes, room: int) -> bytes:
    """The message; without what need not be told if there is no room for that."""
    sections = (reply.answers, reply.authority, reply.glue)
    least = end + sum(len(record) for section in sections for record in section) + len(opt)
    if least > room:
        return _cut(query, end, opt)
    more = reply.additional if reply.size + len(opt) <= room else []
    others = len(reply.glue) + len(more) + (1 if opt else 0)
    flags = (0x84 if reply.authoritative else 0x80) | query[2] & 1
    head = _HEAD.pack(flags, reply.rcode, 1, len(reply.answers), len(reply.authority), others)
    return b"".join(
        (query[:2], head, query[wire.HEADER : end], *reply.answers, *reply.authority, *reply.glue, *more, opt)
    )


def _cut(query: bytes, end: int, opt: bytes) -> bytes:
    head = _HEAD.pack(0x86 | query[2] & 1, wire.NOERROR, 1, 0, 0, 1 if opt else 0)
    return b"".join((query[:2], head, query[wire.HEADER : end], opt))


def _room(size: bytes, over_tcp: bool) -> int:
    """How long the answer may be, for an asker who said this size in an OPT, or nothing."""
    if over_tcp:
        return wire.LONGEST_MESSAGE
    return min(max(int.from_bytes(size), wire.PLAIN_SIZE), wire.EDNS_SIZE)


def _answer_with_care(query: bytes, table: ZoneTable, over_tcp: bool, reserve: int) -> bytes | None:
    if len(query) < wire.HEADER or query[2] & 0x80:
        return None
    if query[2] & 0x78:
        return wire.reply(query, wire.NOTIMP, 0)
    try:
        asked = wire.decode(query)
    except WireError as error:
        return wire.reply(query, wire.FORMERR, error.shown)
    found = table.find(asked.name)
    refusal = _refusal(asked)
    if found is None or refusal is not None:
        return wire.reply(query, wire.REFUSED if refusal is None else refusal, asked.end, asked.edns)
    if found[0].closed:
        return wire.reply(query, wire.SERVFAIL, asked.end, asked.edns)
    size = asked.edns.size.to_bytes(2) if asked.edns else b""
    room = _room(size, over_tcp) - reserve
    kind, opt = asked.kind.to_bytes(2), wire.opt(asked.edns)
    return _answer_from(table, found, query, kind=kind, end=asked.end, opt=opt, room=room)


def _refusal(asked: Query) -> int | None:
    if asked.edns and asked.edns.version:
        return wire.BADVERS
    if asked.class_ != wire.CLASS_IN:
        return wire.REFUSED
    if asked.kind in (wire.OPT, wire.IXFR, wire.AXFR):
        return wire.FORMERR
    return wire.NOTIMP if asked.kind in _META else None
