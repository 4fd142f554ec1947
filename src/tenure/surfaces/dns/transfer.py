"""Whole zones (AXFR, RFC 5936) and what changed in them (IXFR, RFC 1995), in bounded memory.

What a transfer says is of one moment: the zone as it was when it was asked for, however long the reading takes.
"""

import asyncio
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

from tenure.model.dnsdata import Record, ZoneChange
from tenure.naming import serial as serials
from tenure.surfaces.dns import wire
from tenure.surfaces.dns.connection import Cut
from tenure.surfaces.dns.journal import Packed, Step, serial_of, stamped
from tenure.surfaces.dns.messages import Messages
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.wire import Query, WireError

_AXFR_IN: Final = b"\x00\xfc\x00\x01"
_IXFR_IN: Final = b"\x00\xfb\x00\x01"
_FIXED: Final = struct.Struct(">HHIH")
_SOA: Final = 6

Page = asyncio.Future[list[ZoneChange]]
"""A zone's steps after a serial, in order, on their way from the store."""
Archive = Callable[[str, int], Page]
"""From a zone's id and a serial to the steps after it: many, or none where the store does not know them."""


class Wanted(NamedTuple):
    """What is asked for: a zone, and the serial that the asker has, None for the whole zone."""

    question: Query
    serial: int | None


def maybe(query: bytes) -> bool:
    """Whether a message may ask for a transfer: one that does is never said not to. Cost: 0.1 µs."""
    return _AXFR_IN in query or _IXFR_IN in query


def asked(query: bytes) -> Wanted | None:
    """What `query` asks for if it is a transfer; None for anything else, malformed too."""
    if len(query) < wire.HEADER or query[2] & 0xF8:
        return None
    try:
        question = wire.decode(query)
        usual = question.class_ == wire.CLASS_IN and not (question.edns and question.edns.version)
        if not usual or question.kind not in (wire.AXFR, wire.IXFR):
            return None
        return Wanted(question, None if question.kind == wire.AXFR else _serial_asked(query, question))
    except (WireError, struct.error):
        return None


def _serial_asked(query: bytes, question: Query) -> int:
    """The serial in the SOA that the asker has. Source: RFC 1995 section 3."""
    if query[6:10] != b"\x00\x00\x00\x01":
        raise WireError("not one SOA")
    at = wire.end_of_name(query, question.end, pointers=True)
    kind, _, _, length = _FIXED.unpack_from(query, at)
    end = at + _FIXED.size + length
    if kind != _SOA or length < 22:
        raise WireError("not a SOA")
    return int.from_bytes(query[end - 20 : end - 16])


def transfer(
    query: bytes,
    wanted: Wanted,
    table: ZoneTable,
    *,
    permitted: bool,
    archive: Archive | None = None,
    given: Counter[str] | None = None,
) -> Iterator[bytes | Page]:
    """Yield the messages that answer `query` over TCP, each without TCP's length.

    A whole zone is its SOA, every record once, and the SOA again. What changed is told step by step, from memory or,
    where that does not go back so far, from the store; where neither knows the way, it is the whole zone again.
    Whoever has this serial or a later one gets the SOA alone.

    Args:
        wanted: What `asked` made of `query`.
        permitted: Whether this peer may have zones; if not, one REFUSED.
        archive: Older steps; None has none.
        given: What came of it is counted here: `axfr` a whole zone, `ixfr` what changed, `soa_alone`.

    Returns:
        Messages, one at least, and between them futures: go on when they are done. NOTAUTH alone if the
        name asked is not that of a zone served here.

    Raises:
        Cut: While being read: the rest cannot be had, and the connection has to be closed.

    Cost: about 1 µs a record; memory as for a snapshot, a page of steps, and one message.
    """
    if not permitted:
        return _refusal(query, wanted.question, wire.REFUSED)
    served = table.zones.get(wanted.question.name)
    rcode = _reason(served)
    if served is None or rcode:
        return _refusal(query, wanted.question, rcode)
    counted = Counter[str]() if given is None else given
    if wanted.serial is None:
        return _whole(query, wanted.question, served, counted)
    if _current(served, wanted.serial):
        counted["soa_alone"] += 1
        return iter((_alone(query, wanted.question, served),))
    steps = served.journal.since(wanted.serial)
    if steps is not None:
        counted["ixfr"] += 1
        return _stream(query, wanted.question, _told(served.soa, steps))
    if archive is None or serials.later(served.zone.floor, wanted.serial):
        return _whole(query, wanted.question, served, counted)
    return _older(query, wanted, table, archive, counted)


def datagram(
    query: bytes, wanted: Wanted, table: ZoneTable, *, permitted: bool, room: int, given: Counter[str] | None = None
) -> bytes:
    """The one message that answers `query` over UDP: what changed if it fits into `room`, else the SOA alone.

    Whoever sees a later serial there comes again over TCP. Source: RFC 1995 section 2.
    """
    served = table.zones.get(wanted.question.name)
    rcode = _reason(served) if permitted else wire.REFUSED
    if wanted.serial is None:
        rcode = wire.FORMERR
    if served is None or rcode or wanted.serial is None:
        return next(_refusal(query, wanted.question, rcode))
    difference = _fitting(query, wanted.question, served, wanted.serial, room)
    if given is not None:
        given["soa_alone" if difference is None else "ixfr"] += 1
    return difference or _alone_within(room, query, wanted.question, served)


