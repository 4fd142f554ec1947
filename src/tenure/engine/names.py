"""Who may be called what: no two holders by one name, no name that is another address's, none against a record."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.state import State
from tenure.errors import Conflict
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet
from tenure.model.dnsdata import TYPES, Zone, ZoneRecord
from tenure.model.holding import Allocation, Attachment, Claim, ClaimRequest
from tenure.model.policy import RecordType
from tenure.naming.authority import own_server, servers_of
from tenure.naming.hostnames import LONGEST_NAME, fqdn
from tenure.naming.reverse import owner_number, pointer_owner
from tenure.naming.templates import Template, readings, template_for
from tenure.net.addresses import number_of, text_of, version_of

POINTER: Final = "/hostname"

MOST_OF_TYPE: Final = 100
"""Records of one name and type: BIND refuses a zone with more (`max-records-per-type`)."""

_ADDRESSES: Final[dict[int, RecordType]] = {4: "A", 6: "AAAA"}


class Place(NamedTuple):
    """An address that a name is wanted for, or the network alone while none is chosen."""

    network: str
    ip: str | None = None

    @property
    def types(self) -> tuple[RecordType, ...]:
        """Those of the records that such addresses have."""
        return ("A", "AAAA") if self.ip is None else ("AAAA",) if ":" in self.ip else ("A",)


def name_for(draft: Draft, claim: Claim, ip: str | None) -> str | None:
    """The relative name that a claim's address will have: its own, or its machine's where that is a host name.

    Raises:
        Conflict: As of `not_taken`.
    """
    hostname = claim.request.hostname
    if hostname is None and claim.machine is not None:
        hostname = resolve.called(draft.facts.machines[claim.machine].name)
    not_taken(draft, hostname, claim, Place(claim.network, ip))
    return hostname


def not_taken(draft: Draft, hostname: str | None, claim: Claim, place: Place) -> None:
    """Refuse a name that an address cannot have.

    A dynamic lease that calls itself so loses the name: what a client says bars nobody.

    Raises:
        Conflict: Another's address has it, or would have it by a template (fact `address`), or a record that
            somebody made (fact `record`) is in its way.
    """
    network = draft.state.networks[place.network]
    if hostname is None or network.domain is None:
        return
    holder = _undisputed(draft, hostname, claim, network) if draft.facts.named[hostname] else None
    refusal = _refusal(draft, hostname, holder, place)
    if refusal is not None:
        raise refusal


def carried(draft: Draft, old: Allocation, ip: str) -> str | None:
    """What an address is called that replaces another: by its name, unless that says by a template which it was.

    Raises:
        Conflict: A record that somebody made is in the way of the name, or of the new address's pointer.
    """
    state, name = draft.state, full_name(draft.state, old)
    if old.hostname is None or name is None:
        return old.hostname
    if computed_for(state, old.vrf, name, ip) is not None:
        return None
    network = state.networks[state.subnets[old.subnet].subnet.network]
    refusal = _against_records(state, network, name, Place(network.id, ip))
    if refusal is not None:
        raise refusal
    return old.hostname


def free_name(draft: Draft, name: str | None, place: Place) -> str | None:
    """The name that a client calls itself, if it may be called so: a clash drops the name, not the lease."""
    hostname = None if name is None else resolve.called(name)
    network = draft.state.networks[place.network]
    if hostname is None or network.domain is None or len(hostname) + 1 + len(network.domain) > LONGEST_NAME + 1:
        return None
    holder = name_holder(draft, hostname, network, None)
    return hostname if _refusal(draft, hostname, holder, place) is None else None


def _refusal(draft: Draft, hostname: str, holder: Allocation | None, place: Place) -> Conflict | None:
    network = draft.state.networks[place.network]
    name = fqdn(hostname, str(network.domain))
    if holder is not None:
        said = f"the name {name} belongs to {holder.ip}"
        return Conflict(said, name=name, address=holder.ip, pointer=POINTER)
    other = computed_for(draft.state, network.vrf, name, place.ip)
    if other is not None:
        return _computed(name, other)
    return _against_records(draft.state, network, name, place) or _crowded(draft, hostname, network, place)


# Other holders


def name_holder(draft: Draft, hostname: str, mine: Network, claim: Claim | None) -> Allocation | None:
    """The open allocation of another claim, and of another machine, that bars this name in a network's zone."""
    for allocation in draft.facts.named[hostname].values():
        other = draft.state.networks[draft.state.subnets[allocation.subnet].subnet.network]
        if (other.vrf, other.domain) != (mine.vrf, mine.domain) or (other.shared_names and mine.shared_names):
            continue
        if not _shares(draft, allocation, claim):
            return allocation
    return None


