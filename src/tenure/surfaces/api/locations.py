"""Places: the tree of region, site, rack and host."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.responses import Response

from tenure.model.answers import Answers, Holding
from tenure.model.policy import LocationKind
from tenure.model.topology import Location, Relay
from tenure.model.uses import ChangeLocation, CreateLocation, DeleteLocation, EvacuateHost
from tenure.store.interface import Page, Reads
from tenure.store.reads import Extent
from tenure.surfaces.api import drains
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.claims import ClaimOut, shown
from tenure.surfaces.api.consequences import Loss
from tenure.surfaces.api.inventory import Shelf, location_id, made
from tenure.surfaces.api.moves import MOVED, Handover, StaticAcknowledged
from tenure.surfaces.api.operations import Asked, Noun, answer
from tenure.surfaces.api.schemas import AddressText, Input, List, Name, Patch, Reference, Search
from tenure.surfaces.api.shape import LATER

NOUN = Noun("locations")

Hexadecimal = Annotated[
    str,
    Meta(
        min_length=2,
        max_length=510,
        pattern=r"^([0-9a-fA-F]{2})+(?![\s\S])",
        description="octets in hexadecimal",
        examples=["0006000a"],
    ),
]


class RelayIn(Input):
    """How a DHCP relay names the place (RFC 3046)."""

    circuit_id: Hexadecimal | None = None
    remote_id: Hexadecimal | None = None


class LocationIn(Input):
    """A place to make."""

    name: Name
    kind: LocationKind
    parent: Reference | None = None
    relay: RelayIn | None = None
    router: AddressText | None = None
    router_v6: AddressText | None = None


class LocationPatch(Patch):
    """What to change."""

    name: Name | UnsetType = UNSET
    parent: Reference | UnsetType | None = UNSET
    relay: RelayIn | UnsetType | None = UNSET
    router: AddressText | UnsetType | None = UNSET
    router_v6: AddressText | UnsetType | None = UNSET


LATER[LocationIn] = LATER[LocationPatch] = frozenset({"tags", "custom"})


class LocationList(List):
    """Filters."""

    parent: Reference | None = None
    kind: LocationKind | None = None
    q: Search | None = None


def relay_of(sent: RelayIn | None) -> Relay | None:
    """The relay as it is kept: lower case."""
    if sent is None:
        return None
    return Relay(circuit_id=_lower(sent.circuit_id), remote_id=_lower(sent.remote_id))


def _lower(text: str | None) -> str | None:
    return None if text is None else text.lower()


def use_of(body: LocationIn) -> CreateLocation:
    """The use that a request for a place is."""
    return CreateLocation(
        name=body.name,
        kind=body.kind,
        parent=body.parent,
        relay=relay_of(body.relay),
        router=body.router,
        router_v6=body.router_v6,
    )


def _changes(body: LocationPatch) -> dict[str, object]:
    changes = body.changes()
    if isinstance(body.relay, RelayIn):
        changes["relay"] = msgspec.to_builtins(relay_of(body.relay))
    return changes


def _listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[Location]:
    parent = location_id(reads, query.parent)
    return reads.locations(query.after or "", query.limit, parent=parent, kind=query.kind or "", q=query.q or "")


async def _show(backing: Backing, locations: list[Location]) -> list[Location]:
    await backing.names.know(locations={each.parent for each in locations if each.parent is not None})
    names = backing.names.locations
    return [msgspec.structs.replace(each, parent=names.get(each.parent or "", each.parent)) for each in locations]


_SHOWN = Location(id="0a1b2c3d4e5f60718293", name="compute-7", kind="host", parent="rack-3")


def _loss(reads: Reads, location: Location, changes: dict[str, object] | None) -> Loss | None:
    """What goes with a place: what is used there and below."""
    if changes is not None:
        return None
    vrfs = tuple(vrf.id for vrf in reads.vrfs("", 1000).items)
    return Loss(extent=Extent(location=location.id), vrfs=vrfs, table="hosts" if location.kind == "host" else "fabric")


Shelf(
    noun=NOUN,
    one="location",
    path="/v1/locations",
    into="/v1/locations",
    body=LocationIn,
    patch=LocationPatch,
    out=Location,
    query=LocationList,
    example={"name": "compute-7", "kind": "host", "parent": "rack-3"},
    patch_example={"parent": "rack-4"},
    shown=_SHOWN,
    create=lambda asked: use_of(asked.body),
    change=lambda asked, name: ChangeLocation(location=name, changes=_changes(asked.body)),
    delete=lambda name: DeleteLocation(location=name),
    seen=lambda reads, name: reads.location(name),
    listed=_listed,
    show=_show,
    loss=_loss,
).offer()


class EvacuateIn(Input):
    """Where to; the rest is as of a single claim that is rebound."""

    to: Reference
    renumber: bool = False
    handover: Handover = 30
    static_acknowledged: StaticAcknowledged = False


class Evacuated(msgspec.Struct):
    """The claims that were moved, as they are now."""

    claims: list[ClaimOut]
    count: int


@NOUN.operation(
    "POST",
    "/v1/locations/{location}/evacuate",
    "Move every claim of a host to another",
    name="evacuate_location",
    body=EvacuateIn,
    example={"to": "compute-8", "renumber": False, "handover": 30},
    gives={200: Evacuated},
    answers={200: Evacuated([MOVED], 1)},
    refusals=("not_found", "conflict", "exhausted"),
)
async def evacuate(asked: Asked) -> Response:
    """Rebind all bound claims of a host in one transaction: all of them, or none, and then `claim` says which cannot.

    Pending claims stay. At most 10,000 claims.
    """
    reply = await asked.submit(EvacuateHost(host=asked.path("location"), **msgspec.structs.asdict(asked.body)))
    moved = reply.answer
    assert isinstance(moved, Answers)
    holdings = [each for each in moved.items if isinstance(each, Holding)]
    return answer(Evacuated(await shown(asked, holdings), len(holdings)), replayed=reply.replayed)


class DrainedLocation(drains.Drained, kw_only=True):
    """A place, and who is still there or below it: the oldest claims, at most 20, and how many there are.

    `leaving`, `leaving_count`: the same of claims that moved away and that it announces until they settle.
    """

    location: Location
    leaving: list[ClaimOut]
    leaving_count: int


@NOUN.operation(
    "POST",
    "/v1/locations/{location}/drain",
    "Drain a place",
    name="drain_location",
    body=drains.DrainIn,
    optional=True,
    example=drains.EXAMPLE,
    gives={200: DrainedLocation},
    answers={
        200: DrainedLocation(
            location=msgspec.structs.replace(_SHOWN, draining=True), leaving=[], leaving_count=0, **drains.STILL
        )
    },
    refusals=("not_found",),
)
async def drain(asked: Asked) -> Response:
    """Place nothing new at a host, or in a rack, site or region; what is there stays, and is listed.

    A claim, a binding or a move to there is a conflict from now on. Repeatable: it shows how much is left, and
    in `leaving` the claims that moved away and that the place announces until their hand-over settles.
    """
    reply = await asked.submit(ChangeLocation(location=asked.path("location"), changes=drains.wanted(asked)))
    (place,) = await _show(asked.backing, [made(reply.answer, "location")])
    still = await drains.still(asked, place, location=place.id)
    left = await drains.leaving(asked, place.id)
    return answer(DrainedLocation(location=place, **still, **left), replayed=reply.replayed)
