"""Places: the tree of region, site, rack and host."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenure.model.policy import LocationKind
from tenure.model.topology import Location, Relay
from tenure.model.uses import ChangeLocation, CreateLocation, DeleteLocation
from tenure.store.interface import Page, Reads
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.inventory import Shelf, location_id
from tenure.surfaces.api.operations import Noun
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


class LocationPatch(Patch):
    """What to change."""

    name: Name | UnsetType = UNSET
    parent: Reference | UnsetType | None = UNSET
    relay: RelayIn | UnsetType | None = UNSET
    router: AddressText | UnsetType | None = UNSET


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
    relay = relay_of(body.relay)
    return CreateLocation(name=body.name, kind=body.kind, parent=body.parent, relay=relay, router=body.router)


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
    shown=Location(id="0a1b2c3d4e5f60718293", name="compute-7", kind="host", parent="rack-3"),
    create=lambda asked: use_of(asked.body),
    change=lambda asked, name: ChangeLocation(location=name, changes=_changes(asked.body)),
    delete=lambda name: DeleteLocation(location=name),
    seen=lambda reads, name: reads.location(name),
    listed=_listed,
    show=_show,
).offer()
