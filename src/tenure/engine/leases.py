"""What a DHCP client may have here: allocations by MAC, pending claims bound where they are seen, dynamic leases.

An offer records nothing, except that a pending claim is bound; it is remembered
for a minute, so that two clients are not offered the same address.
"""

from datetime import datetime, timedelta
from zlib import crc32

import msgspec

from tenure.engine import lifecycle
from tenure.engine.claims import bind, end
from tenure.engine.dhcp_options import encoded
from tenure.engine.draft import Draft
from tenure.engine.enlist import enlist
from tenure.engine.holdings import DECLINED_REST
from tenure.engine.links import Link, link_of, one_link, served
from tenure.engine.names import Place as Named
from tenure.engine.names import free_name
from tenure.engine.observe import declined
from tenure.engine.reach import draining
from tenure.engine.reassign import follow_name
from tenure.engine.rests import rests_from
from tenure.engine.space import Space
from tenure.errors import TenureError
from tenure.model import events as e
from tenure.model.answers import Leased, Nothing, Number
from tenure.model.holding import LEASES, Allocation, Attachment, Claim, ClaimRequest
from tenure.model.leases import Client, Lease, LeaseRefused, Place
from tenure.model.uses import ExpireLeases, LeaseCommit, LeaseDecline, LeaseInform, LeaseOffer, LeaseRelease
from tenure.net.addresses import number_of, text_of

SILENCE = Leased()


def lease_handle(subnet: str, mac: str) -> tuple[str, str]:
    """Project and handle of a client's dynamic lease on a subnet."""
    return (LEASES, f"{LEASES}:{subnet}:{mac}")


def lease_offer(use: LeaseOffer, draft: Draft) -> Leased:
    """What a client that looks for a server is offered, in dhcp.md's order; or silence."""
    link = link_of(draft, use.place)
    if link is None:
        return SILENCE
    known = _known(draft, link, use.client) or _bound_here(draft, link, use.client, use.place)
    known = known or _at_boot(draft, link, use.client, use.place)
    if known is not None and _waits(draft, known):
        return SILENCE
    known = known or _dynamic(draft, link, use.client)
    if known is not None:
        return Leased(_lease(draft, _its_link(draft, link, known), known, known.held_until))
    number = None if link.space.subnet.draining else _free(draft, link, use.client, use.requested)
    if number is None:
        return SILENCE
    draft.state.offers.note(link.space.subnet.id, number, use.client.mac, draft.moment.now)
    named = _new_name(draft, link, use.client, number)
    return Leased(_promise(draft, link, number, dynamic=True, hostname=named))


def lease_commit(use: LeaseCommit, draft: Draft) -> Leased:
    """Whether a client may have the address that it asks for, in one of RFC 2131's four forms.

    The promise is recorded before it is made, two lease lengths ahead, so that one renewal in a few writes.
    A client whose address has gone to another, or is shelved, is told no; while its new one waits for the end of what
    another was promised it is told nothing, and may use the old one for as long as that was promised to it.
    """
    link = link_of(draft, use.place)
    if link is None:
        return SILENCE
    known = _known(draft, link, use.client)
    if known is not None and _took_offer(draft, link, use):
        return Leased(_granted(draft, link, use))
    if known is not None and _waits(draft, known) and link.space.first <= use.address <= link.space.last:
        return SILENCE
    known = known or _dynamic(draft, link, use.client)
    if known is not None:
        if number_of(known.ip) != use.address:
            return Leased(refused=LeaseRefused(f"{use.client.mac} has {known.ip} here"))
        return Leased(_acknowledged(draft, _its_link(draft, link, known), use.client, known))
    new = use.form == "selecting" and not link.space.subnet.draining
    if new and _may_have(draft, link, use.client, use.address):
        return Leased(_granted(draft, link, use))
    if use.form == "selecting" or link.authoritative or _interface(draft, use.client) is not None:
        return Leased(refused=LeaseRefused(f"{text_of(4, use.address)} is not {use.client.mac}'s here"))
    return SILENCE


def lease_release(use: LeaseRelease, draft: Draft) -> Nothing:
    """End a dynamic lease that its client gives back. An allocation is not the client's to give."""
    link = link_of(draft, use.place)
    lease = None if link is None else _dynamic(draft, link, use.client)
    if lease is not None and number_of(lease.ip) == use.address:
        end(draft, draft.facts.claims[lease.claim], "returned")
    return Nothing()


