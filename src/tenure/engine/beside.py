"""What may be beside what in a zone: one record that a person makes, the others, and what allocations say there."""

from collections.abc import Iterable, Iterator
from typing import Final

from tenure.engine import names
from tenure.engine.cuts import held_below, is_at_or_below, refuse_computed
from tenure.engine.draft import Draft
from tenure.engine.serving import who_names
from tenure.engine.state import State
from tenure.errors import Conflict
from tenure.model.dnsdata import TYPES, Zone, ZoneRecord
from tenure.model.holding import Allocation
from tenure.naming import rdata
from tenure.naming.records import AAAA, LONGEST_CHAIN, NS, A
from tenure.naming.reverse import classless_span, parse_pointer

MOST_OCTETS: Final = 48 * 1024  # an RRset of which a message has room for all, with its question and its signature
_ADDRESS_TYPES: Final = ("A", "AAAA")
_SERVERS: Final = ("MX", "NS", "SRV")


def fitting(draft: Draft, zone: Zone, record: ZoneRecord) -> None:
    """Refuse a record that cannot be beside what is there; dynamic leases lose names that are in its way.

    Raises:
        Conflict: It is there already; its name is in a zone inside this one, or delegated; an alias would not be alone,
            lead in a circle or through too many, or be what a server is called; one name's records of one type would
            not have one TTL, or be more than 100 or 48 KiB, as much as every secondary takes; a server in what it
            delegates has no address. Facts say what is in the way.
    """
    state = draft.state
    _in_zone(state, zone, record)
    there = state.made.get(zone.id, {}).get(record.owner, {}).values()
    _among(record, [other for other in there if other.id != record.id])
    _at_cuts(draft, zone, record)
    _unlike_allocations(draft, zone, record)
    _not_crowded(draft, zone, record, [other for other in there if other.id != record.id])
    if record.type == "CNAME":
        _leads_on(state, zone, record)
        _no_server(state, zone, record)
    if record.type in _SERVERS:
        _serving(state, zone, record)


def needed_for(state: State, zone: Zone, record: ZoneRecord) -> list[str]:
    """Who needs a record: the last address of a server is needed by zones, the vrf, and what is delegated.

    So is the last NS record that leads to a server with an address, by those of the others.
    """
    if record.type == "NS":
        left = _servers_at(state, zone, record.owner, but=record.id)
        lost = [] if not left or _reached(state, zone, record.owner, left) else left
        return [f"record {record.owner} NS {server}" for server in lost]
    there = state.made.get(zone.id, {}).get(record.owner, {}).values()
    if record.type not in _ADDRESS_TYPES or any(o.type in _ADDRESS_TYPES and o.id != record.id for o in there):
        return []
    own = record.owner in names.own_names(state, zone)
    holders = [] if own else who_names(state, zone.vrf, record.owner)
    glued = (other for other in _aimed(state, record.owner) if other.type == "NS" and other.zone == zone.id)
    return holders + [f"record {o.owner} NS" for o in glued if is_at_or_below(record.owner, o.owner)]


def _aimed(state: State, name: str, types: tuple[str, ...] = _SERVERS) -> Iterator[ZoneRecord]:
    """The records of these types that lead to a name."""
    found = (state.records[id_] for id_ in state.aimed.get(name, ()) if id_ in state.records)
    return (record for record in found if record.type in types)


def _in_zone(state: State, zone: Zone, record: ZoneRecord) -> None:
    inner = names.zone_around(state, zone.vrf, record.owner)
    if inner is not None and inner.id != zone.id:
        said = f"{record.owner} is in zone {inner.name}, which is inside {zone.name}: make the record there"
        raise Conflict(said, zone=inner.id, pointer="/name")
    number = parse_pointer(record.owner)
    if number is not None and classless_span(zone.name) is None:
        inner = names.pointer_zone(state, zone.vrf, *number)
        if inner is not None and inner.id != zone.id:
            said = f"{record.owner} is an alias into zone {inner.name}: make the record there"
            raise Conflict(said, zone=inner.id, pointer="/name")