def _shares(draft: Draft, allocation: Allocation, claim: Claim | None) -> bool:
    """A claim's own addresses, and those of its machine, may have one name."""
    if claim is None:
        return False
    holder = draft.facts.claims[allocation.claim]
    return holder.id == claim.id or (holder.machine is not None and holder.machine == claim.machine)


def _undisputed(draft: Draft, hostname: str, claim: Claim, network: Network) -> Allocation | None:
    """The holder that bars a name, once the dynamic leases that are called so are called so no longer."""
    holder = name_holder(draft, hostname, network, claim)
    while holder is not None and holder.lease:
        unname(draft, holder)
        holder = name_holder(draft, hostname, network, claim)
    return holder


def unname(draft: Draft, lease: Allocation) -> None:
    """Record that a dynamic lease has no name any more."""
    now, claim = draft.moment.now, draft.facts.claims[lease.claim]
    claim = msgspec.structs.replace(claim, revision=claim.revision + 1)
    allocation = msgspec.structs.replace(lease, id=next(draft.moment.ids), since=now, hostname=None)
    used = list(draft.facts.attached.get(lease.id, {}).values())
    moved = e.AddressMoved(
        giver=claim,
        left=msgspec.structs.replace(lease, until=now),
        attachments=tuple([msgspec.structs.replace(each, until=now) for each in used]),
        claim=claim,
        allocation=allocation,
        attachment=Attachment(allocation=allocation.id, interface=used[0].interface, since=now) if used else None,
        reason="renamed",
    )
    draft.record(moved)


def _crowded(draft: Draft, hostname: str, network: Network, place: Place) -> Conflict | None:
    """Why a name cannot have one more address: it has as many, by allocations and records, as secondaries take."""
    state, held = draft.state, draft.facts.named[hostname].values()
    zone = state.zone_named(network.vrf, str(network.domain))
    made = {} if zone is None or zone.id not in state.made else state.made[zone.id].get(f"{hostname}.{zone.name}", {})
    if len(held) + len(made) < MOST_OF_TYPE:
        return None
    name = fqdn(hostname, str(network.domain))
    found = {each.ip for each in held if full_name(state, each) == name and each.vrf == network.vrf}
    found |= {record.data for record in made.values() if record.type in ("A", "AAAA")}
    for type_ in place.types:
        if len([ip for ip in found - {place.ip} if _ADDRESSES[version_of(ip)] == type_]) >= MOST_OF_TYPE:
            return _too_many(name, type_)
    return None


def _too_many(owner: str, type_: RecordType) -> Conflict:
    said = f"{owner} has {MOST_OF_TYPE} {type_} records, the most that secondaries take"
    return Conflict(said, name=owner, pointer=POINTER)


# Computed names


def template_of(state: State, subnet: Subnet) -> Template | None:
    """How the addresses of a subnet are called that nobody has named: as it says, its network, or its zone."""
    network = state.networks[subnet.network]
    if network.domain is None:
        return None
    return template_for(subnet, network, state.zone_named(network.vrf, network.domain))


