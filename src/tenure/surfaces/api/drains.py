"""What draining a place and draining a subnet have in common: the wish, and what is still there."""

from collections.abc import Callable
from typing import Any

import msgspec

from tenure.store.interface import Reads, Remaining, Seen
from tenure.surfaces.api.claims import BOUND, ClaimOut, shown
from tenure.surfaces.api.operations import Asked
from tenure.surfaces.api.schemas import Input


class DrainIn(Input):
    """Whether nothing new is placed there; false takes it back."""

    draining: bool = True


class Drained(msgspec.Struct, kw_only=True):
    """Whether it drains, and who is still there: the oldest claims, at most 20, and how many there are."""

    draining: bool
    claims: list[ClaimOut]
    count: int


EXAMPLE = {"draining": True}
STILL: dict[str, Any] = {"draining": True, "claims": [BOUND], "count": 1}


def wanted(asked: Asked) -> dict[str, object]:
    """The change that a request to drain is; without a body it is to drain."""
    return {"draining": True if asked.body is None else asked.body.draining}


async def still(asked: Asked, thing: Any, **where: str) -> dict[str, Any]:
    """The fields of `Drained` as things are now: of a dry run too, for draining moves nothing."""

    def remaining(reads: Reads) -> Seen[Remaining]:
        return reads.remaining(**where)

    claims, count = await _listed(asked, remaining)
    return {"draining": thing.draining, "claims": claims, "count": count}


async def leaving(asked: Asked, location: str) -> dict[str, Any]:
    """Who moved away from a place, while the place still announces their addresses."""

    def departed(reads: Reads) -> Seen[Remaining]:
        return reads.leaving(location)

    claims, count = await _listed(asked, departed)
    return {"leaving": claims, "leaving_count": count}


async def _listed(asked: Asked, read: Callable[[Reads], Seen[Remaining]]) -> tuple[list[ClaimOut], int]:
    seen: Remaining = (await asked.look(read)).value
    return await shown(asked, seen.holdings), seen.total
