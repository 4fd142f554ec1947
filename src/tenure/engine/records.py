"""Records as people make, change and delete them, beside those that allocations mean."""

from typing import Final

import msgspec

from tenure.engine import resolve
from tenure.engine.draft import Draft
from tenure.engine.zones import LONGEST_TTL, find_zone
from tenure.errors import Conflict, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.answers import Made, Nothing
from tenure.model.dnsdata import TYPES, Zone, ZoneRecord
from tenure.model.uses import ChangeRecord, CreateRecord, DeleteRecord
from tenure.naming import rdata
from tenure.naming.hostnames import fqdn, parse_name

MOST_AT_OWNER: Final = 1000


class _Said(msgspec.Struct, frozen=True):
    """What may be said otherwise of a record."""

    data: str
    ttl: int | None


def create_record(use: CreateRecord, draft: Draft) -> Made:
    """Make a record."""
    zone = find_zone(draft.state, use.zone, "/zone")
    owner = owner_in(zone, use.name)
    data, packed = rdata.parse(use.type, use.data, zone.name)
    record = ZoneRecord(
        id=next(draft.moment.ids), zone=zone.id, owner=owner, type=use.type, data=data, rdata=packed, ttl=use.ttl
    )
    _sound(draft, zone, record)
    draft.record(e.RecordCreated(record=record))
    return Made(record=record)


def change_record(use: ChangeRecord, draft: Draft) -> Made:
    """Change a record's data or TTL. What changes nothing is not recorded."""
    old = _record(draft, use.record)
    resolve.matching(old.revision, draft.asked.if_match)
    zone = draft.state.zones[old.zone]
    return _changed(use, draft, old, zone)


def _changed(use: ChangeRecord, draft: Draft, old: ZoneRecord, zone: Zone) -> Made:
    from tenure.engine.inventory import converted

    for field in use.changes:
        if field not in _Said.__struct_fields__:
            raise InvalidValue(f"{field} cannot be changed; make another record", pointer=f"/{field}")
    said = converted({"data": old.data, "ttl": old.ttl} | use.changes, _Said)
    data, packed = rdata.parse(old.type, said.data, zone.name)
    new = msgspec.structs.replace(old, data=data, rdata=packed, ttl=said.ttl)
    if new == old:
        return Made(record=old)
    new = msgspec.structs.replace(new, revision=old.revision + 1)
    _sound(draft, zone, new)
    draft.record(e.RecordChanged(before=old, record=new))
    return Made(record=new)


def delete_record(use: DeleteRecord, draft: Draft) -> Nothing:
    """Remove a record, and nothing else at its name."""
    record = _record(draft, use.record)
    resolve.matching(record.revision, draft.asked.if_match)
    draft.record(e.RecordDeleted(record=record))
    return Nothing()


def owner_in(zone: Zone, name: str) -> str:
    """The absolute owner that a name means in a zone: `@` is the zone itself.

    Raises:
        InvalidValue: It is no name, or not in the zone; pointer `/name`.
    """
    owner = zone.name if name == "@" else fqdn(parse_name(name, "/name", wildcard=True), zone.name, "/name")
    if owner != zone.name and not owner.endswith("." + zone.name):
        raise InvalidValue(f"{owner} is not in zone {zone.name}", pointer="/name", value=name)
    return owner


def _record(draft: Draft, id_: str) -> ZoneRecord:
    found = draft.state.records.get(id_)
    if found is None:
        raise NotFound(f"there is no record {id_!r}", kind="record", name=id_)
    return found


def _sound(draft: Draft, zone: Zone, record: ZoneRecord) -> None:
    if record.ttl is not None and not 0 <= record.ttl <= LONGEST_TTL:
        raise InvalidValue(f"ttl must be 0 to {LONGEST_TTL}", pointer="/ttl", minimum=0, maximum=LONGEST_TTL)
    beside = draft.state.made.get(zone.id, {}).get(record.owner, {})
    others = [other for other in beside.values() if other.id != record.id]
    for other in others:
        if (other.type, other.rdata) == (record.type, record.rdata):
            raise Conflict(f"there is this record already: {other.id}", record=other.id, pointer="/data")
    if len(others) >= MOST_AT_OWNER:
        raise Conflict(f"{record.owner} has {MOST_AT_OWNER} records, the most of one name", pointer="/name")


_ = TYPES
