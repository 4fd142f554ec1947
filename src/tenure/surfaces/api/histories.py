"""What happened to an address, and why it was given."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from tenure.errors import NotFound
from tenure.model.events import AddressAllocated, AddressMoved, Entry
from tenure.model.holding import ClaimRequest
from tenure.model.policy import Standing
from tenure.store.interface import KnownAddress, Page, Reads, Seen, Told
from tenure.surfaces.api.addresses import ip_of, known
from tenure.surfaces.api.events import EventOut, event_out, vrfs_of
from tenure.surfaces.api.inventory import id_named
from tenure.surfaces.api.memory import Names
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import List, Read, Reference
from tenure.surfaces.api.schemas import Page as PageOut

NOUN = Noun("addresses")


class WhyQuery(Read):
    """In which vrf."""

    vrf: Reference = "default"


class HistoryQuery(List):
    """In which vrf; one that is gone too."""

    vrf: Reference = "default"


class LookOut(msgspec.Struct):
    """A block that was looked at, and what came of it."""

    block: str
    owner: str
    outcome: str


class MoveOut(msgspec.Struct):
    """How an address came to another claim, interface or name: `reassigned`, `renamed`, `lent` or `returned`."""

    reason: str
    giver: str
    actor: str
    time: datetime
    sequence: int


class WhyOut(msgspec.Struct):
    """Why an address was given: the strategy, the blocks in the order it looked at them, and who asked.

    `moves`: How it came from whom it was given to, to who holds it; each with the handle that it was under.
    """

    ip: str
    strategy: str
    title: str | None
    blocks: list[LookOut]
    request: ClaimRequest
    actor: str
    time: datetime
    sequence: int
    moves: list[MoveOut]


class HolderOut(msgspec.Struct):
    """Who held an address, and what everybody was called then."""

    claim: str
    handle: str
    project: str
    host: str | None
    machines: list[str]
    macs: list[str]
    name: str | None
    standing: Standing


class HistoryOut(EventOut):
    """An event, and who held the address after it; of a release who had held it, null where nobody did."""

    holder: HolderOut | None

    @staticmethod
    def example() -> "HistoryOut":
        """One to show."""
        holder = HolderOut(
            "4f1d2c3b4a5968778695",
            "nova:7f3c/port-1",
            "default",
            "compute-7",
            ["vm-17"],
            ["52:54:00:0a:0b:0c"],
            "vm-17.prod.example.",
            "primary",
        )
        return HistoryOut(**{name: getattr(_EVENT, name) for name in _EVENT.__struct_fields__}, holder=holder)


_EVENT = EventOut.example()
_TIME = datetime.fromisoformat("2026-11-24T15:00:00+00:00")
_WHY = WhyOut(
    ip="10.0.3.65",
    strategy="topology",
    title="own",
    blocks=[LookOut("10.0.3.64/28", "compute-7", "own block: given")],
    request=ClaimRequest(network="prod", host="compute-7", hostname="vm-17"),
    actor="token:ci",
    time=_TIME,
    sequence=4711,
    moves=[],
)


def _why(reads: Reads, vrf: str, ip: str, now: datetime) -> Seen[tuple[KnownAddress, list[Entry]]]:
    found = known(reads, vrf, ip, now)
    given = reads.given(found.value.allocation) if isinstance(found.value, KnownAddress) else None
    if given is None or not given.value:
        raise NotFound(f"The ledger does not say that {ip} was given to anybody.", kind="address", name=ip)
    return Seen((found.value, given.value), given.head)


def _history(reads: Reads, vrf: str, ip: str, query: HistoryQuery) -> Page[Told]:
    return reads.history(id_named(reads.former("vrf", vrf), "vrf", vrf), ip, query.after or "", query.limit)


@NOUN.operation(
    "GET",
    "/v1/addresses/{ip}/why",
    "Explain why an address was given",
    query=WhyQuery,
    gives={200: WhyOut},
    answers={200: _WHY},
    refusals=("not_found",),
)
async def why(asked: Asked) -> Response:
    """The strategy, the blocks it looked at in order, by what right, the request, who asked and when."""
    found, entries = (await asked.look(_why, asked.query.vrf, ip_of(asked), asked.backing.clock())).value
    entry, *moves = entries
    event: AddressAllocated = entry.event
    names = asked.backing.names
    request = event.claim.request
    places = {look.owner for look in event.looks if look.owner} | ({request.host} if request.host else set())
    await names.know(networks={request.network}, locations=places)
    return answer(
        WhyOut(
            found.allocation.ip,
            event.strategy,
            found.allocation.title,
            [LookOut(x.block, names.locations.get(x.owner, x.owner), x.outcome) for x in event.looks],
            _named(request, names),
            entry.actor,
            entry.time,
            entry.sequence,
            [_move_out(each) for each in moves],
        )
    )


def _named(request: ClaimRequest, names: Names) -> ClaimRequest:
    network = names.networks.get(request.network, request.network)
    return replace(request, network=network, host=request.host and names.locations.get(request.host, request.host))


def _move_out(entry: Entry) -> MoveOut:
    event: Any = entry.event
    assert isinstance(event, AddressMoved)
    return MoveOut(event.reason, event.giver.handle, entry.actor, entry.time, entry.sequence)


@NOUN.operation(
    "GET",
    "/v1/addresses/{ip}/history",
    "Show what happened to an address",
    query=HistoryQuery,
    gives={200: PageOut[HistoryOut]},
    answers={200: PageOut([HistoryOut.example()])},
    refusals=("not_found",),
)
async def history(asked: Asked) -> Response:
    """One time line: what the ledger says of the address, and of its holders' claims, names and MACs meanwhile.

    In order, also after everything named there is deleted. A page may hold fewer than `limit`, even none, while there
    is a next one.
    """
    page = await asked.look(_history, asked.query.vrf, ip_of(asked), asked.query)
    names = asked.backing.names
    vrfs = await vrfs_of(asked, [line.entry for line in page.items])
    await names.know(locations={x.holder.claim.host for x in page.items if x.holder and x.holder.claim.host})
    return answer(PageOut([_line_out(line, vrfs, names.locations) for line in page.items], page.next))


def _line_out(line: Told, vrfs: dict[str, str], locations: dict[str, str]) -> HistoryOut:
    event = event_out(line.entry, vrfs)
    holder = None if line.holder is None else _holder_out(line.holder, locations)
    return HistoryOut(**{name: getattr(event, name) for name in event.__struct_fields__}, holder=holder)


def _holder_out(known: KnownAddress, locations: dict[str, str]) -> HolderOut:
    claim = known.claim
    return HolderOut(
        claim.id,
        claim.handle,
        claim.project,
        locations.get(claim.host or "", claim.host),
        [machine.name for machine in known.machines],
        [port.mac for port in known.interfaces],
        known.held.name,
        known.allocation.standing,
    )
