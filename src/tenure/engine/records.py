"""Records as people make, change and delete them, beside those that allocations mean."""

from typing import Final

import msgspec

from tenure.engine import names, resolve
from tenure.engine.beside import fitting, needed_for
from tenure.engine.draft import Draft
from tenure.engine.inventory import converted, vacant
from tenure.engine.zones import LONGEST_TTL, find_zone
from tenure.errors import InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.answers import Made, Nothing
from tenure.model.dnsdata import Zone, ZoneRecord
from tenure.model.policy import RecordType
from tenure.model.uses import ChangeRecord, CreateRecord, DeleteRecord
from tenure.naming import rdata
from tenure.naming.hostnames import absolute, parse_name, wire
from tenure.naming.reverse import classless_span, owner_number, zone_span
from tenure.net.addresses import text_of

_HOSTS: Final = ("A", "AAAA", "MX")
_IN_REVERSE: Final = ("CNAME", "NS", "PTR", "TXT")
_SERVICES: Final = "._dns-sd._udp."


class _Said(msgspec.Struct, frozen=True):
    """What may be said otherwise of a record."""

    data: str
    ttl: int | None


def create_record(use: CreateRecord, draft: Draft) -> Made:
    """Make a record.

    A dynamic lease whose name is in its way loses the name.

    Raises:
        NotFound: There is no such zone.
        InvalidValue: Name, data or TTL are malformed, or such a record cannot be there; pointer says which.
        Conflict: There is this record already, or others are in its way: see `beside.fitting`.

    Cost: as many looks as the name has records and labels.
    """
    zone = find_zone(draft.state, use.zone, "/zone")
    owner = owner_in(zone, use.name)
    may_be_called(zone, owner, use.type)
    data, packed = rdata.parse(use.type, use.data, zone.name)
    record = ZoneRecord(
        id=next(draft.moment.ids), zone=zone.id, owner=owner, type=use.type, data=data, rdata=packed, ttl=use.ttl
    )
    _bounded(record.ttl)
    fitting(draft, zone, record)
    draft.record(e.RecordCreated(record=record, doubles=doubles(draft, zone, record)))
    return Made(record=record)


def change_record(use: ChangeRecord, draft: Draft) -> Made:
    """Change a record's data or TTL; the others of its name and type get that TTL too, as they have one together.

    What changes nothing is not recorded.

    Raises:
        NotFound, InvalidValue, Conflict: As of a new one.
        StaleRevision: It changed since the caller read it.
    """
    old = _record(draft, use.record)
    resolve.matching(old.revision, draft.asked.if_match)
    zone = draft.state.zones[old.zone]
    for field in use.changes:
        if field not in _Said.__struct_fields__:
            raise InvalidValue(f"{field} cannot be changed; make another record", pointer=f"/{field}")
    said = converted({"data": old.data, "ttl": old.ttl} | use.changes, _Said)
    _bounded(said.ttl)
    data, packed = rdata.parse(old.type, said.data, zone.name)
    new = msgspec.structs.replace(old, data=data, rdata=packed, ttl=said.ttl)
    if new == old:
        return Made(record=old)
    if new.ttl != old.ttl:
        for other in _set(draft, old):
            _change(draft, zone, other, msgspec.structs.replace(other, ttl=new.ttl))
    fitting(draft, zone, new)
    _change(draft, zone, old, new)
    return Made(record=draft.state.records[old.id])


def delete_record(use: DeleteRecord, draft: Draft) -> Nothing:
    """Remove a record, and nothing else at its name: what allocations say there stays.

    Raises:
        NotFound: There is none.
        InUse: It is the last address of a server that needs one.
        StaleRevision: It changed since the caller read it.
    """
    record = _record(draft, use.record)
    resolve.matching(record.revision, draft.asked.if_match)
    zone = draft.state.zones[record.zone]
    vacant(f"record {record.owner} {record.type}", needed_for(draft.state, zone, record))
    draft.record(e.RecordDeleted(record=record, doubled=doubles(draft, zone, record)))
    return Nothing()


def owner_in(zone: Zone, name: str) -> str:
    """The absolute owner that a name means in a zone: `@` is the zone itself.

    Raises:
        InvalidValue: It is no name, or not in the zone; pointer `/name`.
    """
    owner = zone.name if name == "@" else absolute(parse_name(name, "/name", wildcard=True), zone.name, "/name")
    if owner != zone.name and not owner.endswith("." + zone.name):
        raise InvalidValue(f"{owner} is not in zone {zone.name}", pointer="/name", value=name)
    return owner