def _among(record: ZoneRecord, others: list[ZoneRecord]) -> None:
    """Beside the other records of its name that people made."""
    for other in others:
        if (other.type, other.rdata) == (record.type, record.rdata):
            raise _in_the_way(other, f"there is this record already: {other.id}", "/data")
        if "CNAME" in (other.type, record.type):
            what = "an alias" if other.type == "CNAME" else f"{other.type} records"
            raise _in_the_way(other, f"{record.owner} has {what}, and an alias is alone at its name", "/type")
        if other.type == record.type and other.ttl != record.ttl:
            ttl = "the zone's TTL" if other.ttl is None else f"a TTL of {other.ttl}"
            said = f"the {record.type} records of {record.owner} have {ttl}; those of one type have one"
            raise _in_the_way(other, said, "/ttl")


def _in_the_way(other: ZoneRecord, said: str, pointer: str) -> Conflict:
    return Conflict(said, record=other.id, pointer=pointer)


# Delegation


def _at_cuts(draft: Draft, zone: Zone, record: ZoneRecord) -> None:
    cut = names.cut_above(draft.state, zone, record.owner)
    if cut is not None and record.type in _ADDRESS_TYPES and record.owner in _servers_at(draft.state, zone, cut):
        return
    if cut is not None and (cut != record.owner or record.type != "NS"):
        said = f"{cut} is delegated: only its NS records, and addresses of servers that they name, can be there"
        raise Conflict(said, name=cut, pointer="/name")
    if record.type == "NS" and cut is None:
        _clear_for_cut(draft, zone, record)


def _clear_for_cut(draft: Draft, zone: Zone, record: ZoneRecord) -> None:
    """Refuse to delegate a name at or below which there is more than the addresses of the server."""
    state, cut = draft.state, record.owner
    made = state.made.get(zone.id, {})
    owners: Iterable[str] = made if state.under[zone.id, cut] else [cut] if cut in made else []
    below = [owner for owner in owners if is_at_or_below(owner, cut)]
    server = rdata.targets(NS, record.rdata)
    hidden = (r for o in below for r in made[o].values() if o not in server or r.type not in _ADDRESS_TYPES)
    holders = [f"{each.owner} {each.type}" for each in hidden]
    zones = (each for each in state.zones.values() if each.vrf == zone.vrf)
    holders += [f"zone {each.name}" for each in zones if each.name.endswith("." + cut)]
    held, count = held_below(draft, zone, cut)
    if holders or count:
        shown = (holders + held)[:20]
        said = f"{cut} cannot be delegated: at or below it are {', '.join(shown)}"
        raise Conflict(said, name=cut, holders=shown, count=len(holders) + count, pointer="/name")
    refuse_computed(state, zone, cut)


def _servers_at(state: State, zone: Zone, cut: str, but: str = "") -> list[str]:
    """Whom the NS records of a name lead to, but for the one of an id."""
    there = state.made.get(zone.id, {}).get(cut, {}).values()
    return [name for r in there if r.type == "NS" and r.id != but for name in rdata.targets(NS, r.rdata)]


def _reached(state: State, zone: Zone, cut: str, servers: Iterable[str]) -> bool:
    """Whether one of the servers of a cut is elsewhere, or has an address."""
    made = state.made.get(zone.id, {})
    return any(
        not is_at_or_below(name, cut) or any(r.type in _ADDRESS_TYPES for r in made.get(name, {}).values())
        for name in servers
    )


# Allocations


def _unlike_allocations(draft: Draft, zone: Zone, record: ZoneRecord) -> None:
    """Beside what allocations say at its name: never an alias; and of one type with one TTL, the zone's."""
    own = record.owner in names.own_names(draft.state, zone)
    for type_ in (A, AAAA) if own else ():
        if record.type == "CNAME" or (TYPES[record.type] == type_ and record.ttl is not None):
            said = f"{record.owner} is this server's own name, with addresses of the zone's TTL"
            raise Conflict(said, name=record.owner, pointer="/name")
    for type_, allocation in list(names.automatic(draft, zone, record.owner)):
        same = TYPES[record.type] == type_
        if record.type != "CNAME" and not (same and record.ttl is not None):
            continue
        if allocation.lease:
            names.unname(draft, allocation)
            continue
        said, pointer = ("and an alias is alone at its name", "/type")
        if record.type != "CNAME":
            said, pointer = ("so that its records of that type have the zone's TTL: leave `ttl` out", "/ttl")
        raise Conflict(f"{record.owner} belongs to {allocation.ip}, {said}", address=allocation.ip, pointer=pointer)


