"""How the store in dictionaries reads facts: the closure that `Wanted` documents, and nothing beyond it."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Protocol

from tenure.engine.facts import MOST_QUEUED, WARNED_BEFORE, Facts, Wanted, queue_group
from tenure.engine.machines import home_handle
from tenure.model.holding import MACHINES, OWN_PROJECTS, Claim
from tenure.model.machines import Machine
from tenure.net.addresses import number_of


class Rows(Protocol):
    """The rows of all tables."""

    def all(self, table: str) -> list[Any]: ...

    def open(self, table: str) -> list[Any]: ...


class Reading:
    """One reading: what is wanted itself, and all that hangs on it; then what makes that whole."""

    def __init__(self, rows: Rows, want: Wanted, now: datetime) -> None:
        self.rows = rows
        self.want = want
        self.now = now
        self.facts = Facts()
        self.facts.want(want)
        self.claims = rows.open("claims")
        self.allocations = rows.open("allocations")
        self._machines()
        self.homes = self._homes()
        self._claims()
        self._claims_due()
        self._last()
        self._their_machines()
        self._allocations()
        self._what_hangs_on_claims()
        self._what_hangs_on_those()
        self._their_machines()
        self._put("attachments", (x for x in rows.open("attachments") if x.allocation in self.facts.allocations))
        self._observations()
        self._spread()
        self._holders()

    def _put(self, table: str, rows: Iterable[Any]) -> None:
        for row in rows:
            self.facts.put(table, row)

    def _all_claims(self, wanted: Callable[[Claim], bool]) -> None:
        self._put("claims", filter(wanted, self.rows.all("claims")))

    def _machines(self) -> None:
        want, facts = self.want, self.facts
        ports = self.rows.all("interfaces")
        self._put("interfaces", (i for i in ports if i.mac in want.macs or i.id in want.interfaces))
        machines = {port.machine for port in facts.interfaces.values()}
        self._put(
            "machines", (m for m in self.rows.all("machines") if {m.id, m.name} & want.machines or m.id in machines)
        )
        self._put("interfaces", (i for i in ports if i.machine in facts.machines))

    def _claims(self) -> None:
        want, facts = self.want, self.facts
        named = want.machines | facts.machines.keys()
        self._put("claims", (c for c in self.claims if (c.project, c.handle) in want.handles or c.host in want.hosts))
        self._all_claims(lambda c: c.id in want.claims)
        self._put("claims", (c for c in self.claims if c.machine in named))
        self._put("claims", (c for c in self.claims if c.bound is None and c.interface in facts.interfaces))

    def _claims_due(self) -> None:
        """Claims whose time has come."""
        settling = [c for c in self.claims if c.settles is not None and c.settles <= self.now]
        self.facts.settling = self._first("claims", settling, lambda c: c.settles, self.want.settling)
        near = [c for c in self.claims if c.expires is not None and self._is_near(c)]
        self.facts.expiring = self._first("claims", near, lambda c: (c.expires, c.id), self.want.expiring)
        for network, skip in self.want.queued:
            waiting = [c for c in self.claims if c.network == network and _queues(c)]
            self.facts.queued[network] = self._first("claims", _in_turn(waiting, skip), lambda c: (c.since, c.id))
        machines = {machine.id: machine for machine in self.rows.all("machines")}
        for network, before, allowed, limit in sorted(self.want.harvest):
            ripe = [c for c in self.claims if c.network == network and _is_ripe(c, machines, before, allowed=allowed)]
            found = self._first("claims", ripe, lambda c: (_idle(c, machines), c.id), limit)
            self.facts.harvest[network] = list(dict.fromkeys([*self.facts.harvest[network], *found]))

    def _is_near(self, claim: Claim) -> bool:
        assert claim.expires is not None
        return claim.expires <= self.now + (WARNED_BEFORE if not claim.warned else WARNED_BEFORE * 0)

    def _first(self, table: str, rows: list[Any], key: Callable[[Any], Any], most: int = MOST_QUEUED) -> list[str]:
        first = sorted(rows, key=key)[:most]
        self._put(table, first)
        return [row.id for row in first]

    def _their_machines(self) -> None:
        claims = self.facts.claims.values()
        machines, ports = {claim.machine for claim in claims}, {claim.interface for claim in claims}
        self._put("machines", (m for m in self.rows.all("machines") if m.id in machines))
        self._put("interfaces", (i for i in self.rows.all("interfaces") if i.id in ports))

    def _allocations(self) -> None:
        want, facts = self.want, self.facts
        self._put("allocations", (a for a in self.allocations if (a.vrf, a.ip) in want.addresses))
        holders = {a.claim for a in facts.allocations.values() if want.called and a.until is None}
        self._all_claims(lambda c: c.id in holders)
        names = want.hostnames | {machine.name.lower() for machine in facts.machines.values()}
        names |= {
            c.request.hostname for c in facts.claims.values() if (want.called or c.bound is None) and c.request.hostname
        }
        names |= {a.hostname for a in facts.allocations.values() if want.called and a.until is None and a.hostname}
        worn = {x.allocation for x in self.rows.open("attachments") if x.interface in facts.interfaces}
        self._put("allocations", (a for a in self.allocations if a.hostname in names or a.id in worn))
        former = {(a.vrf, a.ip) for held in facts.former.values() for a in held}
        keys = want.addresses | former
        resting = [a for a in self.rows.all("allocations") if a.until is not None and (a.vrf, a.ip) in keys]
        resting = [a for a in resting if a.cooling_until is not None and a.cooling_until > self.now]
        latest = {(a.vrf, a.ip): a for a in sorted(resting, key=lambda a: a.until)}
        self._put("allocations", latest.values())
        late = [a for a in self.allocations if a.lease and a.held_until is not None and a.held_until < self.now]
        facts.expired = self._first("allocations", late, lambda a: a.held_until, want.expired)
        due = [a for a in self.allocations if a.named_at is not None and a.named_at <= self.now]
        facts.naming = self._first("allocations", due, lambda a: (a.named_at, a.id), want.naming)
        self._renumbering()
        self._alike()
        self._all_claims(lambda c: c.id in {a.claim for a in facts.allocations.values()})

    def _renumbering(self) -> None:
        claims = {claim.id: claim for claim in self.claims}
        replaced = {a.replaces for a in self.allocations}
        for subnet, static, promised, limit in sorted(self.want.renumbering):
            rows = [a for a in self.allocations if a.subnet == subnet and not a.lease]
            rows = [a for a in rows if a.id not in replaced and (static or not claims[a.claim].static)]
            self.facts.left[subnet] = len(rows)
            rows = [a for a in rows if a.held_until is None or a.held_until <= promised]
            self.facts.renumbering[subnet] = self._first("allocations", rows, lambda a: number_of(a.ip), limit)

    def _what_hangs_on_claims(self) -> None:
        claims = self.facts.claims.keys()
        self._put("allocations", [a for a in self.allocations if a.claim in claims or a.behind in claims])

    def _what_hangs_on_those(self) -> None:
        here = list(self.facts.allocations.values())
        others = {claim for a in here for claim in (a.claim, a.behind, a.lender)}
        others |= {c.request.reservation for c in self.facts.claims.values() if c.bound is None}
        others -= self.facts.claims.keys()
        self._all_claims(lambda c: c.id in others)
        self._put("allocations", [a for a in self.allocations if a.claim in others])

    def _observations(self) -> None:
        former = {(a.vrf, a.ip) for held in self.facts.former.values() for a in held}
        keys = self.want.addresses | self.want.observed | former
        self._put("observations", (seen for seen in self.rows.all("observations") if (seen.vrf, seen.ip) in keys))

    def _spread(self) -> None:
        hosts = {claim.id: claim.host for claim in self.claims}
        for row in sorted(self.allocations, key=lambda a: number_of(a.ip)):
            if row.subnet in self.want.spread:
                known = self.facts.spread[row.subnet]
                first, count = known.get(hosts[row.claim], (row.ip, 0))
                known[hosts[row.claim]] = first, count + 1

    def _last(self) -> None:
        closed = [c for c in self.rows.all("claims") if c.until is not None and c.project in OWN_PROJECTS]
        latest = {(c.project, c.handle): c for c in sorted(closed, key=lambda c: (c.until, c.id))}
        for handle in (self.want.last | self.homes) & latest.keys():
            claim = latest[handle]
            held = [a for a in self.rows.all("allocations") if a.claim == claim.id and a.until == claim.until]
            if held:
                self.facts.remember(handle, held)

    def _homes(self) -> set[tuple[str, str]]:
        named, facts = self.want.homes, self.facts
        known = (port for port in facts.interfaces.values() if port.machine in facts.machines)
        ports = (i for i in known if {i.mac, i.machine, facts.machines[i.machine].name} & named)
        return {(MACHINES, home_handle(port.id)) for port in ports}

    def _called(self, vrf: str, domain: str) -> list[Any]:
        """Who has a name in a domain."""
        networks = {n.id for n in self.rows.all("networks") if (n.vrf, n.domain) == (vrf, domain)}
        subnets = {s.id for s in self.rows.all("subnets") if s.network in networks}
        return [a for a in self.allocations if a.hostname is not None and a.subnet in subnets]

    def _alike(self) -> None:
        for vrf, domain, before, after in self.want.alike:
            called = self._called(vrf, domain)
            self._put(
                "allocations", (a for a in called if a.hostname.startswith(before) and a.hostname.endswith(after))
            )

    def _holders(self) -> None:
        for kind, id_, first, last in self.want.holders:
            labels = []
            if kind == "subnet":
                low, high = number_of(first) if first else 0, number_of(last) if last else 1 << 128
                held = [a for a in self.allocations if a.subnet == id_ and low <= number_of(a.ip) <= high]
                labels = [a.ip for a in held]
            elif kind == "network":
                labels = ["claim " + c.handle for c in self.claims if c.network == id_]
            elif kind == "location":
                labels = ["claim " + c.handle for c in self.claims if c.host == id_]
                labels += ["machine " + m.name for m in self.rows.all("machines") if m.location == id_]
            elif kind == "below":
                called = self._called(id_, first)
                labels = [f"{a.hostname}.{first}" for a in called if a.hostname.endswith("." + last)]
            self.facts.holders[kind, id_, first, last] = (labels[:20], len(labels))


def _queues(claim: Claim) -> bool:
    return claim.bound is None and claim.request.queue and not claim.request.defer


def _in_turn(waiting: list[Claim], skip: int) -> list[Claim]:
    groups: dict[Any, list[Claim]] = {}
    for claim in sorted(waiting, key=lambda c: (c.since, c.id)):
        groups.setdefault(queue_group(claim), []).append(claim)
    chosen = list(groups.values())[skip : skip + MOST_QUEUED]
    placed = [(place, nth, claim) for nth, group in enumerate(chosen) for place, claim in enumerate(group)]
    return [claim for *_, claim in sorted(placed, key=lambda each: each[:2])[:MOST_QUEUED]]


def _idle(claim: Claim, machines: dict[str, Machine]) -> datetime:
    """Since when the machine was not seen, nor given this."""
    seen = machines[claim.machine].seen if claim.machine in machines else None
    return claim.since if seen is None else max(seen, claim.since)


def _is_ripe(claim: Claim, machines: dict[str, Machine], before: datetime, *, allowed: bool) -> bool:
    machine = machines.get(claim.machine or "")
    if claim.kept != "life" or claim.bound is None or claim.static or claim.by_name:
        return False
    if machine is None or machine.lifecycle == "deployed" or _idle(claim, machines) >= before:
        return False
    say = machine.harvest if claim.harvest == "inherit" else claim.harvest
    return allowed if say == "inherit" else say == "allowed"
