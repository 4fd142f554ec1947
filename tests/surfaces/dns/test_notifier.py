"""A notifier and its secondaries on real sockets of loopback, in each loop that people use."""

import asyncio
import resource
import socket
from collections import Counter
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import dns.message
import pytest
import uvloop

from tenure.model.dnsdata import Record, Secondary, ZoneChange
from tenure.surfaces.dns.journal import serial_of
from tenure.surfaces.dns.notify import Notifier
from tenure.surfaces.dns.table import ZoneTable
from tests.surfaces.dns.oracle import FORWARD, REVERSE
from tests.surfaces.dns.test_notify import KEY, THEIRS, answered


class Site:
    """A notifier of one view, and a secondary's socket on loopback."""

    def __init__(self) -> None:
        self.counters: Counter[str] = Counter()
        self.table = ZoneTable([ip_address("127.0.0.2")])
        for zone in (FORWARD, REVERSE):
            self.table.load(zone, [])
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.setblocking(False)
        loop = asyncio.get_running_loop()
        self.notifier = Notifier(
            loop, self._zones, lambda _: [ip_address("::1"), ip_address("127.0.0.2")], self.counters
        )

    def _zones(self, vrf: str) -> Any:
        return self.table.zones.values() if vrf == "default" else ()

    def secondary(self, **more: Any) -> Secondary:
        port = self.socket.getsockname()[1]
        return Secondary(**{"id": "s", "name": "ns2", "vrf": "default", "address": "127.0.0.1", "port": port, **more})

    async def receive(self) -> tuple[dns.message.Message, Any]:
        octets, peer = await self.take()
        self.socket.sendto(answered(octets), peer)
        return dns.message.from_wire(octets), peer

    async def take(self) -> tuple[bytes, Any]:
        """The next message, which is not answered."""
        while True:
            try:
                return self.socket.recvfrom(4096)
            except BlockingIOError:
                await asyncio.sleep(0)

    def idle(self) -> bool:
        try:
            self.socket.recv(512)
        except BlockingIOError:
            return True
        return False


def played(body: Callable[[Site], Any]) -> None:
    """In each loop that people use: what their handles can do differs."""

    async def main() -> None:
        site = Site()
        try:
            await asyncio.wait_for(body(site), 30)
        finally:
            site.notifier.close()
            site.socket.close()

    asyncio.run(main())
    uvloop.run(main())


async def acknowledged(site: Site, many: int) -> None:
    while site.counters["notify_acknowledged"] < many:
        await asyncio.sleep(0)


def test_secondaries_are_told_from_the_address_that_they_know() -> None:
    async def body(site: Site) -> None:
        site.notifier.know([(site.secondary(), None)])
        assert site.idle()
        site.notifier.start()
        heard = [await site.receive() for _ in range(2)]
        assert {message.question[0].name.to_text() for message, _ in heard} == {FORWARD.name, REVERSE.name}
        assert {peer[0] for _, peer in heard} == {"127.0.0.2"}
        await acknowledged(site, 2)
        new = Record("new.prod.example.", 1, 300, b"\1\2\3\4")
        site.table.apply(ZoneChange(FORWARD.id, 8, 1, added=(new,)))
        site.notifier.tell(site.table.served(FORWARD.id))
        message, _ = await site.receive()
        assert message.answer[0][0].serial == 8 == serial_of(site.table.served(FORWARD.id).soa)
        await acknowledged(site, 3)
        assert site.notifier.pending == 0

    played(body)


def test_who_is_new_is_told_of_all_and_who_is_gone_of_nothing() -> None:
    async def body(site: Site) -> None:
        site.notifier.start()
        site.notifier.know([(site.secondary(), None), (site.secondary(id="t", notify=False), None)])
        assert len([await site.receive() for _ in range(2)]) == 2
        await acknowledged(site, 2)
        site.notifier.know([(site.secondary(), None)])
        assert site.idle()
        site.notifier.know([(site.secondary(revision=2), KEY)])
        octets, _ = await site.take()
        assert dns.message.from_wire(octets, keyring=THEIRS).had_tsig
        site.notifier.know([(site.secondary(vrf="other"), None)])
        site.notifier.tell(site.table.served(FORWARD.id))
        assert site.notifier.pending == 0

    played(body)


def test_a_datagram_of_a_stranger_is_counted() -> None:
    async def body(site: Site) -> None:
        site.notifier.know([(site.secondary(), None)])
        site.notifier.start()
        octets, peer = await site.take()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.sendto(answered(octets), peer)
        while not site.counters["notify_strange"]:
            await asyncio.sleep(0)
        assert site.counters["notify_acknowledged"] == 0
        assert site.notifier.pending == 2

    played(body)


def test_an_address_that_cannot_be_sent_to_is_tried_again_later() -> None:
    async def body(site: Site) -> None:
        site.notifier.know([(site.secondary(address="192.0.2.1"), None)])
        site.notifier.start()
        assert site.counters["notify_unsent"] + site.counters["notify_sent"] == 2
        assert site.notifier.pending == 2

    played(body)


def test_a_bug_with_one_zone_costs_that_zones_news(caplog: pytest.LogCaptureFixture) -> None:
    async def body(site: Site) -> None:
        site.table.served(REVERSE.id).soa = None  # type: ignore[assignment]
        site.notifier.know([(site.secondary(), None)])
        site.notifier.start()
        message, _ = await site.receive()
        assert message.question[0].name.to_text() == FORWARD.name
        await acknowledged(site, 1)
        for _ in range(3):
            site.notifier.tell(site.table.served(REVERSE.id))
        site.notifier.tell(site.table.served(FORWARD.id))
        await site.receive()
        await acknowledged(site, 2)
        assert site.counters["bugs"] == 4

    played(body)
    assert caplog.text.count("a bug ended") == 2, "each notifier logs it once"


def test_a_secondary_that_cannot_be_sent_to_at_all_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    async def body(site: Site) -> None:
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        try:
            site.notifier.know([(site.secondary(), None)])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        site.notifier.start()
        assert site.idle()
        site.notifier.know([(site.secondary(), None)])
        await site.receive()

    played(body)
    assert caplog.text.count("a secondary cannot be told") == 2


def test_a_closed_zone_is_not_told() -> None:
    async def body(site: Site) -> None:
        site.table.close(REVERSE)
        site.notifier.know([(site.secondary(), None)])
        site.notifier.start()
        site.notifier.tell(site.table.served(REVERSE.id))
        assert site.notifier.pending == 1

    played(body)