def _alone_within(room: int, query: bytes, question: Query, served: ServedZone) -> bytes:
    """The SOA alone; if even that is too long, who asks is to come over TCP."""
    alone = _alone(query, question, served)
    if len(alone) <= room:
        return alone
    return wire.reply(query, wire.NOERROR, question.end, question.edns, wire.TRUNCATED)


def _fitting(query: bytes, question: Query, served: ServedZone, serial: int, room: int) -> bytes | None:
    """What changed since a serial, if that is known and one message of this size holds it."""
    steps = None if _current(served, serial) else served.journal.since(serial)
    if steps is None or len(steps) > room:
        return None
    messages = Messages(query, question, room)
    if any(True for _ in messages.write(_told(served.soa, steps))):
        return None
    whole = messages.whole()
    return whole if len(whole) <= room else None


def _reason(served: ServedZone | None) -> int:
    if served is None:
        return wire.NOTAUTH
    return wire.SERVFAIL if served.closed else wire.NOERROR


def _refusal(query: bytes, question: Query, rcode: int) -> Iterator[bytes]:
    return iter((wire.reply(query, rcode, question.end, question.edns),))


def _current(served: ServedZone, serial: int) -> bool:
    return serial == served.serial or serials.later(serial, served.serial)


def _whole(query: bytes, question: Query, served: ServedZone, given: Counter[str]) -> Iterator[bytes]:
    given["axfr"] += 1
    snapshot = served.snapshot()
    around = [(b"", snapshot.soa)]
    return _stream(query, question, chain(around, snapshot, around))


def _told(soa: bytes, steps: Iterable[Step]) -> Iterator[Packed]:
    yield b"", soa
    for step in steps:
        yield from _of(step)
    yield b"", soa


def _of(step: Step) -> Iterator[Packed]:
    yield b"", step.before
    yield from step.removed
    yield b"", step.after
    yield from step.added


def _alone(query: bytes, question: Query, served: ServedZone) -> bytes:
    return next(_stream(query, question, [(b"", served.soa)]))


def _stream(query: bytes, question: Query, records: Iterable[Packed]) -> Iterator[bytes]:
    messages = Messages(query, question)
    yield from messages.write(records)
    yield messages.whole()


def _older(
    query: bytes, wanted: Wanted, table: ZoneTable, archive: Archive, given: Counter[str]
) -> Iterator[bytes | Page]:
    """From the store, page by page, up to the serial that is served now."""
    served = table.zones[wanted.question.name]
    way = _Way(served, wanted.serial or 0)
    page = archive(served.zone.id, way.serial)
    yield page
    steps = way.steps(_read(page))
    if steps is None:
        yield from transfer(query, Wanted(wanted.question, None), table, permitted=True, given=given)
        return
    given["ixfr"] += 1
    messages = Messages(query, wanted.question)
    yield from messages.write([(b"", way.end)])
    yield from messages.write(chain.from_iterable(map(_of, steps)))
    while not way.ended:
        page = archive(served.zone.id, way.serial)
        yield page
        steps = way.steps(_read(page))
        if steps is None:
            raise Cut
        yield from messages.write(chain.from_iterable(map(_of, steps)))
    yield from messages.write([(b"", way.end)])
    yield messages.whole()


class _Way:
    """Steps of the store on their way from a serial to the one that is served at the beginning.

    Attributes:
        serial: How far it goes.
        end: The SOA where it ends.
    """

    def __init__(self, served: ServedZone, serial: int) -> None:
        self.serial = serial
        self.end = served.soa
        self._served = served

    @property
    def ended(self) -> bool:
        return self.serial == serial_of(self.end)

    def steps(self, changes: list[ZoneChange]) -> list[Step] | None:
        """The next ones as a journal has them; None if these do not lead on."""
        found = []
        for change in changes:
            if self.ended:
                break
            whole = not change.removed and not change.added
            if whole or change.serial != serials.step(self.serial):
                return None
            found.append(self._step(change))
            self.serial = change.serial
        return found or None

    def _step(self, change: ZoneChange) -> Step:
        before, after = stamped(self.end, self.serial), stamped(self.end, change.serial)
        return Step(before, tuple(self._changing(change.removed)), after, tuple(self._changing(change.added)))

    def _changing(self, records: Iterable[Record]) -> Iterator[Packed]:
        """Those that came or went: what the zone has by itself was there before, and is after."""
        for record in records:
            path, packed = self._served.pathed(record)
            if not self._served.lasts(path, packed):
                yield path, packed


def _read(page: Page) -> list[ZoneChange]:
    """What came; nothing where the store was away."""
    return [] if page.cancelled() or page.exception() is not None else page.result()
