"""The life of a machine: commissioned, ready, deployed, released, retired, and seen on its network; one or many."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from tenure.errors import TenureError
from tenure.model.answers import Displaced, Failure, MachineWithInterfaces
from tenure.model.policy import STANDINGS, OnOverride
from tenure.model.uses import (
    CommissionMachine,
    DeployMachine,
    ReadyMachine,
    ReleaseMachine,
    RetireMachine,
    SeeMachine,
    Use,
)
from tenure.net.addresses import parse_address
from tenure.net.moments import moment
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.bodies import BATCH_LIMIT
from tenure.surfaces.api.machines import SHOWN, Held, MachineOut, shown
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.pieces import MOST, each
from tenure.surfaces.api.problems import HttpError, Problem, problem_of
from tenure.surfaces.api.schemas import AddressText, Handle, Input, Moment, Reference

NOUN = Noun("machines")

Act = Literal["commission", "ready", "deploy", "release", "retire"]


class DeployIn(Input):
    """How a machine is deployed; without a body, with what it has or is given by itself.

    `host`: where it runs. `from`: a reservation, by its id or its handle in `project`, whose address its boot
    interface uses meanwhile; `address`: this one. `on_override`: what becomes of what it has.
    `static_acknowledged`: somebody changes what was written by hand into the machine, if that is displaced.
    """

    host: Reference | None = None
    reservation: Handle | None = msgspec.field(name="from", default=None)
    address: AddressText | None = None
    on_override: OnOverride | None = None
    static_acknowledged: bool = False
    project: Reference = "default"


class SeenIn(Input):
    """When it was seen; without it, now."""

    at: Moment | None = None


class GoneOut(msgspec.Struct):
    """An address that a machine held until this step, and the name that it had in DNS."""

    ip: str
    name: str | None


class StepOut(MachineOut, kw_only=True):
    """A machine after a step of its life, and what became of other addresses.

    `pending`: claims whose addresses will be decided when it is known where the machine runs. `released`: what it
    held until this step, and gave back by it.
    """

    displaced: list[Displaced]
    pending: list[str]
    released: list[GoneOut]


class StepsIn(Input):
    """A step for up to 10,000 machines, by name or id; each has its own result. `atomic`: all or none, up to 1,000."""

    act: Act
    machines: Annotated[list[Reference], Meta(max_length=MOST)]
    atomic: bool = False


class StepItem(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What came of one item: a machine, or a problem."""

    status: int
    machine: StepOut | None = None
    problem: Problem | None = None


class StepsOut(msgspec.Struct):
    """Results in the order of the items."""

    items: list[StepItem]


class _Item(msgspec.Struct, kw_only=True, omit_defaults=True):
    status: int
    machine: StepOut | None = None
    problem: dict[str, Any] | None = None


_STEPS: Final[dict[str, Callable[[str], Use]]] = {
    "commission": lambda name: CommissionMachine(machine=name),
    "ready": lambda name: ReadyMachine(machine=name),
    "deploy": lambda name: DeployMachine(machine=name),
    "release": lambda name: ReleaseMachine(machine=name),
    "retire": lambda name: RetireMachine(machine=name),
}


async def _after(backing: Backing, steps: list[MachineWithInterfaces]) -> list[StepOut]:
    outs = await shown(backing, steps, [_held(step) for step in steps])
    return [_step_out(out, step) for out, step in zip(outs, steps, strict=True)]


def _held(step: MachineWithInterfaces) -> list[Held]:
    """What is held: the primary ones, then aliases, then what is shelved."""
    held = [(each, one.claim, one.claim.interface) for one in step.holdings for each in one.addresses]
    return sorted(held, key=lambda each: STANDINGS.index(each[0].standing))


def _step_out(out: MachineOut, step: MachineWithInterfaces) -> StepOut:
    waiting = [holding.claim.id for holding in step.holdings if holding.claim.state == "pending"]
    gone = [GoneOut(each.ip, None if each.standing == "shelved" else each.name) for each in step.released]
    return StepOut(**msgspec.structs.asdict(out), displaced=list(step.displaced), pending=waiting, released=gone)


async def _stepped(asked: Asked, use: Use) -> Response:
    reply = await asked.submit(use)
    assert isinstance(reply.answer, MachineWithInterfaces)
    (out,) = await _after(asked.backing, [reply.answer])
    return answer(out, revision=out.revision, replayed=reply.replayed)


def _example(state: str, **more: Any) -> StepOut:
    machine = msgspec.structs.replace(SHOWN, state=state, **more)
    return StepOut(**msgspec.structs.asdict(machine), displaced=[], pending=[], released=[])


_LENT = msgspec.structs.replace(SHOWN.addresses[0], ip="10.0.3.80", claim="5a1d2c3b4a5968778695")
_RETIRED = msgspec.structs.replace(
    _example("retired", addresses=[]), released=[GoneOut("10.0.3.65", "node-17.prod.example.")]
)
_DEPLOYED = msgspec.structs.replace(
    _example("deployed", addresses=[_LENT, msgspec.structs.replace(SHOWN.addresses[0], standing="shelved", name=None)]),
    displaced=[Displaced("10.0.3.65", "shelved", "4f1d2c3b4a5968778695")],
)


