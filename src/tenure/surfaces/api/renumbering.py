"""Renumbering: a subnet's addresses are replaced by those of another, a wave at a time."""

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.errors import Conflict
from tenure.model.addressing import Subnet
from tenure.model.uses import CancelRenumbering, RenumberSubnet, Use
from tenure.store.interface import Reads, Seen, Unmoved
from tenure.surfaces.api.claims import BOUND, ClaimOut, shown
from tenure.surfaces.api.inventory import found, made
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Input, Read, Reference, Wait, seconds_of

NOUN = Noun("subnets")

Wave = Annotated[int, Meta(ge=1, le=4096, description="Addresses at most that move in one minute.", examples=[64])]
ShortLease = Annotated[
    int, Meta(ge=60, le=86_400, description="Seconds that DHCP promises there meanwhile.", examples=[120])
]


class RenumberIn(Input):
    """Where the addresses go. `static_acknowledged`: somebody changes those that were written down by hand."""

    to: Reference
    wave: Wave = 64
    lease_time: ShortLease = 120
    static_acknowledged: bool = False


RenumberState = Literal["running", "stopped", "none"]


class RenumberingOut(msgspec.Struct, kw_only=True):
    """How far a renumbering is. `none`: there is none, or it is over.

    `moved`: How many addresses have moved. `left`: How many are still here. `stuck`: claims among their holders that
    do not move, for they were written down by hand (`static`): the oldest, at most 20, of `stuck_count`.
    """

    subnet: str
    cidr: str
    state: RenumberState
    to: str | None
    since: datetime | None
    wave: int | None
    lease_time: int | None
    static_acknowledged: bool
    moved: int
    left: int
    stuck: list[ClaimOut]
    stuck_count: int
    revision: int


class RenumberQuery(Read):
    """Whether to wait until it no longer runs."""

    wait: Wait | None = None


_RUNS = RenumberingOut(
    subnet="0a1b2c3d4e5f60718293",
    cidr="10.0.3.0/24",
    state="running",
    to="10.0.4.0/24",
    since=datetime.fromisoformat("2026-11-24T15:00:00+00:00"),
    wave=64,
    lease_time=120,
    static_acknowledged=False,
    moved=64,
    left=40,
    stuck=[msgspec.structs.replace(BOUND, static=True)],
    stuck_count=1,
    revision=4,
)
_STOPPED = msgspec.structs.replace(_RUNS, state="stopped")
_OVER = msgspec.structs.replace(
    _RUNS, state="none", to=None, since=None, wave=None, lease_time=None, moved=0, left=1, revision=6
)
_PATH = "/v1/subnets/{subnet}/renumber"


@NOUN.operation(
    "POST",
    _PATH,
    "Renumber a subnet",
    name="renumber_subnet",
    body=RenumberIn,
    example={"to": "9a8b7c6d5e4f30201000", "wave": 64, "lease_time": 120},
    gives={200: RenumberingOut},
    answers={200: _RUNS},
    refusals=("not_found", "conflict", "exhausted"),
)
async def begin(asked: Asked) -> Response:
    """Begin to replace a subnet's addresses by those of another of its network, or change how it goes on.

    Nothing new is placed in the subnet meanwhile, and DHCP promises its addresses for a short time only. Each minute
    at most `wave` addresses move: names follow, and the old addresses rest. What was written down by hand stays.
    """
    body = asked.body
    fields = {"wave": body.wave, "lease_time": body.lease_time, "static_acknowledged": body.static_acknowledged}
    return await _answered(asked, RenumberSubnet(subnet=asked.path("subnet"), to=body.to, fields=fields))


@NOUN.operation(
    "POST",
    _PATH + "/stop",
    "Stop a renumbering",
    name="stop_renumbering",
    gives={200: RenumberingOut},
    answers={200: _STOPPED},
    refusals=("not_found", "conflict"),
)
async def stop(asked: Asked) -> Response:
    """Let nothing more move until it is resumed; what has moved stays so. Repeatable."""
    return await _steered(asked, stopped=True)


