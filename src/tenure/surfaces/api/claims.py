"""Claims: asking for addresses, looking at them, changing what is said of them, and giving them back."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType, field
from starlette.responses import Response

from tenure.model.answers import Displaced, HeldAddress, Holding
from tenure.model.holding import Claim, ClaimRequest
from tenure.model.policy import Custom, Family, Harvest, Kept, OnOverride
from tenure.model.uses import ChangeClaim, ClaimAddresses, ReleaseClaim
from tenure.naming.hostnames import parse_hostname
from tenure.net.addresses import parse_address
from tenure.net.identifiers import parse_mac
from tenure.net.moments import moment
from tenure.store.interface import Page, Reads, Users
from tenure.surfaces.api import holders
from tenure.surfaces.api.inventory import found, location_id, machine_id, network_id
from tenure.surfaces.api.memory import Names
from tenure.surfaces.api.operations import Asked, Noun, answer, gone
from tenure.surfaces.api.schemas import (
    AddressText,
    CustomIn,
    Handle,
    Hostname,
    Input,
    LabelledList,
    MacText,
    Moment,
    Patch,
    Purpose,
    Read,
    Reference,
    Tags,
    Wait,
    labels_in,
    seconds_of,
    tags_of,
)
from tenure.surfaces.api.schemas import Page as PageOut

NOUN = Noun("claims")


MOST_ADDRESSES = 1024


class ClaimIn(Input):
    """A request for addresses.

    With neither `machine` nor `mac` it is a reservation; `from` names one whose addresses this claim uses.
    """

    network: Reference
    handle: Handle | None = None
    subnet: Reference | None = None
    host: Reference | None = None
    machine: Reference | None = None
    mac: MacText | None = None
    hostname: Hostname | None = None
    family: Family | None = None
    address: AddressText | None = None
    during_cooldown: bool = False
    count: Annotated[int, Meta(ge=1, le=1024, description="Addresses of each family.", examples=[1])] = 1
    project: Reference = "default"
    purpose: Purpose = ""
    static: bool = False
    defer: bool = False
    addresses: Annotated[tuple[AddressText, ...], Meta(max_length=MOST_ADDRESSES, description="Exactly these.")] = ()
    contiguous: Annotated[bool, Meta(description="The addresses of a family are side by side.")] = False
    queue: Annotated[bool, Meta(description="Where there is no room, wait in order instead.")] = False
    alias: Annotated[bool, Meta(description="Stand beside what the interface has.")] = False
    on_override: Annotated[
        OnOverride | None, Meta(description="What becomes of what the interface has; null: as the network says.")
    ] = None
    static_acknowledged: Annotated[
        bool, Meta(description="Somebody changes what was written by hand into the machine, if that is displaced.")
    ] = False
    shared: Annotated[bool, Meta(description="Several interfaces may use it at once.")] = False
    reservation: Annotated[
        Reference | None, Meta(description="Id or handle of a reservation of the same project, to use its addresses.")
    ] = field(name="from", default=None)
    expires: Annotated[Moment | None, Meta(description="When it is released by itself.")] = None
    harvest: Harvest = "inherit"
    tags: Tags = field(default_factory=list)
    custom: CustomIn = field(default_factory=dict)


ClaimState = Literal["pending", "bound", "released"]


class ClaimOut(msgspec.Struct, kw_only=True):
    """A claim and what it holds."""

    id: str
    state: ClaimState
    handle: str
    project: str
    network: str
    host: str | None
    machine: str | None
    mac: str | None
    hostname: str | None
    purpose: str
    static: bool
    since: datetime
    bound: datetime | None
    leaving: str | None
    """The host that it left, which announces its addresses too, less preferred, until `settles`."""
    settles: datetime | None
    released: datetime | None
    expires: datetime | None
    shared: bool
    queue: bool
    reservation: str | None = field(name="from")
    """The reservation whose addresses it uses, by id."""
    kept: Kept | None
    """Set where Tenure gave it to a machine by itself: for the machine's `life`, or for a `deployment`."""
    harvest: Harvest
    tags: tuple[str, ...]
    custom: Custom
    revision: int
    addresses: tuple[HeldAddress, ...]
    displaced: tuple[Displaced, ...]
    """What became of other addresses by this very call."""
    effective_by: datetime | None
    """When names have followed at the latest, where they did not at once."""


