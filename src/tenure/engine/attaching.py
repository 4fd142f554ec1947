"""Shared and floating addresses: which interfaces use a held address, and the host route that follows."""

from collections.abc import Collection

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.holdings import holding
from tenure.engine.moves import follow_host, host_of, leave_host
from tenure.engine.names import Place, name_for, not_taken
from tenure.engine.passing import Gap, held_at, interface_of, pass_on
from tenure.engine.placing import ALIAS, PRIMARY, Stand
from tenure.engine.ports import living
from tenure.engine.replacing import follow_name
from tenure.engine.reservations import promised
from tenure.engine.standing import primaries
from tenure.errors import Conflict
from tenure.model import events as e
from tenure.model.answers import Displaced, Holding
from tenure.model.holding import MACHINES, OWN_PROJECTS, Allocation, Attachment, Claim
from tenure.model.uses import AttachAddress, DetachAddress
from tenure.net.addresses import version_of


def attach_address(use: AttachAddress, draft: Draft) -> Holding:
    """Let an interface use a held address.

    One that is shared is used beside those that use it already. Any other floats: it is taken from the interface that
    uses it, goes to this one, and its host route follows to the machine's host. Where the interface has an address
    already, that stays primary and this one is an alias, until that one goes. What was promised to the former user by
    DHCP is kept, as when it is reassigned. Used there already, it is shown as it is.

    Raises:
        NotFound: Nobody holds the address, or there is no such interface.
        Conflict: It is shelved, static and in use, a machine's own, or one of several of its claim: reassign it. Or
            another claim of its former machine has its name too.

    Cost: linear in the addresses of the two interfaces.
    """
    allocation = held_at(draft, use.vrf, use.ip)
    claim = draft.facts.claims[allocation.claim]
    resolve.matching(claim.revision, draft.asked.if_match)
    interface = interface_of(draft, use.interface)
    living(draft, draft.facts.interfaces[interface].machine, "/interface")
    if interface in draft.facts.attached.get(allocation.id, {}):
        return holding(draft, claim)
    if claim.request.shared:
        claim = msgspec.structs.replace(claim, revision=claim.revision + 1)
        _attach(draft, claim, allocation, interface)
        return holding(draft, claim)
    _may_float(draft, claim, allocation)
    displaced = _floated(draft, allocation, interface)
    return holding(draft, draft.facts.claims[claim.id], displaced=displaced)


def detach_address(use: DetachAddress, draft: Draft) -> Holding:
    """Let an interface use a held address no longer; its claim keeps it. Not used there, it is shown as it is.

    Unless it is shared, nobody announces it any more, and it is not called by the machine's name.

    Raises:
        NotFound: Nobody holds the address, or there is no such interface.
        Conflict: Several interfaces use it and none was named; it is a machine's own, shelved, or one of several of
            its claim; or another claim of the machine has its name too.
    """
    allocation = held_at(draft, use.vrf, use.ip)
    claim = draft.facts.claims[allocation.claim]
    resolve.matching(claim.revision, draft.asked.if_match)
    used = draft.facts.attached.get(allocation.id, {})
    interface = _only(allocation, list(used)) if use.interface is None else interface_of(draft, use.interface)
    if interface is None or interface not in used:
        return holding(draft, claim)
    if claim.request.shared:
        claim = msgspec.structs.replace(claim, revision=claim.revision + 1)
        _detach(draft, claim, allocation, interface)
        return holding(draft, claim)
    _may_float(draft, claim, allocation)
    displaced = _landed(draft, allocation, (), _name_alone(draft, claim, allocation))
    return holding(draft, draft.facts.claims[claim.id], displaced=displaced)


def _only(allocation: Allocation, used: list[str]) -> str | None:
    if len(used) > 1:
        raise Conflict(
            f"{allocation.ip} is used by {len(used)} interfaces; say which", address=allocation.ip, pointer="/interface"
        )
    return used[0] if used else None


def _may_float(draft: Draft, claim: Claim, allocation: Allocation) -> None:
    """Refuse what would leave something behind that its claim does not tell, as one of two families."""
    ip, held = allocation.ip, draft.facts.held[claim.id]
    if claim.project == MACHINES:
        reason = "is what a machine was given by itself"
    elif allocation.standing == "shelved":
        reason = "is shelved behind another"
    elif len(held) > 1:
        reason = f"is one of {len(held)} of its claim"
    elif claim.static and draft.facts.attached.get(allocation.id):
        reason = "was written by hand into the machine that uses it"
    else:
        return
    raise Conflict(f"{ip} {reason}; reassign it instead", address=ip, claim=claim.id)


# What is not shared


def _floated(draft: Draft, allocation: Allocation, interface: str) -> tuple[Displaced, ...]:
    """An address goes to another interface in one step, with its claim and its route."""
    gap, before = Gap(draft, allocation), draft.facts.claims[allocation.claim]
    machine = draft.facts.interfaces[interface].machine
    claim = follow_host(draft, before, machine)
    claim = msgspec.structs.replace(claim, machine=machine, interface=interface, revision=claim.revision + 1)
    allocation = draft.facts.allocations[allocation.id]
    hostname = _hostname(draft, before, claim, allocation)
    if hostname != allocation.hostname or promised(draft, allocation) is not None:
        allocation = pass_on(draft, allocation, claim, (interface,), reason="reassigned", hostname=hostname)
    else:
        for other in list(draft.facts.attached.get(allocation.id, {})):
            _detach(draft, claim, allocation, other)
        _attach(draft, claim, allocation, interface)
    _stand(draft, claim, allocation)
    return gap.close(draft)


