"""The DNS process's zones: following commit by commit gives what loading gives."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dns.message
import dns.rcode
import msgspec
import pytest
import uvloop

from tenure.app.child import now
from tenure.app.correspondents import Correspondents
from tenure.app.ledger import SystemClock
from tenure.app.listening import Listening
from tenure.app.seed import seed
from tenure.app.zones_view import ZonesView
from tenure.errors import StoreUnavailable
from tenure.model.answers import Failure, Holding
from tenure.model.dnsdata import Record, ZoneChange, ZoneRecord
from tenure.model.holding import ClaimRequest
from tenure.model.uses import (
    ChangeNetwork,
    ChangeVrf,
    ClaimAddresses,
    CreateNetwork,
    CreateSubnet,
    CreateVrf,
    DeleteNetwork,
    DeleteSubnet,
    ReleaseClaim,
    Submission,
    Use,
)
from tenure.naming.hostnames import wire
from tenure.service.feed import Committed
from tenure.service.witness import Witness
from tenure.service.writer import Writer
from tenure.settings import Endpoint, Listener
from tenure.store.interface import Named, Snapshot, Span, Store
from tenure.store.sql import open_store
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.followers import Followers
from tenure.surfaces.dns.notify import Notifier
from tenure.surfaces.dns.responder import Responder
from tenure.surfaces.dns.server import DnsServer
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.views import View, Views


class Site:
    """A writer, and what it publishes."""

    def __init__(self, directory: Path) -> None:
        self.store: Store = open_store(directory / "tenure.sqlite", now)
        self.store.prepare()
        self.told: list[Committed] = []
        self.writer = Writer(self.store, Witness(directory), SystemClock(), self.told.append)
        self.writer.start()

    async def ask(self, use: Use) -> object:
        (reply,) = await asyncio.wrap_future(self.writer.submit([Submission(use=use, actor="token:t")]))
        assert not isinstance(reply.answer, Failure), reply.answer
        return reply.answer

    def close(self) -> None:
        self.writer.stop()
        self.store.close()


class Shown:
    """A view of a store, as the DNS process has it, with one listener that names no vrf and one that does.

    Attributes:
        told: Zone and serial of what secondaries were told.
    """

    def __init__(self, store: Store, directory: Path) -> None:
        loop, self.counters, views = asyncio.get_running_loop(), Counter[str](), Views()
        self.any, self.blue = View(views), View(views)
        here = (Listener(Endpoint("127.0.0.1", 53)), self.any), (Listener(Endpoint("127.0.0.2", 53), "blue"), self.blue)
        self.listening = Listening(views, here)
        self.access = Access()
        self.responder = Responder(views, self.access, self.counters)
        self.notifier = Notifier(loop, views.zones, self.listening.sources, self.counters)
        followers = Followers(loop.time)
        self.correspondents = Correspondents(directory, views, self.access, self.notifier, followers)
        self.views, server = views, DnsServer(loop, [], self.responder)
        self.view = ZonesView(store, self.listening, self.correspondents, server, lambda: None)

    @property
    def table(self) -> ZoneTable:
        """The zones of whoever asks at the listener without a vrf."""
        return self.any.table

    def contents(self) -> dict[tuple[str, str], list[Record]]:
        """All records of all zones, by vrf and zone."""
        tables = self.views.tables.items()
        return {
            (vrf, served.zone.name): sorted(table.records(served.zone.id))
            for vrf, table in tables
            for served in table.zones.values()
        }

    def shown(self) -> tuple[str, str, list[str]]:
        """Which vrfs are served where, and which nowhere."""
        return self.any.vrf, self.blue.vrf, self.view.unseen


async def busy(site: Site, rng: random.Random) -> None:
    """Networks come, names come and go, and a network's TTL changes."""
    for name in ("prod", "lab"):
        await site.ask(CreateNetwork(name=name, fields={"domain": f"{name}.example."}))
        await site.ask(CreateSubnet(network=name, cidr=f"10.{len(name)}.0.0/23"))
    held: list[str] = []
    for n in range(60):
        if held and rng.random() < 0.4:
            await site.ask(ReleaseClaim(claim=held.pop(rng.randrange(len(held)))))
        else:
            request = ClaimRequest(network=rng.choice(("prod", "lab")), hostname=f"vm-{n}")
            answer = await site.ask(ClaimAddresses(request=request, handle=f"h{n}"))
            assert isinstance(answer, Holding)
            held.append(answer.claim.id)
        if n % 25 == 24:
            await site.ask(ChangeNetwork(network="prod", changes={"ttl": 100 + n}))