def may_be_called(zone: Zone, owner: str, type_: RecordType) -> None:
    """Refuse a type that no record of this name in this zone can have.

    Raises:
        InvalidValue: A host's with an underscore; NS or CNAME at the zone's own name; NS of a wildcard; what has no
            place in a reverse zone, or in the catalog.
    """
    if zone.catalog:
        raise InvalidValue(f"{zone.name} is the catalog: nobody makes records there", pointer="/zone")
    reverse = zone_span(zone.name) is not None
    if reverse and type_ not in _IN_REVERSE:
        raise InvalidValue(f"a reverse zone has no {type_} records", pointer="/type", allowed=list(_IN_REVERSE))
    if reverse and type_ == "PTR" and not _points(zone, owner):
        span = classless_span(zone.name)
        like = "5.0.0.10.in-addr.arpa., all of the address" if span is None else f"{span[0] & 255}.{zone.name}"
        said = f"{owner} is no address of zone {zone.name}, as the owner of a PTR is here: {like}"
        raise InvalidValue(said, pointer="/name", value=owner)
    if ("_" in owner and type_ in _HOSTS) or ("/" in owner and not reverse):
        raise InvalidValue(f"{owner} is no name of a host, which a record of type {type_} needs", pointer="/name")
    if owner == zone.name and type_ == "NS":
        raise InvalidValue("a zone's servers are its name_servers, not records", pointer="/type")
    if owner == zone.name and type_ == "CNAME":
        raise InvalidValue("a zone cannot be an alias: it has records of its own at its name", pointer="/type")
    if owner.startswith("*.") and type_ == "NS":
        raise InvalidValue("a wildcard cannot be delegated", pointer="/name")


def _points(zone: Zone, owner: str) -> bool:
    """Whether an owner is of an address of a zone, of all of those (a wildcard), or of their services (RFC 6763)."""
    if owner_number(zone.name, owner) is not None:
        return True
    above = owner[2:] if owner.startswith("*.") else owner.partition(_SERVICES)[2]
    return above == zone.name or zone_span(above) is not None


def doubles(draft: Draft, zone: Zone, record: ZoneRecord) -> bool:
    """Whether an allocation says the same as a record. Its address, or that it points from, must have been wanted."""
    ip = address_of(zone, record.owner, record.type, record.data)
    allocation = None if ip is None else draft.facts.addresses.get((zone.vrf, ip))
    if allocation is None or allocation.standing == "shelved":
        return False
    called = names.full_name(draft.state, allocation)
    if called is None or record.type != "PTR":
        return called == record.owner
    return names.has_pointer(draft.state, zone, allocation) and wire(called) == record.rdata


def address_of(zone: Zone, owner: str, type_: RecordType, data: str) -> str | None:
    """The address that a record is of: its data, or what its owner points from; None for any other record."""
    if type_ in ("A", "AAAA"):
        return data
    found = owner_number(zone.name, owner)
    return None if found is None else text_of(*found)


def _record(draft: Draft, id_: str) -> ZoneRecord:
    found = draft.state.records.get(id_)
    if found is None:
        raise NotFound(f"there is no record {id_!r}", kind="record", name=id_)
    return found


def _set(draft: Draft, record: ZoneRecord) -> list[ZoneRecord]:
    """The other records of the name and type of one."""
    beside = draft.state.made[record.zone][record.owner].values()
    return [other for other in beside if other.type == record.type and other.id != record.id]


def _change(draft: Draft, zone: Zone, old: ZoneRecord, new: ZoneRecord) -> None:
    new = msgspec.structs.replace(new, revision=old.revision + 1)
    doubled, double = doubles(draft, zone, old), doubles(draft, zone, new)
    draft.record(e.RecordChanged(before=old, record=new, doubled=doubled, doubles=double))


def _bounded(ttl: int | None) -> None:
    if ttl is not None and not 0 <= ttl <= LONGEST_TTL:
        raise InvalidValue(f"ttl must be 0 to {LONGEST_TTL}", pointer="/ttl", minimum=0, maximum=LONGEST_TTL)