def _hostname(draft: Draft, before: Claim, claim: Claim, allocation: Allocation) -> str | None:
    """What was called by the machine that used it is called by the one that uses it now; any other name stays.

    Raises:
        Conflict: Another claim of the former machine has that name too, which two machines cannot share.
    """
    if _by_machine(draft, before, allocation):
        return name_for(draft, claim, allocation.ip)
    not_taken(draft, allocation.hostname, claim, Place(claim.network, allocation.ip))
    return allocation.hostname


def _by_machine(draft: Draft, claim: Claim, allocation: Allocation) -> bool:
    """Whether an address is called by its machine, and not by a name of its own."""
    machine = None if claim.machine is None else draft.facts.machines[claim.machine]
    return machine is not None and claim.request.hostname is None and allocation.hostname == machine.name.lower()


def _stand(draft: Draft, claim: Claim, allocation: Allocation) -> None:
    """Beside a primary address an address is an alias, until that one goes; and primary where there is none."""
    instead = next(iter(primaries(draft, claim, version_of(allocation.ip))), None)
    stand = PRIMARY if instead is None else Stand("alias", instead.claim)
    stand = ALIAS if claim.request.alias or claim.request.shared else stand
    if (allocation.standing, allocation.behind) == stand:
        return
    now = msgspec.structs.replace(allocation, standing=stand.standing, behind=stand.behind)
    if now.standing == "alias":
        draft.record(e.AddressAliased(claim=claim, allocation=now, before=allocation.standing))
    else:
        draft.record(e.AddressRestored(claim=claim, allocation=now, before=allocation.standing))


def _landed(
    draft: Draft, allocation: Allocation, others: Collection[str], hostname: str | None
) -> tuple[Displaced, ...]:
    """An address is used by nobody but others; its claim holds it. What was promised of it is kept for who used it."""
    gap, claim = Gap(draft, allocation), draft.facts.claims[allocation.claim]
    if claim.host is not None and claim.host == host_of(draft, claim.machine):
        claim = leave_host(draft, claim)
        allocation = draft.facts.allocations[allocation.id]
    claim = msgspec.structs.replace(claim, machine=None, interface=None, revision=claim.revision + 1)
    if hostname != allocation.hostname or promised(draft, allocation) is not None:
        allocation = pass_on(draft, allocation, claim, others, reason="reassigned", hostname=hostname)
    else:
        for interface in [i for i in draft.facts.attached.get(allocation.id, {}) if i not in others]:
            _detach(draft, claim, allocation, interface)
    _stand(draft, claim, allocation)
    return gap.close(draft)


def _name_alone(draft: Draft, claim: Claim, allocation: Allocation) -> str | None:
    """What an address of a claim is called that its machine uses no longer: not by the machine's name.

    Raises:
        Conflict: Another claim of that machine has its name too.
    """
    if _by_machine(draft, claim, allocation):
        return None
    asking = msgspec.structs.replace(claim, machine=None)
    not_taken(draft, allocation.hostname, asking, Place(claim.network, allocation.ip))
    return allocation.hostname


# A machine that goes


def outlives(draft: Draft, claim: Claim, machine: str) -> bool:
    """Whether a claim that a machine uses is not the machine's: it floats, or is shared with another machine."""
    if claim.bound is None or claim.project in OWN_PROJECTS:
        return False
    if (claim.request.machine, claim.request.mac) == (None, None):
        return True
    users = {i for a in draft.facts.held[claim.id] for i in draft.facts.attached.get(a, ())}
    return claim.request.shared and bool(users - draft.facts.ports.get(machine, {}).keys())


def let_go(draft: Draft, claim: Claim) -> tuple[Displaced, ...]:
    """Record that the machine of a claim uses its addresses no longer, and that the claim keeps them.

    One whose name another claim of the machine has too is called by none any more.
    """
    ports, told = draft.facts.ports.get(claim.machine or "", {}).keys(), list[Displaced]()
    for waiting in [a for a in draft.facts.held[claim.id].values() if a.replaces is not None]:
        follow_name(draft, waiting)
    for allocation in list(draft.facts.held[claim.id].values()):
        others = draft.facts.attached.get(allocation.id, {}).keys() - ports
        told += _landed(draft, allocation, others, _name_left(draft, claim, allocation))
    return tuple(told)


def _name_left(draft: Draft, claim: Claim, allocation: Allocation) -> str | None:
    try:
        return _name_alone(draft, claim, allocation)
    except Conflict:
        return None


# Attachments


def _attach(draft: Draft, claim: Claim, allocation: Allocation, interface: str) -> None:
    attachment = Attachment(allocation=allocation.id, interface=interface, since=draft.moment.now)
    draft.record(e.AddressAttached(claim=claim, allocation=allocation, attachment=attachment))


def _detach(draft: Draft, claim: Claim, allocation: Allocation, interface: str) -> None:
    open_ = draft.facts.attached[allocation.id][interface]
    closed = msgspec.structs.replace(open_, until=draft.moment.now)
    draft.record(e.AddressDetached(claim=claim, allocation=allocation, attachment=closed))
