"""Addresses: who holds one, and who held it at a time."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import msgspec
from starlette.responses import Response

from tenure.errors import InvalidValue, NotFound
from tenure.model.holding import Allocation
from tenure.model.policy import Standing
from tenure.net.addresses import parse_address
from tenure.store.interface import FormerKind, KnownAddress, Page, Reads, Seen, SeenAddress
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.inventory import id_named
from tenure.surfaces.api.machines import InterfaceOut, interface_out
from tenure.surfaces.api.memory import Names
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import At, List, Read, Reference, Search, then
from tenure.surfaces.api.schemas import Page as PageOut

NOUN = Noun("addresses")

AddressState = Literal["allocated", "shelved", "cooling", "observed"]


class AddressList(List):
    """Filters; without a `state` all that is held, shelved or not."""

    vrf: Reference | None = None
    network: Reference | None = None
    location: Reference | None = None
    state: AddressState | None = None
    q: Search | None = None
    at: At | None = None


class AddressQuery(Read):
    """In which vrf, and when."""

    vrf: Reference = "default"
    at: At | None = None


class AddressOut(msgspec.Struct, kw_only=True):
    """An address that is held, rests after it was, or is used by somebody unknown (`observed`).

    `behind` is the claim after which a shelved address, or an alias, comes back; `lender` the reservation that it goes
    back to. Of an observed one `mac`, `source`, `since` and `last` say who was seen there, by whom, first and last;
    `claim` is that of the holder whom it disturbs, if there is one.
    """

    ip: str
    prefix_length: int
    vrf: str
    network: str
    subnet: str
    state: AddressState
    claim: str | None
    handle: str | None
    project: str | None
    host: str | None
    machines: list[str]
    interfaces: list[InterfaceOut]
    name: str | None
    standing: Standing | None
    behind: str | None
    lender: str | None
    block: str | None
    title: str | None
    lease: bool
    gateway: str | None
    dns_servers: tuple[str, ...]
    since: datetime
    until: datetime | None
    held_until: datetime | None
    cooling_until: datetime | None
    mac: str | None = None
    source: str | None = None
    last: datetime | None = None


def _listed(reads: Reads, query: AddressList, now: datetime) -> Page[Any]:
    vrf, network, location = (_named(reads, query, kind) for kind in KINDS)
    after, q = query.after or "", query.q or ""
    if query.state == "observed":
        _only_now(query)
        return reads.observed(after, query.limit, now=now, network=network, q=q, vrf=vrf)
    return reads.addresses(
        after,
        query.limit,
        now=now,
        network=network,
        location=location,
        state=query.state or "",
        q=q,
        at=query.at,
        vrf=vrf,
    )


KINDS: tuple[FormerKind, ...] = ("vrf", "network", "location")


def _named(reads: Reads, query: AddressList, kind: FormerKind) -> str:
    """The id of what a filter names, of the time that is asked for; "" where it names none."""
    name = getattr(query, kind)
    return former_id(reads, kind, name, query.at) if name else ""


def _only_now(query: AddressList) -> None:
    """What was seen is known as of now, and not at which location.

    Raises:
        InvalidValue: More was asked for.
    """
    if query.at is not None:
        raise InvalidValue("What was seen on an address before, its history tells.", parameter="at")
    if query.location is not None:
        raise InvalidValue("Where an observed address is used is not known.", parameter="location")


def known(reads: Reads, vrf: str, ip: str, now: datetime, at: datetime | None = None) -> Seen[Any]:
    """Who holds or held an address, or is seen there.

    Raises:
        NotFound: Nobody, then.
    """
    if at is not None:
        then = reads.address_at(former_id(reads, "vrf", vrf, at), ip, at)
        if then.value is None:
            raise NotFound(f"Nobody held {ip} in the vrf {vrf} then, and it did not rest.", kind="address", name=ip)
        return Seen(then.value, then.head)
    id_ = id_named(reads.vrf(vrf), "vrf", vrf)
    held = reads.address(id_, ip, now)
    if held.value is not None:
        return Seen(held.value, held.head)
    seen = reads.observation(id_, ip, now)
    if seen.value is None:
        raise NotFound(f"Nobody holds {ip} in the vrf {vrf}, and it does not rest.", kind="address", name=ip)
    return Seen(seen.value, seen.head)


def former_id(reads: Reads, kind: FormerKind, name: str, at: datetime | None) -> str:
    """The id of what has a name, or of what had it at a time.

    Raises:
        NotFound: There is none, or was none then.
    """
    looks: dict[FormerKind, Callable[[str], Seen[Any]]] = {
        "vrf": reads.vrf,
        "network": reads.network,
        "location": reads.location,
    }
    seen = looks[kind](name) if at is None else reads.former(kind, name, at)
    return id_named(seen, kind, name)


def _then(asked: Asked) -> tuple[datetime, datetime | None]:
    """The time now, and the one that is asked for.

    Raises:
        InvalidValue: It is in the future.
    """
    now = asked.backing.clock()
    return now, then(asked.query.at, now)


async def _show(backing: Backing, found: list[Any], time: datetime) -> list[AddressOut]:
    names = backing.names
    held = [each for each in found if isinstance(each, KnownAddress)]
    seen = [each for each in found if isinstance(each, SeenAddress)]
    await names.know(
        vrfs={each.allocation.vrf for each in held} | {each.observation.vrf for each in seen},
        networks={each.claim.network for each in held}
        | {port.network for each in held for port in each.interfaces if port.network is not None}
        | {each.subnet.network for each in seen},
        locations={each.claim.host for each in held if each.claim.host is not None},
    )
    return [
        _held_out(each, names, time) if isinstance(each, KnownAddress) else _seen_out(each, names) for each in found
    ]


def _held_out(known: KnownAddress, names: Names, time: datetime) -> AddressOut:
    allocation, claim, held = known.allocation, known.claim, known.held
    return AddressOut(
        ip=allocation.ip,
        prefix_length=held.prefix_length,
        vrf=names.vrfs.get(allocation.vrf, allocation.vrf),
        network=names.networks.get(claim.network, claim.network),
        subnet=allocation.subnet,
        state=_state_of(allocation, time),
        claim=claim.id,
        handle=claim.handle,
        project=claim.project,
        host=names.locations.get(claim.host or "", claim.host),
        machines=[machine.name for machine in known.machines],
        interfaces=[interface_out(each, names.networks) for each in known.interfaces],
        name=held.name,
        standing=allocation.standing,
        behind=allocation.behind,
        lender=allocation.lender,
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


def _state_of(allocation: Allocation, time: datetime) -> AddressState:
    if allocation.until is not None and allocation.until <= time:
        return "cooling"
    return "shelved" if allocation.standing == "shelved" else "allocated"


def _seen_out(found: SeenAddress, names: Names) -> AddressOut:
    seen, subnet = found
    return AddressOut(
        ip=seen.ip,
        prefix_length=int(subnet.cidr.partition("/")[2]),
        vrf=names.vrfs.get(seen.vrf, seen.vrf),
        network=names.networks.get(subnet.network, subnet.network),
        subnet=seen.subnet,
        state="observed",
        claim=seen.claim,
        handle=None,
        project=None,
        host=None,
        machines=[],
        interfaces=[],
        name=None,
        standing=None,
        behind=None,
        lender=None,
        block=None,
        title=None,
        lease=False,
        gateway=subnet.gateway,
        dns_servers=subnet.dns_servers,
        since=seen.since,
        until=seen.until,
        held_until=None,
        cooling_until=None,
        mac=seen.mac,
        source=seen.source,
        last=seen.last,
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
    standing="primary",
    behind=None,
    lender=None,
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
    """Held addresses, those that rest, or those that somebody unknown was seen on.

    `q` is an address, a prefix, or how a name begins. With `at` the whole table as it was then, everything called as
    it was then; a page may then hold fewer than `limit` while there is a next one.
    """
    now, at = _then(asked)
    page = await asked.look(_listed, asked.query, now)
    return answer(PageOut(await _show(asked.backing, page.items, at or now), page.next))


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
    """Who holds it now; if nobody does, whose it was while it still rests, or who was seen there.

    With `at` who held it then: also when the address, its holder and everything named are long gone.
    """
    now, at = _then(asked)
    found = await asked.look(known, asked.query.vrf, ip_of(asked), now, at)
    (out,) = await _show(asked.backing, [found.value], at or now)
    return answer(out)


def ip_of(asked: Asked) -> str:
    """The address of the path."""
    value: Any = parse_address(asked.path("ip"), "")
    return str(value)
