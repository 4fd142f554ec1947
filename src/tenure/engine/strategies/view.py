"""What a strategy is told, what it may look at, and what it answers."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tenure.engine.space import Slice, Slices, Space
from tenure.model.placement import ROOT, Block, Look
from tenure.model.policy import Boundary, Title

MOST_CANDIDATES = 64
"""A strategy that has not found an address by then has found none."""


class Wish(NamedTuple):
    """Where an address is wanted.

    Attributes:
        owner: Id of the host, or "" for none.
        rack: Id of the host's rack, or "" where there is none.
        path: Ids of the host and everything above it, nearest first.
        boundary: Whether the address may come from another's block.
    """

    owner: str
    rack: str
    path: tuple[str, ...]
    boundary: Boundary


class Candidate(NamedTuple):
    """An address, or blocks to take first and then one of theirs.

    Attributes:
        subnet: Its id.
        number: The address; None for the first free one of the last block of `take`.
        block: The block that the address lies in as text, or None where blocks play no part.
        title: By what right.
        take: Blocks to own first, the rack's before the host's.
    """

    subnet: str
    number: int | None
    block: str | None
    title: Title
    take: tuple[Block, ...] = ()


class View:
    """The subnets that may serve a request, best first, with their blocks. Read-only.

    Attributes:
        spaces: The subnets that have an address available; found one by one, as they are asked for.
        looks: What was looked at, in order: the lines of `why`.
    """

    __slots__ = ("_owner_name", "looks", "spaces")

    def __init__(self, spaces: Iterable[Space], owner_name: Callable[[str], str]) -> None:
        self.spaces = spaces
        self.looks: list[Look] = []
        self._owner_name = owner_name

    def look(self, space: Space, block: Slice, outcome: str) -> None:
        """Note that a block was looked at, and what came of it."""
        owner = "nobody" if block.owner is None else self._owner_name(block.owner)
        self.looks.append(Look(block.text, owner, outcome))

    def took(self, block: Block) -> None:
        """Note that a block was taken for this request."""
        outcome = "taken, for its rack" if block.rack else "taken"
        self.looks.append(Look(block.cidr, self._owner_name(block.owner or ROOT), outcome))


def first_of(slices: Slices | None) -> Slice | None:
    """The first of an index of blocks: the one that has been in it longest."""
    return slices[next(iter(slices))] if slices else None
