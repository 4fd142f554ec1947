"""Renumbering: a subnet's addresses are replaced by those of another, a wave at a time."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from tenure.model.addressing import Subnet
from tenure.model.uses import CancelRenumbering, RenumberSubnet, Use
from tenure.store.interface import Reads, Seen, Unmoved
from tenure.surfaces.api.claims import BOUND, ClaimOut, shown
from tenure.surfaces.api.inventory import found, made
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import Patch, Read, Reference, Wait, seconds_of

NOUN = Noun("subnets")

Wave = Annotated[int, Meta(ge=1, le=256, description="Addresses at most that move in one minute.", examples=[64])]
ShortLease = Annotated[
    int, Meta(ge=60, le=86_400, description="Seconds that DHCP promises there meanwhile.", examples=[120])
]


class RenumberIn(Patch):
    """Where the addresses go. `static_acknowledged`: somebody changes those that were written down by hand.

    What is left out stays as it is; at the beginning it is 64 a wave, 120 s and false.
    """

    to: Reference
    wave: Wave | UnsetType = UNSET
    lease_time: ShortLease | UnsetType = UNSET
    static_acknowledged: bool | UnsetType = UNSET


RenumberState = Literal["running", "stopped", "none"]


class RenumberingOut(msgspec.Struct, kw_only=True):
    """How far a renumbering is. `none`: there is none, or it is over.

    `moved`: How many addresses have moved. `left`: How many are still here. `stuck`: claims among their holders that
    do not move, for they were written down by hand (`static`): the oldest, at most 20, of `stuck_count`. `reason`: Why
    nothing moves, though it runs.
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
    reason: str | None
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
    reason=None,
    revision=4,
)
_STOPPED = msgspec.structs.replace(_RUNS, state="stopped")
_OVER = msgspec.structs.replace(
    _RUNS, state="none", to=None, since=None, wave=None, lease_time=None, moved=0, left=1, revision=6
)
_STALLED = timedelta(minutes=5)
"""Without a move for so long, it is said why that may be."""
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
    fields = asked.body.changes()
    return await _answered(asked, RenumberSubnet(subnet=asked.path("subnet"), to=fields.pop("to"), fields=fields))


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
    return await _answered(asked, RenumberSubnet(subnet=asked.path("subnet"), fields={"stopped": stopped}))


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
        reason=_reason(asked, subnet, unmoved, other),
        revision=subnet.revision,
        **{**_NOTHING, **rest},
    )


def _reason(asked: Asked, subnet: Subnet, unmoved: Unmoved, to: Subnet | None) -> str | None:
    if _state(subnet) != "running" or to is None or not unmoved.left:
        return None
    if to.draining:
        return f"{to.cidr} is draining: nothing new is placed there."
    assert subnet.renumbering is not None
    if asked.backing.clock() - (subnet.renumbering.waved or subnet.renumbering.since) < _STALLED:
        return None
    return f"Nothing moves: {to.cidr} has no room, would not reach the hosts, or clients were promised their addresses."


_COPIED = ("since", "wave", "lease_time", "static_acknowledged", "moved")
_NOTHING: dict[str, Any] = {"since": None, "wave": None, "lease_time": None, "static_acknowledged": False, "moved": 0}
