"""A held address given to somebody else, its holder given another, or its name changed; the machine may be off."""

from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.holdings import holding, release
from tenure.engine.moves import follow_host, host_of, kept_at
from tenure.engine.names import Place, name_for, not_taken
from tenure.engine.passing import Gap, held_at, interface_of, pass_on
from tenure.engine.placing import find
from tenure.engine.ports import boot_port, living, port_in, ports_of
from tenure.engine.replacing import beside, follow_name, may_write, settled, take_back
from tenure.engine.space import Space
from tenure.engine.standing import displace, set_beside
from tenure.errors import Conflict, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.answers import Displaced, Holding
from tenure.model.holding import LEASES, MACHINES, Allocation, Claim, ClaimRequest
from tenure.model.machines import Interface
from tenure.model.policy import NameFollows, OnOverride
from tenure.model.uses import ReassignAddress, RenameAddress
from tenure.net.addresses import number_of, parse_address, text_of, version_of

__all__ = ["follow_name", "reassign_address", "rename", "rename_address", "replace"]

_TARGETS = ("interface", "machine", "claim", "address")


def reassign_address(use: ReassignAddress, draft: Draft) -> Holding:
    """Move a held address to another interface, machine or claim, or give its holder another.

    What changes hands is called by its new holder's name at once. A client that uses the old address is told no at
    its next REQUEST, and nobody else is given that address before what it was promised has ended.

    Returns:
        The claim that has the address now; what the receiver had (`displaced`), and what came back where it was;
        `effective_by` where a name waits for a client.

    Raises:
        InvalidValue: None or several of the four are named.
        NotFound: Nobody holds the address, or there is no such receiver.
        Conflict: It is a dynamic lease, shared, or being replaced; the claim is static and nobody has acknowledged
            that (pointer `/static_acknowledged`); or the receiver cannot have it.
        AlreadyAllocated, Exhausted: As of a claim.

    Cost: as of a claim, and linear in the addresses of the two interfaces.
    """
    named = [name for name in _TARGETS if getattr(use, name) is not None]
    if len(named) != 1:
        raise InvalidValue("name one of interface, machine, claim and address", pointer="", allowed=list(_TARGETS))
    allocation = held_at(draft, use.vrf, use.ip)
    claim = draft.facts.claims[allocation.claim]
    resolve.matching(claim.revision, draft.asked.if_match)
    if use.address is not None:
        return _given_another(draft, use, use.address, allocation)
    to = _receiver(draft, use, draft.state.subnets[allocation.subnet].subnet.network)
    if _has_it(draft, allocation, to):
        return holding(draft, claim)
    may_write(claim, acknowledged=use.static_acknowledged)
    return _given_to(draft, settled(draft, allocation), to, use)


def rename_address(use: RenameAddress, draft: Draft) -> Holding:
    """Call a held address otherwise; None: by its machine's name where that is a host name, else by none.

    Forward and reverse follow in one change. Called so already, it is shown as it is.

    Raises:
        NotFound: Nobody holds it.
        Conflict: The name belongs to another's address, or this one is about to be taken back.
    """
    allocation = held_at(draft, use.vrf, use.ip)
    claim = draft.facts.claims[allocation.claim]
    resolve.matching(claim.revision, draft.asked.if_match)
    domain = draft.state.networks[claim.network].domain
    name = _machine_name(draft, claim) if use.hostname is None else resolve.relative_name(use.hostname, domain)
    allocation = settled(draft, allocation)
    if name != allocation.hostname:
        rename(draft, allocation, name)
    return holding(draft, draft.facts.claims[claim.id])


def rename(draft: Draft, allocation: Allocation, name: str | None) -> Allocation:
    """Record that a held address is called otherwise, whoever uses it; what it is then.

    Raises:
        Conflict: The name belongs to another's address.
    """
    claim = draft.facts.claims[allocation.claim]
    not_taken(draft, name, claim, Place(claim.network, allocation.ip))
    claim = msgspec.structs.replace(claim, revision=claim.revision + 1)
    used = draft.facts.attached.get(allocation.id, {})
    return pass_on(draft, allocation, claim, used, reason="renamed", hostname=name)


