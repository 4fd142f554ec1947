"""The store in dictionaries that the engine's tests plan against reads the same facts as the real ones."""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from msgspec.structs import replace

from tenure.engine.facts import Facts, Wanted
from tenure.engine.fingerprint import of_facts
from tenure.engine.machines import home_handle
from tenure.model import events as e
from tenure.model.holding import LEASES, MACHINES, Attachment, Claim, ClaimRequest
from tenure.model.machines import Interface, Machine
from tenure.model.observed import Observation
from tenure.service.replay import differences
from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tests.engine.world import Tables
from tests.lab.postgres import Cluster

T = TypeVar("T")

_MACHINES: Final = [x.ident(1000 + n) for n in range(8)]
_PORTS: Final = [x.ident(2000 + n) for n in range(14)]
_CLAIMS: Final = [x.ident(3000 + n) for n in range(40)]
_HOSTS: Final = [x.ident(4000 + n) for n in range(3)]
_NAMES: Final = ["vm", "db", "m1", "m2"]
_IPS: Final = [f"10.0.0.{n}" for n in range(2, 70)] + [f"2001:db8::{n}" for n in range(2, 20)]
_LISTS: Final = (
    "expired", "settling", "expiring", "naming", "queued", "harvest", "renumbering", "left", "last",
    "former", "spread",
)  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    place: str | Path = tmp_path / "ledger.db"
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgres_cluster")
        place = cluster.create_database()
    opened = open_store(place, lambda: START)
    opened.prepare()
    yield opened
    opened.close()


