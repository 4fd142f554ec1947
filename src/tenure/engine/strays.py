"""Addresses that rest though their subnet is gone: a promise made to a client outlives the subnet it was made in."""

from collections.abc import Iterator
from datetime import datetime

from tenure.engine.space import Space

Rest = tuple[int, datetime]
"""An address, and the end of its rest."""


class Strays:
    """Ends of rests by address, of addresses that are in no subnet; a subnet that is made over them takes them."""

    def __init__(self) -> None:
        self.rests: dict[tuple[str, int], dict[int, datetime]] = {}

    def put(self, vrf: str, version: int, number: int, until: datetime) -> None:
        """An address rests in no subnet; of two ends the later counts."""
        mine = self.rests.setdefault((vrf, version), {})
        mine[number] = max(until, mine.get(number, until))

    def drop(self, vrf: str, version: int, number: int) -> None:
        """It is in a subnet again."""
        del self.rests[vrf, version][number]

    def inside(self, space: Space) -> list[Rest]:
        """Those that lie in a subnet. Cost: linear in the strays of its vrf."""
        mine = self.rests.get((space.subnet.vrf, space.version), {})
        return [(number, until) for number, until in mine.items() if space.first <= number <= space.last]

    def end(self, number: int, until: datetime) -> None:
        """A rest of an address is over at `until`."""
        for mine in self.rests.values():
            if mine.get(number) == until:
                del mine[number]

    def __iter__(self) -> Iterator[tuple[str, int, int, datetime]]:
        """All of them: vrf id, version, address, end."""
        return ((*key, *rest) for key, mine in self.rests.items() for rest in mine.items())