@NOUN.operation(
    "POST",
    "/v1/machines/{machine}/commission",
    "Begin to commission a machine",
    name="commission_machine",
    gives={200: StepOut},
    answers={200: _example("commissioning", addresses=[])},
    refusals=("not_found", "conflict"),
)
async def commission(asked: Asked) -> Response:
    """A new or a ready machine is being looked at; `ready` ends it. Repeatable."""
    return await _stepped(asked, CommissionMachine(machine=asked.path("machine")))


@NOUN.operation(
    "POST",
    "/v1/machines/{machine}/ready",
    "Say that a machine passed commissioning",
    name="ready_machine",
    gives={200: StepOut},
    answers={200: _example("ready")},
    refusals=("not_found", "conflict", "exhausted"),
)
async def ready(asked: Asked) -> Response:
    """It gets its addresses of networks that decide at commissioning, and keeps them for life. Repeatable."""
    return await _stepped(asked, ReadyMachine(machine=asked.path("machine")))


@NOUN.operation(
    "POST",
    "/v1/machines/{machine}/deploy",
    "Deploy a machine",
    name="deploy_machine",
    body=DeployIn,
    optional=True,
    example={"host": "compute-7", "from": "web:vip-1", "on_override": "shelve"},
    gives={200: StepOut},
    answers={200: _DEPLOYED},
    refusals=("not_found", "conflict", "already_allocated", "exhausted"),
)
async def deploy(asked: Asked) -> Response:
    """Give a ready machine to its user. Nothing automatic changes its addresses from now on, until it is released.

    `from` or `address` takes the place of what its boot interface has; `displaced` says what became of that.
    """
    body = asked.body or DeployIn()
    address = None if body.address is None else str(parse_address(body.address, "/address"))
    use = DeployMachine(
        machine=asked.path("machine"),
        host=body.host,
        reservation=body.reservation,
        address=address,
        on_override=body.on_override,
        static_acknowledged=body.static_acknowledged,
        project=body.project,
    )
    return await _stepped(asked, use)


@NOUN.operation(
    "POST",
    "/v1/machines/{machine}/release",
    "Take a deployed machine back",
    name="release_machine",
    gives={200: StepOut},
    answers={200: _example("ready")},
    refusals=("not_found", "conflict"),
)
async def release(asked: Asked) -> Response:
    """What it was given for the deployment goes; its own addresses stay, or come back. Repeatable."""
    return await _stepped(asked, ReleaseMachine(machine=asked.path("machine")))


@NOUN.operation(
    "POST",
    "/v1/machines/{machine}/retire",
    "Retire a machine",
    name="retire_machine",
    gives={200: StepOut},
    answers={200: _RETIRED},
    refusals=("not_found", "conflict"),
)
async def retire(asked: Asked) -> Response:
    """End its life: every address and name that it holds is released, whoever asked for it. Repeatable."""
    return await _stepped(asked, RetireMachine(machine=asked.path("machine")))


@NOUN.operation(
    "POST",
    "/v1/machines/{machine}/seen",
    "Say that a machine was seen",
    name="see_machine",
    body=SeenIn,
    optional=True,
    example={"at": "2026-11-24T15:00:00Z"},
    gives={200: StepOut},
    answers={200: _example("ready", seen=datetime.fromisoformat("2026-11-24T15:00:00+00:00"))},
    refusals=("not_found",),
)
async def seen(asked: Asked) -> Response:
    """It uses its network, now or at a time that is past: it is not harvested for a while. DHCP says so by itself."""
    said = None if asked.body is None else asked.body.at
    at = None if said is None else moment(said, "/at")
    return await _stepped(asked, SeeMachine(machine=asked.path("machine"), at=at))


@NOUN.operation(
    "POST",
    "/v1/machines/batch",
    "Take many machines one step on",
    name="step_machines",
    body=StepsIn,
    example={"act": "ready", "machines": ["node-17", "node-18"], "atomic": False},
    gives={200: StepsOut},
    answers={200: StepsOut([StepItem(status=200, machine=_example("ready"))])},
    refusals=("not_found", "conflict", "exhausted"),
    creates=True,
    limit=BATCH_LIMIT,
)
async def batch(asked: Asked) -> Response:
    """Commission, ready, deploy, release or retire up to 10,000 machines.

    Each has its own result or problem, in order; `atomic` is all or nothing.
    """
    step = _STEPS[asked.body.act]
    return await each(
        asked, asked.body.machines, "/machines", lambda name, _: step(name), _items, atomic=asked.body.atomic
    )


async def _items(asked: Asked, results: list[Any]) -> list[_Item]:
    steps = [result for result in results if isinstance(result, MachineWithInterfaces)]
    outs = iter(await _after(asked.backing, steps))
    return [_item(result) or _Item(status=200, machine=next(outs)) for result in results]


def _item(result: Any) -> _Item | None:
    if not isinstance(result, TenureError | HttpError | Failure):
        return None
    problem = problem_of(result)
    return _Item(status=problem["status"], problem=problem)