def computed_for(state: State, vrf: str, name: str, ip: str | None) -> str | None:
    """The address, other than `ip`, that has this absolute name by a template of its subnet.

    Cost: one look where the vrf has no template; else linear in the name.
    """
    if not state.templates[vrf]:
        return None
    for version, number in readings(name):
        space = state.space_at(vrf, version, number)
        if space is None:
            continue
        domain, template = state.networks[space.subnet.network].domain, template_of(state, space.subnet)
        if template is None or f"{template.name(version, number)}.{domain}" != name:
            continue
        found = text_of(version, number)
        if found != ip:
            return found
    return None


def not_an_address(draft: Draft, request: ClaimRequest) -> None:
    """Refuse a name that a template has for an address, where none is asked for: it would be another's.

    Raises:
        Conflict: Fact `address` says whose.
    """
    network = draft.state.networks[request.network]
    if request.hostname is None or network.domain is None or not draft.state.templates[network.vrf]:
        return
    if request.address or request.addresses or request.reservation:
        return
    other = computed_for(draft.state, network.vrf, f"{request.hostname}.{network.domain}", None)
    if other is not None:
        raise _computed(f"{request.hostname}.{network.domain}", other)


def _computed(name: str, other: str) -> Conflict:
    said = f"the name {name} is what {other} is called by its subnet's template"
    return Conflict(said, name=name, address=other, pointer=POINTER)


def unlike_others(draft: Draft, vrf: str, domain: str | None, pointer: str = "/name_template") -> None:
    """Refuse templates by which an address is called as another is that somebody holds; after they were recorded.

    Raises:
        Conflict: With the first 20 names, and whose they are.
    """
    found: dict[str, str] = {}
    for (of_vrf, of_domain, _, _), held in draft.facts.alike.items():
        for allocation in held if (of_vrf, of_domain) == (vrf, domain) else ():
            network = draft.state.networks[draft.state.subnets[allocation.subnet].subnet.network]
            if network.domain is None or network.domain != domain or allocation.hostname is None:
                continue
            other = computed_for(draft.state, vrf, fqdn(allocation.hostname, network.domain), allocation.ip)
            if other is not None:
                found[allocation.hostname] = f"{allocation.hostname} of {allocation.ip}"
    if found:
        holders = sorted(found.values())
        raise Conflict(
            f"{len(holders)} addresses are called as others would be by this template: {', '.join(holders[:20])}",
            holders=holders[:20],
            count=len(holders),
            pointer=pointer,
        )


# Records that people made


def zone_around(state: State, vrf: str, owner: str) -> Zone | None:
    """The innermost zone of a vrf that a name is in: its own, where a zone is called so. Cost: a look a label."""
    while owner:
        found = state.zone_named(vrf, owner)
        if found is not None:
            return found
        owner = owner.partition(".")[2]
    return None


def pointer_zone(state: State, vrf: str, version: int, number: int) -> Zone | None:
    """The zone that an address's pointer is in: the innermost that lies around it."""
    found = state.reverse_zones.innermost(vrf, version, number)
    return None if found is None else state.zones[found]


def has_pointer(state: State, zone: Zone, allocation: Allocation) -> bool:
    """Whether the pointer of a named address is in this zone."""
    if state.subnets[allocation.subnet].subnet.reverse == "off":
        return False
    found = pointer_zone(state, allocation.vrf, version_of(allocation.ip), number_of(allocation.ip))
    return found is not None and found.id == zone.id


def full_name(state: State, allocation: Allocation) -> str | None:
    """The absolute name of an open allocation, or None."""
    network = state.networks[state.subnets[allocation.subnet].subnet.network]
    if allocation.hostname is None or network.domain is None or allocation.until is not None:
        return None
    return fqdn(allocation.hostname, network.domain)


def cut_above(state: State, zone: Zone, owner: str) -> str | None:
    """The name, this one or above it, at which somebody else's zone begins by NS records that people made."""
    made, found = state.made.get(zone.id, {}), None
    while owner != zone.name and owner:
        there = made.get(owner)
        if there is not None and any(record.type == "NS" for record in there.values()):
            found = owner
        owner = owner.partition(".")[2]
    return found


