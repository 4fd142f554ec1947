"""What a snapshot says of addresses that have routes of their own."""

from collections.abc import Iterator
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
    """An address that was held at some time, and the host of its claim now, or at its end."""

    subnet: str
    number: int
    claim: str
    host: str | None
    allocation: str


class Placements(Protocol):
    """A part of `Snapshot`; its iterators stream."""

    def loose(self) -> Iterator[Loose]:
        """Open allocations, no leases, with a host and another title than own or new."""
        ...

    def handovers(self) -> Iterator[HandedOver]:
        """Open allocations of claims that another host announces too, claim by claim."""
        ...

    def held_at(self, time: datetime) -> Iterator[HeldThen]:
        """Allocations, no leases, that were open at a time. Cost: linear in all that there ever were."""
        ...