@pytest.mark.parametrize("late", [False, True], ids=["at each commit", "long after the commits"])
def test_a_view_that_follows_has_what_one_that_loads_has(tmp_path: Path, rng: random.Random, late: bool) -> None:
    async def test() -> None:
        site = Site(tmp_path)
        try:
            await seed(site.writer.submit, tmp_path)
            following = Shown(site.store, tmp_path)
            view = following.view
            position = await view.load()
            site.told.clear()
            if late:
                await busy(site, rng)
                for committed in site.told:
                    await view.apply(committed)
            else:
                work = asyncio.create_task(busy(site, rng))
                while not work.done() or site.told:
                    await asyncio.wait([work], timeout=0.001)
                    while site.told:
                        await view.apply(site.told.pop(0))
                await work
            await view.whole()
            loaded = Shown(site.store, tmp_path)
            assert await loaded.view.load() != position
            assert following.contents() == loaded.contents()
            assert len(loaded.contents()) >= 4
        finally:
            site.close()

    uvloop.run(test())


class Slow:
    """A store whose snapshots are given when a test says so, and that may be away.

    Attributes:
        go: Snapshots wait for it.
        away: How many snapshots are refused first, and `broken`: how many then meet a bug.
        strays: Records that are said to be in zones besides.
        spans: What was asked of `named`, snapshot by snapshot.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.go = threading.Event()
        self.go.set()
        self.away = self.broken = 0
        self.strays: list[ZoneRecord] = []
        self.spans: list[list[Span] | None] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        self.go.wait(60)
        if self.away:
            self.away -= 1
            raise StoreUnavailable("The database went away.")
        if self.broken:
            self.broken -= 1
            raise ZeroDivisionError
        with self._store.snapshot() as snapshot:
            yield _Watched(snapshot, self.spans, self.strays)


class _Watched:
    def __init__(self, snapshot: Snapshot, spans: list[list[Span] | None], strays: list[ZoneRecord]) -> None:
        self._snapshot = snapshot
        self._spans = spans
        self.records = (*snapshot.records, *strays)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    def named(self, spans: Iterable[Span] | None = None) -> Iterator[Named]:
        self._spans.append(None if spans is None else list(spans))
        return self._snapshot.named(self._spans[-1])


class Followed:
    """A site with a view that follows it through a slow store."""

    def __init__(self, directory: Path) -> None:
        self.site = Site(directory)
        self.slow = Slow(self.site.store)
        self.held: dict[str, Any] = {}
        self.subnets: dict[str, str] = {}
        self.directory = directory
        self.shown = Shown(self.slow, directory)
        self.view = self.shown.view

    async def start(self, directory: Path) -> None:
        await seed(self.site.writer.submit, directory)
        for name in ("prod", "lab"):
            await self.ask(CreateNetwork(name=name, fields={"domain": f"{name}.example."}))
            made = await self.ask(CreateSubnet(network=name, cidr=f"10.{len(name)}.0.0/23"))
            self.subnets[name] = made.subnet.id
            self.held[name] = await self.claim(name, "vm-0")
        self.site.told.clear()
        await self.view.load()
        self.slow.spans.clear()

    async def ask(self, use: Use) -> Any:
        return await self.site.ask(use)

    async def claim(self, network: str, hostname: str) -> Any:
        return await self.ask(ClaimAddresses(request=ClaimRequest(network=network, hostname=hostname), handle=None))

    async def follow(self) -> None:
        while self.site.told:
            await self.view.apply(self.site.told.pop(0))

    def rcode(self, name: str, type_: str = "A") -> str:
        found = answer(dns.message.make_query(name, type_).to_wire(), self.shown.table, False)
        assert found is not None
        return dns.rcode.to_text(dns.message.from_wire(found).rcode())

    async def check(self) -> None:
        """The view shows what a view that loads now shows."""
        await self.view.whole()
        loaded = Shown(self.site.store, self.directory)
        await loaded.view.load()
        assert not self.view.closed
        assert self.shown.contents() == loaded.contents()
        assert self.shown.shown() == loaded.shown()


def followed(test: Callable[[Followed], Coroutine[Any, Any, None]], directory: Path) -> None:
    async def whole() -> None:
        it = Followed(directory)
        try:
            await it.start(directory)
            await test(it)
            await it.check()
        finally:
            it.slow.go.set()
            await it.view.whole()
            it.site.close()

    uvloop.run(whole())


def test_a_zone_is_read_from_the_names_that_feed_it_alone(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 77}))
        await it.follow()
        await it.view.whole()
        (spans,) = it.slow.spans
        assert spans is not None
        assert [(span.version, span.first, span.last) for span in spans] == [(4, 0x0A040000, 0x0A0401FF)]
        await it.ask(CreateSubnet(network="lab", cidr="10.4.2.0/26"))
        await it.follow()
        await it.view.whole()
        assert it.slow.spans[1] is not None
        assert [(span.first, span.last) for span in it.slow.spans[1]] == [(0x0A040200, 0x0A04023F)]

    followed(test, tmp_path)


def test_what_takes_long_closes_its_zones_and_no_others(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        it.slow.go.clear()
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 77}))
        await it.ask(CreateNetwork(name="new", fields={"domain": "new.prod.example."}))
        await it.follow()
        assert it.view.closed == 4
        assert it.rcode("vm-0.prod.example.") == it.rcode("prod.example.", "SOA") == "SERVFAIL"
        assert it.rcode("x.new.prod.example.") == it.rcode("0.0.4.10.in-addr.arpa.", "PTR") == "SERVFAIL"
        assert it.rcode("vm-0.lab.example.") == "NOERROR"
        for network in ("prod", "lab"):
            await it.claim(network, "vm-1")
        await it.follow()
        assert it.rcode("vm-1.prod.example.") == "SERVFAIL"
        assert it.rcode("vm-1.lab.example.") == "NOERROR"
        it.slow.go.set()
        await it.view.whole()
        assert it.rcode("vm-0.prod.example.") == it.rcode("vm-1.prod.example.") == "NOERROR"
        assert it.rcode("x.new.prod.example.") == "NXDOMAIN"

    followed(test, tmp_path)


def test_a_zone_that_goes_while_it_is_read_is_gone(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        it.slow.go.clear()
        await it.ask(CreateNetwork(name="new", fields={"domain": "new.example."}))
        await it.follow()
        assert it.rcode("x.new.example.") == "SERVFAIL"
        await it.ask(DeleteNetwork(network="new"))
        await it.follow()
        assert it.rcode("x.new.example.") == "REFUSED"
        it.slow.go.set()

    followed(test, tmp_path)


def test_a_change_that_meets_a_bug_is_read_instead(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        await it.claim("prod", "vm-1")
        (committed,) = it.site.told
        it.slow.go.clear()
        it.site.told[:] = [astray(committed, "prod.example.")]
        await it.follow()
        assert it.rcode("vm-0.prod.example.") == it.rcode("vm-1.prod.example.") == "SERVFAIL"
        assert it.rcode("vm-0.lab.example.") == "NOERROR"
        it.slow.go.set()
        await it.view.whole()
        assert it.rcode("vm-0.prod.example.") == it.rcode("vm-1.prod.example.") == "NOERROR"
        assert it.shown.counters["bugs"] == 1

    followed(test, tmp_path)


def astray(committed: Committed, zone: str) -> Committed:
    """The same, as if it had put a record into a zone in which it cannot be."""
    (of,) = (each for each in committed.zone_changes if any(record.owner.endswith(zone) for record in each.added))
    stray = Record("x.elsewhere.", 1, 300, bytes(4))
    changes = [
        ZoneChange(each.zone, each.serial, each.sequence, each.removed, (*each.added, stray)) if each is of else each
        for each in committed.zone_changes
    ]
    return msgspec.structs.replace(committed, zone_changes=changes)


def test_a_zone_that_meets_a_bug_is_closed_and_the_others_are_served(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        (zone,) = (served.zone for served in it.shown.table.zones.values() if served.zone.name == "prod.example.")
        it.slow.strays.append(
            ZoneRecord(id="x", zone=zone.id, owner="x.elsewhere.", type="A", data="192.0.2.1", rdata=bytes(4))
        )
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 77}))
        for step in (it.follow, it.view.load):
            await step()
            await it.view.whole()
            assert it.rcode("vm-0.prod.example.") == it.rcode("prod.example.", "SOA") == "SERVFAIL"
            assert it.rcode("vm-0.lab.example.") == it.rcode("1.0.4.10.in-addr.arpa.", "PTR") == "NOERROR"
        assert it.shown.counters["bugs"] == 2
        await it.claim("prod", "vm-1")
        await it.follow()
        assert it.rcode("vm-1.prod.example.") == "SERVFAIL"
        it.slow.strays.clear()
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 78}))
        await it.follow()
        await it.view.whole()
        assert it.rcode("vm-1.prod.example.") == "NOERROR"

    followed(test, tmp_path)


def test_a_reading_that_meets_a_bug_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.app.zones_view._AFTER_A_BUG", 0.2)

    async def test(it: Followed) -> None:
        it.slow.broken = 2
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 77}))
        await it.follow()
        await it.claim("prod", "vm-1")
        await it.follow()
        assert it.rcode("vm-0.prod.example.") == "SERVFAIL"
        assert it.rcode("vm-0.lab.example.") == "NOERROR"
        await it.view.whole()
        assert it.shown.counters["bugs"] == 2
        assert it.rcode("vm-1.prod.example.") == "NOERROR"
        monkeypatch.setattr("tenure.app.zones_view._AFTER_A_BUG", 3600)
        it.slow.broken = 1
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 78}))
        await it.follow()
        await it.view.load()
        assert it.rcode("vm-0.prod.example.") == "NOERROR"

    followed(test, tmp_path)


def test_a_store_that_is_away_is_asked_again(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        it.slow.away = 1
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 77}))
        await it.follow()
        assert it.rcode("vm-0.prod.example.") == "SERVFAIL"
        await it.view.whole()
        it.slow.away = 1
        await it.view.load()
        assert it.rcode("vm-0.prod.example.") == "NOERROR"

    followed(test, tmp_path)


def test_each_vrf_is_a_view_of_its_own(tmp_path: Path) -> None:
    """A listener that names none serves the only one with zones, else default, else the oldest; followed or loaded."""

    async def test(it: Followed) -> None:
        default = it.shown.any.vrf
        vrfs = {}
        for vrf in ("red", "blue"):
            vrfs[vrf] = (await it.ask(CreateVrf(name=vrf))).vrf.id
            await it.ask(CreateNetwork(name=f"lab-{vrf}", vrf=vrf, fields={"domain": "lab.example."}))
            await it.ask(CreateSubnet(network=f"lab-{vrf}", cidr="10.3.0.0/23"))
            await it.claim(f"lab-{vrf}", f"in-{vrf}")
            await it.follow()
            await it.check()
        assert it.shown.shown() == (default, vrfs["blue"], ["red"])
        assert it.rcode("vm-0.lab.example.") == "NOERROR"
        assert it.rcode("in-red.lab.example.") == it.rcode("in-blue.lab.example.") == "NXDOMAIN"
        blue = it.shown.blue.table.zones[wire("lab.example.")]
        assert set(blue.nodes) == {b"", b"\x02ns", b"\x07in-blue"}
        assert blue.nodes[b"\x02ns"] == b"\0\1\0\1\0\0\1\x2c\0\4\x7f\0\0\2"
        await it.ask(ReleaseClaim(claim=it.held["lab"].claim.id))
        await it.ask(ReleaseClaim(claim=it.held["prod"].claim.id))
        for network in ("lab", "prod"):
            await it.ask(DeleteSubnet(subnet=it.subnets[network]))
            await it.ask(DeleteNetwork(network=network))
        await it.follow()
        await it.check()
        assert it.shown.shown() == (vrfs["red"], vrfs["blue"], [])
        for vrf, name in (("default", "old"), ("blue", "default"), ("red", "blue")):
            await it.ask(ChangeVrf(vrf=vrf, changes={"name": name}))
            await it.follow()
        assert it.shown.shown() == (vrfs["blue"], vrfs["red"], [])
        await it.ask(ChangeVrf(vrf="blue", changes={"name": "red"}))
        await it.ask(ChangeVrf(vrf="default", changes={"name": "blue"}))
        await it.follow()
        assert it.shown.shown() == (vrfs["red"], vrfs["blue"], [])

    followed(test, tmp_path)
