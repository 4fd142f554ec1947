"""Shared and floating addresses: which interfaces use a held address, and the host route that follows."""

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.holdings import holding
from tenure.engine.moves import follow_host, host_of, leave_host
from tenure.engine.passing import Gap, held_at, interface_of, pass_on
from tenure.engine.placing import name_for
from tenure.engine.reassign import rename
from tenure.engine.reservations import promised
from tenure.errors import Conflict
from tenure.model import events as e
from tenure.model.answers import Displaced, Holding
from tenure.model.holding import MACHINES, Allocation, Attachment, Claim
from tenure.model.uses import AttachAddress, DetachAddress
from tenure.net.addresses import version_of


def attach_address(use: AttachAddress, draft: Draft) -> Holding:
    """Let an interface use a held address.

    One that is shared is used beside those that use it already. Any other floats: it is taken from the interface that
    uses it, goes to this one, and its host route follows to the machine's host. Where the interface has an address
    already, that stays primary and this one is an alias. What was promised to the former user by DHCP is kept, as
    when it is reassigned. Used there already, it is shown as it is.

    Raises:
        NotFound: Nobody holds the address, or there is no such interface.
        Conflict: It is shelved, static and in use, a machine's own, or one of several of its claim: reassign it.

    Cost: linear in the addresses of the two interfaces.
    """
    allocation = held_at(draft, use.vrf, use.ip)
    claim = draft.facts.claims[allocation.claim]
    resolve.matching(claim.revision, draft.asked.if_match)
    interface = interface_of(draft, use.interface)
    _living(draft, interface)
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
        Conflict: Several interfaces use it and none was named; or it is a machine's own, or displaced by another.
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
    displaced = _landed(draft, allocation, interface)
    return holding(draft, draft.facts.claims[claim.id], displaced=displaced)


def _only(allocation: Allocation, used: list[str]) -> str | None:
    if len(used) > 1:
        raise Conflict(
            f"{allocation.ip} is used by {len(used)} interfaces; say which", address=allocation.ip, pointer="/interface"
        )
    return used[0] if used else None


def _living(draft: Draft, interface: str) -> None:
    machine = draft.facts.machines[draft.facts.interfaces[interface].machine]
    if machine.lifecycle == "retired":
        raise Conflict(f"machine {machine.name} is retired", machine=machine.name, pointer="/interface")


def _may_float(draft: Draft, claim: Claim, allocation: Allocation) -> None:
    """Refuse what would leave something behind that its claim does not tell."""
    ip, version = allocation.ip, version_of(allocation.ip)
    held = [a for a in draft.facts.held[claim.id].values() if version_of(a.ip) == version]
    if claim.project == MACHINES:
        reason = "is what a machine was given by itself"
    elif allocation.behind is not None:
        reason = f"is {'shelved' if allocation.standing == 'shelved' else 'an alias'} behind another"
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
    gap, machine = Gap(draft, allocation), draft.facts.interfaces[interface].machine
    claim = follow_host(draft, draft.facts.claims[allocation.claim], machine)
    claim = msgspec.structs.replace(claim, machine=machine, interface=interface, revision=claim.revision + 1)
    allocation = draft.facts.allocations[allocation.id]
    hostname = _hostname(draft, claim, allocation)
    if hostname != allocation.hostname or promised(draft, allocation) is not None:
        allocation = pass_on(draft, allocation, claim, (interface,), reason="reassigned", hostname=hostname)
    else:
        for other in list(draft.facts.attached.get(allocation.id, {})):
            _detach(draft, claim, allocation, other)
        _attach(draft, claim, allocation, interface)
    _stand(draft, claim, allocation)
    return gap.close(draft)


def _hostname(draft: Draft, claim: Claim, allocation: Allocation) -> str | None:
    """What was called by the machine that used it is called by the one that uses it now; any other name stays."""
    before = draft.facts.claims[claim.id].machine
    if before is None or allocation.hostname != draft.facts.machines[before].name.lower():
        return allocation.hostname
    return allocation.hostname if claim.request.hostname is not None else name_for(draft, claim)


def _stand(draft: Draft, claim: Claim, allocation: Allocation) -> None:
    """Beside a primary address an address is an alias, and primary where there is none."""
    alone = claim.request.alias or not _has_primary(draft, claim, allocation)
    if allocation.standing == "primary" and not alone:
        draft.record(e.AddressAliased(claim=claim, allocation=msgspec.structs.replace(allocation, standing="alias")))
    elif allocation.standing == "alias" and alone and not claim.request.alias:
        now = msgspec.structs.replace(allocation, standing="primary")
        draft.record(e.AddressRestored(claim=claim, allocation=now, before="alias"))


def _has_primary(draft: Draft, claim: Claim, allocation: Allocation) -> bool:
    """Whether the interface has another primary address of the network and version."""
    used = (draft.facts.allocations[a] for a in draft.facts.uses.get(claim.interface or "", ()) if a != allocation.id)
    same = (a for a in used if version_of(a.ip) == version_of(allocation.ip) and a.standing == "primary")
    networks = (draft.state.subnets[a.subnet].subnet.network for a in same if not a.lease)
    return claim.network in networks


def _landed(draft: Draft, allocation: Allocation, interface: str) -> tuple[Displaced, ...]:
    """An address is used by nobody; only its claim holds it."""
    gap, claim = Gap(draft, allocation), draft.facts.claims[allocation.claim]
    machine = None if claim.machine is None else draft.facts.machines[claim.machine]
    if machine is not None and claim.request.hostname is None and allocation.hostname == machine.name.lower():
        allocation = rename(draft, allocation, None)
        claim = draft.facts.claims[claim.id]
    if claim.host is not None and claim.host == host_of(draft, claim.machine):
        claim = leave_host(draft, claim)
        allocation = draft.facts.allocations[allocation.id]
    claim = msgspec.structs.replace(claim, machine=None, interface=None, revision=claim.revision + 1)
    _detach(draft, claim, allocation, interface)
    return gap.close(draft)


# Attachments


def _attach(draft: Draft, claim: Claim, allocation: Allocation, interface: str) -> None:
    attachment = Attachment(allocation=allocation.id, interface=interface, since=draft.moment.now)
    draft.record(e.AddressAttached(claim=claim, allocation=allocation, attachment=attachment))


def _detach(draft: Draft, claim: Claim, allocation: Allocation, interface: str) -> None:
    open_ = draft.facts.attached[allocation.id][interface]
    closed = msgspec.structs.replace(open_, until=draft.moment.now)
    draft.record(e.AddressDetached(claim=claim, allocation=allocation, attachment=closed))
