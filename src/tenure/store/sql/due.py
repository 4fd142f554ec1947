"""What is due, as a batch reads it: a few rows each, through an index that holds nothing else."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from tenure.engine.facts import MOST_QUEUED, WARNED_BEFORE
from tenure.model.holding import Allocation, Claim
from tenure.store.sql import rows as r
from tenure.store.sql.connect import Database

CLAIMS: Final = ", ".join(f"c.{name}" for name in r.CLAIM)
ALLOCATIONS: Final = ", ".join(f"a.{name}" for name in r.ALLOCATION)


class Due:
    """Rows whose time has come at `now`, in the writer's transaction."""

    def __init__(self, db: Database, raw: Any, now: datetime) -> None:
        self._db = db
        self._raw = raw
        self._now = r.micros(now)
        self._soon = r.micros(now + WARNED_BEFORE)

    def expired(self, most: int) -> list[Allocation]:
        """Dynamic leases whose promise has ended, the earliest first."""
        return self._allocations("a.lease AND a.until IS NULL AND a.held_until < ?", "a.held_until", most, self._now)

    def naming(self, most: int) -> list[Allocation]:
        """Allocations whose name is to follow now."""
        due = "a.until IS NULL AND a.named_at IS NOT NULL AND a.named_at <= ?"
        return self._allocations(due, "a.named_at, a.id", most, self._now)

    def settling(self, most: int) -> list[Claim]:
        """Claims whose hand-over is over."""
        due = "c.until IS NULL AND c.leaving IS NOT NULL AND c.settles <= ?"
        return self._claims(due, "c.settles", most, self._now)

    def expiring(self, most: int) -> list[Claim]:
        """Claims whose end has come; then those whose end is near and was not told."""
        ends = "c.until IS NULL AND c.expires IS NOT NULL AND c.expires <= ?"
        found = self._claims(ends, "c.expires, c.id", most, self._now)
        near = f"{ends} AND c.warned IS NULL AND c.expires > ?"
        return found + self._claims(near, "c.expires, c.id", most - len(found), self._soon, self._now)

    def queued(self, networks: Sequence[tuple[str, int]]) -> list[Claim]:
        """Claims that wait in order, the oldest first of each network: of some groups (see `Wanted`).

        Cost: linear in all that wait.
        """
        request = f"{self._db.json('c.request')} ->>"
        group = f"c.network, c.host, {request} 'subnet', coalesce({request} 'family', 'v4')"
        waiting = "c.until IS NULL AND c.bound IS NULL AND c.queued IS NOT NULL AND c.network = k.network"
        steps = (
            "waits AS (SELECT c.*, k.skip, row_number() OVER g AS place, first_value(c.since) OVER g AS eldest,"
            f" first_value(c.id) OVER g AS first FROM {self._db.keys('network text', 'skip bigint')}"
            f" {self._db.each('claims c', waiting)} WINDOW g AS (PARTITION BY {group} ORDER BY c.since, c.id))",
            "numbered AS (SELECT waits.*, dense_rank() OVER (PARTITION BY network ORDER BY eldest, first) - skip AS nth"
            " FROM waits)",
            "turned AS (SELECT numbered.*, row_number() OVER (PARTITION BY network ORDER BY place, nth) AS turn"
            f" FROM numbered WHERE nth BETWEEN 1 AND {MOST_QUEUED})",
        )
        chosen = f"SELECT {', '.join(r.CLAIM)} FROM turned WHERE turn <= {MOST_QUEUED} ORDER BY network, since, id"
        packed = self._db.pack(["network text", "skip bigint"], networks)
        found = self._db.fetch(self._raw, f"WITH {', '.join(steps)} {chosen}", packed)
        return [r.claim_of(row) for row in found]

    def harvest(self, network: str, before: datetime, *, allowed: bool, most: int) -> list[Claim]:
        """Claims that may be harvested, those unseen longest first; `claims.idle` is in their order."""
        request = f"{self._db.json('c.request')} ->>"
        named = f"{self._db.json('c.more')} ->> 'named'"
        statement = (
            f"SELECT {CLAIMS} FROM claims AS c CROSS JOIN machines AS m"
            " WHERE c.until IS NULL AND c.idle IS NOT NULL AND c.network = ? AND c.idle < ? AND m.id = c.machine"
            " AND c.kept = 'life' AND c.bound IS NOT NULL AND c.static IS NULL"
            " AND coalesce(c.harvest, m.harvest, ?) = 'allowed'"
            f" AND {request} 'address' IS NULL AND {request} 'addresses' IS NULL"
            f" AND {named} IS NULL ORDER BY c.idle, c.id LIMIT ?"
        )
        say = "allowed" if allowed else "never"
        return [r.claim_of(row) for row in self._fetch(statement, network, r.micros(before), say, most)]

    def renumbering(self, subnet: str, promised: datetime, *, static: bool, most: int) -> tuple[list[Allocation], int]:
        """Addresses that a renumbering can move, in order, and how many it has still to move. Cost: linear in these."""
        movable = (
            "FROM allocations AS a CROSS JOIN claims AS c WHERE a.until IS NULL AND a.subnet = ? AND c.id = a.claim"
            " AND NOT a.lease AND NOT EXISTS (SELECT 1"
            " FROM allocations AS n WHERE n.until IS NULL AND n.replaces IS NOT NULL AND n.replaces = a.id)"
        )
        if not static:
            movable += " AND c.static IS NULL"
        now = (
            f"SELECT {ALLOCATIONS} {movable} AND (a.held_until IS NULL OR a.held_until <= ?) ORDER BY a.address LIMIT ?"
        )
        found = self._fetch(now, subnet, r.micros(promised), most)
        return [r.allocation_of(row) for row in found], self._fetch(f"SELECT count(*) {movable}", subnet)[0][0]

    def _claims(self, due: str, order: str, most: int, *parameters: Any) -> list[Claim]:
        if most <= 0:
            return []
        statement = f"SELECT {CLAIMS} FROM claims c WHERE {due} ORDER BY {order} LIMIT ?"
        return [r.claim_of(row) for row in self._fetch(statement, *parameters, most)]

    def _allocations(self, due: str, order: str, most: int, *parameters: Any) -> list[Allocation]:
        if most <= 0:
            return []
        statement = f"SELECT {ALLOCATIONS} FROM allocations a WHERE {due} ORDER BY {order} LIMIT ?"
        return [r.allocation_of(row) for row in self._fetch(statement, *parameters, most)]

    def _fetch(self, statement: str, *parameters: Any) -> list[r.Row]:
        return self._db.fetch(self._raw, self._db.sql(statement), parameters)