class Site:
    """Random rows, as they could be, in a store and in dictionaries."""

    def __init__(self, rng: random.Random, store: Store) -> None:
        self.rng = rng
        self.scribe = Scribe(store)
        self.tables = Tables()
        self.ips = rng.sample(_IPS, len(_IPS))
        with store.turn() as turn:
            self.now = turn.now
        self.record(*x.SITE)

    def record(self, *events: e.Event) -> None:
        self.tables.apply(list(events))
        self.scribe.write(*events)

    def maybe(self, value: Any, chance: float = 0.3) -> Any:
        return value if self.rng.random() < chance else None

    def when(self) -> datetime:
        """Hours away from now, so that the test's own time does not matter; no two are the same."""
        away = self.rng.choice([-90, -60, -30, -20, -3, 3, 20, 30, 60])
        return self.now + timedelta(
            hours=away, seconds=self.rng.randrange(3000), microseconds=self.rng.randrange(10**6)
        )

    def machines(self) -> None:
        states: list[Any] = [None, "ready", "deployed", "new"]
        for n, id_ in enumerate(_MACHINES):
            fields = {"state": self.rng.choice(states), "harvest": self.harvest(), "seen": self.maybe(self.when(), 0.5)}
            self.record(e.MachineCreated(machine=Machine(id_, f"m{n}", **fields)))
        for n, id_ in enumerate(_PORTS):
            self.record(e.InterfaceCreated(interface=Interface(id_, _MACHINES[n // 2 % 8], f"52:54:00:00:00:{n:02x}")))

    def harvest(self) -> Any:
        return self.rng.choice(["inherit", "inherit", "never", "allowed"])

    def claim(self, id_: str) -> Claim:
        rng = self.rng
        port, leaving = self.maybe(rng.choice(_PORTS), 0.6), self.maybe(_HOSTS[0], 0.2)
        machine = None if port is None else _MACHINES[_PORTS.index(port) // 2 % 8]
        project = rng.choice(["default", "blue", LEASES, MACHINES])
        handle = home_handle(port) if project == MACHINES and port and rng.random() < 0.7 else f"h-{id_[-2:]}"
        request = ClaimRequest(
            network=x.NETWORK.id, queue=rng.random() < 0.4, defer=rng.random() < 0.2,
            hostname=self.maybe(rng.choice(_NAMES)), address=self.maybe("10.0.0.2", 0.1),
        )  # fmt: skip
        return Claim(
            id=id_, handle=handle, project=project, network=x.NETWORK.id, request=request, since=self.when(),
            actor="token:ci", host=self.maybe(rng.choice(_HOSTS), 0.5), machine=machine, interface=port,
            bound=self.maybe(START, 0.7), leaving=leaving, settles=None if leaving is None else self.when(),
            kept=self.maybe("life", 0.6), static=rng.random() < 0.2, harvest=self.harvest(),
            expires=self.maybe(self.when(), 0.4), warned=rng.random() < 0.3,
        )  # fmt: skip

    def claims(self) -> None:
        taken = set()
        for id_ in _CLAIMS:
            one = self.claim(id_)
            if (one.project, one.handle) not in taken:
                taken.add((one.project, one.handle))
                self.record(e.ClaimDeferred(claim=one))
                for _ in range(self.rng.choice([0, 1, 1, 2, 3])):
                    self.give(one)
                if self.rng.random() < 0.25:
                    taken.discard((one.project, one.handle))
                    self.release(one)

    def give(self, one: Claim) -> None:
        rng = self.rng
        held = x.allocation(
            5000 + len(self.ips), one, self.ips.pop(), hostname=self.maybe(rng.choice(_NAMES)),
            lease=one.project == LEASES, held_until=self.when() if one.project == LEASES else self.maybe(self.when()),
            standing=rng.choice(["primary", "primary", "alias", "shelved"]), behind=self.maybe(rng.choice(_CLAIMS)),
            lender=self.maybe(rng.choice(_CLAIMS), 0.2), named_at=self.maybe(self.when(), 0.2),
            replaces=self.maybe(x.ident(5000 + len(self.ips) + 1), 0.2),
        )  # fmt: skip
        self.record(x.given(one, held, self.maybe(one.interface or rng.choice(_PORTS), 0.6), opens=False))

    def release(self, one: Claim) -> None:
        over = replace(x.released(one, self.when()), bound=one.bound)
        for held in [row for row in self.tables.open("allocations") if row.claim == one.id]:
            assert over.until is not None
            worn = [row for row in self.tables.open("attachments") if row.allocation == held.id]
            ends = replace(held, until=over.until, cooling_until=self.when())
            gone = tuple(replace(row, until=over.until) for row in worn)
            self.record(e.AddressReleased(claim=over, allocation=ends, attachments=gone))
        self.record(e.ClaimReleased(claim=over))

    def observations(self) -> None:
        for ip in self.rng.sample(_IPS, 12):
            seen = Observation(
                vrf=x.VRF.id, subnet=x.SUBNET.id, ip=ip, source="nmap", since=START, last=START, until=self.when(),
                claim=self.maybe(self.rng.choice(_CLAIMS)),
            )  # fmt: skip
            self.record(e.AddressObserved(observation=seen))

    def changes(self) -> None:
        """Machines are seen and deployed, addresses change hands."""
        for machine in self.rng.sample(self.tables.all("machines"), 3):
            self.record(e.MachineSeen(machine=replace(machine, seen=self.when())))
            self.record(e.MachineDeployed(machine=replace(machine, state="deployed")))
        for held in self.rng.sample(self.tables.open("allocations"), 5):
            claim = self.tables.rows["claims"][held.claim,]
            self.record(e.AddressAliased(claim=claim, allocation=replace(held, standing="alias", hostname="db")))
        free = [p for p in _PORTS if all(row.interface != p for row in self.tables.open("attachments"))]
        for port, held in zip(free, self.rng.sample(self.tables.open("allocations"), len(free)), strict=True):
            worn = Attachment(allocation=held.id, interface=port, since=START)
            claim = self.tables.rows["claims"][held.claim,]
            self.record(e.AddressAttached(claim=claim, allocation=held, attachment=worn))

    def few(self, things: Sequence[T]) -> list[T]:
        """None, one or three of them."""
        return self.rng.sample(things, self.rng.choice([0, 0, 1, min(3, len(things))]))

    def wanted(self) -> Wanted:
        """A few keys of some kinds."""
        rng, rows, few = self.rng, self.tables, self.few
        return Wanted(
            handles={(c.project, c.handle) for c in few(rows.all("claims"))}, claims=set(few(_CLAIMS)),
            hostnames=set(few(_NAMES)), addresses={(x.VRF.id, ip) for ip in few(_IPS)},
            macs={f"52:54:00:00:00:{n:02x}" for n in few(range(16))},
            machines={*few(_MACHINES), *few(_NAMES)}, hosts=set(few(_HOSTS)),
            spread=set(few([x.SUBNET.id, "none", "no"])),
            last={(c.project, c.handle) for c in few([c for c in rows.all("claims") if c.until is not None])},
            homes={*few(_MACHINES), *few(["m1", "m2", "m3"])}, interfaces=set(few(_PORTS)),
            observed={(x.VRF.id, ip) for ip in few(_IPS)},
            queued={(network, rng.choice([0, 0, 1, 3])) for network in few([x.NETWORK.id, "none", "no"])},
            harvest={(x.NETWORK.id, self.when(), rng.random() < 0.7, n) for n in few(range(9))},
            renumbering={(x.SUBNET.id, rng.random() < 0.5, self.when(), n + 1) for n in few(range(9))[:1]},
            expired=rng.choice([0, 0, 3]), settling=rng.choice([0, 0, 3]), expiring=rng.choice([0, 0, 9]),
            naming=rng.choice([0, 0, 3]),
        )  # fmt: skip


def _said(facts: Facts) -> dict[str, Any]:
    lists = {name: getattr(facts, name) for name in _LISTS}
    return {**of_facts(facts), **lists}


def test_a_store_reads_what_the_dictionaries_read(store: Store, rng: random.Random) -> None:
    site = Site(rng, store)
    site.machines()
    site.claims()
    site.observations()
    site.changes()
    for _ in range(60):
        want = site.wanted()
        with store.turn() as turn:
            found, meant = _said(turn.facts(want)), _said(site.tables.facts(want, turn.now))
        for name, said in meant.items():
            assert found[name] == said, (name, want)
    assert [line for line in differences(store) if not line.startswith("state")] == []  # made-up times end rests oddly
