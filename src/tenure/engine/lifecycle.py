"""What commissioning, deploying, releasing and retiring a machine does to its addresses.

What a machine is given by itself is a claim of the project `machine`, one an interface. When that is decided,
and how long it is kept, its network says (`Network.decided`):

    decided      given by                                        taken back by
    commission   ready; deploy, if it is missing then            retire
    deploy       deploy                                          release, retire
    boot         the first DISCOVER of a deployed machine        release, retire
    binding      deploy, at a host that is known;                release, retire
                 else pending until it is bound

An interface is given one if its network is known, if `allocate` or else the network's `interfaces` says so, and if it
has none there: neither a primary address nor a claim that waits for one. So a step gives what is missing (an
interface that is new, or was plugged in since; what was harvested) and changes nothing that is there, and to repeat
it gives what has been missing since, or records nothing. A step happens as a whole or not at all.

Cost of a step: O(1) amortized for each interface and each address that the machine holds, whatever others there are.
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Final

import msgspec

from tenure.engine import resolve
from tenure.engine.attaching import let_go, outlives
from tenure.engine.claims import bind, end, give
from tenure.engine.draft import Draft
from tenure.engine.holdings import holding
from tenure.engine.machines import home_handle, machine_named, shown
from tenure.engine.moves import host_of
from tenure.engine.overriding import Override, repeated, wanted_override
from tenure.engine.ports import boot_port, booting, ports_of
from tenure.engine.reach import draining, not_draining
from tenure.engine.space import Space
from tenure.errors import Conflict, InvalidValue, TenureError
from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.answers import Displaced, HeldAddress, MachineWithInterfaces
from tenure.model.holding import LEASES, MACHINES, Allocation, Claim
from tenure.model.machines import Interface, Machine
from tenure.model.policy import AllocateOn, MachineState
from tenure.model.uses import (
    CommissionMachine,
    DeployMachine,
    ReadyMachine,
    ReleaseMachine,
    RetireMachine,
    SeeMachine,
)
from tenure.net.addresses import number_of
from tenure.net.moments import moment

SEEN_AGAIN: Final = timedelta(hours=1)
"""How long after it was seen a machine is not said to be seen again."""

_AT_READY: Final[frozenset[AllocateOn]] = frozenset({"commission"})
_AT_DEPLOY: Final[frozenset[AllocateOn]] = frozenset({"commission", "deploy", "binding"})
_AT_BOOT: Final[frozenset[AllocateOn]] = frozenset({"boot"})

_NEXT: Final[dict[MachineState, str]] = {
    "new": "commission it first",
    "commissioning": "say first that it is ready",
    "ready": "deploy it first",
    "deployed": "release it first",
}


def commission_machine(use: CommissionMachine, draft: Draft) -> MachineWithInterfaces:
    """Begin to commission a machine that is new, or ready (again: what it has, it keeps).

    Raises:
        NotFound: There is no such machine.
        Conflict: It is a device, deployed or retired.
    """
    machine = _living(draft, use.machine)
    if machine.lifecycle != "commissioning":
        _after(machine, "commissioned", ("new", "ready"))
        _enter(draft, machine, "commissioning", e.MachineCommissioned)
    return _told(draft, machine)


def ready_machine(use: ReadyMachine, draft: Draft) -> MachineWithInterfaces:
    """A machine passed commissioning: it gets the addresses that are decided then.

    Repeated on a ready machine, it gives those that are missing, and changes none that is there.

    Raises:
        NotFound, Conflict: As `commission_machine`.
        Exhausted: There is no address for an interface: facts `interface` and `network`. Nothing is given then.
    """
    machine = _living(draft, use.machine)
    again = machine.lifecycle == "ready"
    if not again:
        _after(machine, "made ready", ("new", "commissioning"))
        _enter(draft, machine, "ready", e.MachineReadied)
    given = _give_missing(draft, machine, _AT_READY, host_of(draft, machine.id))
    if again and given:
        _changed(draft, machine)
    return _told(draft, machine)


def deploy_machine(use: DeployMachine, draft: Draft) -> MachineWithInterfaces:
    """Give a ready machine to its user, with the addresses that are decided then, and those that are missing.

    `reservation` or `address` replaces what the boot interface has, as `on_override` says, until the machine is
    released. Where nothing is missing but what they bring, nothing else is given. The same deployment repeated gives
    what is missing, and binds what waits to the host that it names; another one, or at another host, is a Conflict.

    Raises:
        NotFound: There is no such machine, host or reservation.
        NotPermitted: The reservation is another project's.
        InvalidValue: `host` is no host; the address is in no subnet of the boot interface's network.
        Conflict: The machine is not ready, or is deployed otherwise; the place is draining; a name is taken; or what
            the override replaces is static, and that was not acknowledged (pointer `/static_acknowledged`).
        AlreadyAllocated, Exhausted: An address cannot be had: facts `interface` and `network`. Nothing is given then.
    """
    machine = _living(draft, use.machine)
    host = _host(draft, machine, use.host)
    override = wanted_override(draft, use, boot_port(draft, machine.id))
    again = machine.lifecycle == "deployed"
    if not again:
        _after(machine, "deployed", ("ready",))
        _enter(draft, machine, "deployed", e.MachineDeployed)
    elif repeated(draft, machine, override):
        override = None
    bound = again and use.host is not None and _bind_there(draft, machine, str(host))
    brought = {override.interface.id} if override is not None and override.suffices else set[str]()
    given = _give_missing(draft, machine, _AT_DEPLOY, host, but=brought)
    if again and (given or bound):
        _changed(draft, machine)
    return _told(draft, machine, () if override is None else _override(draft, override, host))


def release_machine(use: ReleaseMachine, draft: Draft) -> MachineWithInterfaces:
    """Take a deployed machine back: what it was given for the deployment goes, what that displaced comes back.

    Raises:
        NotFound: There is no such machine.
        Conflict: It is a device, retired, or was never deployed.
    """
    machine = _living(draft, use.machine)
    if machine.lifecycle == "ready":
        return _told(draft, machine)
    _after(machine, "released", ("deployed",))
    _enter(draft, machine, "ready", e.MachineReleased)
    given = [claim for claim in _claims(draft, machine) if claim.kept == "deployment"]
    return _told(draft, machine, *_end(draft, given, "released"))


def retire_machine(use: RetireMachine, draft: Draft) -> MachineWithInterfaces:
    """End a machine's life: every claim of it ends, whoever asked for it, and it gets nothing by itself any more.

    Its interfaces stay known until it is deleted, and use nothing: addresses that float, and those that are shared
    with another machine, are taken off them.

    Raises:
        NotFound: There is no such machine.
        Conflict: It is a device.
    """
    machine = _named(draft, use.machine)
    if machine.lifecycle == "retired":
        return _told(draft, machine)
    _living(draft, use.machine)
    _enter(draft, machine, "retired", e.MachineRetired)
    stay = [claim for claim in _claims(draft, machine) if outlives(draft, claim, machine.id)]
    ended = [claim for claim in _claims(draft, machine) if claim not in stay]
    displaced, released = _end(draft, ended, "retired", *stay)
    for claim in stay:
        let_go(draft, draft.facts.claims[claim.id])
    for interface in ports_of(draft, machine.id):
        _take_off(draft, interface)
    return _told(draft, machine, displaced, released)


def see_machine(use: SeeMachine, draft: Draft) -> MachineWithInterfaces:
    """Say that a machine, of any kind, was seen using its network; recorded once an hour at most.

    Raises:
        NotFound: There is no such machine.
        InvalidValue: `at` is still to come.
    """
    machine = _named(draft, use.machine)
    at = draft.moment.now if use.at is None else moment(use.at, "/at")
    if at > draft.moment.now:
        raise InvalidValue("it cannot have been seen at a time that is still to come", pointer="/at")
    seen(draft, machine.id, at)
    return _told(draft, machine)


def seen(draft: Draft, machine_id: str, at: datetime) -> None:
    """Record that a machine was seen, unless that was known for the hour before `at`.

    Where a network harvests sooner than in a day, it is recorded sooner too: nothing is taken back for what was not
    written down. Its revision stays: nobody who changes the machine is in the way of its being seen.
    """
    machine = draft.facts.machines[machine_id]
    if machine.seen is None or at - machine.seen >= _seen_again(draft, machine):
        draft.record(e.MachineSeen(machine=msgspec.structs.replace(machine, seen=at)))


def _seen_again(draft: Draft, machine: Machine) -> timedelta:
    plugged = (draft.facts.interfaces[port].network for port in draft.facts.ports.get(machine.id, ()))
    networks = (draft.state.networks.get(network) for network in plugged if network is not None)
    patience = (timedelta(seconds=network.harvest_after) / 24 for network in networks if network is not None)
    return min([SEEN_AGAIN, *patience])


def at_boot(draft: Draft, interface: Interface, space: Space, host: str | None) -> Allocation | None:
    """The address that a deployed machine is given at its first DISCOVER where `allocate_on` is `boot`.

    None where it is not to be given one, or cannot have one: a client that is known has a lease then, or nothing.

    Args:
        space: The subnet that it was seen on; the address is of it.
        host: Location that it was seen at, or None.
    """
    machine = draft.facts.machines[interface.machine]
    here = interface.network == space.subnet.network and machine.lifecycle == "deployed"
    if not here or not space.available or space.subnet.draining or draining(draft.state, host):
        return None
    network = _lacking(draft, interface, _AT_BOOT, booting(draft, machine.id))
    if network is None:
        return None
    try:
        given = draft.attempt(lambda: _give(draft, interface, network, host, only=space))
    except TenureError:
        return None
    held = draft.facts.held[given.id].values()
    return min((a for a in held if a.subnet == space.subnet.id), key=lambda a: number_of(a.ip), default=None)


def _named(draft: Draft, name: str) -> Machine:
    """A machine, of the revision that the caller saw."""
    machine = machine_named(draft, name)
    resolve.matching(machine.revision, draft.asked.if_match)
    return machine


def _living(draft: Draft, name: str) -> Machine:
    """A machine that has a life, and is in the middle of it."""
    machine = _named(draft, name)
    if machine.lifecycle is None:
        raise Conflict(f"{machine.name} is a device: it has no lifecycle", machine=machine.name, kind=machine.kind)
    if machine.lifecycle == "retired":
        raise Conflict(
            f"machine {machine.name} is retired; delete it, and make it anew", machine=machine.name, state="retired"
        )
    return machine


def _after(machine: Machine, step: str, states: tuple[MachineState, ...]) -> None:
    """Refuse a step that another must come before."""
    state = machine.lifecycle
    if state is not None and state not in states:
        raise Conflict(
            f"machine {machine.name} is {state}, and cannot be {step}: {_NEXT[state]}",
            machine=machine.name,
            state=state,
            allowed=list(states),
        )


def _enter(draft: Draft, machine: Machine, state: MachineState, event: Callable[..., e.Event]) -> None:
    now = msgspec.structs.replace(machine, state=state, revision=machine.revision + 1)
    draft.record(event(machine=now))


def _changed(draft: Draft, machine: Machine) -> None:
    """Record that a machine is not what it was before a step was repeated: it has what was missing."""
    now = draft.facts.machines[machine.id]
    draft.record(e.MachineChanged(machine=msgspec.structs.replace(now, revision=now.revision + 1)))


def _told(
    draft: Draft, machine: Machine, displaced: tuple[Displaced, ...] = (), released: tuple[HeldAddress, ...] = ()
) -> MachineWithInterfaces:
    """A machine as it is now, with all that it holds."""
    now = shown(draft, draft.facts.machines[machine.id])
    held = tuple([holding(draft, claim) for claim in _claims(draft, machine)])
    return msgspec.structs.replace(now, holdings=held, displaced=displaced, released=released)


def _claims(draft: Draft, machine: Machine) -> list[Claim]:
    """A machine's open claims, what came first before what displaced it; dynamic leases last."""
    claims = [draft.facts.claims[claim] for claim in draft.facts.claimed.get(machine.id, ())]
    return sorted(claims, key=lambda claim: (claim.project == LEASES, claim.since, claim.handle, claim.id))


