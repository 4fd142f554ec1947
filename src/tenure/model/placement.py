"""Blocks: aligned slices of a subnet that one location owns."""

import msgspec

from tenure.model.policy import BlockKind

ROOT = ""
"""The owner of blocks that serve claims without a host."""


class Block(msgspec.Struct, frozen=True):
    """An aligned slice of a subnet.

    Attributes:
        cidr: Canonical text, inside the subnet.
        owner: Id of a location, `ROOT`, or None where the owner has gone and addresses are still held.
        kind: Whose level it is of: a rack block is what host blocks are cut from, a site block rack blocks.
    """

    subnet: str
    cidr: str
    owner: str | None
    kind: BlockKind = "host"


class Look(msgspec.Struct, frozen=True, array_like=True):
    """One block that a strategy looked at, and what came of it: a line of `why`."""

    block: str
    owner: str
    outcome: str
