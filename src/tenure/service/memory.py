"""What the writer knows of the ledger: the allocator's state, the zones' serials, and up to where.

It loads from rows and then follows the ledger, entry by entry; what other
nodes wrote is kept as `Committed` values until it can be told to this node's views.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

from tenure.engine.state import State
from tenure.model.dnsdata import Zone
from tenure.model.events import Entry, EpochStarted
from tenure.naming import serial
from tenure.service.feed import Committed
from tenure.service.links import Links
from tenure.service.witness import Witness
from tenure.service.zones import Move, Notes
from tenure.store.interface import Head, Store, Turn

_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Memory:
    """The writer's memory. For its thread.

    Attributes:
        state: The allocator's memory at `head`. links: How its addresses are called.
        serials: Current serial by zone id.
        head: Up to where the ledger is known; None before the first load, and after a bug.
        untold: What the views of this node have not been told yet, in order.
    """

    def __init__(self, witness: Witness) -> None:
        self.state = State()
        self.links = Links(self.state)
        self.serials: dict[str, int] = {}
        self.head: Head | None = None
        self.untold: list[Committed] = []
        self._witness = witness

    def load(self, store: Store) -> Head:
        """Remember what the rows say. Cost: linear in open allocations, some microseconds each."""
        self.head = None
        with store.snapshot() as snapshot:
            self.state = State.load(snapshot, snapshot.head.time or _BEGINNING)
            self.links = Links(self.state)
            self.serials = {zone.id: zone.serial for zone in snapshot.zones}
            for zone in snapshot.zones:
                self._witness.saw(_witnessed(zone), zone.serial)
            self.head = snapshot.head
        return self.head

    def forget(self) -> None:
        """Trust nothing of this any more: it must be loaded again."""
        self.head = None

    def start_over(self) -> None:
        """This was loaded anew: the views must start over too."""
        assert self.head is not None
        everything = tuple(self.state.zones)
        self.untold.append(
            Committed(epoch=self.head.epoch, sequence=self.head.sequence, start_over=True, reload=everything)
        )
        self._witness.note(self.head)

    def begin_epoch(self, head: Head, serials: dict[str, int]) -> None:
        """A new epoch was recorded, and every zone's serial leapt."""
        self.serials = serials
        for zone_id, number in serials.items():
            self._witness.saw(_witnessed(self.state.zones[zone_id]), number)
        self.head = head
        self.start_over()

    def follow(self, entries: Sequence[Entry]) -> None:
        """Take in whole transactions that others wrote."""
        for _, batch in groupby(entries, key=lambda entry: entry.batch):
            self._follow_batch(list(batch))

    def _follow_batch(self, entries: list[Entry]) -> None:
        notes = Notes(self.links)
        for _, change in groupby(entries, key=lambda entry: entry.change):
            events = [entry.event for entry in change]
            for event in events:
                self.state.reduce(event)
            notes.note(events)
        assert self.head is not None
        last = entries[-1]
        move = notes.move(self.serials, last.sequence, self.first_serial, follow=True)
        self.advance(Head(self.head.epoch, last.sequence, last.batch, last.time), entries, move)

    def advance(self, head: Head, entries: Sequence[Entry], move: Move) -> None:
        """A transaction whose events are in the state already is in the ledger."""
        since = 0 if self.head is None else self.head.sequence
        for zone_id, number in move.serials.items():
            if number is None:
                self.serials.pop(zone_id, None)
                continue
            self.serials[zone_id] = number
            self._witness.saw(_witnessed(self.state.zones[zone_id]), number)
        self.head = head
        self._witness.note(head)
        self.untold.append(
            Committed(
                epoch=head.epoch,
                sequence=head.sequence,
                since=since,
                entries=tuple(entries),
                zone_changes=tuple(change for change in move.changes if change.zone not in move.stamped),
                reload=move.reload,
            )
        )

    def first_serial(self, zone: Zone) -> int:
        """The serial of a new zone: after the last that a zone of this name had, so that none is used twice."""
        known = self._witness.serials.get(_witnessed(zone))
        return zone.serial if known is None else serial.step(known)

    def leapt(self) -> Iterator[tuple[str, int]]:
        """Every zone, and the serial that it takes in a new epoch: beyond what was lost."""
        for zone in self.state.zones.values():
            row = self.serials[zone.id]
            known = self._witness.serials.get(_witnessed(zone), row)
            yield zone.id, serial.leap(known if serial.later(known, row) else row)


def _witnessed(zone: Zone) -> str:
    return f"{zone.vrf}/{zone.name}"


def catch_up(memory: Memory, store: Store, page: int) -> bool:
    """Follow the ledger without the lock, as far as it goes.

    Returns:
        False where that cannot be done here: nothing is loaded, or the ledger is not the one that was followed.
    """
    while True:
        known = memory.head
        if known is None or (head := store.head()).epoch != known.epoch or head.sequence < known.sequence:
            return False
        if head.sequence == known.sequence:
            return head.batch == known.batch
        entries = _after(known, store, page)
        if entries is None or any(isinstance(entry.event, EpochStarted) for entry in entries):
            return False
        memory.follow(entries)


def _after(known: Head, store: Store, page: int) -> list[Entry] | None:
    """Whole transactions after the known one; None if that is not there."""
    limit = page
    while True:
        entries = store.entries(max(0, known.sequence - 1), limit)
        if known.sequence and (not entries or entries[0].batch != known.batch):
            return None
        found = entries[1:] if known.sequence else entries
        if len(entries) < limit:
            return found
        whole = [entry for entry in found if entry.batch != found[-1].batch] if found else []
        if whole:
            return whole
        limit *= 2


def holds(turn: Turn, known: Head | None) -> bool:
    """Whether the ledger still has what was known to be its end."""
    if known is None or known.sequence == 0:
        return True
    if known.sequence == turn.head.sequence:
        return known.batch == turn.head.batch
    return known.sequence < turn.head.sequence and turn.batch_at(known.sequence) == known.batch