def _host(draft: Draft, machine: Machine, named: str | None) -> str | None:
    """Where a machine is deployed: the host named, else its own."""
    if named is None:
        return host_of(draft, machine.id)
    place = resolve.location(draft.state, named)
    resolve.only_host(place)
    return place.id


def _give_missing(
    draft: Draft, machine: Machine, at: frozenset[AllocateOn], host: str | None, but: Collection[str] = ()
) -> bool:
    """Give each interface, `but` these, the address that it lacks; whether any did."""
    given, boots = False, booting(draft, machine.id)
    for interface in ports_of(draft, machine.id):
        network = None if interface.id in but else _lacking(draft, interface, at, boots)
        if network is not None:
            defer = network.decided == "binding" and host is None
            _give(draft, interface, network, host, defer=defer)
            given = True
    return given


def _bind_there(draft: Draft, machine: Machine, host: str) -> bool:
    """Bind what waits since the machine was deployed to a host that is known now; whether anything did.

    Raises:
        Conflict: What it was given for its deployment is used elsewhere.
    """
    bound = False
    for claim in _claims(draft, machine):
        if claim.kept != "deployment":
            continue
        if claim.bound is None:
            not_draining(draft.state, host)
            bind(draft, claim, host)
            bound = True
        elif not _is_at(draft, claim, host):
            where = "no host" if claim.host is None else draft.state.locations[claim.host].name
            raise Conflict(
                f"machine {machine.name} is deployed at {where}; release it first, or rebind what it has",
                machine=machine.name,
                state="deployed",
                host=where,
                pointer="/host",
            )
    return bound


