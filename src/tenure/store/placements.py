"""What a snapshot says beside what the allocator's memory begins with.

Of addresses that have routes of their own, of those that strangers were seen on, and of what things are found by.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, Protocol


class Loose(NamedTuple):
    """An open address that a host uses away from its block's owner."""

    subnet: str
    number: int
    host: str


class HandedOver(NamedTuple):
    """An open address that two hosts announce: `host`, and less preferred `leaving`."""

    claim: str
    host: str
    leaving: str
    subnet: str
    number: int


class HeldThen(NamedTuple):
    """An address that was held at some time; the host of its claim and whether it is shelved are those of now."""

    subnet: str
    number: int
    claim: str
    host: str | None
    allocation: str
    shelved: bool


class Stranger(NamedTuple):
    """An address that something was seen to use that does not hold it."""

    vrf: str
    version: int
    number: int
    until: datetime


class Label(NamedTuple):
    """A word by which an open `network`, `subnet`, `machine` or `claim` is found."""

    kind: str
    thing: str
    label: str


class Placements(Protocol):
    """A part of `Snapshot`; its iterators stream."""

    def loose(self) -> Iterator[Loose]:
        """Open allocations, no leases, none shelved, with a host and another title than own or new."""
        ...

    def handovers(self) -> Iterator[HandedOver]:
        """Open allocations, none shelved, of claims that another host announces too, claim by claim."""
        ...

    def strangers(self, now: datetime) -> Iterator[Stranger]:
        """What was seen on addresses and counts after `now`, whether or not they are held."""
        ...

    def labels(self) -> Iterator[Label]:
        """Every label of every open thing."""
        ...

    def held_at(self, time: datetime) -> Iterator[HeldThen]:
        """Allocations, no leases, that were open at a time. Cost: linear in all that there ever were."""
        ...

    def shelved_at(self, sequence: int, allocations: Iterable[str]) -> set[str]:
        """Which of these allocations, held at a place in the ledger, were shelved there. Cost: one look for each."""
        ...