def _not_crowded(draft: Draft, zone: Zone, record: ZoneRecord, others: list[ZoneRecord]) -> None:
    """Refuse what BIND would not load, or no message holds; the names of dynamic leases make room."""
    alike = [other for other in others if other.type == record.type]
    if sum(len(other.rdata) for other in alike) + len(record.rdata) > MOST_OCTETS:
        said = f"the {record.type} records of {record.owner} would have more than {MOST_OCTETS} octets together"
        raise Conflict(said, name=record.owner, pointer="/data")
    said_here = {record.data, *(other.data for other in alike)}
    held = [each for type_, each in names.automatic(draft, zone, record.owner) if type_ == TYPES[record.type]]
    besides = [each for each in held if _said_of(draft, each, record) not in said_here]
    over = len(said_here) + len(besides) - names.MOST_OF_TYPE
    leases = [each for each in besides if each.lease]
    if over > len(leases):
        said = f"{record.owner} has {names.MOST_OF_TYPE} {record.type} records, the most that secondaries take"
        raise Conflict(said, name=record.owner, pointer="/data")
    for lease in leases[: max(over, 0)]:
        names.unname(draft, lease)


def _said_of(draft: Draft, allocation: Allocation, record: ZoneRecord) -> str | None:
    """What an allocation says by a record of this type: its address, or its name."""
    return names.full_name(draft.state, allocation) if record.type == "PTR" else allocation.ip


# What records point to


def _alias_at(state: State, vrf: str, name: str) -> ZoneRecord | None:
    """The alias that people made of a name, in the zone of a vrf that it is in."""
    zone = names.zone_around(state, vrf, name)
    there = {} if zone is None else state.made.get(zone.id, {}).get(name, {})
    return next((record for record in there.values() if record.type == "CNAME"), None)


def _leads_on(state: State, zone: Zone, record: ZoneRecord) -> None:
    """Refuse an alias that leads in a circle, or makes of those before and after it more than are followed.

    What a wildcard leads to is not seen: whether it stands for a name depends on who holds that.
    """
    name, passed = record.data, [record.owner]
    most = LONGEST_CHAIN - _before(state, zone.vrf, record.owner)
    while name != record.owner and len(passed) <= most:
        passed.append(name)
        found = _alias_at(state, zone.vrf, name)
        if found is None:
            return
        name = found.data
    what = "lead in a circle" if name == record.owner else f"be one of more than {LONGEST_CHAIN} in a row"
    raise Conflict(f"the alias would {what}: {' → '.join([*passed, name])}", pointer="/data")


def _before(state: State, vrf: str, name: str) -> int:
    """How many aliases in a row lead to a name, `LONGEST_CHAIN` at most. Cost: those that do."""
    reached, ends = 0, {name}
    while ends and reached < LONGEST_CHAIN:
        found = [each for end in ends for each in _aimed(state, end, ("CNAME",))]
        ends = {each.owner for each in found if state.zones[each.zone].vrf == vrf}
        reached += bool(ends)
    return reached


def _no_server(state: State, zone: Zone, record: ZoneRecord) -> None:
    """Refuse an alias by the name of a server: NS, MX and SRV lead to addresses (RFC 2181 section 10.3)."""
    aimed = _aimed(state, record.owner)
    holders = [f"{o.owner} {o.type}" for o in aimed if state.zones[o.zone].vrf == zone.vrf]
    holders += who_names(state, zone.vrf, record.owner)
    if holders:
        said = f"{record.owner} cannot be an alias: it is where {', '.join(holders[:20])} lead"
        raise Conflict(said, holders=holders[:20], count=len(holders), pointer="/name")


def _serving(state: State, zone: Zone, record: ZoneRecord) -> None:
    """Refuse a server that is an alias; or that is in what it is to serve where none has an address.

    What is delegated takes addresses of its servers alone: those of a second one come after its NS record.
    """
    for target in rdata.targets(TYPES[record.type], record.rdata):
        alias = _alias_at(state, zone.vrf, target)
        if alias is not None:
            raise _in_the_way(alias, f"{target} is an alias of {alias.data}; name that itself", "/data")
        others = _servers_at(state, zone, record.owner, but=record.id)
        if record.type == "NS" and not _reached(state, zone, record.owner, [target, *others]):
            said = f"{target} is in what it is to serve: make its A or AAAA record first, in zone {zone.name}"
            raise Conflict(said, name=target, pointer="/data")