def _is_at(draft: Draft, claim: Claim, host: str) -> bool:
    """Whether a claim is used at a host, as far as is known: DHCP may know the rack only; or was asked for there."""
    return host == claim.request.host or claim.host in draft.state.way_up(host)[0]


def _lacking(draft: Draft, interface: Interface, at: frozenset[AllocateOn], boots: list[str]) -> Network | None:
    """The network in which an interface should have an address that is decided `at` this step, and has none."""
    network = draft.state.networks.get(interface.network or "")
    if network is None or network.decided not in at or interface.allocate == "never":
        return None
    if interface.allocate == "inherit" and network.interfaces == "boot" and interface.id not in boots:
        return None
    return None if _has_one(draft, interface, network) else network


def _has_one(draft: Draft, interface: Interface, network: Network) -> bool:
    """Whether an interface has a primary address in a network, or a claim that will bring one."""
    facts = draft.facts
    if facts.handles.get((MACHINES, home_handle(interface.id))) is not None:
        return True
    waiting = (facts.claims[claim] for claim in facts.pending.get(interface.id, ()))
    if any(c.network == network.id and not c.request.alias and not c.request.shared for c in waiting):
        return True
    worn = (facts.allocations[a] for a in facts.uses.get(interface.id, ()) if a in facts.allocations)
    primary = (a for a in worn if a.standing == "primary" and not a.lease)
    return any(draft.state.subnets[a.subnet].subnet.network == network.id for a in primary)


