"""Everything as of one moment, for loading the allocator's memory.

Where nearly all of a table is wanted, `+until` keeps SQLite from going through an index and fetching row by row:
a million allocations then take half a second instead of three.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec

from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.dnsdata import Secondary, TsigKey, Zone, ZoneRecord
from tenure.model.placement import Block
from tenure.model.topology import Location
from tenure.store.interface import Held, Named, Span, Stray, Tally
from tenure.store.placements import HandedOver, HeldThen, Label, Loose, Stranger
from tenure.store.sql import rows as r
from tenure.store.sql.connect import Database
from tenure.store.sql.turns import read_head

V = TypeVar("V")

_UNSHELVED: Final = "(a.standing IS NULL OR a.standing <> 'shelved')"


class SqlSnapshot:
    """A `Snapshot` in one reading transaction. The small tables are read at once, the large ones stream."""

    def __init__(self, db: Database, raw: Any) -> None:
        self._db = db
        self._raw = raw
        self.head = read_head(db, raw)
        self.vrfs: Sequence[Vrf] = self._open("vrfs", Vrf)
        self.locations: Sequence[Location] = self._open("locations", Location)
        self.networks: Sequence[Network] = self._open("networks", Network)
        self.subnets: Sequence[Subnet] = self._open("subnets", Subnet)
        self.ranges: Sequence[Range] = self._open("ranges", Range)
        self.zones: Sequence[Zone] = [r.zone_of(*row) for row in self._rows("body, serial", "zones")]
        self.records: Sequence[ZoneRecord] = self._open("records", ZoneRecord)
        self.tsig_keys: Sequence[tuple[TsigKey, bytes]] = self._with("sealed", "tsig_keys", TsigKey)
        self.secondaries: Sequence[Secondary] = self._open("secondaries", Secondary)
        self.tokens: Sequence[tuple[Token, bytes]] = self._with("digest", "tokens", Token)

    def blocks(self) -> Iterator[Block]:
        """Open blocks, a kind at a time: what a block is cut from comes before it."""
        decode = msgspec.json.Decoder(Block).decode
        wide = "CASE kind WHEN 'region' THEN 1 WHEN 'site' THEN 2 WHEN 'rack' THEN 3 ELSE 4 END"
        for row in self._stream(f"SELECT body FROM blocks WHERE until IS NULL ORDER BY {wide}, number"):
            yield decode(row[0])

    def held(self, now: datetime) -> Iterator[Held]:
        """Open allocations, and closed ones that still rest after `now`."""
        open_ = "SELECT subnet, address, lease FROM allocations WHERE +until IS NULL"
        for subnet, address, lease in self._stream(open_):
            yield Held(subnet, int.from_bytes(address, "big"), bool(lease), None)
        resting = (
            "SELECT subnet, address, lease, cooling_until FROM allocations"
            " WHERE cooling_until IS NOT NULL AND cooling_until > ? AND until IS NOT NULL"
        )
        for subnet, address, lease, cooling in self._stream(resting, r.micros(now)):
            yield Held(subnet, int.from_bytes(address, "big"), bool(lease), r.time_of(cooling))

    def loose(self) -> Iterator[Loose]:
        """Open addresses whose title says that they are not of their holder's block; an index holds no others."""
        statement = (
            "SELECT a.subnet, a.address, c.host FROM allocations AS a JOIN claims AS c ON c.id = a.claim"
            " WHERE a.until IS NULL AND NOT a.lease AND (a.title IS NULL OR a.title = 'borrowed')"
            f" AND c.host IS NOT NULL AND {_UNSHELVED}"
        )
        for subnet, address, host in self._stream(statement):
            yield Loose(subnet, int.from_bytes(address, "big"), host)

    def handovers(self) -> Iterator[HandedOver]:
        """Open allocations of claims that another host announces too, claim by claim."""
        statement = (
            "SELECT c.id, c.host, c.leaving, a.subnet, a.address FROM claims AS c"
            " JOIN allocations AS a ON a.claim = c.id"
            " WHERE c.until IS NULL AND c.leaving IS NOT NULL AND c.host IS NOT NULL AND a.until IS NULL"
            f" AND {_UNSHELVED} ORDER BY c.id"
        )
        for claim, host, leaving, subnet, address in self._stream(statement):
            yield HandedOver(claim, host, leaving, subnet, int.from_bytes(address, "big"))

    def held_at(self, time: datetime) -> Iterator[HeldThen]:
        """Allocations, no leases, that were open at a time."""
        statement = (
            f"SELECT a.subnet, a.address, a.claim, c.host, a.id, NOT {_UNSHELVED}"
            " FROM allocations AS a JOIN claims AS c ON c.id = a.claim"
            " WHERE a.since <= ? AND (a.until IS NULL OR a.until > ?) AND NOT a.lease"
        )
        for subnet, address, claim, host, id_, shelved in self._stream(statement, r.micros(time), r.micros(time)):
            yield HeldThen(subnet, int.from_bytes(address, "big"), claim, host, id_, bool(shelved))

    def shelved_at(self, sequence: int, allocations: Iterable[str]) -> set[str]:
        """Which of these allocations were shelved at a place in the ledger: the last entry about each says so."""
        found = [(id_,) for id_ in allocations]
        if not found:
            return set()
        last = (
            "(SELECT x.sequence FROM ledger x WHERE x.address IS NOT NULL AND x.address = a.address AND x.vrf = a.vrf"
            " AND x.sequence <= ? AND x.kind <> 'tenure.address.observed' ORDER BY x.sequence DESC LIMIT 1)"
        )
        statement = f"SELECT {last} FROM {self._db.keys('id text')} CROSS JOIN allocations a WHERE a.id = k.id"
        parameters = [sequence, *self._db.pack(["id text"], found)]
        places = self._db.fetch(self._raw, self._db.sql(statement), parameters)
        entries = f"SELECT l.sequence, l.body FROM {self._db.keys('place bigint')} CROSS JOIN ledger l"
        wanted = [row for row in places if row[0] is not None]
        rows = self._db.fetch(
            self._raw, f"{entries} WHERE l.sequence = k.place", self._db.pack(["place bigint"], wanted)
        )
        said = [r.event_of(*row).allocation for row in rows]
        return {held.id for held in said if held.standing == "shelved"}

    def strays(self, now: datetime) -> Iterator[Stray]:
        """Closed allocations of closed subnets that still rest after `now`."""
        statement = (
            "SELECT vrf, address, cooling_until FROM allocations AS a"
            " WHERE cooling_until IS NOT NULL AND cooling_until > ? AND until IS NOT NULL"
            " AND NOT EXISTS (SELECT 1 FROM subnets AS s WHERE s.id = a.subnet AND s.until IS NULL)"
        )
        for vrf, address, cooling in self._stream(statement, r.micros(now)):
            version = 4 if len(address) == 4 else 6
            yield Stray(vrf, version, int.from_bytes(address, "big"), r.time_of(cooling))

    def strangers(self, now: datetime) -> Iterator[Stranger]:
        """What was seen on addresses and counts after `now`."""
        seen = "SELECT vrf, address, until FROM observations WHERE until > ?"
        for vrf, address, until in self._stream(seen, r.micros(now)):
            version = 4 if len(address) == 4 else 6
            yield Stranger(vrf, version, int.from_bytes(address, "big"), r.time_of(until))

    def labels(self) -> Iterator[Label]:
        """Every label of every open thing."""
        for row in self._stream("SELECT kind, thing, label FROM labels"):
            yield Label(*row)

    def named(self, spans: Iterable[Span] | None = None) -> Iterator[Named]:
        """Open allocations with a hostname, none shelved: all, or a range of the subnets' index a span."""
        statement = (
            "SELECT a.subnet, a.address, a.hostname FROM allocations AS a"
            f" WHERE a.until IS NULL AND a.hostname IS NOT NULL AND {_UNSHELVED}"
        )
        if spans is None:
            yield from self._named(statement)
            return
        for subnet, version, first, last in spans:
            octets = 4 if version == 4 else 16
            ends = (first.to_bytes(octets, "big"), last.to_bytes(octets, "big"))
            yield from self._named(f"{statement} AND a.subnet = ? AND a.address BETWEEN ? AND ?", subnet, *ends)

    def _named(self, statement: str, *parameters: Any) -> Iterator[Named]:
        for subnet, address, hostname in self._stream(statement, *parameters):
            yield Named(subnet, int.from_bytes(address, "big"), hostname)

    def tallies(self) -> Iterator[Tally]:
        """Open claims, counted. What was asked for is read of pending ones only: JSON costs more than the rest."""
        request = f"{self._db.json('request')} ->>"
        family, count = (f"CASE WHEN bound IS NULL THEN {request} '{name}' END" for name in ("family", "count"))
        statement = (
            f"SELECT network, host, bound IS NULL AS pending, {family} AS family, {count} AS count, count(*)"
            " FROM claims WHERE +until IS NULL GROUP BY 1, 2, 3, 4, 5"
        )
        for network, host, pending, family_, count_, claims in self._stream(statement):
            yield Tally(network, host, bool(pending), family_ or "", int(count_ or 1), claims)

    def _open(self, table: str, type_: type[V]) -> list[V]:
        decode = msgspec.json.Decoder(type_).decode
        return [decode(row[0]) for row in self._rows("body", table)]

    def _with(self, column: str, table: str, type_: type[V]) -> list[tuple[V, bytes]]:
        decode = msgspec.json.Decoder(type_).decode
        return [(decode(body), bytes(beside)) for body, beside in self._rows(f"body, {column}", table)]

    def _rows(self, columns: str, table: str) -> list[r.Row]:
        return self._db.fetch(self._raw, f"SELECT {columns} FROM {table} WHERE until IS NULL ORDER BY id", ())

    def _stream(self, statement: str, *parameters: Any) -> Iterator[r.Row]:
        with self._db.translated():
            yield from self._db.stream(self._raw, self._db.sql(statement), parameters)