class ReleaseIn(Input):
    """What to release: the claim's id; with a handle too, both must name the same open claim."""

    id: Reference
    handle: Handle | None = None
    project: Reference | None = None


class ClaimPatch(Patch):
    """What to say otherwise of a claim; null of `expires`: it does not end by itself."""

    expires: Moment | UnsetType | None = UNSET
    static: bool | UnsetType = UNSET
    harvest: Harvest | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    custom: CustomIn | UnsetType = UNSET


EXAMPLE = {"network": "prod", "handle": "nova:7f3c/port-1", "host": "compute-7", "hostname": "vm-17"}
BOUND = ClaimOut(
    id="4f1d2c3b4a5968778695",
    state="bound",
    handle="nova:7f3c/port-1",
    project="default",
    network="prod",
    host="compute-7",
    machine=None,
    mac=None,
    hostname="vm-17",
    purpose="",
    static=False,
    since=datetime.fromisoformat("2026-11-24T15:00:00+00:00"),
    bound=datetime.fromisoformat("2026-11-24T15:00:00+00:00"),
    leaving=None,
    settles=None,
    released=None,
    expires=None,
    shared=False,
    queue=False,
    reservation=None,
    kept=None,
    harvest="inherit",
    tags=(),
    custom={},
    revision=1,
    displaced=(),
    effective_by=None,
    addresses=(
        HeldAddress(
            ip="10.0.3.65",
            prefix_length=24,
            subnet="0a1b2c3d4e5f60718293",
            gateway="10.0.3.1",
            dns_servers=("10.0.3.2",),
            block="10.0.3.64/28",
            title="own",
            name="vm-17.prod.example.",
        ),
    ),
)
PENDING = msgspec.structs.replace(BOUND, state="pending", host=None, bound=None, addresses=())
RELEASED = msgspec.structs.replace(BOUND, state="released", released=BOUND.since, revision=2, addresses=())


def use_of(asked: ClaimIn, where: str = "") -> ClaimAddresses:
    """The use that a request for addresses is.

    Raises:
        InvalidValue: The MAC, the address or the host name cannot be read; `where` leads its pointer.
    """
    return ClaimAddresses(
        handle=asked.handle,
        request=ClaimRequest(
            network=asked.network,
            subnet=asked.subnet,
            host=asked.host,
            machine=asked.machine,
            mac=None if asked.mac is None else parse_mac(asked.mac, where + "/mac"),
            hostname=None if asked.hostname is None else parse_hostname(asked.hostname, where + "/hostname"),
            family=asked.family,
            address=None if asked.address is None else str(parse_address(asked.address, where + "/address")),
            during_cooldown=asked.during_cooldown,
            count=asked.count,
            project=asked.project,
            purpose=asked.purpose,
            static=asked.static,
            defer=asked.defer,
            addresses=tuple(_spelled(asked.addresses, where + "/addresses")),
            contiguous=asked.contiguous,
            queue=asked.queue,
            alias=asked.alias,
            on_override=asked.on_override,
            static_acknowledged=asked.static_acknowledged,
            shared=asked.shared,
            reservation=asked.reservation,
            expires=None if asked.expires is None else moment(asked.expires, where + "/expires"),
            harvest=asked.harvest,
            tags=tuple(tags_of(asked.tags)),
            custom=asked.custom,
        ),
    )


def _spelled(addresses: tuple[str, ...], where: str) -> Iterator[str]:
    for place, text in enumerate(addresses):
        yield str(parse_address(text, f"{where}/{place}"))


