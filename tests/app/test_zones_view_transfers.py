"""What secondaries are told and given by the DNS process: from its memory, from the store, with keys of the ledger."""

import asyncio
import base64
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import dns.message
import dns.rdatatype
import dns.rrset
import dns.tsig
import dns.xfr
import dns.zone
import pytest
import uvloop

from tenure.app.dns import archive_of
from tenure.app.seed import seed
from tenure.model.dnsdata import CATALOG, Zone
from tenure.model.holding import ClaimRequest
from tenure.model.uses import (
    ChangeNetwork,
    ClaimAddresses,
    CreateNetwork,
    CreateRecord,
    CreateSecondary,
    CreateSubnet,
    CreateTsigKey,
    CreateVrf,
    DeleteSecondary,
    DeleteTsigKey,
    ReleaseClaim,
)
from tenure.service.sealing import SECRET_KEY, Sealer
from tenure.surfaces.dns.responder import Responder
from tests.app.test_zones_view import Shown, Site
from tests.surfaces.dns.oracle import Records, grouped
from tests.surfaces.dns.test_transfer_changes import contents

SECRET = b"s" * 32
KEY = dns.tsig.Key("ns2.", base64.b64encode(SECRET).decode(), "hmac-sha256")
PROD = "prod.example."


class Followed:
    """A site, the DNS process's view of it, and what secondaries would have been told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.site = Site(directory)
        self.views: list[Shown] = []
        self.shown = self.view()

    def view(self) -> Shown:
        shown = Shown(self.site.store, self.directory)
        archive = archive_of(asyncio.get_running_loop(), self.site.store, page=7)
        shown.responder = Responder(shown.views, shown.access, shown.counters, archive)
        self.views.append(shown)
        return shown

    async def ask(self, use: Any) -> Any:
        return await self.site.ask(use)

    async def follow(self) -> None:
        while self.site.told:
            await self.shown.view.apply(self.site.told.pop(0))

    async def start(self) -> None:
        await seed(self.site.writer.submit, self.directory)
        await self.ask(CreateNetwork(name="prod", fields={"domain": PROD}))
        await self.ask(CreateSubnet(network="prod", cidr="10.4.0.0/24"))
        self.site.told.clear()
        await self.shown.view.load()

    async def claim(self, hostname: str) -> Any:
        request = ClaimRequest(network="prod", hostname=hostname)
        return await self.ask(ClaimAddresses(request=request, handle=hostname))

    async def key(self, name: str = "ns2.", vrf: str | None = None) -> None:
        sealed = Sealer.open_or_make(self.directory).seal(SECRET)
        await self.ask(CreateTsigKey(name=name, algorithm="hmac-sha256", sealed=sealed, vrf=vrf))

    async def secondary(self, **fields: Any) -> None:
        await self.ask(CreateSecondary(name="ns2", fields={"address": "127.0.0.1", "port": 1, **fields}))

    async def given(self, query: dns.message.Message, shown: Shown | None = None) -> list[bytes]:
        """What comes to 127.0.0.1 for a query over TCP."""
        found, asked = [], shown or self.shown
        for each in asked.responder.stream(query.to_wire(), "127.0.0.1", asked.any):
            if isinstance(each, bytes):
                found.append(each)
            else:
                await asyncio.wait([each])
        return found


def followed(test: Callable[[Followed], Coroutine[Any, Any, None]], directory: Path) -> None:
    async def whole() -> None:
        it = Followed(directory)
        try:
            await it.start()
            await test(it)
        finally:
            await it.shown.view.whole()
            for shown in it.views:
                shown.notifier.close()
            it.site.close()

    uvloop.run(whole())


class Secondary:
    """A zone as dnspython keeps it, by signed transfers."""

    def __init__(self, it: Followed) -> None:
        self._it = it
        self.zone = dns.zone.Zone(PROD, relativize=False)
        self.kinds: Counter[str] = Counter()

    async def take(self, serial: int | None, shown: Shown | None = None) -> Records:
        kind = dns.rdatatype.AXFR if serial is None else dns.rdatatype.IXFR
        query = dns.message.make_query(PROD, kind)
        if serial is not None:
            query.authority.append(dns.rrset.from_text(PROD, 0, "IN", "SOA", f"a. b. {serial} 1 1 1 1"))
        query.use_tsig(KEY)
        with dns.xfr.Inbound(self.zone, kind, serial=serial) as inbound:
            context, done = None, False
            for octets in await self._it.given(query, shown):
                assert not done
                read = dns.message.from_wire(
                    octets, keyring=KEY, request_mac=query.mac or b"", xfr=True, multi=True, tsig_ctx=context,
                    one_rr_per_rrset=True,
                )  # fmt: skip
                assert read.had_tsig
                context, done = read.tsig_ctx, inbound.process_message(read)
            assert done
            self.kinds["whole" if inbound.incremental is False and serial is not None else "asked"] += 1
        return contents(self.zone)

    @property
    def serial(self) -> int:
        with self.zone.reader() as reader:
            soa = reader.get(self.zone.origin, "SOA")
            assert soa is not None
            return int(soa[0].serial)


def now(shown: Shown) -> Records:
    table = shown.any.table
    (zone,) = (served.zone.id for served in table.zones.values() if served.zone.name == PROD)
    return grouped(table.records(zone))


def test_secondaries_catch_up_from_memory_and_from_the_store(tmp_path: Path, rng: random.Random) -> None:
    """The first view remembers all; one that loads afterwards has to ask the store, page by page."""

    async def test(it: Followed) -> None:
        await it.key()
        await it.secondary(key="ns2.")
        await it.follow()
        secondaries = [Secondary(it)]
        assert await secondaries[0].take(None) == now(it.shown)
        held: list[str] = []
        for n in range(60):
            if held and rng.random() < 0.4:
                await it.ask(ReleaseClaim(claim=held.pop(rng.randrange(len(held)))))
            else:
                held.append((await it.claim(f"vm-{n}")).claim.id)
            if n % 10 == 0:
                await it.ask(CreateRecord(zone=PROD, name=f"t{n}", type="TXT", data='"x"'))
            await it.follow()
            if rng.random() < 0.3:
                secondaries.append(Secondary(it))
                assert await secondaries[-1].take(None) == now(it.shown)
        loaded = it.view()
        await loaded.view.load()
        for place, secondary in enumerate(secondaries):
            serial = secondary.serial
            assert await secondary.take(serial, loaded if place % 2 else it.shown) == now(loaded) == now(it.shown)
            assert secondary.kinds["whole"] == 0
        assert len(secondaries) > 5

    followed(test, tmp_path)


def test_a_change_of_the_whole_zone_is_given_whole(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        await it.key()
        await it.secondary(key="ns2.")
        await it.follow()
        secondary = Secondary(it)
        await secondary.take(None)
        before = secondary.serial
        await it.claim("vm-1")
        await it.ask(ChangeNetwork(network="prod", changes={"ttl": 77}))
        await it.claim("vm-2")
        await it.follow()
        await it.shown.view.whole()
        loaded = it.view()
        await loaded.view.load()
        for shown in (it.shown, loaded):
            other = Secondary(it)
            other.zone = secondary.zone
            assert await other.take(before, shown) == now(shown)

    followed(test, tmp_path)


def test_keys_and_secondaries_count_from_their_commit_on(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        async def rcode() -> int:
            query = dns.message.make_query(PROD, "AXFR")
            query.use_tsig(KEY)
            return (await it.given(query))[0][3] & 15

        assert await rcode() == 9
        await it.key()
        await it.follow()
        assert await rcode() == 5
        it.shown.view.settle(True)
        await it.secondary(key="ns2.")
        await it.follow()
        assert await rcode() == 0
        assert {served.zone.name for served in it.shown.any.table.zones.values()} >= {PROD, CATALOG}
        told = it.shown.notifier.pending
        assert told == 3
        await it.ask(DeleteSecondary(secondary="ns2"))
        await it.follow()
        assert (await rcode(), it.shown.notifier.pending) == (5, 0)
        await it.ask(DeleteTsigKey(key="ns2."))
        await it.follow()
        assert await rcode() == 9

    followed(test, tmp_path)


def test_a_key_of_another_node_is_named_and_signs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test(it: Followed) -> None:
        await it.key()
        await it.secondary(key="ns2.")
        await it.follow()
        (tmp_path / SECRET_KEY).unlink()
        for _ in range(3):
            await it.key("other.")
            await it.ask(DeleteTsigKey(key="other."))
            await it.follow()
        assert list(it.shown.correspondents.closed) == ["ns2."]
        assert [record.message for record in caplog.records].count("a TSIG key cannot be opened") == 1
        query = dns.message.make_query(PROD, "SOA")
        query.use_tsig(KEY)
        assert (await it.given(query))[0][3] & 15 == 9
        assert it.shown.notifier.pending == 0

    followed(test, tmp_path)


def test_a_key_of_a_vrf_shows_it_where_no_listener_does(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        await it.ask(CreateVrf(name="red"))
        await it.ask(CreateNetwork(name="red", vrf="red", fields={"domain": PROD}))
        await it.follow()
        assert it.shown.view.unseen == ["red"]
        await it.key(vrf="red")
        await it.follow()
        assert it.shown.view.unseen == []
        query = dns.message.make_query(PROD, "SOA")
        query.use_tsig(KEY)
        (octets,) = await it.given(query)
        read = dns.message.from_wire(octets, keyring=KEY, request_mac=query.mac or b"")
        assert read.answer[0][0].serial == 1

    followed(test, tmp_path)


def test_a_commit_tells_secondaries_before_it_is_taken_in(tmp_path: Path) -> None:
    async def test(it: Followed) -> None:
        await it.secondary()
        await it.follow()
        it.shown.view.settle(True)
        sent = it.shown.counters["notify_sent"] + it.shown.counters["notify_unsent"]
        assert sent == 3
        zones: list[Zone] = [served.zone for served in it.shown.any.table.zones.values()]
        assert len(zones) == 3
        await it.claim("vm-1")
        await it.follow()
        assert it.shown.notifier.pending == 3

    followed(test, tmp_path)
