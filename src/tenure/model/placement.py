"""Blocks: aligned slices of a subnet that one location owns."""

import msgspec

ROOT = ""
"""The owner of blocks that serve claims without a host."""


class Block(msgspec.Struct, frozen=True):
    """An aligned slice of a subnet.

    Attributes:
        cidr: Canonical text, inside the subnet.
        owner: Id of a location, `ROOT`, or None where the owner has gone and addresses are still held.
        rack: Whether it is a rack block, from which host blocks are cut.
    """

    subnet: str
    cidr: str
    owner: str | None
    rack: bool = False


class Look(msgspec.Struct, frozen=True, array_like=True):
    """One block that a strategy looked at, and what came of it: a line of `why`."""

    block: str
    owner: str
    outcome: str