def _give(
    draft: Draft,
    interface: Interface,
    network: Network,
    host: str | None,
    *,
    defer: bool = False,
    only: Space | None = None,
) -> Claim:
    """Give an interface an address by itself."""
    try:
        not_draining(draft.state, host)
        return give(
            draft,
            interface,
            network,
            handle=home_handle(interface.id),
            kept="life" if network.decided == "commission" else "deployment",
            host=host,
            defer=defer,
            only=only,
        ).claim
    except TenureError as error:
        raise _blamed(draft, error, interface, network) from error


def _override(draft: Draft, override: Override, host: str | None) -> tuple[Displaced, ...]:
    """Let the boot interface use another address for this deployment."""
    try:
        not_draining(draft.state, host)
        return give(
            draft,
            override.interface,
            override.network,
            handle=override.handle,
            kept="deployment",
            host=host,
            address=override.address,
            reservation=override.reservation,
            on_override=override.use.on_override,
            static_acknowledged=override.use.static_acknowledged,
        ).displaced
    except TenureError as error:
        raise _blamed(draft, error, override.interface, override.network) from error


def _blamed(draft: Draft, error: TenureError, interface: Interface, network: Network) -> TenureError:
    """The same refusal, of the step as a whole, that says for which interface there was no address."""
    machine = draft.facts.machines[interface.machine].name
    said = f"interface {interface.mac} of {machine} gets no address in network {network.name}: {error.message}"
    return type(error)(said, **{**error.facts, "interface": interface.mac, "network": network.name})


def _end(
    draft: Draft, claims: list[Claim], reason: str, *silent: Claim
) -> tuple[tuple[Displaced, ...], tuple[HeldAddress, ...]]:
    """End claims one after another; what became of other addresses, and which went.

    Of others, those of `claims` and `silent` are left out; what went back to its reservation did not go.
    """
    ended = {claim.id for claim in (*claims, *silent)}
    told: list[Displaced] = []
    gone: list[HeldAddress] = []
    for claim in claims:
        held = holding(draft, claim).addresses
        became = end(draft, draft.facts.claims[claim.id], reason).displaced
        back = {each.ip for each in became if each.became == "returned"}
        gone += [each for each in held if each.ip not in back]
        told += became
    return tuple([each for each in told if each.claim not in ended]), tuple(gone)


def _take_off(draft: Draft, interface: Interface) -> None:
    """Take the addresses of others' claims, which are shared, off an interface."""
    for id_ in list(draft.facts.uses.get(interface.id, ())):
        allocation = draft.facts.allocations[id_]
        off = msgspec.structs.replace(draft.facts.attached[id_][interface.id], until=draft.moment.now)
        claim = draft.facts.claims[allocation.claim]
        draft.record(e.AddressDetached(claim=claim, allocation=allocation, attachment=off))
