"""Machines and their interfaces: what holds addresses."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tenure.model.answers import MachineWithInterfaces
from tenure.model.machines import Interface, Machine
from tenure.model.policy import MachineKind
from tenure.model.uses import ChangeMachine, CreateMachine, DeleteMachine, NewInterface
from tenure.net.identifiers import parse_mac
from tenure.store.interface import Page, Reads
from tenure.surfaces.api.backing import Backing
from tenure.surfaces.api.inventory import Shelf, location_id
from tenure.surfaces.api.operations import Asked, Noun
from tenure.surfaces.api.schemas import Input, List, MacText, Name, Patch, Reference, Search
from tenure.surfaces.api.shape import LATER

NOUN = Noun("machines")

InterfaceName = Annotated[str, Meta(max_length=64, pattern=r"^[^\x00-\x1f\x7f]*(?![\s\S])", examples=["eth0"])]


class InterfaceIn(Input):
    """An interface of a machine."""

    mac: MacText
    name: InterfaceName = ""


Interfaces = Annotated[list[InterfaceIn], Meta(max_length=256)]


class MachineIn(Input):
    """A machine to make."""

    name: Name
    kind: MachineKind = "managed"
    location: Reference | None = None
    interfaces: Interfaces = msgspec.field(default_factory=list)


class MachinePatch(Patch):
    """What to change; `interfaces` is the whole new list."""

    name: Name | UnsetType = UNSET
    kind: MachineKind | UnsetType = UNSET
    location: Reference | UnsetType | None = UNSET
    interfaces: Interfaces | UnsetType = UNSET


LATER[MachineIn] = LATER[MachinePatch] = frozenset({"harvest", "dhcp", "tags", "custom"})
LATER[InterfaceIn] = frozenset({"duid", "network", "boot", "allocate"})


class MachineList(List):
    """Filters."""

    location: Reference | None = None
    q: Search | None = None


class InterfaceOut(msgspec.Struct):
    """An interface, known by its MAC."""

    id: str
    mac: str
    name: str


class MachineOut(msgspec.Struct):
    """A machine and its interfaces."""

    id: str
    name: str
    kind: MachineKind
    location: str | None
    revision: int
    interfaces: list[InterfaceOut]


def use_of(body: MachineIn, where: str = "") -> CreateMachine:
    """The use that a request for a machine is.

    Raises:
        InvalidValue: A MAC cannot be read.
    """
    interfaces = tuple(_interfaces(body.interfaces, where))
    return CreateMachine(name=body.name, kind=body.kind, location=body.location, interfaces=interfaces)


def _interfaces(sent: list[InterfaceIn], where: str) -> list[NewInterface]:
    return [
        NewInterface(parse_mac(each.mac, f"{where}/interfaces/{place}/mac"), each.name)
        for place, each in enumerate(sent)
    ]


def _change(asked: Asked, name: str) -> ChangeMachine:
    changes = asked.body.changes()
    if asked.body.interfaces is not UNSET:
        changes["interfaces"] = msgspec.to_builtins(_interfaces(asked.body.interfaces, ""))
    return ChangeMachine(machine=name, changes=changes)


def _listed(reads: Reads, query: Any, path: dict[str, str]) -> Page[MachineWithInterfaces]:
    location = location_id(reads, query.location)
    return reads.machines(query.after or "", query.limit, location=location, q=query.q or "")


async def _show(backing: Backing, machines: list[MachineWithInterfaces]) -> list[MachineOut]:
    await backing.names.know(locations={m.machine.location for m in machines if m.machine.location is not None})
    names = backing.names.locations
    return [machine_out(each.machine, each.interfaces, names) for each in machines]


def machine_out(machine: Machine, interfaces: tuple[Interface, ...], names: dict[str, str]) -> MachineOut:
    """A machine as it is answered."""
    return MachineOut(
        machine.id,
        machine.name,
        machine.kind,
        names.get(machine.location or "", machine.location),
        machine.revision,
        [InterfaceOut(each.id, each.mac, each.name) for each in interfaces],
    )


_ID = "0a1b2c3d4e5f60718293"

Shelf(
    noun=NOUN,
    one="machine",
    path="/v1/machines",
    into="/v1/machines",
    body=MachineIn,
    patch=MachinePatch,
    out=MachineOut,
    query=MachineList,
    example={"name": "vm-17", "kind": "instance", "interfaces": [{"mac": "52:54:00:0a:0b:0c", "name": "eth0"}]},
    patch_example={"location": "compute-7"},
    shown=MachineOut(_ID, "vm-17", "instance", None, 1, [InterfaceOut(_ID, "52:54:00:0a:0b:0c", "eth0")]),
    create=lambda asked: use_of(asked.body),
    change=_change,
    delete=lambda name: DeleteMachine(machine=name),
    seen=lambda reads, name: reads.machine(name),
    listed=_listed,
    show=_show,
    refusals=("in_use",),
).offer()
