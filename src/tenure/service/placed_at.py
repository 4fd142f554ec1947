"""Where addresses were used at a time: from the ledger and the rows that were open then."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from tenure.errors import NotFound
from tenure.model.events import (
    AddressRestored,
    AddressShelved,
    ClaimRebound,
    ClaimSettled,
    Entry,
    Event,
)
from tenure.net.addresses import width
from tenure.service.feed import Source
from tenure.service.placed import Placed
from tenure.store.interface import Snapshot
from tenure.store.placements import HeldThen

_PAGE: Final = 5000
_NOUNS: Final = tuple(
    f"tenure.{noun}.{done}"
    for noun, verbs in (
        ("vrf", ("created", "changed", "deleted")),
        ("location", ("created", "changed", "deleted")),
        ("network", ("created", "changed", "deleted", "budget_crossed")),
        ("subnet", ("created", "changed", "deleted")),
        ("block", ("owned", "surrendered", "resized")),
    )
    for done in verbs
)
_MOVES: Final = ("tenure.claim.rebound", "tenure.claim.settled")
_SHELVED: Final = ("tenure.address.shelved", "tenure.address.restored")


def placed_at(store: Source, when: datetime) -> tuple[Placed, int]:
    """What was used where when the last entry not after `when` was made, and the sequence of that entry.

    Blocks, places and moves follow from the ledger up to there; addresses from the rows that were open then, each
    with the host that its claim had, which later moves still name.

    Raises:
        NotFound: That is before the first entry.

    Cost: the ledger is looked through once and the allocations once, however few concern the answer: a second or
        so for a million of either. Memory: as of the answer, and one entry for each claim that ever moved.
    """
    with store.snapshot() as snapshot:
        end = snapshot.head.sequence
        sequence = _sequence_at(store, when, end)
        if not sequence:
            raise _too_early(store)
        placed = Placed()
        moves = _Moves()
        for entry in _entries(store, 0, sequence, _NOUNS + _MOVES + _SHELVED):
            if not moves.take(entry.event):
                placed.take(entry.event)
        for entry in _entries(store, sequence, end, _MOVES[:1] + _SHELVED):
            moves.take_later(entry.event)
        for held in moves.unshelved(snapshot, snapshot.held_at(when), sequence):
            moves.use(placed, held)
    moves.hand_over(placed)
    return placed, sequence


class _Moves:
    """Where claims were, by what is known of their moves before and after; and which addresses ever were shelved."""

    def __init__(self) -> None:
        self._hosts: dict[str, str | None] = {}
        self._leaving: dict[str, str] = {}
        self._kept: dict[str, list[tuple[str, int]]] = {}
        self._shelved: set[str] = set()

    def take(self, event: Event) -> bool:
        """Whether it is a move, the end of its hand-over, or about shelves; not after the time."""
        match event:
            case ClaimRebound() | ClaimSettled():
                self._take_move(event)
            case AddressShelved() | AddressRestored():
                self._shelved.add(event.allocation.id)
            case _:
                return False
        return True

    def _take_move(self, event: ClaimRebound | ClaimSettled) -> None:
        claim = event.claim
        self._hosts[claim.id] = claim.host
        self._leaving.pop(claim.id, None)
        if claim.leaving is not None:
            self._leaving[claim.id] = claim.leaving

    def take_later(self, event: Event) -> None:
        """A move after the time, or about shelves; of several moves the first says where the claim was."""
        match event:
            case ClaimRebound():
                self._hosts.setdefault(event.claim.id, event.before)
            case AddressShelved() | AddressRestored():
                self._shelved.add(event.allocation.id)

    def unshelved(self, snapshot: Snapshot, held: Iterable[HeldThen], sequence: int) -> Iterator[HeldThen]:
        """What was held, without what was shelved then; of those that ever were, the ledger is asked."""
        doubtful: dict[str, HeldThen] = {}
        for each in held:
            if each.shelved or each.allocation in self._shelved:
                doubtful[each.allocation] = each
            else:
                yield each
        shelved = snapshot.shelved_at(sequence, doubtful)
        yield from (each for id_, each in doubtful.items() if id_ not in shelved)

    def use(self, placed: Placed, held: HeldThen) -> None:
        """Note an address that was held then, if it has a route of its own."""
        host = self._hosts.get(held.claim, held.host)
        area = placed.area_of(held.subnet)
        if host is None or area is None:
            return
        if held.claim in self._leaving:
            self._kept.setdefault(held.claim, []).append((held.subnet, held.number))
        facts, bits = placed.areas.get(area), width(area.version)
        around = facts.around(held.number, bits, bits) if facts else ()
        if next((fact.owner for fact in around if fact.kind == "block"), None) != host:
            placed.loosen(held.subnet, held.number, host)

    def hand_over(self, placed: Placed) -> None:
        """Note what two hosts announced."""
        for claim, addresses in self._kept.items():
            host = self._hosts[claim]
            assert host is not None
            placed.hand_over(claim, host, self._leaving[claim], addresses)


def _sequence_at(store: Source, when: datetime, end: int) -> int:
    """The last entry that is not after `when`; their times never go back."""
    low, high = 0, end
    while low < high:
        middle = (low + high + 1) // 2
        (entry,) = store.entries(middle - 1, 1)
        low, high = (middle, high) if entry.time <= when else (low, middle - 1)
    return low


def _too_early(store: Source) -> NotFound:
    first = next(iter(store.entries(0, 1)), None)
    said = f"Nothing was recorded before {first.time:%Y-%m-%dT%H:%M:%SZ}." if first else "Nothing was recorded yet."
    return NotFound(said, parameter="at")


def _entries(store: Source, after: int, last: int, kinds: tuple[str, ...]) -> Iterator[Entry]:
    """Entries of some kinds after a place, up to another."""
    while after < last and (found := store.entries(after, _PAGE, kinds)):
        for entry in found:
            if entry.sequence > last:
                return
            yield entry
        after = found[-1].sequence
