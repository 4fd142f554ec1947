"""Whether it lives, whether it can allocate, and what it counted."""

from contextlib import suppress
from typing import Literal

import msgspec
from starlette.responses import Response

from tenure.errors import TenureError
from tenure.service.routes import Size
from tenure.surfaces.api.backing import place_of
from tenure.surfaces.api.metrics import CONTENT_TYPE
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Input

NOUN = Noun("health")


class Bare(Input):
    """No parameters."""

    at_least: None = None


class Alive(msgspec.Struct):
    """It lives."""

    status: Literal["ok"] = "ok"


class Ready(msgspec.Struct):
    """Whether it can allocate; if not, why; `notes` are warnings that do not stop it."""

    ready: bool
    reasons: list[str]
    notes: list[str] = []


@NOUN.operation(
    "GET",
    "/healthz",
    "Tell whether the process lives",
    name="healthz",
    query=Bare,
    gives={200: Alive},
    answers={200: Alive()},
)
async def healthz(asked: Asked) -> Response:
    """Answers as long as the process does. Needs no token."""
    return answer(Alive())


@NOUN.operation(
    "GET",
    "/readyz",
    "Tell whether addresses can be claimed",
    name="readyz",
    query=Bare,
    gives={200: Ready, 503: Ready},
    answers={200: Ready(True, []), 503: Ready(False, ["the ledger's process is not there"])},
)
async def readyz(asked: Asked) -> Response:
    """200 only if this node can allocate; else 503 with reasons. Needs no token."""
    backing = asked.backing
    reasons = [] if backing.doors.open else ["the ledger's process is not there"]
    try:
        await asked.head()
    except TenureError as error:
        reasons.append(error.message)
    notes: list[str] = []
    if backing.readiness is not None:
        more, notes = await backing.readiness()
        reasons += [each for each in more if each not in reasons]
    if not reasons:
        notes += await _over_budget(asked)
    return answer(Ready(not reasons, reasons, notes), 503 if reasons else 200)


async def _over_budget(asked: Asked) -> list[str]:
    backing = asked.backing
    try:
        over = await backing.read(backing.routes.over_budget)
    except TenureError:  # the next question tells why
        return []
    return [
        f"network {size.network.name} in the fabric: the smallest table has {size.routes}; "
        f"the budget is {size.network.route_budget}"
        for size in over
    ]


@NOUN.operation(
    "GET",
    "/metrics",
    "Read the counters",
    name="metrics",
    query=Bare,
    gives={200: str},
    answers={200: "tenure_ledger_sequence 4711.0\n"},
    media=CONTENT_TYPE,
)
async def metrics(asked: Asked) -> Response:
    """Counters for Prometheus, of this process and, by role, of the others of the node."""
    backing = asked.backing
    figures = {}
    if backing.figures is not None:
        try:
            figures = await backing.figures()
        except TenureError:  # its absence shows in tenure_ledger_up
            figures = {}
    sizes: list[Size] = []
    with suppress(TenureError):
        sizes = await backing.read(backing.routes.sizes)
    backing.meter.gauge(sizes)
    text = backing.meter.text(place_of(backing.position), backing.doors.open, figures)
    return Response(text, media_type=CONTENT_TYPE)
