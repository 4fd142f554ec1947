"""The DNS process's zones: following commit by commit gives what loading gives."""

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest

from tenure.app.child import now
from tenure.app.dns import ZonesView
from tenure.app.ledger import SystemClock
from tenure.app.seed import seed
from tenure.model.answers import Failure, Holding
from tenure.model.dnsdata import Record
from tenure.model.holding import ClaimRequest
from tenure.model.uses import ChangeNetwork, ClaimAddresses, CreateNetwork, CreateSubnet, ReleaseClaim, Submission, Use
from tenure.service.feed import Committed
from tenure.service.witness import Witness
from tenure.service.writer import Writer
from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.surfaces.dns.server import DnsServer
from tenure.surfaces.dns.table import ZoneTable


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

    def view(self) -> tuple[ZonesView, ZoneTable]:
        table = ZoneTable()
        server = DnsServer(asyncio.get_running_loop(), table, [], [], Counter())
        return ZonesView(self.store, table, server, lambda: None), table

    def close(self) -> None:
        self.writer.stop()
        self.store.close()


def contents(table: ZoneTable) -> dict[str, list[Record]]:
    return {served.zone.name: sorted(table.records(served.zone.id)) for served in table.zones.values()}


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
            view, table = site.view()
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
            again, loaded = site.view()
            assert await again.load() != position
            assert contents(table) == contents(loaded)
            assert len(contents(table)) >= 4
        finally:
            site.close()

    asyncio.run(test())
