"""What a batch needs beyond the state, read by key: a bounded number of statements, however many keys.

Keys travel as one parameter (a JSON array) or one a column (PostgreSQL's arrays); statements for empty sets are
left out. The order follows the closure that `Wanted` documents: machines and interfaces, then claims, then
allocations, then what hangs on those that were found on the way, and what makes that whole.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from tenure.engine.facts import Facts, Wanted
from tenure.engine.machines import home_handle
from tenure.model.access import Token
from tenure.model.holding import MACHINES, Allocation
from tenure.model.machines import Interface, Machine
from tenure.store.sql import rows as r
from tenure.store.sql.alike import alike
from tenure.store.sql.connect import Database
from tenure.store.sql.due import ALLOCATIONS, CLAIMS, Due

_OBSERVATIONS: Final = ", ".join(f"o.{name}" for name in r.OBSERVATION)
_ATTACHMENTS: Final = ", ".join(f"x.{name}" for name in r.ATTACHMENT)
_ADDRESS: Final = ["vrf text", "address bytea"]
_HERE: Final = "a.vrf = k.vrf AND a.address = k.address"
_SHOWN: Final = 20  # holders that a refusal names

_machine = msgspec.json.Decoder(Machine).decode
_interface = msgspec.json.Decoder(Interface).decode
_token = msgspec.json.Decoder(Token).decode

_HOLDERS: Final = {
    "network": "SELECT k.n, 'claim ' || c.handle AS label FROM {k} CROSS JOIN claims c"
    " WHERE c.network = k.id AND c.until IS NULL",
    "machine": "SELECT k.n, 'claim ' || c.handle AS label FROM {k} CROSS JOIN claims c"
    " WHERE c.machine = k.id AND c.until IS NULL AND c.machine IS NOT NULL",
    "location": "SELECT h.n, h.label FROM (SELECT k.n, 'claim ' || c.handle AS label FROM {k} CROSS JOIN claims c"
    " WHERE c.host = k.id AND c.until IS NULL AND c.host IS NOT NULL"
    " UNION ALL SELECT k.n, 'machine ' || m.name AS label FROM {k} CROSS JOIN machines m"
    " WHERE m.location = k.id AND m.until IS NULL) h",
}


class Reading:
    """One reading of facts, in the writer's transaction."""

    def __init__(self, db: Database, raw: Any, now: datetime) -> None:
        self._db = db
        self._raw = raw
        self._now = r.micros(now)
        self._due = Due(db, raw, now)
        self._facts = Facts()

    def read(self, wanted: Wanted) -> Facts:
        """Everything that is wanted and what hangs on it."""
        facts = self._facts
        facts.want(wanted)
        self._machines(wanted)
        self._spread(wanted.spread)
        self._tokens(wanted.tokens)
        self._claims(wanted)
        self._claims_due(wanted)
        self._last(wanted.last | self._homes(wanted.homes))
        self._users_of_claims()
        self._allocations(wanted)
        self._allocations_due(wanted)
        self._whole()
        self._observations(wanted.observed | wanted.addresses | self._former())
        self._holders(wanted.holders)
        return facts

    def _rows(self, statement: str, columns: Sequence[str], keys: Iterable[r.Row]) -> list[r.Row]:
        """Rows of a statement over keys; `{k}` stands for them, once or more."""
        found = list(keys)
        if not found:
            return []
        text = statement.replace("{k}", self._db.keys(*columns))
        packed = self._db.pack(columns, found) * statement.count("{k}")
        return self._db.fetch(self._raw, text, packed)

    def _each(self, columns: str, table: str, condition: str) -> str:
        """Rows of `table alias` for each key by itself, whatever the planner takes the tables for."""
        return f"SELECT {columns} FROM {{k}} {self._db.each(table, condition)}"

    def _by(self, statement: str, column: str, keys: Iterable[str]) -> list[r.Row]:
        return self._rows(statement, [f"{column} text"], [(key,) for key in keys])

    def _machines(self, wanted: Wanted) -> None:
        facts = self._facts
        ports = self._each("i.body", "interfaces i", "i.until IS NULL AND i.mac = k.mac")
        self._put("interfaces", map(_interface_of, self._by(ports, "mac", wanted.macs)))
        self._interfaces_by_id(wanted.interfaces)
        machines = self._each("m.body", "machines m", "m.until IS NULL AND m.name = k.name")
        self._put("machines", map(_machine_of, self._by(machines, "name", wanted.machines)))
        self._machines_by_id(wanted.machines | {port.machine for port in facts.interfaces.values()})
        siblings = self._each("i.body", "interfaces i", "i.until IS NULL AND i.machine = k.machine")
        self._put("interfaces", map(_interface_of, self._by(siblings, "machine", facts.machines)))

    def _machines_by_id(self, ids: set[str]) -> None:
        statement = self._each("m.body", "machines m", "m.until IS NULL AND m.id = k.id")
        self._put("machines", map(_machine_of, self._by(statement, "id", ids - self._facts.machines.keys())))

    def _interfaces_by_id(self, ids: set[str]) -> None:
        statement = self._each("i.body", "interfaces i", "i.until IS NULL AND i.id = k.id")
        self._put("interfaces", map(_interface_of, self._by(statement, "id", ids - self._facts.interfaces.keys())))

    def _users_of_claims(self) -> None:
        """Machines and interfaces that claims name."""
        claims = self._facts.claims.values()
        self._machines_by_id({claim.machine for claim in claims if claim.machine is not None})
        self._interfaces_by_id({claim.interface for claim in claims if claim.interface is not None})

    def _last(self, wanted: set[tuple[str, str]]) -> None:
        """What a client had whose lease ended, or a machine; nothing else is looked up so."""
        latest = (
            "(SELECT l.id FROM claims l WHERE l.until IS NOT NULL AND l.project IN ('dhcp', 'machine')"
            " AND l.project = k.project AND l.handle = k.handle ORDER BY l.until DESC, l.id DESC LIMIT 1)"
        )
        statement = (
            f"SELECT k.project, k.handle, {ALLOCATIONS} FROM {{k}} CROSS JOIN claims c CROSS JOIN allocations a"
            f" WHERE c.id = {latest} AND a.claim = c.id AND a.until = c.until"
        )
        found: dict[tuple[str, str], list[Allocation]] = {}
        for project, handle, *row in self._rows(statement, ["project text", "handle text"], wanted):
            found.setdefault((str(project), str(handle)), []).append(r.allocation_of(row))
        for key, held in found.items():
            self._facts.remember(key, held)

    def _former(self) -> set[tuple[str, str]]:
        """The addresses that were held last under the handles that were read."""
        return {(held.vrf, held.ip) for known in self._facts.former.values() for held in known}

    def _homes(self, named: set[str]) -> set[tuple[str, str]]:
        """The handles under which the interfaces of these machines, or with these MACs, are given addresses."""
        facts = self._facts
        ports = (port for port in facts.interfaces.values() if named and port.machine in facts.machines)
        mine = (p for p in ports if {p.mac, p.machine, facts.machines[p.machine].name} & named)
        return {(MACHINES, home_handle(port.id)) for port in mine}

    def _tokens(self, named: set[str]) -> None:
        tokens = "SELECT t.body FROM {k} CROSS JOIN tokens t WHERE t.until IS NULL AND "
        for column in ("name", "id"):
            found = self._by(f"{tokens} t.{column} = k.{column}", column, named)
            self._put("tokens", (_token(row[0]) for row in found))

    def _claims(self, wanted: Wanted) -> None:
        facts = self._facts
        handles = self._each(CLAIMS, "claims c", "c.until IS NULL AND c.handle = k.handle AND c.project = k.project")
        self._put("claims", map(r.claim_of, self._rows(handles, ["project text", "handle text"], wanted.handles)))
        self._claims_by_id(wanted.claims)
        at = self._each(CLAIMS, "claims c", "c.until IS NULL AND c.host IS NOT NULL AND c.host = k.host")
        self._put("claims", map(r.claim_of, self._by(at, "host", wanted.hosts)))
        pending = "c.until IS NULL AND c.bound IS NULL AND c.interface IS NOT NULL AND c.interface = k.port"
        waits = self._each(CLAIMS, "claims c", pending)
        self._put("claims", map(r.claim_of, self._by(waits, "port", facts.interfaces)))
        held = self._each(CLAIMS, "claims c", "c.until IS NULL AND c.machine IS NOT NULL AND c.machine = k.machine")
        self._put("claims", map(r.claim_of, self._by(held, "machine", wanted.machines | facts.machines.keys())))

    def _claims_due(self, wanted: Wanted) -> None:
        """One statement for each kind of what is due, but one a network that is harvested."""
        facts, due = self._facts, self._due
        facts.settling = self._first("claims", due.settling(wanted.settling))
        facts.expiring = self._first("claims", due.expiring(wanted.expiring))
        if wanted.queued:
            for claim in due.queued(sorted(wanted.queued)):
                facts.queued[claim.network] += self._first("claims", [claim])
        for network, before, allowed, most in sorted(wanted.harvest):
            found = self._first("claims", due.harvest(network, before, allowed=allowed, most=most))
            facts.harvest[network] = list(dict.fromkeys([*facts.harvest[network], *found]))

    def _first(self, table: str, rows: Sequence[Any]) -> list[str]:
        """Know rows; their ids, in order."""
        self._put(table, rows)
        return [row.id for row in rows]

    def _claims_by_id(self, ids: Iterable[str]) -> None:
        missing = [id_ for id_ in ids if id_ not in self._facts.claims]
        statement = self._each(CLAIMS, "claims c", "c.id = k.id")
        self._put("claims", map(r.claim_of, self._by(statement, "id", missing)))

    def _allocations(self, wanted: Wanted) -> None:
        facts = self._facts
        self._by_addresses(wanted.addresses)
        if wanted.called:
            self._claims_by_id({held.claim for held in facts.allocations.values() if held.until is None})
        self._resting(wanted.addresses | self._former())
        named = self._held("a.hostname IS NOT NULL AND a.hostname = k.name")
        self._put("allocations", map(r.allocation_of, self._by(named, "name", self._hostnames(wanted))))
        used = "SELECT x.allocation FROM attachments x WHERE x.until IS NULL AND x.interface = k.port"
        worn = self._held(f"a.id IN ({used})")
        self._put("allocations", map(r.allocation_of, self._by(worn, "port", facts.interfaces)))

    def _allocations_due(self, wanted: Wanted) -> None:
        facts, due = self._facts, self._due
        facts.expired = self._first("allocations", due.expired(wanted.expired))
        facts.naming = self._first("allocations", due.naming(wanted.naming))
        for key in sorted(wanted.alike):
            self._put("allocations", alike(self._db, self._raw, key))
        for subnet, static, promised, most in sorted(wanted.renumbering):
            found, facts.left[subnet] = due.renumbering(subnet, promised, static=static, most=most)
            facts.renumbering[subnet] = self._first("allocations", found)

    def _whole(self) -> None:
        """What hangs on the claims and allocations that were found; then what makes that whole."""
        facts = self._facts
        self._claims_by_id({held.claim for held in facts.allocations.values()})
        found = list(facts.claims)
        self._held_by(found)
        behind = self._held("a.behind IS NOT NULL AND a.behind = k.claim")
        self._put("allocations", map(r.allocation_of, self._by(behind, "claim", found)))
        named = {id_ for held in facts.allocations.values() for id_ in (held.claim, held.behind, held.lender)}
        named |= {claim.request.reservation for claim in facts.claims.values() if claim.bound is None}
        others = {id_ for id_ in named if id_ is not None and id_ not in facts.claims}
        self._claims_by_id(others)
        self._held_by(others)
        self._users_of_claims()
        attached = self._each(_ATTACHMENTS, "attachments x", "x.until IS NULL AND x.allocation = k.allocation")
        worn = self._by(attached, "allocation", facts.allocations)
        self._put("attachments", map(r.attachment_of, worn))

    def _held_by(self, claims: Iterable[str]) -> None:
        """Open allocations of claims. The condition is so spelt that no other index seems to help."""
        held = self._each(ALLOCATIONS, "allocations a", "a.claim = k.claim AND coalesce(a.until, 0) = 0")
        self._put("allocations", map(r.allocation_of, self._by(held, "claim", claims)))

    def _observations(self, addresses: set[tuple[str, str]]) -> None:
        statement = self._each(_OBSERVATIONS, "observations o", "o.vrf = k.vrf AND o.address = k.address")
        keys = [(vrf, r.packed(ip)) for vrf, ip in addresses]
        found = self._rows(statement, ["vrf text", "address bytea"], keys)
        self._put("observations", map(r.observation_of, found))

    def _hostnames(self, wanted: Wanted) -> set[str]:
        """Names that are asked for, and those that machines and pending claims will have; of all known if wanted."""
        facts = self._facts
        called = wanted.called
        waiting = (claim.request.hostname for claim in facts.claims.values() if called or claim.bound is None)
        machines = (machine.name.lower() for machine in facts.machines.values())
        carried = (held.hostname for held in facts.allocations.values() if called and held.until is None)
        return {*wanted.hostnames, *(name for name in (*waiting, *carried) if name is not None), *machines}

    def _held(self, condition: str) -> str:
        """Open allocations of each key."""
        return self._each(ALLOCATIONS, "allocations a", f"a.until IS NULL AND {condition}")

    def _by_addresses(self, addresses: set[tuple[str, str]]) -> None:
        keys = [(vrf, r.packed(ip)) for vrf, ip in addresses]
        self._put("allocations", map(r.allocation_of, self._rows(self._held(_HERE), _ADDRESS, keys)))

    def _resting(self, addresses: set[tuple[str, str]]) -> None:
        """The latest allocation of each address that rests."""
        keys = [(vrf, r.packed(ip)) for vrf, ip in addresses]
        rests = f"a.until IS NOT NULL AND {_HERE} AND a.cooling_until > {self._now:d}"
        resting = self._each(ALLOCATIONS, "allocations a", rests) + " ORDER BY a.until"
        latest = {(row[2], row[4]): row for row in self._rows(resting, _ADDRESS, keys)}
        self._put("allocations", map(r.allocation_of, latest.values()))

    def _spread(self, subnets: set[str]) -> None:
        """At which hosts the addresses of a subnet are held: the first of each, and how many."""
        statement = (
            "SELECT subnet, host, address, total FROM (SELECT a.subnet, c.host, a.address,"
            " count(*) OVER (PARTITION BY a.subnet, c.host) AS total,"
            " row_number() OVER (PARTITION BY a.subnet, c.host ORDER BY a.address) AS place"
            " FROM {k} CROSS JOIN allocations a CROSS JOIN claims c"
            " WHERE a.subnet = k.subnet AND a.until IS NULL AND c.id = a.claim) AS held WHERE place = 1"
        )
        for subnet, host, address, count in self._by(statement, "subnet", subnets):
            self._facts.spread[subnet][host] = (r.text_of(address), count)

    def _put(self, table: str, rows: Iterable[Any]) -> None:
        put = self._facts.put
        for row in rows:
            put(table, row)

    def _holders(self, wanted: set[tuple[str, str, str, str]]) -> None:
        """One statement a kind: the first labels of each, and how many there are."""
        facts = self._facts
        asked = sorted(wanted)
        facts.holders.update({key: ([], 0) for key in asked})
        for kind, statement in _HOLDERS.items():
            keys = [(n, key[1]) for n, key in enumerate(asked) if key[0] == kind]
            for n, label, count in self._rows(_few(statement), ["n bigint", "id text"], keys):
                self._hold(asked[n], str(label), count)
        self._below([(n, *key[1:]) for n, key in enumerate(asked) if key[0] == "below"], asked)
        parts = [(n, *_span(key)) for n, key in enumerate(asked) if key[0] == "subnet"]
        columns = ["n bigint", "id text", "first bytea", "last bytea"]
        for n, address, count in self._rows(_few(_IN_SUBNET), columns, parts):
            self._hold(asked[n], r.text_of(address), count)

    def _below(self, keys: list[tuple[int, str, str, str]], asked: Sequence[tuple[str, str, str, str]]) -> None:
        """Cost: linear in the host names of several labels, which have an index of their own."""
        columns = ["n bigint", "id text", "domain text", "ending text"]
        statement = _few(_BELOW.replace("{domain}", f"{self._db.json('w.body')} ->> 'domain'"))
        for n, label, count in self._rows(statement, columns, keys):
            self._hold(asked[n], str(label), count)

    def _hold(self, key: tuple[str, str, str, str], label: str, count: int) -> None:
        self._facts.holders[key][0].append(label)
        self._facts.holders[key] = (self._facts.holders[key][0], count)


