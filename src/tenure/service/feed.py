"""Following the ledger: every entry once and in order, and notice of a new epoch.

`Committed` is what the writer tells the views of its own node after each
commit; `Follower` reads the same from the ledger, for whoever is elsewhere or
was away. A place in the ledger travels as a cursor, `epoch:sequence`.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol

import msgspec

from tenure.errors import EpochChanged, InvalidValue
from tenure.model.dnsdata import ZoneChange
from tenure.model.events import Entry, EpochStarted
from tenure.store.interface import Head, Snapshot

PAGE: Final = 1000


class Committed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One transaction, as it is told to the views of this node; in the order of sequences.

    A view at `since` or later, but before `sequence`, takes it in; one at `sequence` or later has it already; one
    before `since` has missed something. That one, one that sees another epoch than its own, and every one
    that is told to `start_over`, drops what it has and loads everything.

    Attributes:
        epoch: The epoch of the ledger, from this transaction on.
        sequence: Place of the transaction's last entry.
        since: Place of the last entry before this transaction.
        start_over: A new epoch, or the writer had to load everything itself.
        entries: In order; none where views start over.
        zone_changes: Net changes, one a zone, each with the serial to move to; none for zones in `reload`.
        reload: Ids of zones that came, went or changed as a whole: read them again, or drop them if they are gone.
    """

    epoch: str
    sequence: int
    since: int = 0
    start_over: bool = False
    entries: tuple[Entry, ...] = ()
    zone_changes: tuple[ZoneChange, ...] = ()
    reload: tuple[str, ...] = ()


def cursor(epoch: str, sequence: int) -> str:
    """A place in the ledger, as it travels."""
    return f"{epoch}:{sequence}"


def parse_cursor(text: str, pointer: str = "") -> tuple[str, int]:
    """Epoch and sequence of a cursor.

    Raises:
        InvalidValue: It is not `epoch:sequence`.
    """
    epoch, colon, number = text.rpartition(":")
    if not colon or not epoch or not (number.isascii() and number.isdigit()) or len(number) > 19:
        raise InvalidValue("a cursor is an epoch and a sequence with a colon between", pointer=pointer, value=text[:80])
    return epoch, int(number)


class Source(Protocol):
    """What is committed, to be read from any thread; every store is one."""

    def head(self) -> Head:
        """The end of the ledger now."""
        ...

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Everything as of one moment."""
        ...

    def entries(self, after: int, limit: int, kinds: Sequence[str] = ()) -> list[Entry]:
        """The ledger after a sequence, in order."""
        ...

    def wait(self, after: int, seconds: float) -> bool:
        """Wait until the ledger may have grown past `after`."""
        ...


class Follower:
    """Reads the ledger from a place on: each entry once, in order, none left out.

    For one thread. The place is kept here and moves when `read` returns; whoever must survive a crash
    keeps `place` with what it made of the entries.

    Args:
        store: Where the ledger is.
        place: Where to go on from, as `place` was: a head with its epoch, sequence and batch. An empty
            batch means that the caller knows a sequence only; then a loss before it goes unnoticed.
    """

    def __init__(self, store: Source, place: Head) -> None:
        self._store = store
        self.place = place

    def read(self, limit: int = PAGE) -> list[Entry]:
        """The next entries, at most `limit`; none if there are none yet.

        Raises:
            EpochChanged: The ledger started a new epoch, or no longer holds the place: start over. Entries
                before the new epoch's first are returned before it is raised.
        """
        known = self.place.sequence
        if self.place.batch:
            found = self._store.entries(known - 1, limit + 1)
            if not found or (found[0].sequence, found[0].batch) != (known, self.place.batch):
                raise self._over()
            found = found[1:]
        else:
            self._check_start()
            found = self._store.entries(known, limit)
        return self._taken(found)

    def wait(self, seconds: float) -> bool:
        """Wait for more, at most `seconds`; whether there may be."""
        return self._store.wait(self.place.sequence, seconds)

    def _check_start(self) -> None:
        head = self._store.head()
        if head.epoch != self.place.epoch or head.sequence < self.place.sequence:
            raise self._over()

    def _taken(self, found: list[Entry]) -> list[Entry]:
        for at, entry in enumerate(found):
            if isinstance(entry.event, EpochStarted):
                if at == 0:
                    raise self._over()
                found = found[:at]
                break
            if entry.sequence != self.place.sequence + 1 + at:
                raise self._over()
        if found:
            last = found[-1]
            self.place = Head(self.place.epoch, last.sequence, last.batch, last.time)
        return found

    def _over(self) -> EpochChanged:
        epoch = self._store.head().epoch
        return EpochChanged("the ledger is not the one that was followed: start over from the present", epoch=epoch)