def own_names(state: State, zone: Zone) -> tuple[str, ...]:
    """The names in a zone that are this server's own, by which it answers."""
    own = own_server(zone.name)
    return (own,) if own in servers_of(zone, state.vrfs[zone.vrf].name_servers) else ()


def _against_records(state: State, network: Network, name: str, place: Place) -> Conflict | None:
    zone = zone_around(state, network.vrf, name)
    if zone is not None:
        if zone.name != network.domain:
            return Conflict(f"{name} is in zone {zone.name}, which is not this network's", name=name, pointer=POINTER)
        if name == own_server(zone.name) and own_names(state, zone):
            return Conflict(f"{name} is this server's own name in zone {zone.name}", name=name, pointer=POINTER)
        found = barring(state, zone, name, place.types) if zone.id in state.made else None
        if found is not None:
            return found
    if place.ip is None or not state.reverse_zones.made[network.vrf]:
        return None
    return _against_pointers(state, network.vrf, place.ip)


def _against_pointers(state: State, vrf: str, ip: str) -> Conflict | None:
    version, number = version_of(ip), number_of(ip)
    space = state.space_at(vrf, version, number)
    zone = pointer_zone(state, vrf, version, number)
    if zone is None or zone.id not in state.made or space is None or space.subnet.reverse == "off":
        return None
    owner = pointer_owner(zone.name, version, number)
    pointers = [each for each in state.made[zone.id].get(owner, {}).values() if each.type == "PTR"]
    if len(pointers) >= MOST_OF_TYPE:
        return _too_many(owner, "PTR")
    return barring(state, zone, owner, ("PTR",))


def barring(state: State, zone: Zone, owner: str, types: tuple[RecordType, ...]) -> Conflict | None:
    """Why an allocation's record cannot be at a name of a zone: what people made there. Cost: the records there."""
    made = state.made.get(zone.id)
    if made is None:
        return None
    cut = cut_above(state, zone, owner)
    if cut is not None:
        said = f"{owner} is not this server's to say: {cut} is delegated by records of zone {zone.name}"
        return Conflict(said, name=owner, zone=zone.id, pointer=POINTER)
    for record in made.get(owner, {}).values():
        if record.type == "CNAME":
            said = f"{owner} is an alias of {record.data}, by a record of zone {zone.name}"
            return _by(record, owner, said)
        if record.type in types and record.ttl is not None:
            said = f"{owner} has {record.type} records of a TTL of their own, which one name's of one type must share"
            return _by(record, owner, said)
    return None


def _by(record: ZoneRecord, owner: str, said: str) -> Conflict:
    return Conflict(said, name=owner, record=record.id, pointer=POINTER)


def automatic(draft: Draft, zone: Zone, owner: str) -> Iterator[tuple[int, Allocation]]:
    """What allocations say at a name of a zone: the type's number, and the allocation; shelved ones too.

    The names relative to each domain around it, and the address that it points from, must have been wanted. Of a
    zone that came in the same transaction they are not: nobody was called so before it.
    """
    for hostname, domain in relative_names(draft.state, zone.vrf, owner):
        for allocation in draft.facts.named.get(hostname, {}).values():
            network = draft.state.networks[draft.state.subnets[allocation.subnet].subnet.network]
            if (network.vrf, network.domain) == (zone.vrf, domain):
                yield TYPES[_ADDRESSES[version_of(allocation.ip)]], allocation
    found = owner_number(zone.name, owner)
    pointed = None if found is None else draft.facts.addresses.get((zone.vrf, text_of(*found)))
    if pointed is not None and full_name(draft.state, pointed) and has_pointer(draft.state, zone, pointed):
        yield TYPES["PTR"], pointed


def relative_names(state: State, vrf: str, owner: str) -> Iterator[tuple[str, str]]:
    """How a name is called relative to each domain of a vrf that it is in, and that domain."""
    label, _, domain = owner.partition(".")
    hostname = label
    while domain:
        if state.zone_named(vrf, domain) is not None:
            yield hostname, domain
        label, _, rest = domain.partition(".")
        hostname, domain = f"{hostname}.{label}", rest
