"""Zones, what people made in them, who replicates them, and their journals."""

from typing import Any, Final

from sqlalchemy import Select, select

from tenure.model.dnsdata import Secondary, TsigKey, Zone, ZoneChange, ZoneRecord
from tenure.naming.serial import step
from tenure.store.interface import Page, Seen
from tenure.store.sql import rows as r
from tenure.store.sql import tables as t
from tenure.store.sql.lists import Lists, only, opened
from tenure.store.sql.pages import beginning, bounded

_CHANGE: Final = [t.zone_changes.c[name] for name in r.ZONE_CHANGE]
_ZONE: Final = (t.zones.c.body, t.zones.c.serial)


class ZoneReads(Lists):
    """The part of `Reads` that is about zones."""

    def zones(self, after: str = "", limit: int = 100, *, vrf: str = "", q: str = "") -> Page[Zone]:
        """Open zones."""
        query = opened(select(*_ZONE), t.zones, q=q, vrf=vrf)
        with self._seen() as at:
            return at.page(query, (t.zones.c.id,), after, limit, lambda rows: [r.zone_of(*row) for row in rows])

    def records(
        self, after: str = "", limit: int = 100, *, zone: str = "", type_: str = "", q: str = ""
    ) -> Page[ZoneRecord]:
        """Open records that people made."""
        owned = [beginning(t.records.c.owner, q)] if q else []
        return self._list(t.records, ZoneRecord, after, limit, owned, zone=zone, type=type_)

    def tsig_keys(self, after: str = "", limit: int = 100) -> Page[TsigKey]:
        """Open TSIG keys."""
        return self._list(t.tsig_keys, TsigKey, after, limit)

    def secondaries(self, after: str = "", limit: int = 100, *, vrf: str = "") -> Page[Secondary]:
        """Open secondaries."""
        return self._list(t.secondaries, Secondary, after, limit, vrf=vrf)

    def zone(self, name: str, vrf: str = "") -> Seen[Zone | None]:
        """An open zone by id, or by name: in a vrf, or where only one vrf has it."""
        query = opened(select(*_ZONE), t.zones, vrf=vrf)
        with self._seen() as at:
            row = only(at, query, t.zones, name)
            return Seen(None if row is None else r.zone_of(*row), at.head)

    def record(self, record: str) -> Seen[ZoneRecord | None]:
        """An open record that a person made, by id."""
        return self._one(t.records, ZoneRecord, record)

    def tsig_key(self, name: str) -> Seen[TsigKey | None]:
        """An open TSIG key by name or id."""
        return self._one(t.tsig_keys, TsigKey, name)

    def secondary(self, name: str) -> Seen[Secondary | None]:
        """An open secondary by name or id."""
        return self._one(t.secondaries, Secondary, name)

    def sealed(self, key: str) -> bytes | None:
        """The secret of an open TSIG key, encrypted."""
        c = t.tsig_keys.c
        with self._seen() as at:
            row = at.first(select(c.sealed).where(c.id == key, c.until.is_(None)))
            return None if row is None else bytes(row[0])

    def changes_since(self, zone: str, serial: int, limit: int = 1000) -> list[ZoneChange]:
        """A zone's changes that follow a serial."""
        c = t.zone_changes.c
        next_ = select(c.sequence).where(c.zone == zone, c.serial == step(serial))
        first = next_.order_by(c.sequence.desc()).limit(1).scalar_subquery()
        return self._changes(select(*_CHANGE).where(c.zone == zone, c.sequence >= first), limit)

    def zone_changes(self, zone: str, after: int, limit: int = 1000) -> list[ZoneChange]:
        """A zone's changes above a ledger sequence."""
        c = t.zone_changes.c
        return self._changes(select(*_CHANGE).where(c.zone == zone, c.sequence > after), limit)

    def _changes(self, query: Select[Any], limit: int) -> list[ZoneChange]:
        most = bounded(limit)
        with self._seen() as at:
            rows = at.all(query.order_by(t.zone_changes.c.sequence).limit(most))
            return [r.zone_change_of(row) for row in rows]
