"""What a strategy is told, what it may look at, and what it answers."""

from collections.abc import Sequence
from typing import NamedTuple

from tenure.engine.space import Slice, Slices, Space
from tenure.model.placement import Block, Look
from tenure.model.policy import Boundary, Title
from tenure.net.addresses import prefix_text

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
        spaces: The subnets that have an address available.
        looks: What was looked at, in order: the lines of `why`.
    """

    __slots__ = ("looks", "names", "spaces")

    def __init__(self, spaces: Sequence[Space], names: dict[str, str]) -> None:
        self.spaces = spaces
        self.names = names
        self.looks: list[Look] = []

    def look(self, space: Space, block: Slice, outcome: str) -> None:
        """Note that a block was looked at, and what came of it."""
        owner = "nobody" if block.owner is None else self.names.get(block.owner, block.owner or "everybody")
        self.looks.append(Look(text(space, block.first, block.length), owner, outcome))


def text(space: Space, first: int, length: int) -> str:
    """A block as text: `10.0.3.64/28`."""
    return prefix_text(space.version, first, length)


def first_of(slices: Slices | None) -> Slice | None:
    """The first of an index of blocks: the one that has been in it longest."""
    return next(iter(slices.values())) if slices else None