async def shown(asked: Asked, holdings: list[Holding]) -> list[ClaimOut]:
    """Claims as they are answered, with names for ids."""
    names = asked.backing.names
    await names.know(
        networks={h.claim.network for h in holdings},
        locations={place for h in holdings for place in (h.claim.host, h.claim.leaving) if place is not None},
    )
    users = await holders.users(asked, [h.claim for h in holdings if not _is_as_asked(h)])
    here = await holders.announcing(asked, [h.claim for h in holdings])
    announcing = {place: names.locations[place] for place in here}
    return [_shown(holding, names, announcing, users) for holding in holdings]


def _is_as_asked(holding: Holding) -> bool:
    """Whether its request tells all of who uses it: nobody does, or it says who and was made just now."""
    claim = holding.claim
    return claim.machine is None or (holding.created and claim.request.machine is not None)


def _shown(holding: Holding, names: Names, announcing: dict[str, str], users: Users) -> ClaimOut:
    claim = holding.claim
    request = claim.request
    machine, interface = users.machines.get(claim.machine or ""), users.interfaces.get(claim.interface or "")
    leaving = announcing.get(claim.leaving or "")
    return ClaimOut(
        id=claim.id,
        state=state_of(claim),
        handle=claim.handle,
        project=claim.project,
        network=names.networks.get(claim.network, claim.network),
        host=None if claim.host is None else names.locations.get(claim.host, claim.host),
        machine=request.machine if machine is None else machine.name,
        mac=request.mac if interface is None else interface.mac,
        hostname=request.hostname,
        purpose=request.purpose,
        static=claim.static,
        since=claim.since,
        bound=claim.bound,
        leaving=leaving,
        settles=claim.settles if leaving else None,
        released=claim.until,
        expires=claim.expires,
        shared=request.shared,
        queue=request.queue,
        reservation=request.reservation,
        kept=claim.kept,
        harvest=claim.harvest,
        tags=claim.tags,
        custom=claim.custom,
        revision=claim.revision,
        addresses=holding.addresses,
        displaced=holding.displaced,
        effective_by=holding.effective_by,
    )


def state_of(claim: Claim) -> ClaimState:
    """`pending`, `bound` or `released`."""
    if claim.until is not None:
        return "released"
    return "pending" if claim.bound is None else "bound"


def status_of(holding: Holding) -> int:
    """202 while it is pending, 201 if it was made by this call, else 200."""
    if holding.claim.state == "pending":
        return 202
    return 201 if holding.created else 200


async def answered(asked: Asked, use: Any, *, status: int | None = 200) -> Response:
    """Have a use decided that answers a holding; the claim as it is then.

    `status`: None: as `status_of` says.
    """
    reply = await asked.submit(use)
    holding = reply.answer
    assert isinstance(holding, Holding)
    (claim,) = await shown(asked, [holding])
    status = status or status_of(holding)
    return answer(
        claim,
        status,
        revision=claim.revision,
        location=None if status == 200 else f"/v1/claims/{claim.id}",
        replayed=reply.replayed,
    )


@NOUN.operation(
    "POST",
    "/v1/claims",
    "Claim addresses",
    body=ClaimIn,
    example=EXAMPLE,
    gives={201: ClaimOut, 200: ClaimOut, 202: ClaimOut},
    answers={201: BOUND, 200: BOUND, 202: PENDING},
    refusals=("not_found", "conflict", "already_allocated", "exhausted"),
    creates=True,
)
async def create(asked: Asked) -> Response:
    """Ask for addresses under a handle of your own.

    The same handle with the same content gets the same answer (200 instead of 201). On a `clustered` network
    without a host, or with `defer`, the answer is 202 and the claim is pending until it is bound.
    """
    return await answered(asked, use_of(asked.body), status=None)