def replace(
    draft: Draft,
    allocation: Allocation,
    space: Space,
    number: int | None,
    *,
    dns: NameFollows | None,
    acknowledged: bool,
    lent_on: bool = False,
) -> tuple[Allocation, datetime | None]:
    """Record that an allocation's holder has another address instead, in `space`, of the same version.

    Where its client has a lease now, and unless `dns` is `now`, the old address stays beside the new one and keeps the
    name until the client uses the new one, or that lease has ended (see `follow_name`). Else name and old address
    go at once.

    Args:
        number: The address; None: the strategy's choice, near the claim's host.
        dns: When names follow; None: as above.
        acknowledged: Somebody will change what was written by hand into the machine.
        lent_on: What was lent goes back to its reservation as the new address; else as the old one, now.

    Returns:
        The new allocation; and when its name has followed at the latest, None where it did at once.

    Raises:
        Conflict: The claim is static and that was not acknowledged; or the address cannot be had.
        AlreadyAllocated, Exhausted: As of a claim.
    """
    may_write(draft.facts.claims[allocation.claim], acknowledged=acknowledged)
    old = settled(draft, allocation)
    claim = draft.facts.claims[old.claim]
    found = find(draft, _asking(claim, space, number), space.version, only=space)
    until = _follows_by(draft, old, dns)
    new = beside(draft, old, found, until, lender=old.lender if lent_on else None, named=number is not None)
    if lent_on:
        old = msgspec.structs.replace(old, lender=None)
    if until is None:
        take_back(draft, old)
    else:
        aside = msgspec.structs.replace(old, standing="alias")
        draft.record(e.AddressAliased(claim=draft.facts.claims[claim.id], allocation=aside, before=old.standing))
    return new, until


# Another address


def _given_another(draft: Draft, use: ReassignAddress, address: str, old: Allocation) -> Holding:
    wanted = str(parse_address(address, "/address"))
    claim = draft.facts.claims[old.claim]
    if wanted == old.ip:
        return holding(draft, claim)
    version, number = version_of(wanted), number_of(wanted)
    if version != version_of(old.ip):
        raise InvalidValue(f"{wanted} is not of the family of {old.ip}", pointer="/address", value=address)
    space = draft.state.space_at(old.vrf, version, number)
    if space is None:
        raise InvalidValue(f"{wanted} is in no subnet", pointer="/address", value=address)
    _, until = replace(draft, old, space, number, dns=use.dns, acknowledged=use.static_acknowledged)
    return msgspec.structs.replace(holding(draft, draft.facts.claims[claim.id]), effective_by=until)


def _asking(claim: Claim, space: Space, number: int | None) -> Claim:
    """The claim, as if it had asked for just this."""
    address = None if number is None else text_of(space.version, number)
    request = msgspec.structs.replace(
        claim.request,
        address=address,
        addresses=(),
        count=1,
        contiguous=False,
        subnet=None,
        reservation=None,
        during_cooldown=False,
    )
    return msgspec.structs.replace(claim, request=request)


def _follows_by(draft: Draft, old: Allocation, dns: NameFollows | None) -> datetime | None:
    """When the name of an address follows at the latest; None: at once, as no client uses it or it has no name."""
    if dns == "now" or old.hostname is None or old.standing != "primary" or old.held_until is None:
        return None
    if old.held_until <= draft.moment.now:
        return None
    return old.held_until + timedelta(seconds=draft.moment.clock_margin)


# Another holder


class Receiver(NamedTuple):
    """Who is to have an address: an interface (or a machine that has none), or a claim and what it is for."""

    machine: str | None
    interface: str | None
    claim: Claim | None = None


