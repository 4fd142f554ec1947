"""The time line of one address: what was said of it, and of those who held it while they did.

A page is a window of the ledger. In it are the entries about the address; those about the claims that hold it there;
and those by which the machines and interfaces that use it there are called otherwise.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, select

from tenure.model import events as e
from tenure.model.events import Entry
from tenure.store.reads import Page, Told
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.joins import held_addresses
from tenure.store.sql.pages import Snapshot, bounded, cursor, read_cursor
from tenure.store.sql.past import (
    ENTRY,
    Called,
    Moment,
    Place,
    about_address,
    about_claims,
    after,
    followed,
    last_holding,
    moment_of,
)

_KEY: Final = (t.ledger.c.sequence,)


def time_line(at: Snapshot, vrf: str, address: bytes, behind: str, limit: int) -> Page[Told]:
    """A page of the history of an address, behind a cursor.

    Cost: of what it shows, and of all that was said until then of the names of the machines in it.
    """
    bounded(limit)
    begin = int(read_cursor(behind, _KEY)[0]) if behind else 0
    window = _Window(at, begin, limit)
    own = window.entries(about_address(vrf, address))
    prior = last_holding(at, vrf, address, begin)
    moments = [] if prior is None else followed(at, [prior], begin)
    moments += [moment_of(entry) for entry in own if not isinstance(entry.event, e.AddressObserved)]
    claims = window.entries(about_claims({moment.claim.id for moment in moments}))
    holders = _Holders(moments, claims)
    called = Called(at, holders.moments, window.end)
    found = [*own, *holders.claims, *_calls(called, holders, begin)]
    lines = sorted((entry for entry in found if entry.sequence <= window.end), key=lambda entry: entry.sequence)
    end = lines[limit - 1].sequence if len(lines) > limit else window.end
    shown = _told(at, called, holders, lines[:limit])
    return Page(shown, cursor((end,)) if end < at.head.sequence else None, at.head)


class _Window:
    """A stretch of the ledger that shrinks to what a page may show.

    Attributes:
        end: Its last sequence.
    """

    def __init__(self, at: Snapshot, begin: int, limit: int) -> None:
        self._at = at
        self._begin = begin
        self._limit = limit
        self.end = at.head.sequence

    def entries(self, condition: ColumnElement[bool]) -> list[Entry]:
        """Entries of one kind in the window; where they are more than a page, the window ends with the page."""
        c = t.ledger.c
        query = select(*ENTRY).where(condition, c.sequence > self._begin, c.sequence <= self.end)
        rows = self._at.all(query.order_by(c.sequence).limit(self._limit + 1))
        found = [r.entry_of(row) for row in rows[: self._limit]]
        if len(rows) > self._limit:
            self.end = found[-1].sequence
        return found


class _Holders:
    """Who held the address, from which place on.

    Attributes:
        moments: Each with what was said of its claim since.
        claims: The entries about claims as a whole that were made while they held it. (One about another address of
            a claim changes the claim all the same.)
    """

    def __init__(self, moments: Sequence[Moment], claims: Sequence[Entry]) -> None:
        self.claims: list[Entry] = []
        self.moments: list[Moment] = []
        said: list[Moment | Entry] = [*moments, *claims]
        for each in sorted(said, key=_place):  # an entry about the address itself is there as a moment, first
            self._take(each)
        self._places = [moment.place.sequence for moment in self.moments]

    def _take(self, said: Moment | Entry) -> None:
        if isinstance(said, Moment):
            self.moments.append(said)
            return
        event: Any = said.event
        held = self.moments[-1] if self.moments else None
        if held is not None and held.claim.id == event.claim.id and held.allocation.until is None:
            self.moments.append(after(held, said))
            if event.subject().ip is None:
                self.claims.append(said)

    def at(self, entry: Entry) -> Moment | None:
        """Who held it after an entry; the entry that ends it still says who had it."""
        found = bisect_right(self._places, entry.sequence)
        moment = self.moments[found - 1] if found else None
        if moment is None or (moment.allocation.until is not None and moment.place.sequence != entry.sequence):
            return None
        return moment._replace(place=Place(entry.sequence, entry.time))


def _place(said: Moment | Entry) -> int:
    return said.place.sequence if isinstance(said, Moment) else said.sequence


def _calls(called: Called, holders: _Holders, begin: int) -> Iterator[Entry]:
    """Entries by which a machine or interface that used the address was called otherwise."""
    for entry in called.entries:
        moment = holders.at(entry) if entry.sequence > begin else None
        if moment is not None and _renames(called, entry, moment):
            yield entry


def _renames(called: Called, entry: Entry, moment: Moment) -> bool:
    event: Any = entry.event
    interfaces, machines = called.users(moment)
    if isinstance(event, e.InterfaceChanged):
        port, was = event.interface, called.interfaces.at(event.interface.id, entry.sequence - 1)
        return was is not None and was.mac != port.mac and port.id in {each.id for each in interfaces}
    if isinstance(event, e.MachineChanged):
        machine, known = event.machine, called.machines.at(event.machine.id, entry.sequence - 1)
        other = known is not None and (known.name, known.kind) != (machine.name, machine.kind)
        return other and machine.id in {each.id for each in machines}
    return False


def _told(at: Snapshot, called: Called, holders: _Holders, lines: Sequence[Entry]) -> list[Told]:
    found = {entry.sequence: moment for entry in lines if (moment := holders.at(entry)) is not None}
    held = held_addresses(at, [moment.allocation for moment in found.values()])
    known = {place: called.known(found[place], each) for place, each in zip(found, held, strict=True)}
    return [Told(entry, known.get(entry.sequence)) for entry in lines]
