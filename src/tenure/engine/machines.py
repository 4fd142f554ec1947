"""Machines and their interfaces."""

from typing import Any

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.inventory import changed, vacant
from tenure.errors import Conflict, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.answers import MachineWithInterfaces, Nothing
from tenure.model.machines import Interface, Machine
from tenure.model.uses import ChangeMachine, CreateMachine, DeleteMachine, NewInterface
from tenure.net.identifiers import parse_mac

_MOST_INTERFACES = 256


def create_machine(use: CreateMachine, draft: Draft) -> MachineWithInterfaces:
    """Make a machine with its interfaces.

    Raises:
        Conflict: The name or a MAC is another machine's.
    """
    _unnamed(draft, use.name, None)
    location = None if use.location is None else resolve.location(draft.state, use.location, "/location").id
    machine = Machine(id=next(draft.moment.ids), name=use.name, kind=use.kind, location=location)
    draft.record(e.MachineCreated(machine=machine))
    _set_interfaces(draft, machine, list(use.interfaces))
    return shown(draft, machine)


def change_machine(use: ChangeMachine, draft: Draft) -> MachineWithInterfaces:
    """Change a machine; `interfaces` is the whole new list. An interface that holds an address cannot be left out.

    Replacing the MAC of the interface of that name keeps its addresses.
    """
    old = _machine(draft, use.machine)
    resolve.matching(old.revision, draft.asked.if_match)
    changes = dict(use.changes)
    interfaces = changes.pop("interfaces", None)
    if changes.get("location") is not None:
        changes["location"] = resolve.location(draft.state, str(changes["location"]), "/location").id
    machine = changed(old, changes, ())
    _unnamed(draft, machine.name, machine.id)
    if machine.name != old.name and draft.facts.claimed.get(machine.id):
        vacant(f"name of machine {old.name}", sorted(draft.facts.claimed[machine.id]))
    draft.record(e.MachineChanged(machine=machine))
    if interfaces is not None:
        _set_interfaces(draft, machine, [_interface(i, entry) for i, entry in enumerate(_listed(interfaces))])
    return shown(draft, machine)


def delete_machine(use: DeleteMachine, draft: Draft) -> Nothing:
    """Close a machine that holds nothing, with its interfaces."""
    machine = _machine(draft, use.machine)
    resolve.matching(machine.revision, draft.asked.if_match)
    holders, count = draft.facts.holders.get(("machine", use.machine, "", ""), ([], 0))
    claimed = draft.facts.claimed.get(machine.id, {})
    vacant(f"machine {machine.name}", holders or sorted(claimed), max(count, len(claimed)))
    for interface in list(draft.facts.ports.get(machine.id, ())):
        _drop(draft, draft.facts.interfaces[interface])
    draft.record(e.MachineDeleted(machine=machine))
    return Nothing()


def shown(draft: Draft, machine: Machine) -> MachineWithInterfaces:
    """A machine and its open interfaces, as they are now in this draft."""
    ports = draft.facts.ports.get(machine.id, ())
    return MachineWithInterfaces(machine, tuple(draft.facts.interfaces[p] for p in ports))


def _machine(draft: Draft, name: str) -> Machine:
    found = draft.facts.machine_names.get(name)
    if found is None:
        raise NotFound(f"there is no machine {name!r}", kind="machine", name=name)
    return draft.facts.machines[found]


def _unnamed(draft: Draft, name: str, but: str | None) -> None:
    resolve.plain(name, "/name")
    found = draft.facts.machine_names.get(name)
    if found is not None and found != but:
        raise Conflict(f"there is a machine {name!r} already", kind="machine", name=name, pointer="/name")


def _listed(interfaces: Any) -> list[Any]:
    if not isinstance(interfaces, list):
        raise InvalidValue("interfaces must be a list", pointer="/interfaces")
    return interfaces


def _interface(at: int, entry: Any) -> NewInterface:
    if not isinstance(entry, dict) or not isinstance(entry.get("mac"), str):
        raise InvalidValue("an interface needs a mac", pointer=f"/interfaces/{at}/mac")
    return NewInterface(mac=entry["mac"], name=str(entry.get("name", "")))


def _set_interfaces(draft: Draft, machine: Machine, wanted: list[NewInterface]) -> None:
    """Make a machine's interfaces be these: matched by MAC, else by name, else made; the others are dropped."""
    if len(wanted) > _MOST_INTERFACES:
        raise InvalidValue(f"a machine has at most {_MOST_INTERFACES} interfaces", pointer="/interfaces")
    macs = [parse_mac(new.mac, f"/interfaces/{at}/mac") for at, new in enumerate(wanted)]
    if len(set(macs)) != len(macs):
        raise InvalidValue("a MAC stands twice", pointer="/interfaces")
    left = {p: draft.facts.interfaces[p] for p in draft.facts.ports.get(machine.id, ())}
    matched = [_match(left, mac, new.name, set(macs)) for mac, new in zip(macs, wanted, strict=True)]
    for interface in left.values():
        _drop(draft, interface)
    for at, (mac, new, old) in enumerate(zip(macs, wanted, matched, strict=True)):
        _put(draft, machine, Interface(id="", machine=machine.id, mac=mac, name=new.name), old, at)


def _match(left: dict[str, Interface], mac: str, name: str, macs: set[str]) -> Interface | None:
    found = next((i for i in left.values() if i.mac == mac), None)
    if found is None and name:
        found = next((i for i in left.values() if i.name == name and i.mac not in macs), None)
    return None if found is None else left.pop(found.id)


def _put(draft: Draft, machine: Machine, new: Interface, old: Interface | None, at: int) -> None:
    holder = draft.facts.macs.get(new.mac)
    if holder is not None and (old is None or holder != old.id):
        other = draft.facts.machines[draft.facts.interfaces[holder].machine].name
        raise Conflict(
            f"{new.mac} is an interface of machine {other!r}", machine=other, pointer=f"/interfaces/{at}/mac"
        )
    if old is None:
        made = Interface(id=next(draft.moment.ids), machine=machine.id, mac=new.mac, name=new.name)
        draft.record(e.InterfaceCreated(interface=made))
    elif (old.mac, old.name) != (new.mac, new.name):
        kept = Interface(old.id, machine.id, new.mac, new.name, old.revision + 1)
        draft.record(e.InterfaceChanged(interface=kept))


def _drop(draft: Draft, interface: Interface) -> None:
    held = draft.facts.uses.get(interface.id, {})
    if held:
        vacant(f"interface {interface.mac}", [draft.facts.allocations[a].ip for a in held])
    waiting = draft.facts.pending.get(interface.id, {})
    vacant(f"interface {interface.mac}", sorted(waiting))
    draft.record(e.InterfaceDeleted(interface=interface))
