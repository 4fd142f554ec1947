"""Machines and their interfaces: what holds addresses."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenure.model.answers import HeldAddress, MachineWithInterfaces
from tenure.model.holding import LEASES, Claim
from tenure.model.machines import Interface
from tenure.model.policy import Allocate, Custom, Harvest, MachineKind, MachineState, Standing
from tenure.model.uses import ChangeMachine, CreateMachine, DeleteMachine, NewInterface
from tenure.net.identifiers import parse_duid, parse_mac
from tenure.store.interface import KnownAddress, Page, Reads
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.inventory import Shelf, location_id
from tenure.surfaces.api.operations import Asked, Noun
from tenure.surfaces.api.schemas import (
    CustomIn,
    Input,
    LabelledList,
    MacText,
    Name,
    Patch,
    Reference,
    Search,
    Tags,
    labels_in,
    tags_of,
)
from tenure.surfaces.api.shape import LATER

NOUN = Noun("machines")

InterfaceName = Annotated[str, Meta(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*(?![\s\S])", examples=["eth0"])]


DuidText = Annotated[
    str,
    Meta(
        min_length=6,
        max_length=389,
        description="A DHCP unique identifier: octets in hexadecimal.",
        examples=["00:03:00:01:52:54:00:0a:0b:0c"],
    ),
]


class InterfaceIn(Patch):
    """An interface. One that is there, by its MAC, else by its name, keeps its addresses and what is left out here."""

    mac: MacText
    name: InterfaceName | UnsetType = UNSET
    duid: DuidText | UnsetType | None = UNSET
    network: Reference | UnsetType | None = UNSET
    boot: bool | UnsetType = UNSET
    allocate: Allocate | UnsetType = UNSET


Interfaces = Annotated[list[InterfaceIn], Meta(max_length=256)]


class MachineIn(Input):
    """A machine to make."""

    name: Name
    kind: MachineKind = "managed"
    location: Reference | None = None
    interfaces: Interfaces = msgspec.field(default_factory=list)
    harvest: Harvest = "inherit"
    tags: Tags = msgspec.field(default_factory=list)
    custom: CustomIn = msgspec.field(default_factory=dict)


class MachinePatch(Patch):
    """What to change; `interfaces` is the whole new list."""

    name: Name | UnsetType = UNSET
    kind: MachineKind | UnsetType = UNSET
    location: Reference | UnsetType | None = UNSET
    interfaces: Interfaces | UnsetType = UNSET
    harvest: Harvest | UnsetType = UNSET
    tags: Tags | UnsetType = UNSET
    custom: CustomIn | UnsetType = UNSET


LATER[MachineIn] = LATER[MachinePatch] = frozenset({"dhcp"})


class MachineList(LabelledList):
    """Filters; `state` is that of their lives."""

    location: Reference | None = None
    kind: MachineKind | None = None
    state: MachineState | None = None
    q: Search | None = None


class InterfaceOut(msgspec.Struct):
    """An interface, known by its MAC."""

    id: str
    mac: str
    name: str
    duid: str | None = None
    network: str | None = None
    boot: bool = False
    allocate: Allocate = "inherit"


class MachineAddress(msgspec.Struct, kw_only=True):
    """An address that a machine holds; `standing` says whether it is used: a shelved one is kept for later.

    `interface`: its name, or its MAC; null where the claim names the machine alone.
    """

    ip: str
    prefix_length: int
    standing: Standing
    interface: str | None
    network: str
    name: str | None
    lease: bool
    static: bool
    claim: str


class MachineOut(msgspec.Struct, kw_only=True):
    """A machine, its interfaces and what it holds. `state` is where it is in its life; a device has none."""

    id: str
    name: str
    kind: MachineKind
    state: MachineState | None
    location: str | None
    harvest: Harvest
    seen: datetime | None
    tags: tuple[str, ...]
    custom: Custom
    revision: int
    interfaces: list[InterfaceOut]
    addresses: list[MachineAddress]


def use_of(body: MachineIn, where: str = "") -> CreateMachine:
    """The use that a request for a machine is.

    Raises:
        InvalidValue: A MAC cannot be read.
    """
    return CreateMachine(
        name=body.name,
        kind=body.kind,
        location=body.location,
        interfaces=tuple(NewInterface(**each) for each in _interfaces(body.interfaces, where)),
        harvest=body.harvest,
        tags=tuple(tags_of(body.tags)),
        custom=body.custom,
    )


def _interfaces(sent: list[InterfaceIn], where: str) -> list[dict[str, Any]]:
    return [_interface(each, f"{where}/interfaces/{place}") for place, each in enumerate(sent)]


def _interface(sent: InterfaceIn, where: str) -> dict[str, Any]:
    fields = sent.changes()
    fields["mac"] = parse_mac(sent.mac, where + "/mac")
    if isinstance(sent.duid, str):
        fields["duid"] = parse_duid(sent.duid, where + "/duid")
    return fields


def _change(asked: Asked, name: str) -> ChangeMachine:
    changes = asked.body.changes()
    if asked.body.interfaces is not UNSET:
        changes["interfaces"] = _interfaces(asked.body.interfaces, "")
    return ChangeMachine(machine=name, changes=changes)


def listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[MachineWithInterfaces]:
    """A page of the machines that pass the filters of a `MachineList`."""
    return reads.machines(
        query.after or "",
        query.limit,
        location=location_id(reads, query.location),
        kind=query.kind or "",
        state=query.state or "",
        q=query.q or "",
        **labels_in(query),
    )


async def _show(backing: Backing, machines: list[MachineWithInterfaces]) -> list[MachineOut]:
    held = await backing.read(backing.committed.reads.on_machines, [each.machine.id for each in machines])
    places = [_places(each, held.get(each.machine.id, ())) for each in machines]
    return await shown(backing, machines, places)


Held = tuple[HeldAddress, Claim, str | None]
"""An address, its claim, and the id of the machine's interface that uses it."""


