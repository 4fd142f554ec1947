"""Binding claims and moving them between hosts."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.model.uses import BindClaim, RebindClaim, SettleClaim
from tenure.surfaces.api.claims import BOUND, ClaimOut, answered
from tenure.surfaces.api.operations import Asked, Noun
from tenure.surfaces.api.schemas import Input, Reference

NOUN = Noun("claims")


class BindIn(Input):
    """Where a pending claim is used."""

    host: Reference


Handover = Annotated[
    int,
    Meta(ge=0, le=86_400, description="Seconds for which the old host announces kept addresses too.", examples=[30]),
]


StaticAcknowledged = Annotated[
    bool, Meta(description="Somebody changes what is written by hand into a machine that is renumbered.")
]


class RebindIn(Input):
    """Where a claim moves to; `renumber` takes addresses near the new host instead of keeping the old ones."""

    host: Reference
    renumber: bool = False
    handover: Handover = 30
    static_acknowledged: StaticAcknowledged = False


MOVED = msgspec.structs.replace(
    BOUND,
    host="compute-8",
    leaving="compute-7",
    settles=datetime.fromisoformat("2026-11-24T15:00:30+00:00"),
    revision=2,
    addresses=(msgspec.structs.replace(BOUND.addresses[0], title="borrowed"),),
)


@NOUN.operation(
    "POST",
    "/v1/claims/{claim}/bind",
    "Bind a pending claim to a host",
    body=BindIn,
    example={"host": "compute-7"},
    gives={200: ClaimOut},
    answers={200: BOUND},
    refusals=("not_found", "conflict", "exhausted"),
)
async def bind(asked: Asked) -> Response:
    """Decide the addresses of a pending claim near the host. Repeating it gives the same answer."""
    return await answered(asked, BindClaim(claim=asked.path("claim"), host=asked.body.host))


@NOUN.operation(
    "POST",
    "/v1/claims/{claim}/rebind",
    "Move a claim to another host",
    body=RebindIn,
    example={"host": "compute-8", "renumber": False, "handover": 30},
    gives={200: ClaimOut},
    answers={200: MOVED},
    refusals=("not_found", "conflict", "exhausted"),
)
async def rebind(asked: Asked) -> Response:
    """Move a claim. It keeps its addresses as far as the network's boundary allows; else a conflict, or `renumber`.

    For `handover` seconds the host that it leaves announces them too, less preferred; then the hand-over settles by
    itself. Back at the owner of its block an address is `own` again, and needs no route of its own.
    """
    return await answered(asked, RebindClaim(claim=asked.path("claim"), **msgspec.structs.asdict(asked.body)))


@NOUN.operation(
    "POST",
    "/v1/claims/{claim}/settle",
    "End a claim's hand-over",
    gives={200: ClaimOut},
    answers={200: msgspec.structs.replace(MOVED, leaving=None, settles=None, revision=3)},
    refusals=("not_found", "conflict"),
)
async def settle(asked: Asked) -> Response:
    """End a hand-over now: the host that the claim left announces its addresses no longer. Repeatable."""
    return await answered(asked, SettleClaim(claim=asked.path("claim")))
