"""Machines and their interfaces."""

from typing import Any, Final

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.fields import labelled
from tenure.engine.inventory import changed, vacant
from tenure.errors import Conflict, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.answers import MachineWithInterfaces, Nothing
from tenure.model.holding import LEASES, MACHINES, Claim
from tenure.model.machines import Interface, Machine
from tenure.model.uses import ChangeMachine, CreateMachine, DeleteMachine
from tenure.net.identifiers import parse_duid, parse_mac

_MOST_INTERFACES: Final = 256
_OF_ITS_LIFE: Final = {"state": "the steps of its life change it", "seen": "say that it was seen"}
_SENT: Final = frozenset({"mac", "name", "duid", "network", "boot", "allocate"})


def create_machine(use: CreateMachine, draft: Draft) -> MachineWithInterfaces:
    """Make a machine with its interfaces.

    Raises:
        Conflict: The name or a MAC is another machine's.
        InvalidValue: Two interfaces have the same name.
    """
    _unnamed(draft, use.name, None)
    location = None if use.location is None else resolve.location(draft.state, use.location, "/location").id
    machine = labelled(
        Machine(
            id=next(draft.moment.ids),
            name=use.name,
            kind=use.kind,
            location=location,
            harvest=use.harvest,
            tags=use.tags,
            custom=use.custom,
        )
    )
    draft.record(e.MachineCreated(machine=machine))
    _set_interfaces(draft, machine, [msgspec.structs.asdict(new) for new in use.interfaces])
    return shown(draft, machine)


def change_machine(use: ChangeMachine, draft: Draft) -> MachineWithInterfaces:
    """Change a machine. It gets no address by it, and loses none.

    `interfaces` is the whole new list: each is the one with its MAC, else the one of its name, else a new one.
    What an entry does not say of an interface that is there stays, so that a MAC is replaced by a name and the new
    MAC, and the interface keeps its addresses. One that holds an address cannot be left out.

    Raises:
        Conflict: The name or a MAC is another machine's; the kind of a deployed or retired machine would change.
        InUse: An address, or the name that addresses have, stands in the way.
    """
    old = machine_named(draft, use.machine)
    resolve.matching(old.revision, draft.asked.if_match)
    changes = dict(use.changes)
    interfaces = changes.pop("interfaces", None)
    for field in _OF_ITS_LIFE.keys() & changes.keys():
        raise InvalidValue(f"{field} cannot be set: {_OF_ITS_LIFE[field]}", pointer=f"/{field}")
    if changes.get("location") is not None:
        changes["location"] = resolve.location(draft.state, str(changes["location"]), "/location").id
    machine = _lived(draft, old, changed(old, changes, ()))
    _unnamed(draft, machine.name, machine.id)
    if machine.name != old.name:
        vacant(f"name of machine {old.name}", _named_so(draft, machine))
    draft.record(e.MachineChanged(machine=machine))
    if interfaces is not None:
        _set_interfaces(draft, machine, _listed(interfaces))
    return shown(draft, machine)


def delete_machine(use: DeleteMachine, draft: Draft) -> Nothing:
    """Close a machine that holds nothing, with its interfaces."""
    machine = machine_named(draft, use.machine)
    resolve.matching(machine.revision, draft.asked.if_match)
    holders, count = draft.facts.holders.get(("machine", use.machine, "", ""), ([], 0))
    claimed = draft.facts.claimed.get(machine.id, {})
    labels = [label for claim in claimed for label in _labels(draft, draft.facts.claims[claim])]
    advice = "; release it first" if machine.lifecycle is None else "; retire it first"
    vacant(f"machine {machine.name}", sorted(labels) or holders or sorted(claimed), max(count, len(labels)), advice)
    for interface in list(draft.facts.ports.get(machine.id, ())):
        _drop(draft, draft.facts.interfaces[interface])
    draft.record(e.MachineDeleted(machine=machine))
    return Nothing()


def shown(draft: Draft, machine: Machine) -> MachineWithInterfaces:
    """A machine and its open interfaces, as they are now in this draft."""
    ports = draft.facts.ports.get(machine.id, ())
    return MachineWithInterfaces(machine, tuple(draft.facts.interfaces[p] for p in ports))


def machine_named(draft: Draft, name: str) -> Machine:
    """A machine by name or id.

    Raises:
        NotFound: There is none.
    """
    found = draft.facts.machine_names.get(name)
    if found is None:
        raise NotFound(f"there is no machine {name!r}", kind="machine", name=name)
    return draft.facts.machines[found]


def home_handle(interface: str) -> str:
    """The handle under which an interface is given an address by itself."""
    return f"{MACHINES}:{interface}"


def _lived(draft: Draft, old: Machine, new: Machine) -> Machine:
    """A machine after a change of its kind: a device has no life, and what was one begins it."""
    new = labelled(new)
    if new.kind == old.kind:
        return new
    if old.lifecycle in ("deployed", "retired"):
        raise Conflict(f"machine {old.name} is {old.lifecycle}: it stays {_a(old.kind)}", pointer="/kind")
    if new.kind == "device":
        given = (c for c in _claims(draft, old.id) if c.project == MACHINES)
        vacant(f"life of machine {old.name}", [held for claim in given for held in _labels(draft, claim)])
    return msgspec.structs.replace(new, state=None if "device" in (old.kind, new.kind) else old.lifecycle)


def _a(kind: str) -> str:
    return f"{'an' if kind == 'instance' else 'a'} {kind}"


def _claims(draft: Draft, machine: str) -> list[Claim]:
    return [draft.facts.claims[claim] for claim in sorted(draft.facts.claimed.get(machine, ()))]


