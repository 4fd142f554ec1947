"""A store in dictionaries, and a world that plans uses against it one by one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

from tenure.engine.facts import Facts, Wanted
from tenure.engine.fingerprint import fingerprint, of_facts
from tenure.engine.images import images
from tenure.engine.plan import Moment, Plan, plan
from tenure.engine.state import State
from tenure.engine.wants import wanted
from tenure.errors import TenureError
from tenure.model import uses as u
from tenure.model.events import Event
from tenure.model.holding import ClaimRequest
from tenure.net.addresses import number_of
from tests.engine.reading import Reading

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Tally(NamedTuple):
    """Open claims, counted."""

    network: str
    host: str | None
    pending: bool
    family: str
    count: int  # type: ignore[assignment]
    claims: int


@dataclass
class Tables:
    """What a store would hold: rows by table and key."""

    rows: dict[str, dict[tuple[str, ...], Any]] = field(default_factory=dict)

    def apply(self, events: list[Event]) -> None:
        for event in events:
            for image in images(event):
                table = self.rows.setdefault(image.table, {})
                if image.row is None:
                    del table[image.key]
                else:
                    table[image.key] = image.row

    def all(self, table: str) -> list[Any]:
        return list(self.rows.get(table, {}).values())

    def open(self, table: str) -> list[Any]:
        return [row for row in self.all(table) if row.until is None]

    # What `State.load` reads

    @property
    def vrfs(self) -> list[Any]:
        return self.all("vrfs")

    @property
    def locations(self) -> list[Any]:
        return self.all("locations")

    @property
    def networks(self) -> list[Any]:
        return self.all("networks")

    @property
    def subnets(self) -> list[Any]:
        return self.all("subnets")

    @property
    def ranges(self) -> list[Any]:
        return self.all("ranges")

    @property
    def zones(self) -> list[Any]:
        return self.all("zones")

    @property
    def records(self) -> list[Any]:
        return self.all("records")

    @property
    def tsig_keys(self) -> list[Any]:
        return [(key, b"") for key in self.all("tsig_keys")]

    @property
    def secondaries(self) -> list[Any]:
        return self.all("secondaries")

    def blocks(self) -> Iterator[Any]:
        return iter(sorted(self.all("blocks"), key=lambda block: block.kind == "host"))

    def held(self, now: datetime) -> Iterator[tuple[str, int, bool, datetime | None]]:
        for row in self.all("allocations"):
            if row.until is None:
                yield row.subnet, number_of(row.ip), row.lease, None
            elif row.cooling_until is not None and row.cooling_until > now:
                yield row.subnet, number_of(row.ip), row.lease, row.cooling_until

    def strays(self, now: datetime) -> Iterator[tuple[str, int, int, datetime]]:
        subnets = {subnet.id for subnet in self.subnets}
        for row in self.all("allocations"):
            if row.cooling_until is not None and row.cooling_until > now and row.subnet not in subnets:
                yield row.vrf, 6 if ":" in row.ip else 4, number_of(row.ip), row.cooling_until

    def loose(self) -> Iterator[tuple[str, int, str]]:
        hosts = {claim.id: claim.host for claim in self.open("claims")}
        for row in self.open("allocations"):
            host = hosts[row.claim]
            if host is not None and not row.lease and row.title not in ("own", "new") and row.standing != "shelved":
                yield row.subnet, number_of(row.ip), host

    def tallies(self) -> Iterator[Tally]:
        found: Counter[tuple[str, str | None, bool, str, int]] = Counter()
        for claim in self.open("claims"):
            request = claim.request
            found[claim.network, claim.host, claim.bound is None, request.family or "v4", request.count] += 1
        return (Tally(*key, number) for key, number in found.items())

    def strangers(self, now: datetime) -> Iterator[tuple[str, int, int, datetime]]:
        for seen in self.all("observations"):
            if seen.until > now:
                yield seen.vrf, 6 if ":" in seen.ip else 4, number_of(seen.ip), seen.until

    # What the engine wants by key

    def facts(self, want: Wanted, now: datetime) -> Facts:
        """Rows by key and all that hangs on them, as `Wanted` says and a store reads them."""
        return Reading(self, want, now).facts


class World:
    """Plans uses against a state and tables, and keeps every event."""

    def __init__(self) -> None:
        self.state = State()
        self.tables = Tables()
        self.events: list[Event] = []
        self.now = START
        self.ids = (f"{n:020x}" for n in count(1))
        self._handles = count(1)

    def plan(self, use: u.Use, *, if_match: int | None = None, dry_run: bool = False) -> Plan:
        """Plan a use and record it, unless it is a dry run.

        A refusal must leave everything as it was; that is asserted each time.
        """
        self.state.advance(self.now)
        facts = self.tables.facts(wanted(use, self.state), self.now)
        moment = Moment(now=self.now, ids=self.ids)
        asked = u.Submission(use=use, actor="token:ci", if_match=if_match, dry_run=dry_run)
        before = fingerprint(self.state), of_facts(facts)
        try:
            made = self.decide(asked, facts, moment)
        except TenureError:
            assert (fingerprint(self.state), of_facts(facts)) == before
            raise
        events = list(made.events)
        decided = fingerprint(self.state)
        made.draft.unwind()
        assert (fingerprint(self.state), of_facts(facts)) == before
        if dry_run:
            return Plan(made.answer, events, made.draft)
        for event in events:
            self.state.reduce(event)
        assert fingerprint(self.state) == decided
        self.tables.apply(events)
        self.events.extend(events)
        return Plan(made.answer, events, made.draft)

    def decide(self, asked: u.Submission, facts: Facts, moment: Moment) -> Plan:
        """The engine's plan; other worlds add what floors above the engine make of it."""
        return plan(asked, self.state, facts, moment)

    def do(self, use: u.Use, **circumstances: Any) -> Any:
        """The answer alone."""
        return self.plan(use, **circumstances).answer

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.state.advance(self.now)

    # Shorthands

    def claim(self, network: str = "prod", handle: str | None = None, **fields: Any) -> Any:
        """A claim's holding."""
        request = ClaimRequest(network=network, **fields)
        return self.do(u.ClaimAddresses(request=request, handle=handle or f"h{next(self._handles)}"))

    def ip(self, network: str = "prod", **fields: Any) -> str:
        """The first address of a new claim."""
        return str(self.claim(network, **fields).addresses[0].ip)

    def release(self, holding: Any, **fields: Any) -> Any:
        return self.do(u.ReleaseClaim(claim=holding.claim.id, **fields))

    def space(self, cidr: str) -> Any:
        found = self.state.find("subnet", cidr)
        assert found is not None
        return self.state.subnets[found]


def site(*cidrs: str, racks: int = 2, hosts: int = 3, fields: dict[str, Any] | None = None, **network: Any) -> World:
    """A world with one site, hosts `h<rack>-<n>`, and a network `prod` with these subnets."""
    world = World()
    world.do(u.CreateVrf(name="default"))
    world.do(u.CreateLocation(name="s1", kind="site"))
    for rack in range(racks):
        world.do(u.CreateLocation(name=f"r{rack}", kind="rack", parent="s1"))
        for host in range(hosts):
            world.do(u.CreateLocation(name=f"h{rack}-{host}", kind="host", parent=f"r{rack}"))
    world.do(u.CreateNetwork(name="prod", fields=network))
    for cidr in cidrs:
        world.do(u.CreateSubnet(network="prod", cidr=cidr, fields=fields or {}))
    return world
