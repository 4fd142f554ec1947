"""The server on real sockets of loopback, asked by dig and by dnspython."""

import asyncio
import contextlib
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from ipaddress import ip_address
from typing import Any

import dns.message
import dns.query
import dns.rcode
import dns.zone
import pytest
import uvloop

from tenure.model.dnsdata import Record, ZoneChange
from tenure.naming.hostnames import wire
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.limit import RateLimit
from tenure.surfaces.dns.responder import Responder
from tenure.surfaces.dns.server import DRAINED, DnsServer, Listener
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.views import View, Views
from tests.surfaces.dns.oracle import FORWARD, REVERSE, grouped, sections

A, PTR = 1, 12
CLOSED = (ConnectionError, asyncio.IncompleteReadError)
HOST = Record("vm-17.prod.example.", A, 300, ip_address("192.0.2.17").packed)
HOSTS = [Record(f"vm-{at}.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(100, 60100)]
MANY = [Record("many.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(200)]
POINTER = Record("17.2.0.192.in-addr.arpa.", PTR, 300, wire(HOST.owner))


class Site:
    """A server, what it serves, and its port."""

    def __init__(self, rate: tuple[float, int] | None = None, **options: object) -> None:
        self.options = {"limit": RateLimit(*rate) if rate else None, **options}
        self.counters: Counter[str] = Counter()
        self.writers: list[asyncio.StreamWriter] = []
        self.table = ZoneTable([ip_address("127.0.0.1")])
        self.table.load(FORWARD, [HOST, *MANY])
        self.table.load(REVERSE, [POINTER])
        self.views = Views()
        self.views.tables["default"] = self.table
        self.view = View(self.views, "default")
        self.access = Access(["127.0.0.0/8"])

    async def __aenter__(self) -> "Site":
        udp, tcp, self.port = bound()
        responder = Responder(self.views, self.access, self.counters)
        listeners = [Listener(self.view, udp, tcp)]
        self.server = DnsServer(asyncio.get_running_loop(), listeners, responder, **self.options)  # type: ignore[arg-type]
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.close()
        for writer in self.writers:
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def dig(self, *words: str) -> list[str]:
        command = ("dig", "@127.0.0.1", "-p", str(self.port), "+tries=1", "+time=5", *words)
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        out, _ = await process.communicate()
        return out.decode().splitlines()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return reader, writer


def bound() -> tuple[socket.socket, socket.socket, int]:
    """A datagram and a stream socket on one free port of loopback."""
    while True:
        tcp = socket.create_server(("127.0.0.1", 0))
        port = tcp.getsockname()[1]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(("127.0.0.1", port))
        except OSError:
            tcp.close()
            udp.close()
        else:
            return udp, tcp, port


def serving(body: Callable[[Site], Awaitable[None]], **options: Any) -> None:
    """Run `body` beside a server, in each loop that people use."""

    async def main() -> None:
        async with Site(**options) as site:
            await asyncio.wait_for(body(site), 60)

    asyncio.run(main())
    uvloop.run(main())


def framed(message: bytes) -> bytes:
    return len(message).to_bytes(2) + message


async def read_message(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(2)))


def test_dig_both_ways() -> None:
    async def body(site: Site) -> None:
        assert await site.dig("+short", HOST.owner, "A") == ["192.0.2.17"]
        assert await site.dig("+short", "-x", "192.0.2.17") == [HOST.owner]
        assert await site.dig("+short", "+tcp", HOST.owner, "A") == ["192.0.2.17"]
        out = "\n".join(await site.dig("none.prod.example.", "A"))
        assert "status: NXDOMAIN" in out
        assert "WARNING" not in out.replace("WARNING: recursion requested but not available", "")
        assert site.counters["noerror"] == 3
        assert (site.counters["udp"], site.counters["tcp"], site.counters["nxdomain"]) == (3, 1, 1)

    serving(body)


def test_a_change_is_seen_by_the_next_query() -> None:
    async def body(site: Site) -> None:
        new = Record("new.prod.example.", A, 300, bytes((192, 0, 2, 5)))
        site.table.apply(ZoneChange(FORWARD.id, 8, 1, added=(new,)))
        assert await site.dig("+short", new.owner, "A") == ["192.0.2.5"]
        site.table.apply(ZoneChange(FORWARD.id, 9, 2, removed=(new,)))
        assert "status: NXDOMAIN" in "\n".join(await site.dig(new.owner, "A"))

    serving(body)


def test_cut_over_udp_then_whole_over_tcp() -> None:
    async def body(site: Site) -> None:
        assert len(await site.dig("+short", "many.prod.example.", "A")) == 200
        assert (site.counters["udp"], site.counters["tcp"]) == (1, 1)
        cut = await site.dig("+ignore", "many.prod.example.", "A")
        assert "flags: qr aa tc rd" in "\n".join(cut)

    serving(body)


def test_dig_axfr_is_the_table() -> None:
    async def body(site: Site) -> None:
        site.table.apply(ZoneChange(FORWARD.id, 8, 1, added=tuple(HOSTS[:12000])))
        out = [line for line in await site.dig("+onesoa", "+noall", "+answer", FORWARD.name, "AXFR") if line]
        zone = dns.zone.from_text("\n".join(out), origin=FORWARD.name, relativize=False)
        kept = {(name, rdata.rdtype): set() for name, _, rdata in zone.iterate_rdatas()}  # type: ignore[var-annotated]
        for name, ttl, rdata in zone.iterate_rdatas():
            kept[name, rdata.rdtype].add((ttl, rdata.to_digestable()))
        assert kept == grouped(site.table.records(FORWARD.id))
        assert site.counters["transfers"] == 1

    serving(body)


def test_dnspython_axfr_is_the_table_and_queries_go_on() -> None:
    async def body(site: Site) -> None:
        site.table.apply(ZoneChange(FORWARD.id, 8, 1, added=tuple(HOSTS[:12000])))
        zone = dns.zone.Zone(FORWARD.name, relativize=False)
        transfer = asyncio.to_thread(dns.query.inbound_xfr, "127.0.0.1", zone, port=site.port)
        _, asked = await asyncio.gather(transfer, site.dig("+short", HOST.owner, "A"))
        assert asked == ["192.0.2.17"]
        assert len(list(zone.iterate_rdatas())) == len(list(site.table.records(FORWARD.id)))

    serving(body)


def test_a_reader_that_stops_holds_up_nobody_and_is_left() -> None:
    async def body(site: Site) -> None:
        site.table.apply(ZoneChange(FORWARD.id, 8, 1, added=tuple(HOSTS)))
        reader, writer = await site.connect()
        for _ in range(8):
            writer.write(framed(dns.message.make_query(FORWARD.name, "AXFR").to_wire()))
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        while await site.dig("+short", HOST.owner, "A") == ["192.0.2.17"] and len(site.server._connections):
            assert site.counters["transfers"] < 8
        assert not len(site.server._connections)

    serving(body, idle=0.3)


def test_pipelined_queries_are_all_answered() -> None:
    async def body(site: Site) -> None:
        reader, writer = await site.connect()
        queries = [dns.message.make_query(HOST.owner, "A", id=at).to_wire() for at in range(1000)]
        octets = b"".join(map(framed, queries))
        for at in range(0, len(octets), 1371):
            writer.write(octets[at : at + 1371])
            await writer.drain()
        answers = [await read_message(reader) for _ in queries]
        assert answers == [answer(query, site.table, True) for query in queries]
        writer.write(framed(b"") + framed(b"short") + framed(queries[7]))
        assert await read_message(reader) == answers[7]
        writer.write_eof()
        assert await reader.read() == b""

    serving(body)


def test_a_query_octet_by_octet() -> None:
    async def body(site: Site) -> None:
        reader, writer = await site.connect()
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        for octet in framed(query):
            writer.write(bytes((octet,)))
            await writer.drain()
        assert await read_message(reader) == answer(query, site.table, True)

    serving(body)


def test_a_question_after_a_transfer_waits_for_its_turn() -> None:
    async def body(site: Site) -> None:
        site.table.apply(ZoneChange(FORWARD.id, 8, 1, added=tuple(HOSTS)))
        reader, writer = await site.connect()
        writer.write(framed(dns.message.make_query(FORWARD.name, "AXFR", id=1).to_wire()))
        writer.write(framed(dns.message.make_query(HOST.owner, "A", id=2).to_wire()))
        message, ids = b"", []
        while message[:2] != b"\0\2":
            message = await read_message(reader)
            ids.append(message[1])
        assert ids == [1] * (len(ids) - 1) + [2]
        assert len(ids) > 20

    serving(body)


def test_idle_connections_are_closed() -> None:
    async def body(site: Site) -> None:
        reader, writer = await site.connect()
        writer.write(b"\0")
        with pytest.raises(CLOSED):
            await reader.readexactly(1)

    serving(body, idle=0.05)


def test_the_idlest_connection_gives_way() -> None:
    async def body(site: Site) -> None:
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        kept = [await site.connect() for _ in range(3)]
        for reader, writer in (*kept[1:], kept[0]):
            writer.write(framed(query))
            await read_message(reader)
        late = await site.connect()
        with pytest.raises(CLOSED):
            await kept[1][0].readexactly(1)
        for reader, writer in (kept[0], kept[2], late):
            writer.write(framed(query))
            assert await read_message(reader) == answer(query, site.table, True)
        assert len(site.server._connections) == 3

    serving(body, most=3)


def test_nothing_is_answered_while_not_ready() -> None:
    async def body(site: Site) -> None:
        site.server.ready = False
        reader, writer = await site.connect()
        writer.write(framed(dns.message.make_query(HOST.owner, "A").to_wire()))
        with pytest.raises(CLOSED):
            await read_message(reader)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.sendto(dns.message.make_query(HOST.owner, "A").to_wire(), ("127.0.0.1", site.port))
            while site.counters["not_ready"] < 2:
                await asyncio.sleep(0)
            with pytest.raises(BlockingIOError):
                asker.recv(512, socket.MSG_DONTWAIT)
        site.server.ready = True
        assert await site.dig("+short", HOST.owner, "A") == ["192.0.2.17"]

    serving(body)


def test_what_may_lag_is_not_answered_from_until_it_is_known() -> None:
    async def body(site: Site) -> None:
        asked: list[bool] = []

        def doubtful() -> bool:
            asked.append(False)
            return False

        site.server.current = doubtful
        reader, writer = await site.connect()
        writer.write(framed(dns.message.make_query(HOST.owner, "A").to_wire()))
        with pytest.raises(CLOSED):
            await read_message(reader)
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.connect(("127.0.0.1", site.port))
            asker.send(query)
            while len(asked) < 3:
                await asyncio.sleep(0)
            with pytest.raises(BlockingIOError):
                asker.recv(512, socket.MSG_DONTWAIT)
            site.server.current = lambda: True
            assert await asyncio.to_thread(asker.recv, 512) == answer(query, site.table, False)

    serving(body)


def test_a_process_that_stood_still_does_not_send_what_it_had_ready() -> None:
    async def body(site: Site) -> None:
        site.server.current = iter([True, False, True, True]).__next__
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
            asker.connect(("127.0.0.1", site.port))
            asker.send(query)
            while not site.counters["not_ready"]:
                await asyncio.sleep(0)
            with pytest.raises(BlockingIOError):
                asker.recv(512, socket.MSG_DONTWAIT)
            asker.send(query)
            assert await asyncio.to_thread(asker.recv, 512) == answer(query, site.table, False)

    serving(body)


def test_a_burst_is_drained_in_turns() -> None:
    async def body(site: Site) -> None:
        asker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        asker.connect(("127.0.0.1", site.port))
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        for _ in range(2 * DRAINED + 7):
            asker.send(query)
        answers = await asyncio.to_thread(lambda: [asker.recv(512) for _ in range(2 * DRAINED + 7)])
        assert set(answers) == {answer(query, site.table, False)}
        asker.close()

    serving(body)


def test_an_asker_that_is_gone_hurts_nobody() -> None:
    async def body(site: Site) -> None:
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        for _ in range(20):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
                asker.sendto(query, ("127.0.0.1", site.port))
        assert await site.dig("+short", HOST.owner, "A") == ["192.0.2.17"]

    serving(body)


def test_limits_spare_loopback_and_send_others_to_tcp() -> None:
    async def body(site: Site) -> None:
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        given = [site.server._answer_datagram(query, "192.0.2.1", site.view) for _ in range(6)]
        whole = answer(query, site.table, False)
        assert given[:2] == [whole, whole]
        assert given[2] is given[4] is None
        assert given[3] is not None
        assert dns.message.from_wire(given[3]).flags & dns.flags.TC
        assert site.counters["limited"] == 4
        assert all(site.server._answer_datagram(query, "127.0.0.1", site.view) == whole for _ in range(6))

    serving(body, rate=(0.001, 2))


def test_a_flood_from_many_addresses_of_a_prefix_leaves_the_others_alone() -> None:
    async def body(site: Site) -> None:
        query = dns.message.make_query(HOST.owner, "A").to_wire()
        whole = answer(query, site.table, False)
        flood = [site.server._answer_datagram(query, f"192.0.2.{at % 256}", site.view) for at in range(1000)]
        assert flood.count(whole) == 100
        cut = [each for each in flood if each is not None and each != whole]
        assert len(cut) == 450
        assert all(len(each) <= len(query) for each in cut)
        assert site.server._answer_datagram(query, "192.0.3.1", site.view) == whole
        assert site.counters["limited"] == 900

    serving(body, rate=(0.001, 100))


def test_a_bug_costs_the_query_that_meets_it(caplog: pytest.LogCaptureFixture) -> None:
    async def body(site: Site) -> None:
        site.table.served(FORWARD.id).nodes = None  # type: ignore[assignment]
        for _ in range(3):
            for way in ((), ("+tcp",)):
                assert "status: SERVFAIL" in "\n".join(await site.dig(*way, HOST.owner, "A"))
                assert await site.dig("+short", *way, "-x", "192.0.2.17") == [HOST.owner]
        assert site.counters["bugs"] == 6
        assert site.server._answer_datagram(b"\0\0\x80" + bytes(9), "127.0.0.1", site.view) is None

    serving(body)
    assert caplog.text.count("a bug ended") == 4, "once a place, a way and a server"


def test_a_bug_in_an_answer_over_tcp_cuts_that_connection() -> None:
    async def body(site: Site) -> None:
        site.table.load(FORWARD, HOSTS)
        site.table.served(FORWARD.id).nodes[b"\1x"] = 1  # type: ignore[assignment]
        reader, writer = await site.connect()
        other, asking = await site.connect()
        writer.write(framed(dns.message.make_query(FORWARD.name, "AXFR").to_wire()))
        with pytest.raises(CLOSED):
            while True:
                await read_message(reader)
        asking.write(framed(dns.message.make_query(POINTER.owner, "PTR").to_wire()))
        assert dns.message.from_wire(await read_message(other)).rcode() == dns.rcode.NOERROR
        assert site.counters["bugs"] == 1

    serving(body)


def test_transfers_are_for_those_who_may_and_strangers_are_counted() -> None:
    async def body(site: Site) -> None:
        query = dns.message.make_query(FORWARD.name, "AXFR").to_wire()
        refused = site.server._answer_stream(site.view, query, "192.0.2.1")
        assert refused is not None
        assert [dns.message.from_wire(each).rcode() for each in refused] == [dns.rcode.REFUSED]  # type: ignore[arg-type]
        assert site.counters["strangers"] == 1
        given = site.server._answer_stream(site.view, query, "::ffff:127.0.0.1")
        assert given is not None
        (message,) = given
        soa_and_rest = sections(dns.message.from_wire(message).answer)  # type: ignore[arg-type]
        assert soa_and_rest == grouped(site.table.records(FORWARD.id))
        assert (site.counters["strangers"], site.counters["transfers"]) == (1, 2)

    serving(body)
