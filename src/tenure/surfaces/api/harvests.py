"""Harvesting: taking back what a network gave to machines that were not seen for long."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.model.answers import Gleaned, Harvested
from tenure.model.uses import HarvestNetwork
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Addresses, Input, Seconds10Years

NOUN = Noun("networks")

_MOST = 10_000


class HarvestIn(Input):
    """How many at most. Only in a dry run: by which policy, where it is another than the network's.

    `allowed`, `after` and `below` are as `harvest`, `harvest_after` and `harvest_below` of a network.
    """

    limit: Annotated[int, Meta(ge=1, le=_MOST, description="How many addresses at most.", examples=[256])] = 256
    allowed: bool | None = None
    after: Seconds10Years | None = None
    below: Addresses | None = None


class HarvestOut(msgspec.Struct):
    """What was taken, oldest unseen first; how many addresses were available before, and how many that was too few."""

    taken: tuple[Gleaned, ...]
    available: int
    wanted: int


_TAKEN = Gleaned("10.0.3.65", "4f1d2c3b4a5968778695", "node-17", datetime.fromisoformat("2026-09-24T15:00:00+00:00"))


@NOUN.operation(
    "POST",
    "/v1/networks/{network}/harvest",
    "Harvest a network",
    name="harvest_network",
    body=HarvestIn,
    optional=True,
    example={"limit": 256},
    gives={200: HarvestOut},
    answers={200: HarvestOut((_TAKEN,), available=12, wanted=100)},
    refusals=("not_found", "conflict"),
)
async def harvest(asked: Asked) -> Response:
    """Take addresses back as the network's `harvest_after` and `harvest_below` say, now; a dry run shows which.

    It may be tried with another policy before that is switched on: `allowed`, `after` and `below` are for that.

    Only what Tenure gave to machines by itself, of machines that are not deployed; never what somebody asked for.
    """
    body = asked.body or HarvestIn()
    policy: dict[str, Any] = {"allowed": body.allowed, "after": body.after, "below": body.below}
    reply = await asked.submit(HarvestNetwork(network=asked.path("network"), limit=body.limit, **policy))
    found = reply.answer
    assert isinstance(found, Harvested)
    return answer(HarvestOut(found.taken, found.available, found.wanted), replayed=reply.replayed)