def _receiver(draft: Draft, use: ReassignAddress, network: str) -> Receiver:
    if use.claim is not None:
        return _by_claim(draft, use.claim, acknowledged=use.static_acknowledged)
    if use.interface is not None:
        interface = draft.facts.interfaces[interface_of(draft, use.interface)]
        return Receiver(living(draft, interface.machine, "/interface"), interface.id)
    machine = draft.facts.machine_names.get(str(use.machine))
    if machine is None:
        raise NotFound(f"there is no machine {use.machine!r}", kind="machine", name=use.machine, pointer="/machine")
    port = _its_port(draft, machine, network)
    return Receiver(living(draft, machine, "/machine"), None if port is None else port.id)


def _its_port(draft: Draft, machine: str, network: str) -> Interface | None:
    """The interface of a machine that is to use an address of a network.

    Raises:
        Conflict: All its interfaces are plugged in elsewhere.
    """
    found = port_in(draft, machine, network)
    unplugged = any(port.network is None for port in ports_of(draft, machine))
    if found is None and not unplugged and boot_port(draft, machine) is not None:
        name, where = draft.facts.machines[machine].name, draft.state.networks[network].name
        raise Conflict(f"{name} has no interface in network {where}; name a MAC", machine=name, pointer="/machine")
    return found or boot_port(draft, machine)


def _by_claim(draft: Draft, name: str, *, acknowledged: bool) -> Receiver:
    claim = draft.facts.claims.get(name)
    if claim is None:
        raise NotFound(f"there is no claim {name!r}", kind="claim", name=name, pointer="/claim")
    if claim.state != "bound" or claim.project == LEASES:
        what = "a dynamic lease" if claim.project == LEASES else claim.state
        raise Conflict(f"claim {claim.id} is {what}", claim=claim.id, pointer="/claim")
    may_write(claim, acknowledged=acknowledged)
    return Receiver(claim.machine, claim.interface, claim)


def _has_it(draft: Draft, allocation: Allocation, to: Receiver) -> bool:
    claim = draft.facts.claims[allocation.claim]
    if to.claim is not None:
        return to.claim.id == claim.id
    used = draft.facts.attached.get(allocation.id, {})
    return claim.machine == to.machine and (to.interface in used if to.interface is not None else not used)


def _given_to(draft: Draft, allocation: Allocation, to: Receiver, use: ReassignAddress) -> Holding:
    giver = draft.facts.claims[allocation.claim]
    if giver.request.shared:
        raise Conflict(f"{allocation.ip} is shared; attach and detach it", address=allocation.ip)
    gap, version = Gap(draft, allocation), version_of(allocation.ip)
    if to.claim is not None:
        claim = _into_claim(draft, allocation, to.claim)
    elif giver.project == MACHINES or len(draft.facts.held[giver.id]) > 1:
        claim = _into_own_claim(draft, allocation, to)
    else:
        claim = _along(draft, allocation, to)
    displaced = gap.close(draft) + _make_way(draft, claim, allocation.ip, version, use.on_override)
    return holding(draft, draft.facts.claims[claim.id], displaced=displaced)


def _along(draft: Draft, allocation: Allocation, to: Receiver) -> Claim:
    """The claim goes along with its only address."""
    giver = draft.facts.claims[allocation.claim]
    claim = follow_host(draft, giver, to.machine)
    claim = msgspec.structs.replace(claim, machine=to.machine, interface=to.interface, revision=claim.revision + 1)
    left = draft.facts.allocations[allocation.id]
    _pass(draft, left, claim, hostname=_called(draft, left, giver, claim), title=left.title)
    return claim


def _into_own_claim(draft: Draft, allocation: Allocation, to: Receiver) -> Claim:
    """A claim of its own for an address that leaves others behind, or was given to a machine by itself."""
    giver = draft.facts.claims[allocation.claim]
    claim = _claim_for(draft, allocation, giver, to)
    title = allocation.title
    if claim.host is not None and claim.host != giver.host:
        title = kept_at(draft, claim, allocation, claim.host).title
    hostname = _called(draft, allocation, giver, claim)
    _pass(draft, allocation, claim, hostname=hostname, title=title, opens=True)
    return claim