def _named_so(draft: Draft, machine: Machine) -> list[str]:
    """Claims of a machine whose addresses may have its name; a lease has the name that its client said."""
    return [claim.id for claim in _claims(draft, machine.id) if claim.project != LEASES]


def _labels(draft: Draft, claim: Claim) -> list[str]:
    """A claim's addresses, for a refusal to name; its id where it has none yet."""
    return [held.ip for held in draft.facts.held[claim.id].values()] or [claim.id]


def _unnamed(draft: Draft, name: str, but: str | None) -> None:
    resolve.plain(name, "/name")
    found = draft.facts.machine_names.get(name)
    if found is not None and found != but:
        raise Conflict(f"there is a machine {name!r} already", kind="machine", name=name, pointer="/name")


def _listed(interfaces: Any) -> list[dict[str, Any]]:
    if not isinstance(interfaces, list):
        raise InvalidValue("interfaces must be a list", pointer="/interfaces")
    for at, entry in enumerate(interfaces):
        if not isinstance(entry, dict) or not isinstance(entry.get("mac"), str):
            raise InvalidValue("an interface needs a mac", pointer=f"/interfaces/{at}/mac")
    return interfaces


def _set_interfaces(draft: Draft, machine: Machine, wanted: list[dict[str, Any]]) -> None:
    """Make a machine's interfaces be these: matched by MAC, else by name, else made; the others are dropped."""
    if len(wanted) > _MOST_INTERFACES:
        raise InvalidValue(f"a machine has at most {_MOST_INTERFACES} interfaces", pointer="/interfaces")
    macs = [parse_mac(new["mac"], f"/interfaces/{at}/mac") for at, new in enumerate(wanted)]
    if len(set(macs)) != len(macs):
        raise InvalidValue("a MAC stands twice", pointer="/interfaces")
    left = {p: draft.facts.interfaces[p] for p in draft.facts.ports.get(machine.id, ())}
    matched = [_match(left, mac, new.get("name"), set(macs)) for mac, new in zip(macs, wanted, strict=True)]
    for interface in left.values():
        _drop(draft, interface)
    for at, (mac, sent, old) in enumerate(zip(macs, wanted, matched, strict=True)):
        _put(draft, machine, {**sent, "mac": mac}, old, f"/interfaces/{at}")
    _named_apart(draft, machine)


def _named_apart(draft: Draft, machine: Machine) -> None:
    """Refuse one name for two interfaces: by a name they are matched, and configured."""
    names = [draft.facts.interfaces[port].name for port in draft.facts.ports.get(machine.id, ())]
    for name in names:
        if name and names.count(name) > 1:
            raise InvalidValue(f"two interfaces would be called {name}", pointer="/interfaces", value=name)


def _match(left: dict[str, Interface], mac: str, name: object, macs: set[str]) -> Interface | None:
    found = next((i for i in left.values() if i.mac == mac), None)
    if found is None and name:
        found = next((i for i in left.values() if i.name == name and i.mac not in macs), None)
    return None if found is None else left.pop(found.id)


def _put(draft: Draft, machine: Machine, sent: dict[str, Any], old: Interface | None, pointer: str) -> None:
    """Make one interface be as it was sent: a new one, or what `old` becomes."""
    holder = draft.facts.macs.get(sent["mac"])
    if holder is not None and (old is None or holder != old.id):
        other = draft.facts.machines[draft.facts.interfaces[holder].machine].name
        raise Conflict(f"{sent['mac']} is an interface of machine {other!r}", machine=other, pointer=f"{pointer}/mac")
    if old is None:
        made = Interface(id=next(draft.moment.ids), machine=machine.id, mac=sent["mac"])
        draft.record(e.InterfaceCreated(interface=_as_sent(draft, made, sent, pointer)))
        return
    kept = _as_sent(draft, old, sent, pointer)
    if kept == old:
        return
    if kept.network != old.network:
        _unused(draft, old)
    draft.record(e.InterfaceChanged(interface=msgspec.structs.replace(kept, revision=old.revision + 1)))


def _as_sent(draft: Draft, interface: Interface, sent: dict[str, Any], pointer: str) -> Interface:
    """An interface with what was said of it."""
    for field in sorted(sent.keys() - _SENT):
        raise InvalidValue(f"{field} is not a field that can be set", pointer=f"{pointer}/{field}")
    fields = {**msgspec.structs.asdict(interface), **sent}
    if isinstance(fields["duid"], str):
        fields["duid"] = parse_duid(fields["duid"], f"{pointer}/duid")
    if isinstance(sent.get("network"), str):
        fields["network"] = resolve.network(draft.state, sent["network"], f"{pointer}/network").id
    try:
        return msgspec.convert(fields, Interface)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`")
        raise InvalidValue(f"{field}: {message}", pointer=f"{pointer}/{field}") from error


def _unused(draft: Draft, interface: Interface) -> None:
    """Refuse to plug an interface in elsewhere while it has what it was given by itself: that would be of no use."""
    mine = (c for c in _claims(draft, interface.machine) if c.project == MACHINES and c.interface == interface.id)
    vacant(f"interface {interface.mac}", [held for claim in mine for held in _labels(draft, claim)])


def _drop(draft: Draft, interface: Interface) -> None:
    held = draft.facts.uses.get(interface.id, {})
    vacant(f"interface {interface.mac}", [draft.facts.allocations[a].ip for a in held])
    waiting = draft.facts.pending.get(interface.id, {})
    vacant(f"interface {interface.mac}", sorted(waiting))
    draft.record(e.InterfaceDeleted(interface=interface))