def lease_decline(use: LeaseDecline, draft: Draft) -> Nothing:
    """The holder found somebody else on its address: a dynamic one rests for a day, an allocation is reported.

    No more than an eighth of a link's dynamic addresses rest for that: whoever makes up clients takes no more.
    """
    link = link_of(draft, use.place)
    if link is None:
        return Nothing()
    known = _known(draft, link, use.client)
    if known is not None and number_of(known.ip) == use.address:
        declined(draft, draft.facts.claims[known.claim], known)
        return Nothing()
    lease = _dynamic(draft, link, use.client)
    if lease is not None and number_of(lease.ip) == use.address:
        end(draft, draft.facts.claims[lease.claim], "declined" if _may_rest(draft, link) else "returned")
    return Nothing()


def _may_rest(draft: Draft, link: Link) -> bool:
    """Whether one more address of a link may rest for a day because its client declined it; counted if so."""
    space, now, declines = link.space, draft.moment.now, draft.state.declines
    ranges = (r for r in space.ranges.values() if r.role == "dynamic")
    size = sum(number_of(r.end) - number_of(r.start) + 1 for r in ranges)
    if not declines.room(space.subnet.id, max(1, size // 8), now):
        return False
    declines.note(space.subnet.id, now)
    return True


def lease_inform(use: LeaseInform, draft: Draft) -> Leased:
    """Options for a client that has its address from elsewhere."""
    link = link_of(draft, use.place)
    if link is None:
        return SILENCE
    known = _known(draft, link, use.client)
    lease = _promise(draft, link, 0, dynamic=False, hostname=None if known is None else known.hostname)
    return Leased(lease)


def expire_leases(use: ExpireLeases, draft: Draft) -> Number:
    """Close dynamic leases whose promise, with the clock margin, is over."""
    margin = timedelta(seconds=draft.moment.clock_margin)
    over = [draft.facts.allocations[a] for a in draft.facts.expired if a in draft.facts.allocations]
    over = [a for a in over if a.until is None and a.held_until is not None]
    over = [a for a in over if a.held_until is not None and a.held_until + margin <= draft.moment.now]
    for allocation in over[: use.limit]:
        end(draft, draft.facts.claims[allocation.claim], "expired")
    return Number(len(over[: use.limit]))


def _took_offer(draft: Draft, link: Link, use: LeaseCommit) -> bool:
    """Whether a client selects the dynamic address that it was offered, since when its interface was given another.

    It may have what it was offered, nobody else has it, until it renews (Kea 3555): to be refused then brings it here.
    """
    offered = draft.state.offers.holder(link.space.subnet.id, use.address, draft.moment.now)
    mine = use.form == "selecting" and offered == use.client.mac and not link.space.subnet.draining
    return mine and _dynamic(draft, link, use.client) is None and _may_have(draft, link, use.client, use.address)


def _interface(draft: Draft, client: Client) -> str | None:
    """The interface that a client is; a retired machine's is nobody's any more."""
    found = draft.facts.macs.get(client.mac)
    if found is None or draft.facts.machines[draft.facts.interfaces[found].machine].lifecycle == "retired":
        return None
    return found


def _known(draft: Draft, link: Link, client: Client) -> Allocation | None:
    """The primary allocation of the client's interface here. A known MAC is enough, whatever identifier it sends."""
    interface = _interface(draft, client)
    if interface is None:
        return None
    held = [draft.facts.allocations[a] for a in draft.facts.uses.get(interface, ())]
    here = [a for a in held if a.standing == "primary" and not a.lease and _is_here(draft, link, a)]
    return min(here, key=lambda a: (a.subnet != link.space.subnet.id, a.since, a.id), default=None)


def _is_here(draft: Draft, link: Link, known: Allocation) -> bool:
    if known.subnet == link.space.subnet.id:
        return True
    space = draft.state.subnets[known.subnet]
    return space.version == 4 and one_link(link.space.subnet, space.subnet) and served(draft, space) is not None


def _its_link(draft: Draft, link: Link, known: Allocation) -> Link:
    """The subnet of an address that is known here, as it is served."""
    return link if known.subnet == link.space.subnet.id else served(draft, draft.state.subnets[known.subnet]) or link


def _waits(draft: Draft, known: Allocation) -> bool:
    """Whether an address is still promised to who had it before, and that is not who uses it now."""
    users = draft.facts.attached.get(known.id, ())
    return known.waits_until is not None and known.waits_until > draft.moment.now and known.waits_for not in users


def _bound_here(draft: Draft, link: Link, client: Client, place: Place) -> Allocation | None:
    """Bind a pending claim of the client's interface, in this link's network, to where it was seen.

    Of several the first that will be what the client has here; one that cannot be bound is in nobody's way.
    """
    for claim in _waiting(draft, link, client):
        host = _seen_at(draft, link, place) or claim.host
        if draining(draft.state, host) is None and _is_bound(draft, claim, host, link.space):
            return _known(draft, link, client)
    return None


def _waiting(draft: Draft, link: Link, client: Client) -> list[Claim]:
    """Pending claims that could be bound here: aliases and shared ones last, the oldest first."""
    interface, subnet = _interface(draft, client), link.space.subnet
    if interface is None or subnet.draining:
        return []
    claims = [draft.facts.claims[c] for c in draft.facts.pending.get(interface, ())]
    mine = [c for c in claims if c.network == subnet.network and c.request.family != "v6"]
    mine = [c for c in mine if c.request.subnet in (None, subnet.id)]
    mine = [c for c in mine if link.space.available or c.request.reservation is not None]
    return sorted(mine, key=lambda c: (c.request.alias or c.request.shared, c.since, c.id))


def _is_bound(draft: Draft, claim: Claim, host: str | None, only: Space) -> bool:
    try:
        draft.attempt(lambda: bind(draft, claim, host, only))
    except TenureError:
        return False
    return True


def _at_boot(draft: Draft, link: Link, client: Client, place: Place) -> Allocation | None:
    """What the client's machine is given here because it boots."""
    interface = _interface(draft, client)
    if interface is None:
        return None
    seen_at = _seen_at(draft, link, place)
    return lifecycle.at_boot(draft, draft.facts.interfaces[interface], link.space, seen_at)


def _seen_at(draft: Draft, link: Link, place: Place) -> str | None:
    """The location that the relay names, else the one that the subnet is bound to."""
    found = draft.state.place_of_relay(place.circuit_id, place.remote_id)
    bound = link.space.subnet.locations
    return found or (bound[0] if len(bound) == 1 else None)


def _dynamic(draft: Draft, link: Link, client: Client) -> Allocation | None:
    claim = draft.facts.handles[lease_handle(link.space.subnet.id, client.mac)]
    held = draft.facts.held[claim].values() if claim is not None else ()
    return next((a for a in held if a.lease), None)


def _free(draft: Draft, link: Link, client: Client, requested: int | None) -> int | None:
    """A free dynamic address: the one it had last, the one it asks for, the one it was offered a moment ago, else one
    from a hash of the client on.
    """
    space = link.space
    last = draft.facts.last.get(lease_handle(space.subnet.id, client.mac))
    offered = draft.state.offers.of(space.subnet.id, client.mac)
    for number in (None if last is None else number_of(last.ip), requested, offered):
        if number is not None and _may_have(draft, link, client, number):
            return number
    found = space.free_dynamic(crc32(client.mac.encode()))
    return _offered_longest_ago(draft, space) if found is None else found


def _offered_longest_ago(draft: Draft, space: Space) -> int | None:
    """Of the addresses that nobody has and somebody was offered, the one that is least likely to be asked for."""
    offers = draft.state.offers
    while (number := offers.oldest(space.subnet.id)) is not None:
        if space.is_free_dynamic(number):
            return number
        offers.forget(space.subnet.id, number)
    return None


def _may_have(draft: Draft, link: Link, client: Client, number: int) -> bool:
    """Whether this client could be given this dynamic address: free, or resting after its own lease."""
    space = link.space
    offered = draft.state.offers.holder(space.subnet.id, number, draft.moment.now)
    if offered not in (None, client.mac):
        return False
    if space.is_free_dynamic(number):
        return True
    if space.is_used(number) or number in space.strangers or not space.is_dynamic(number):
        return False
    last = draft.facts.last.get(lease_handle(space.subnet.id, client.mac))
    if last is None or number_of(last.ip) != number:
        return False
    return rests_from(draft, last) and _is_own_rest(last, space.resting.get(number))


def _is_own_rest(last: Allocation, end: datetime | None) -> bool:
    """Whether an address rests because of this lease, which its client did not decline, and not because of a later."""
    if last.until is None or end is None:
        return False
    return end == last.cooling_until and end - last.until < DECLINED_REST


def _new_name(draft: Draft, link: Link, client: Client, number: int) -> str | None:
    """The name that the client calls itself, if it may be called so."""
    return free_name(draft, client.hostname, Named(link.space.subnet.network, text_of(4, number)))


def _granted(draft: Draft, link: Link, use: LeaseCommit) -> Lease:
    """What a client is told of the dynamic lease that it is given."""
    given = _grant(draft, link, use)
    return _lease(draft, link, given, given.held_until)


def _grant(draft: Draft, link: Link, use: LeaseCommit) -> Allocation:
    """Record a dynamic lease: an allocation under a handle of its own, so that nothing escapes the referee.

    A client that nobody knows becomes a machine first, where machines enlist.
    """
    now, subnet, client, number = draft.moment.now, link.space.subnet, use.client, use.address
    project, handle = lease_handle(subnet.id, client.mac)
    request = ClaimRequest(
        network=subnet.network, subnet=subnet.id, mac=client.mac, family="v4", project=project, hostname=client.hostname
    )
    if draft.facts.macs.get(client.mac) is None:
        enlist(draft, link.space, client.mac, _seen_at(draft, link, use.place))
    interface = _interface(draft, client)
    claim = Claim(
        id=next(draft.moment.ids),
        handle=handle,
        project=project,
        network=subnet.network,
        request=request,
        since=now,
        actor=draft.asked.actor,
        machine=None if interface is None else draft.facts.interfaces[interface].machine,
        interface=interface,
        bound=now,
    )
    given = Allocation(
        id=next(draft.moment.ids),
        claim=claim.id,
        vrf=subnet.vrf,
        subnet=subnet.id,
        ip=text_of(4, number),
        length=link.space.width,
        since=now,
        hostname=_new_name(draft, link, client, number),
        lease=True,
        held_until=now + timedelta(seconds=2 * link.lease_time),
    )
    attachment = None if interface is None else Attachment(allocation=given.id, interface=interface, since=now)
    draft.record(
        e.AddressAllocated(claim=claim, allocation=given, attachment=attachment, strategy="dynamic", opens=True)
    )
    draft.state.offers.forget(subnet.id, number)
    _seen(draft, client)
    return given


def _acknowledged(draft: Draft, link: Link, client: Client, known: Allocation) -> Lease:
    """What is promised to a client of the address that it has; a name that waited for it follows."""
    follow_name(draft, known)
    known = draft.facts.allocations[known.id]
    return _lease(draft, link, known, _promised(draft, link, client, known))


def _seen(draft: Draft, client: Client) -> None:
    interface = _interface(draft, client)
    if interface is not None:
        lifecycle.seen(draft, draft.facts.interfaces[interface].machine, draft.moment.now)


def _promised(draft: Draft, link: Link, client: Client, known: Allocation) -> datetime:
    """The latest moment that may be promised, made later and recorded if this promise would pass it."""
    needed = draft.moment.now + timedelta(seconds=link.lease_time)
    if known.held_until is not None and known.held_until >= needed:
        return known.held_until
    _seen(draft, client)
    later = draft.moment.now + timedelta(seconds=2 * link.lease_time)
    renewed = msgspec.structs.replace(known, held_until=later)
    draft.record(e.LeasePromised(claim=draft.facts.claims[known.claim], allocation=renewed))
    return later


def _lease(draft: Draft, link: Link, known: Allocation, held_until: datetime | None) -> Lease:
    lease = _promise(draft, link, number_of(known.ip), dynamic=known.lease, hostname=known.hostname)
    return msgspec.structs.replace(lease, held_until=held_until)


def _promise(draft: Draft, link: Link, number: int, *, dynamic: bool, hostname: str | None) -> Lease:
    subnet = link.space.subnet
    network = draft.state.networks[subnet.network]
    return Lease(
        address=number,
        prefix_length=link.space.prefix_length,
        subnet=subnet.id,
        dynamic=dynamic,
        lease_time=link.lease_time,
        hostname=hostname,
        domain=network.domain,
        gateway=None if subnet.gateway is None else number_of(subnet.gateway),
        dns_servers=tuple(number_of(s) for s in subnet.dns_servers if ":" not in s),
        options={**encoded(network.dhcp.options), **encoded(subnet.dhcp.options)},
        authoritative=link.authoritative,
    )