def _places(machine: MachineWithInterfaces, known: Sequence[KnownAddress]) -> list[Held]:
    """What is held, as it was read: an alias shows behind what is primary, a shelved address behind both."""
    ports = {each.id for each in machine.interfaces}
    return [(each.held, each.claim, next((p.id for p in each.interfaces if p.id in ports), None)) for each in known]


async def shown(
    backing: Backing, machines: Sequence[MachineWithInterfaces], held: Sequence[Iterable[Held]]
) -> list[MachineOut]:
    """Machines as they are answered, with names for ids; `held` says what each of them holds."""
    held = [list(each) for each in held]
    networks = {claim.network for each in held for _, claim, _ in each}
    networks |= {port.network for each in machines for port in each.interfaces if port.network is not None}
    places = {each.machine.location for each in machines if each.machine.location is not None}
    await backing.names.know(locations=places, networks=networks)
    names = backing.names
    return [machine_out(each, its, names.locations, names.networks) for each, its in zip(machines, held, strict=True)]


def machine_out(
    known: MachineWithInterfaces, held: Iterable[Held], locations: dict[str, str], networks: dict[str, str]
) -> MachineOut:
    """A machine as it is answered."""
    machine = known.machine
    ports = {each.id: each.name or each.mac for each in known.interfaces}
    return MachineOut(
        id=machine.id,
        name=machine.name,
        kind=machine.kind,
        state=machine.lifecycle,
        location=locations.get(machine.location or "", machine.location),
        harvest=machine.harvest,
        seen=machine.seen,
        tags=machine.tags,
        custom=machine.custom,
        revision=machine.revision,
        interfaces=[interface_out(each, networks) for each in known.interfaces],
        addresses=[_address(*each, ports, networks) for each in held],
    )


def interface_out(port: Interface, networks: dict[str, str]) -> InterfaceOut:
    """An interface as it is answered."""
    network = networks.get(port.network or "", port.network)
    return InterfaceOut(port.id, port.mac, port.name, port.duid, network, port.boot, port.allocate)


def _address(
    held: HeldAddress, claim: Claim, port: str | None, ports: dict[str, str], networks: dict[str, str]
) -> MachineAddress:
    return MachineAddress(
        ip=held.ip,
        prefix_length=held.prefix_length,
        standing=held.standing,
        interface=ports.get(port or ""),
        network=networks.get(claim.network, claim.network),
        name=None if held.standing == "shelved" else held.name,  # it is kept, and in no zone
        lease=claim.project == LEASES,
        static=claim.static,
        claim=claim.id,
    )


_ID = "0a1b2c3d4e5f60718293"
_PORT = InterfaceOut(_ID, "52:54:00:0a:0b:0c", "eth0", network="prod", boot=True)
SHOWN = MachineOut(
    id=_ID,
    name="node-17",
    kind="managed",
    state="ready",
    location="rack-3",
    harvest="inherit",
    seen=None,
    tags=("gpu",),
    custom={"owner": "alice"},
    revision=3,
    interfaces=[_PORT],
    addresses=[
        MachineAddress(
            ip="10.0.3.65",
            prefix_length=24,
            standing="primary",
            interface="eth0",
            network="prod",
            name="node-17.prod.example.",
            lease=False,
            static=False,
            claim="4f1d2c3b4a5968778695",
        )
    ],
)
_FRESH = msgspec.structs.replace(SHOWN, state="new", revision=1, addresses=[])

Shelf(
    noun=NOUN,
    one="machine",
    path="/v1/machines",
    into="/v1/machines",
    body=MachineIn,
    patch=MachinePatch,
    out=MachineOut,
    query=MachineList,
    example={
        "name": "node-17",
        "location": "rack-3",
        "interfaces": [{"mac": "52:54:00:0a:0b:0c", "name": "eth0", "network": "prod", "boot": True}],
        "tags": ["gpu"],
        "custom": {"owner": "alice"},
    },
    patch_example={"location": "rack-4", "tags": ["gpu", "spare"]},
    shown=_FRESH,
    create=lambda asked: use_of(asked.body),
    change=_change,
    delete=lambda name: DeleteMachine(machine=name),
    seen=lambda reads, name: reads.machine(name),
    listed=listed,
    show=_show,
    refusals=("in_use",),
).offer()