def _claim_for(draft: Draft, allocation: Allocation, giver: Claim, to: Receiver) -> Claim:
    project = "default" if giver.project == MACHINES else giver.project
    host = host_of(draft, to.machine) or giver.host
    machine = None if to.machine is None else draft.facts.machines[to.machine].name
    request = ClaimRequest(
        network=giver.network,
        host=host,
        machine=machine,
        mac=None if to.interface is None else draft.facts.interfaces[to.interface].mac,
        family="v6" if version_of(allocation.ip) == 6 else "v4",
        address=allocation.ip,
        project=project,
        purpose=giver.request.purpose,
        alias=giver.request.alias,
    )
    id_ = next(draft.moment.ids)
    return Claim(
        id=id_,
        handle="claim:" + id_,
        project=project,
        network=giver.network,
        request=request,
        since=draft.moment.now,
        actor=draft.asked.actor,
        host=host,
        machine=to.machine,
        interface=to.interface,
        bound=draft.moment.now,
    )


def _into_claim(draft: Draft, allocation: Allocation, claim: Claim) -> Claim:
    """The address joins what a claim holds."""
    network = draft.state.subnets[allocation.subnet].subnet.network
    if network != claim.network:
        name = draft.state.networks[claim.network].name
        raise Conflict(f"claim {claim.id} is of network {name}, and {allocation.ip} is not", pointer="/claim")
    title = allocation.title if claim.host is None else kept_at(draft, claim, allocation, claim.host).title
    claim = msgspec.structs.replace(claim, named=True, revision=claim.revision + 1)
    _pass(draft, allocation, claim, hostname=name_for(draft, claim, allocation.ip), title=title)
    return claim


def _pass(draft: Draft, left: Allocation, claim: Claim, *, opens: bool = False, **new: str | None) -> None:
    used = () if claim.interface is None else (claim.interface,)
    standing = "alias" if claim.request.alias or claim.request.shared else "primary"
    pass_on(draft, left, claim, used, reason="reassigned", opens=opens, standing=standing, behind=None, **new)


def _make_way(
    draft: Draft, claim: Claim, ip: str, version: int, on_override: OnOverride | None
) -> tuple[Displaced, ...]:
    """Record what becomes of what the receiver has: other claims' addresses, and the claim's own."""
    request = claim.request
    if on_override is not None:
        request = msgspec.structs.replace(request, on_override=on_override)
    asking = msgspec.structs.replace(claim, request=request)
    if claim.interface is None:
        return ()
    how = request.on_override or draft.state.networks[claim.network].on_override
    mine = [a for a in draft.facts.held[claim.id].values() if a.ip != ip and version_of(a.ip) == version]
    mine = [a for a in mine if a.standing == "primary" or a.behind is not None]
    aside = tuple([_aside(draft, a, how) for a in mine])  # first, so that none stands behind what will stand behind it
    return displace(draft, asking, version) + aside


def _aside(draft: Draft, allocation: Allocation, how: OnOverride) -> Displaced:
    """What a claim had itself: it is not shelved, as the claim cannot end before itself; it stays as an alias."""
    if how != "release":
        return set_beside(draft, allocation)
    allocation = settled(draft, allocation)
    claim = draft.facts.claims[allocation.claim]
    release(draft, claim, "displaced", closes=False, held=[allocation])
    return Displaced(allocation.ip, "released", claim.id)


# Names


def _called(draft: Draft, allocation: Allocation, giver: Claim, claim: Claim) -> str | None:
    """The name of an address that changes hands: one that it was given itself, else as its claim's are called."""
    if allocation.hostname is not None and allocation.hostname != _usual_name(draft, giver):
        not_taken(draft, allocation.hostname, claim, Place(claim.network, allocation.ip))
        return allocation.hostname
    return name_for(draft, claim, allocation.ip)


def _usual_name(draft: Draft, claim: Claim) -> str | None:
    return claim.request.hostname or _machine_name(draft, claim)


def _machine_name(draft: Draft, claim: Claim) -> str | None:
    return None if claim.machine is None else resolve.called(draft.facts.machines[claim.machine].name)
