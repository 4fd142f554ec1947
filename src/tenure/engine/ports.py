"""The machine and the interface that a claim is for, made if they are new; and the name it will have."""

from typing import NamedTuple

from tenure.engine.draft import Draft
from tenure.errors import Conflict, NotFound
from tenure.model import events as e
from tenure.model.holding import ClaimRequest
from tenure.model.machines import Interface, Machine


class Port(NamedTuple):
    """Ids of a machine and an interface, or None."""

    machine: str | None
    interface: str | None


def port_for(draft: Draft, request: ClaimRequest) -> Port:
    """What a claim's `machine` and `mac` name.

    A new MAC makes an interface, on the machine named or on a new `instance`; a host name joins no machine. A
    machine that is named without a MAC must be there; see `port_in` for which of its interfaces is meant.

    Raises:
        NotFound: The machine is not there.
        Conflict: The MAC is another machine's; the machine is retired; or a new one would have another's name.
    """
    port = _port(draft, request)
    if port.machine is not None:
        living(draft, port.machine, "/mac" if request.machine is None else "/machine")
    return port


def living(draft: Draft, machine: str, pointer: str) -> str:
    """The id of a machine, as it was given, if that may have addresses.

    Raises:
        Conflict: It is retired.
    """
    found = draft.facts.machines[machine]
    if found.lifecycle == "retired":
        raise Conflict(f"machine {found.name} is retired", machine=found.name, state="retired", pointer=pointer)
    return machine


def _port(draft: Draft, request: ClaimRequest) -> Port:
    if request.mac is None:
        return Port(None, None) if request.machine is None else _port_of(draft, request.machine, request.network)
    known = draft.facts.macs[request.mac]
    if known is not None:
        interface = draft.facts.interfaces[known]
        _same_machine(draft, request, interface)
        return Port(interface.machine, interface.id)
    name = request.machine or request.hostname or "instance-" + request.mac.replace(":", "")
    machine = draft.facts.machine_names.get(name)
    if machine is not None and request.machine is None:
        raise Conflict(
            f"there is a machine {name!r} already, without that mac; say that it is its machine, or name another",
            machine=name,
            pointer="/mac" if request.hostname is None else "/hostname",
        )
    if machine is None:
        machine = next(draft.moment.ids)
        draft.record(e.MachineCreated(machine=Machine(id=machine, name=name, kind="instance", location=request.host)))
    interface = Interface(id=next(draft.moment.ids), machine=machine, mac=request.mac)
    draft.record(e.InterfaceCreated(interface=interface))
    return Port(machine, interface.id)


def _port_of(draft: Draft, name: str, network: str) -> Port:
    machine = _machine(draft, name)
    found = port_in(draft, machine, network)
    return Port(machine, None if found is None else found.id)


def _machine(draft: Draft, name: str) -> str:
    found = draft.facts.machine_names[name]
    if found is None:
        raise NotFound(
            f"there is no machine {name!r}; name its mac too, and it is made",
            kind="machine",
            name=name,
            pointer="/machine",
        )
    return found


def _same_machine(draft: Draft, request: ClaimRequest, interface: Interface) -> None:
    machine = draft.facts.machines[interface.machine]
    if request.machine not in (None, machine.name, machine.id):
        raise Conflict(
            f"{request.mac} is an interface of machine {machine.name!r}", machine=machine.name, pointer="/mac"
        )


def ports_of(draft: Draft, machine: str) -> list[Interface]:
    """A machine's interfaces, the first made first."""
    return [draft.facts.interfaces[port] for port in sorted(draft.facts.ports.get(machine, ()))]


def booting(draft: Draft, machine: str) -> list[str]:
    """Ids of the interfaces that a machine boots from: those that say so, else the first."""
    ports = ports_of(draft, machine)
    return [port.id for port in ports if port.boot] or [port.id for port in ports[:1]]


def boot_port(draft: Draft, machine: str) -> Interface | None:
    """The first interface that a machine boots from; None where it has none."""
    return next((draft.facts.interfaces[port] for port in booting(draft, machine)), None)


def port_in(draft: Draft, machine: str, network: str) -> Interface | None:
    """The interface of a machine that an address of a network is for, where nobody said which.

    Of those that are plugged in there the one that it boots from, else the first made; its only one, if nobody said
    where that is plugged in; else None.
    """
    ports = ports_of(draft, machine)
    here = [port for port in ports if port.network == network] or [
        p for p in ports if p.network is None and len(ports) == 1
    ]
    return next((port for port in here if port.boot), next(iter(here), None))
