"""The values that go in and come out: facts of placement, and routes."""

from collections.abc import Collection
from typing import Literal, NamedTuple

Kind = Literal["region", "block", "loose"]
"""What a prefix is: a location's own space, a host's block, or one address used away from its block's owner."""


class Fact(NamedTuple):
    """One fact of placement, by what it is about.

    Attributes:
        hop: The next hop of its owner at this level; of a region, the id of the location that owns it.
    """

    kind: Kind
    first: int
    length: int
    hop: str | None


class Route(NamedTuple):
    """One entry of a table.

    Attributes:
        hop: Where to; the level's default (None in a fabric: unreachable) where a wider route must not reach.
        loose: Whether it is there for one address that is used away from its block's owner.
    """

    first: int
    length: int
    hop: str | None
    loose: bool = False


class Tally(NamedTuple):
    """How many of a table's routes are prefixes, and how many are there for one address away from its block."""

    aggregates: int
    host_routes: int


def tally(routes: Collection[Route]) -> Tally:
    """Count both kinds; neighbours that share a route count as a prefix. Cost: O(routes)."""
    loose = sum(route.loose for route in routes)
    return Tally(aggregates=len(routes) - loose, host_routes=loose)
