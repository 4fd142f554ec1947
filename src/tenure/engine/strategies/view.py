"""What a strategy is told, what it may look at, and what it answers."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from tenure.engine.space import Slice, Slices, Space
from tenure.model import events as e
from tenure.model.placement import ROOT, Block, Look
from tenure.model.policy import BlockKind, Prefer, Reach, Title
from tenure.net.addresses import prefix_text

MOST_CANDIDATES = 64
"""A strategy that has not found an address by then has found none."""


Step = e.BlockOwned | e.BlockResized | e.BlockSurrendered
"""What a strategy may do to blocks before it takes an address."""


class Level(NamedTuple):
    """A place above a host.

    Attributes:
        kind: `rack`, `site` or `region`. owner: Its id.
        siblings: How many of its kind lie beside it, itself included.
    """

    kind: BlockKind
    owner: str
    siblings: int = 1


class Wish(NamedTuple):
    """Where an address is wanted.

    Attributes:
        owner: Id of the host, or "" for none.
        rack: Id of the host's rack, or "" where there is none.
        path: Ids of the host and everything above it, nearest first.
        reach: The widest location that the address may come from: another host's block in the
            same rack is beyond `host`, another rack's beyond `rack`, and so on.
        name: The host's name, or "".
        areas: Rack, site and region above the host, as far as there are, nearest first.
        prefer: Which routes hurt more.
    """

    owner: str
    rack: str
    path: tuple[str, ...]
    reach: Reach
    name: str = ""
    areas: tuple[Level, ...] = ()
    prefer: Prefer = "spine"


class Candidate(NamedTuple):
    """An address, or what to do to blocks first and then one of theirs.

    Attributes:
        subnet: Its id.
        number: The address; None for the next free one of `block`.
        block: The host block that the address lies in as text, or None where blocks play no part. Without
            number and block it is a preparation: its steps are taken, and the next candidate is asked for.
        title: By what right; None where blocks play no part.
        steps: What to do to blocks first, in order.
    """

    subnet: str
    number: int | None
    block: str | None
    title: Title | None
    steps: tuple[Step, ...] = ()


def everybody(owner: str | None) -> bool:
    """No boundary is in the way of any block's owner."""
    return True


class View:
    """The subnets that may serve a request, best first, with their blocks. Read-only.

    Attributes:
        spaces: The subnets that have an address available; found one by one, as they are asked for.
        now: Time of the decision. seed: Random bits.
        near: Whether the boundary lets a block's owner lend to the host. Blocks tell where their owner was when
            they were cut; the tree of locations may have changed since.
        looks: What was looked at, in order: the lines of `why`.
    """

    __slots__ = ("_owner_name", "looks", "near", "now", "seed", "spaces")

    def __init__(
        self,
        spaces: Iterable[Space],
        owner_name: Callable[[str], str],
        now: datetime,
        seed: int = 0,
        near: Callable[[str | None], bool] = everybody,
    ) -> None:
        self.spaces = spaces
        self.near = near
        self.now = now
        self.seed = seed
        self.looks: list[Look] = []
        self._owner_name = owner_name

    def look(self, space: Space, block: Slice, outcome: str) -> None:
        """Note that a block was looked at, and what came of it."""
        owner = "nobody" if block.owner is None else self._owner_name(block.owner)
        self.looks.append(Look(block.text, owner, outcome))

    def did(self, step: Step) -> None:
        """Note what was done to a block for this request."""
        block = step.block
        outcome = _DONE[type(step)] + ("" if block.kind == "host" else f", for its {block.kind}")
        self.looks.append(Look(block.cidr, self._owner_name(block.owner or ROOT), outcome))


_DONE: dict[type, str] = {e.BlockOwned: "taken", e.BlockResized: "resized", e.BlockSurrendered: "given back"}


def value(space: Space, block: Slice, first: int | None = None, length: int | None = None) -> Block:
    """The value of a block, at another place or of another length if that is said."""
    if first is None or length is None:
        return Block(space.subnet.id, block.text, block.owner, block.kind)
    return Block(space.subnet.id, prefix_text(space.version, first, length), block.owner, block.kind)


def owned(space: Space, first: int, length: int, owner: str, kind: BlockKind = "host") -> Block:
    """The value of a block of this owner."""
    return Block(space.subnet.id, prefix_text(space.version, first, length), owner, kind)


def new_block(space: Space, first: int, length: int, owner: str) -> Candidate:
    """An address of a new host block."""
    block = owned(space, first, length, owner)
    return Candidate(space.subnet.id, None, block.cidr, "new", (e.BlockOwned(block=block),))


def prepared(space: Space, steps: tuple[Step, ...]) -> Candidate:
    """No address yet: what must be done to blocks first."""
    return Candidate(space.subnet.id, None, None, "new", steps)


def first_of(slices: Slices | None) -> Slice | None:
    """The first of an index of blocks: the one that has been in it longest."""
    return slices[next(iter(slices))] if slices else None