_IN_SUBNET: Final = (
    "SELECT k.n, a.address AS label FROM {k} CROSS JOIN allocations a"
    " WHERE a.subnet = k.id AND a.until IS NULL AND a.address BETWEEN k.first AND k.last"
)
_BELOW: Final = (
    "SELECT k.n, a.hostname || '.' || k.domain AS label FROM {k} CROSS JOIN allocations a"
    " CROSS JOIN subnets s CROSS JOIN networks w WHERE s.id = a.subnet AND w.id = s.network"
    " AND a.until IS NULL AND a.hostname IS NOT NULL AND replace(a.hostname, '.', '') <> a.hostname"
    " AND substr(a.hostname, length(a.hostname) - length(k.ending)) = '.' || k.ending"
    " AND w.until IS NULL AND w.vrf = k.id AND {domain} = k.domain"
)


def _span(key: tuple[str, str, str, str]) -> tuple[str, bytes, bytes]:
    """A subnet's id, and the first and last bytes asked for; nothing named is everything."""
    _, id_, first, last = key
    return id_, r.packed(first) if first else b"", r.packed(last) if last else b"\xff" * 17


def _few(statement: str) -> str:
    return (
        "SELECT n, label, total FROM (SELECT n, label, count(*) OVER (PARTITION BY n) AS total,"
        f" row_number() OVER (PARTITION BY n ORDER BY label) AS place FROM ({statement}) AS held) AS counted"
        f" WHERE place <= {_SHOWN} ORDER BY n, place"
    )


def _machine_of(row: r.Row) -> Machine:
    return _machine(row[0])


def _interface_of(row: r.Row) -> Interface:
    return _interface(row[0])