@NOUN.operation(
    "POST",
    _PATH + "/resume",
    "Resume a renumbering",
    name="resume_renumbering",
    gives={200: RenumberingOut},
    answers={200: _RUNS},
    refusals=("not_found", "conflict"),
)
async def resume(asked: Asked) -> Response:
    """Let a stopped renumbering go on. Repeatable."""
    return await _steered(asked, stopped=False)


@NOUN.operation(
    "POST",
    _PATH + "/cancel",
    "Cancel a renumbering",
    name="cancel_renumbering",
    gives={200: RenumberingOut},
    answers={200: _OVER},
    refusals=("not_found",),
)
async def cancel(asked: Asked) -> Response:
    """End a renumbering where it stands: what has moved stays moved, and the subnet goes on draining. Repeatable."""
    return await _answered(asked, CancelRenumbering(subnet=asked.path("subnet")))


@NOUN.operation(
    "GET",
    _PATH,
    "Show how far a renumbering is",
    name="show_renumbering",
    query=RenumberQuery,
    gives={200: RenumberingOut},
    answers={200: _RUNS},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """How many addresses have moved, how many are left, and which stay because they were written down by hand.

    `wait=30s` answers as soon as it does not run any more, or when the time is over.
    """
    name = asked.path("subnet")

    async def look() -> Subnet:
        return await _subnet(asked, name)

    subnet = await asked.until(look, lambda seen: _state(seen) != "running", seconds_of(asked.query.wait))
    out = await _shown(asked, subnet)
    return answer(out, revision=out.revision)


async def _steered(asked: Asked, *, stopped: bool) -> Response:
    name = asked.path("subnet")
    subnet = await _subnet(asked, name)
    if subnet.renumbering is None:
        raise Conflict(f"{subnet.cidr} is not being renumbered; say to which subnet.", subnet=subnet.cidr)
    return await _answered(asked, RenumberSubnet(subnet=name, fields={"stopped": stopped}))


async def _answered(asked: Asked, use: Use) -> Response:
    reply = await asked.submit(use)
    out = await _shown(asked, made(reply.answer, "subnet"))
    return answer(out, revision=out.revision, replayed=reply.replayed)


async def _subnet(asked: Asked, name: str) -> Subnet:
    subnet: Subnet = found((await asked.look(lambda reads: reads.subnet(name))).value, "subnet", name)
    return subnet


def _state(subnet: Subnet) -> RenumberState:
    if subnet.renumbering is None:
        return "none"
    return "stopped" if subnet.renumbering.stopped else "running"


async def _shown(asked: Asked, subnet: Subnet) -> RenumberingOut:
    going = subnet.renumbering
    to = None if going is None else going.to

    def look(reads: Reads) -> Seen[tuple[Unmoved, Subnet | None]]:
        other = None if to is None else reads.subnet(to).value
        unmoved = reads.unmoved(subnet.id)
        return Seen((unmoved.value, other), unmoved.head)

    unmoved, other = (await asked.look(look)).value
    stay = going is None or not going.static_acknowledged
    rest: dict[str, Any] = {} if going is None else {name: getattr(going, name) for name in _COPIED}
    return RenumberingOut(
        subnet=subnet.id,
        cidr=subnet.cidr,
        state=_state(subnet),
        to=to if other is None else other.cidr,
        left=unmoved.left,
        stuck=await shown(asked, unmoved.stuck) if stay else [],
        stuck_count=unmoved.total if stay else 0,
        revision=subnet.revision,
        **{**_NOTHING, **rest},
    )


_COPIED = ("since", "wave", "lease_time", "static_acknowledged", "moved")
_NOTHING: dict[str, Any] = {"since": None, "wave": None, "lease_time": None, "static_acknowledged": False, "moved": 0}
