"""Addresses: who holds one, why, and who held it before."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec.structs import replace
from starlette.responses import Response

from tenure.errors import NotFound
from tenure.model.events import AddressAllocated, Entry
from tenure.model.holding import ClaimRequest
from tenure.net.addresses import parse_address
from tenure.store.interface import KnownAddress, Page, Reads, Seen
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.events import EventOut, event_out, vrfs_of
from tenure.surfaces.api.inventory import id_named, location_id, network_id
from tenure.surfaces.api.machines import InterfaceOut, interface_out
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import List, Read, Reference, Search
from tenure.surfaces.api.schemas import Page as PageOut
from tenure.surfaces.api.shape import LATER

NOUN = Noun("addresses")

AddressState = Literal["allocated", "cooling"]


class AddressList(List):
    """Filters; `state` is `allocated` unless it is said."""

    network: Reference | None = None
    location: Reference | None = None
    state: AddressState | None = None
    q: Search | None = None


class AddressQuery(Read):
    """In which vrf."""

    vrf: Reference = "default"


class HistoryQuery(List):
    """In which vrf."""

    vrf: Reference = "default"


LATER[AddressQuery] = LATER[HistoryQuery] = LATER[AddressList] = frozenset({"at"})


class AddressOut(msgspec.Struct, kw_only=True):
    """An address that is held, or rests after it was."""

    ip: str
    prefix_length: int
    vrf: str
    network: str
    subnet: str
    state: AddressState
    claim: str
    handle: str
    project: str
    host: str | None
    machines: list[str]
    interfaces: list[InterfaceOut]
    name: str | None
    block: str | None
    title: str | None
    lease: bool
    gateway: str | None
    dns_servers: tuple[str, ...]
    since: datetime
    until: datetime | None
    held_until: datetime | None
    cooling_until: datetime | None


class LookOut(msgspec.Struct):
    """A block that was looked at, and what came of it."""

    block: str
    owner: str
    outcome: str


class WhyOut(msgspec.Struct):
    """Why an address was given: the strategy, the blocks in the order it looked at them, and who asked."""

    ip: str
    strategy: str
    title: str | None
    blocks: list[LookOut]
    request: ClaimRequest
    actor: str
    time: datetime
    sequence: int


def _listed(reads: Reads, query: AddressList, now: datetime) -> Page[KnownAddress]:
    return reads.addresses(
        query.after or "",
        query.limit,
        now=now,
        network=network_id(reads, query.network),
        location=location_id(reads, query.location),
        state=query.state or "",
        q=query.q or "",
    )


def _one(reads: Reads, vrf: str, ip: str, now: datetime) -> Seen[KnownAddress]:
    id_ = id_named(reads.vrf(vrf), "vrf", vrf)
    seen = reads.address(id_, ip, now)
    if seen.value is None:
        raise NotFound(f"Nobody holds {ip} in the vrf {vrf}, and it does not rest.", kind="address", name=ip)
    return Seen(seen.value, seen.head)


def _why(reads: Reads, vrf: str, ip: str, now: datetime) -> Seen[tuple[KnownAddress, Entry]]:
    known = _one(reads, vrf, ip, now).value
    entry, head = reads.allocated_event(known.allocation)
    if entry is None:
        raise NotFound(f"The ledger no longer holds why {ip} was given.", kind="address", name=ip)
    return Seen((known, entry), head)


def _history(reads: Reads, vrf: str, ip: str, query: HistoryQuery) -> Page[Entry]:
    return reads.history(id_named(reads.vrf(vrf), "vrf", vrf), ip, query.after or "", query.limit)


async def _show(backing: Backing, known: list[KnownAddress]) -> list[AddressOut]:
    names = backing.names
    await names.know(
        vrfs={each.allocation.vrf for each in known},
        networks={each.claim.network for each in known}
        | {port.network for each in known for port in each.interfaces if port.network is not None},
        locations={each.claim.host for each in known if each.claim.host is not None},
    )
    return [_address_out(each, backing) for each in known]


def _address_out(known: KnownAddress, backing: Backing) -> AddressOut:
    names, allocation, claim, held = backing.names, known.allocation, known.claim, known.held
    return AddressOut(
        ip=allocation.ip,
        prefix_length=held.prefix_length,
        vrf=names.vrfs.get(allocation.vrf, allocation.vrf),
        network=names.networks.get(claim.network, claim.network),
        subnet=allocation.subnet,
        state="allocated" if allocation.until is None else "cooling",
        claim=claim.id,
        handle=claim.handle,
        project=claim.project,
        host=names.locations.get(claim.host or "", claim.host),
        machines=[machine.name for machine in known.machines],
        interfaces=[interface_out(each, names.networks) for each in known.interfaces],
        name=held.name,
        block=allocation.block,
        title=allocation.title,
        lease=allocation.lease,
        gateway=held.gateway,
        dns_servers=held.dns_servers,
        since=allocation.since,
        until=allocation.until,
        held_until=allocation.held_until,
        cooling_until=allocation.cooling_until,
    )


_TIME = datetime.fromisoformat("2026-11-24T15:00:00+00:00")
_SHOWN = AddressOut(
    ip="10.0.3.65",
    prefix_length=24,
    vrf="default",
    network="prod",
    subnet="0a1b2c3d4e5f60718293",
    state="allocated",
    claim="4f1d2c3b4a5968778695",
    handle="nova:7f3c/port-1",
    project="default",
    host="compute-7",
    machines=["vm-17"],
    interfaces=[],
    name="vm-17.prod.example.",
    block="10.0.3.64/28",
    title="own",
    lease=False,
    gateway="10.0.3.1",
    dns_servers=("10.0.3.2",),
    since=_TIME,
    until=None,
    held_until=None,
    cooling_until=None,
)
_WHY = WhyOut(
    ip="10.0.3.65",
    strategy="topology",
    title="own",
    blocks=[LookOut("10.0.3.64/28", "compute-7", "own block: given")],
    request=ClaimRequest(network="prod", host="compute-7", hostname="vm-17"),
    actor="token:ci",
    time=_TIME,
    sequence=4711,
)


@NOUN.operation(
    "GET",
    "/v1/addresses",
    "List addresses",
    name="list_addresses",
    query=AddressList,
    gives={200: PageOut[AddressOut]},
    answers={200: PageOut([_SHOWN])},
    refusals=("not_found",),
)
async def list_(asked: Asked) -> Response:
    """Held addresses, or those that rest. `q` is an address, a prefix, or how a name begins."""
    page = await asked.look(_listed, asked.query, asked.backing.clock())
    return answer(PageOut(await _show(asked.backing, page.items), page.next))


@NOUN.operation(
    "GET",
    "/v1/addresses/{ip}",
    "Show an address",
    query=AddressQuery,
    gives={200: AddressOut},
    answers={200: _SHOWN},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """Who holds it now; if nobody does, whose it was while it still rests."""
    seen = await asked.look(_one, asked.query.vrf, _ip(asked), asked.backing.clock())
    (out,) = await _show(asked.backing, [seen.value])
    return answer(out)


@NOUN.operation(
    "GET",
    "/v1/addresses/{ip}/why",
    "Explain why an address was given",
    query=AddressQuery,
    gives={200: WhyOut},
    answers={200: _WHY},
    refusals=("not_found",),
)
async def why(asked: Asked) -> Response:
    """The strategy, the blocks it looked at in order, by what right, the request, who asked and when."""
    known, entry = (await asked.look(_why, asked.query.vrf, _ip(asked), asked.backing.clock())).value
    event: AddressAllocated = entry.event
    names = asked.backing.names
    request = event.claim.request
    places = {look.owner for look in event.looks if look.owner} | ({request.host} if request.host else set())
    await names.know(networks={request.network}, locations=places)
    request = replace(
        request,
        network=names.networks.get(request.network, request.network),
        host=request.host and names.locations.get(request.host, request.host),
    )
    blocks = [LookOut(x.block, names.locations.get(x.owner, x.owner), x.outcome) for x in event.looks]
    allocation = known.allocation
    return answer(
        WhyOut(
            allocation.ip,
            event.strategy,
            allocation.title,
            blocks,
            request,
            entry.actor,
            entry.time,
            entry.sequence,
        )
    )


@NOUN.operation(
    "GET",
    "/v1/addresses/{ip}/history",
    "Show what happened to an address",
    query=HistoryQuery,
    gives={200: PageOut[EventOut]},
    answers={200: PageOut([EventOut.example()])},
    refusals=("not_found",),
)
async def history(asked: Asked) -> Response:
    """The ledger's entries about the address, in order, also after everything named there is deleted."""
    page = await asked.look(_history, asked.query.vrf, _ip(asked), asked.query)
    vrfs = await vrfs_of(asked, page.items)
    return answer(PageOut([event_out(each, vrfs) for each in page.items], page.next))


def _ip(asked: Asked) -> str:
    value: Any = parse_address(asked.path("ip"), "")
    return str(value)