@NOUN.operation(
    "POST",
    "/v1/claims/release",
    "Release a claim by id and handle",
    body=ReleaseIn,
    example={"handle": "nova:7f3c/port-1", "id": "4f1d2c3b4a5968778695"},
    gives={200: ClaimOut},
    answers={200: RELEASED},
    refusals=("not_found", "conflict"),
)
async def release_by_handle(asked: Asked) -> Response:
    """Give the addresses of a claim back.

    The id says which claim of the handle is meant, so that a late call frees nobody else's.
    """
    body = asked.body
    return await answered(asked, ReleaseClaim(claim=body.id, handle=body.handle, project=body.project))


@NOUN.operation(
    "PATCH",
    "/v1/claims/{claim}",
    "Change what is said of a claim",
    body=ClaimPatch,
    example={"expires": "2026-12-24T15:00:00Z", "tags": ["rack-a"]},
    gives={200: ClaimOut},
    answers={200: msgspec.structs.replace(BOUND, tags=("rack-a",), revision=2)},
    refusals=("not_found", "conflict"),
)
async def change(asked: Asked) -> Response:
    """Give a claim another end, tags or fields, or say that its address is (or is not) written down by hand."""
    return await answered(asked, ChangeClaim(claim=asked.path("claim"), changes=asked.body.changes()))


@NOUN.operation(
    "POST",
    "/v1/claims/{claim}/release",
    "Release a claim",
    gives={200: ClaimOut},
    answers={200: RELEASED},
    refusals=("not_found",),
)
async def release(asked: Asked) -> Response:
    """Give the addresses of a claim back; they rest before they are given to anybody else. Repeatable."""
    return await answered(asked, ReleaseClaim(claim=asked.path("claim")))


@NOUN.operation(
    "DELETE",
    "/v1/claims/{claim}",
    "Release a claim",
    gives={204: None},
    refusals=("not_found",),
)
async def delete(asked: Asked) -> Response:
    """Give the addresses of a claim back, and say no more."""
    await asked.submit(ReleaseClaim(claim=asked.path("claim")))
    return gone()


class ClaimList(LabelledList):
    """Filters; without `state`, all open claims."""

    network: Reference | None = None
    host: Reference | None = None
    machine: Reference | None = None
    project: Reference | None = None
    handle: Handle | None = None
    state: ClaimState | None = None
    kept: Kept | None = None


class ClaimQuery(Read):
    """Whether to wait for a pending claim to be bound."""

    wait: Wait | None = None


def listed(reads: Reads, query: ClaimList) -> Page[Holding]:
    """A page of the claims that pass the filters."""
    return reads.claims(
        query.after or "",
        query.limit,
        network=network_id(reads, query.network),
        host=location_id(reads, query.host),
        machine=machine_id(reads, query.machine),
        project=query.project or "",
        handle=query.handle or "",
        state=query.state or "",
        kept=query.kept or "",
        **labels_in(query),
    )


@NOUN.operation(
    "GET",
    "/v1/claims",
    "List claims",
    name="list_claims",
    query=ClaimList,
    gives={200: PageOut[ClaimOut]},
    answers={200: PageOut([BOUND])},
    refusals=("not_found",),
)
async def list_(asked: Asked) -> Response:
    """Open claims, or those of one state, with the addresses they hold."""
    page = await asked.look(listed, asked.query)
    return answer(PageOut(await shown(asked, page.items), page.next))


@NOUN.operation(
    "GET",
    "/v1/claims/{claim}",
    "Show a claim",
    query=ClaimQuery,
    gives={200: ClaimOut},
    answers={200: BOUND},
    refusals=("not_found",),
)
async def show(asked: Asked) -> Response:
    """A claim, open or released. `wait=30s` answers as soon as a pending one is bound, or when the time is over."""
    name = asked.path("claim")

    async def look() -> Holding:
        holding: Holding = found((await asked.look(lambda reads: reads.claim(name))).value, "claim", name)
        return holding

    holding = await asked.until(look, lambda seen: seen.claim.state != "pending", seconds_of(asked.query.wait))
    (claim,) = await shown(asked, [holding])
    return answer(claim, revision=claim.revision)
