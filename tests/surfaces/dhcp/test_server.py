import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from tenure.errors import InUse, NotFound, StoreUnavailable, TenureError
from tenure.model.uses import LeaseCommit, LeaseOffer, LeaseRelease
from tenure.surfaces.dhcp import v4_wire as wire
from tenure.surfaces.dhcp.server import BATCH, Server
from tenure.surfaces.dhcp.v4_memory import Promises
from tenure.surfaces.dhcp.v4_session import LeaseUse, Result
from tests.lab.namespaces import Namespace, Topology
from tests.surfaces.dhcp.conversation import ADDRESS, MAC, OURS, lease, message
from tests.surfaces.dhcp.wire_ends import PATIENCE, Ends, inside

SERVER_ID = OURS.to_bytes(4)
SELECTING = {54: SERVER_ID, 50: ADDRESS.to_bytes(4)}
POISON = bytes.fromhex("5254ffffffff")


class Table:
    """A writer that gives each client 10.0.0.5 or, by the last two octets of its MAC, an address of its own."""

    def __init__(self) -> None:
        self.batches: list[list[LeaseUse]] = []
        self.failure: TenureError | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def submit_many(self, uses: list[LeaseUse]) -> Sequence[Result]:
        self.batches.append(uses)
        await self.gate.wait()
        if self.failure:
            raise self.failure
        return [self._result(use) for use in uses]

    def _result(self, use: LeaseUse) -> Result:
        if isinstance(use, LeaseRelease):
            return None
        octets = bytes.fromhex(use.client.mac.replace(":", ""))
        if octets == POISON:
            return lease(prefix_length=64)
        address = ADDRESS if octets == MAC else 0x0A000000 + int.from_bytes(octets[4:])
        return lease(address=address, held_until=datetime.now(UTC) + timedelta(hours=3))


Ground = tuple[Namespace, Namespace]


@pytest.fixture
def ground(topology: Topology) -> Ground:
    server, client = topology.namespace("server"), topology.namespace("client")
    topology.link(server, "eth0", client, "eth0")
    server.up("eth0", "10.0.0.1/16")
    return server, client


@asynccontextmanager
async def running(server: Server, ground: Ground) -> AsyncIterator[Ends]:
    """The server at work, and the client's end of its link."""
    ends = Ends(ground[1])
    task = asyncio.create_task(server.serve())
    try:
        yield ends
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        ends.close()


def drive(ground: Ground, story: Callable[[Server, Ends, Table], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        loop, table = asyncio.get_running_loop(), Table()
        server = inside(ground[0], lambda: Server(loop, ["eth0"], table.submit_many, time.time))
        async with running(server, ground) as ends:
            await asyncio.wait_for(story(server, ends, table), 3 * PATIENCE)

    asyncio.run(run())


def test_a_client_without_an_address_gets_one(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        ends.broadcast(message(wire.DISCOVER))
        offer, frame = await ends.answer()
        assert (frame[Ether].dst, frame[IP].src, frame[IP].dst) == ("52:54:00:01:02:03", "10.0.0.1", "10.0.0.5")
        assert frame[UDP].dport == 68
        assert (offer.options[53], offer.yiaddr, offer.options[54]) == (b"\x02", ADDRESS, SERVER_ID)
        ends.broadcast(message(wire.COMMIT, SELECTING, flags=wire.BROADCAST))
        ack, frame = await ends.answer()
        assert (frame[Ether].dst, frame[IP].src, frame[IP].dst) == ("ff:ff:ff:ff:ff:ff", "10.0.0.1", "255.255.255.255")
        assert ack.options[53] == b"\x05"
        uses = [use for batch in table.batches for use in batch]
        assert [type(use) for use in uses] == [LeaseOffer, LeaseCommit]
        assert [use.place.link for use in uses] == [OURS, OURS]

    drive(ground, story)


def test_a_renewal_is_a_unicast_answered_from_memory(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        ends.broadcast(message(wire.COMMIT, SELECTING))
        await ends.answer()
        ground[1].up("eth0", "10.0.0.5/16")
        with ends.datagrams("10.0.0.5", 68) as client:
            client.sendto(wire.encode(message(wire.COMMIT, ciaddr=ADDRESS), 548), ("10.0.0.1", 67))
            octets = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 2000), PATIENCE)
        assert wire.decode(octets).options[53] == b"\x05"
        assert server.desk.from_memory == 1
        assert len(table.batches) == 1

    drive(ground, story)


def test_a_relay_is_answered_at_its_server_port(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        ground[1].up("eth0", "10.0.0.9/16")
        giaddr = 0x0A000009
        information = b"\x01\x04eth7"
        with ends.datagrams("10.0.0.9", 67) as relay:
            relay.sendto(
                wire.encode(message(wire.DISCOVER, {82: information}, giaddr=giaddr, hops=1), 548), ("10.0.0.1", 67)
            )
            octets = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(relay, 2000), PATIENCE)
        offer = wire.decode(octets)
        assert (offer.giaddr, offer.options[82], offer.options[54]) == (giaddr, information, SERVER_ID)
        place = table.batches[0][0].place
        assert (place.link, place.relayed, place.circuit_id) == (giaddr, True, b"eth7".hex())

    drive(ground, story)


def test_a_burst_shares_commits_and_everybody_is_answered(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        table.gate.clear()
        ends.broadcast(message(wire.DISCOVER))
        macs = [MAC[:4] + n.to_bytes(2) for n in range(1000, 1300)]
        while not table.batches:
            await asyncio.sleep(0)
        for mac in macs:
            ends.broadcast(message(wire.DISCOVER, chaddr=mac))
        while server.desk.received["discover"] < 301:
            await asyncio.sleep(0)
        table.gate.set()
        answers = [(await ends.answer())[0] for _ in range(301)]
        assert {answer.chaddr for answer in answers} == {MAC, *macs}
        assert len({answer.yiaddr for answer in answers}) == 301
        assert [len(batch) for batch in table.batches] == [1, BATCH, 300 - BATCH]

    drive(ground, story)


def test_an_overloaded_server_finishes_what_it_began(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.surfaces.dhcp.server.WAITING", 20)

    async def story(server: Server, ends: Ends, table: Table) -> None:
        table.gate.clear()
        ends.broadcast(message(wire.DISCOVER))
        while not table.batches:
            await asyncio.sleep(0)
        for n in range(15):
            ends.broadcast(message(wire.DISCOVER, chaddr=MAC[:4] + n.to_bytes(2)))
        ends.broadcast(message(wire.COMMIT, SELECTING))
        while not server.desk.received["request"]:
            await asyncio.sleep(0)
        assert server.desk.dropped == {"overload": 5}
        table.gate.set()
        answers = [(await ends.answer())[0] for _ in range(12)]
        assert [answer.options[53] for answer in answers] == [b"\x02"] * 11 + [b"\x05"]

    drive(ground, story)


def test_what_waited_too_long_gets_what_is_left_of_its_promise(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.surfaces.dhcp.server.STALE", -1.0)

    async def story(server: Server, ends: Ends, table: Table) -> None:
        promised = lease(held_until=datetime.now(UTC) + timedelta(minutes=30))
        server.desk.promises.remember("52:54:00:01:02:03", promised, server.desk.promises.mark())
        ends.broadcast(message(wire.DISCOVER))
        ends.broadcast(message(wire.COMMIT, {50: ADDRESS.to_bytes(4)}))
        answer = (await ends.answer())[0]
        assert (answer.options[53], answer.yiaddr) == (b"\x05", ADDRESS)
        assert 1700 < int.from_bytes(answer.options[51]) <= 1800
        assert server.desk.dropped == {"stale": 1} and not table.batches

    drive(ground, story)


def test_bad_datagrams_are_counted_and_the_next_client_is_served(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        bad = [b"", b"\x01", bytes(300), wire.encode(message(wire.DISCOVER), 548)[:241] + b"\xff\x01", bytes(1400)]
        for octets in bad:
            ends.broadcast_octets(octets)
        ends.broadcast(message(wire.DISCOVER))
        await ends.answer()
        assert server.desk.dropped["malformed"] == len(bad)

    drive(ground, story)


def test_a_bug_that_one_message_meets_costs_nobody_else_an_answer(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        table.gate.clear()
        ends.broadcast(message(wire.DISCOVER, chaddr=POISON))
        ends.broadcast(message(wire.DISCOVER))
        table.gate.set()
        answer, _ = await ends.answer()
        assert answer.chaddr == MAC
        assert server.desk.dropped == {"bug": 1}

    drive(ground, story)


def test_while_the_store_is_away_new_clients_hear_nothing(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        table.failure = StoreUnavailable("later")
        ends.broadcast(message(wire.DISCOVER))
        while not server.desk.dropped["silent"]:
            await asyncio.sleep(0)
        table.failure = None
        ends.broadcast(message(wire.DISCOVER, xid=0x77))
        answer, _ = await ends.answer()
        assert answer.xid == 0x77

    drive(ground, story)


def test_an_address_that_the_interface_gets_later_is_seen(ground: Ground) -> None:
    async def run() -> None:
        loop, table, clock = asyncio.get_running_loop(), Table(), [1000.0]
        ground[0].ip("address", "flush", "dev", "eth0")
        server = inside(ground[0], lambda: Server(loop, ["eth0"], table.submit_many, lambda: clock[0]))
        async with running(server, ground) as ends:
            ends.broadcast(message(wire.DISCOVER))
            while not server.desk.dropped["no_address"]:
                await asyncio.sleep(0)
            ground[0].up("eth0", "10.0.0.1/16", "10.7.0.1/16")
            clock[0] += 6
            ends.broadcast(message(wire.DISCOVER))
            offer, _ = await ends.answer()
            assert offer.options[54] == SERVER_ID

    asyncio.run(run())


def test_a_second_server_is_refused_and_leaves_nothing_open(ground: Ground) -> None:
    async def story(server: Server, ends: Ends, table: Table) -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(InUse, match="port 67 on eth0"):
            inside(ground[0], lambda: Server(loop, ["eth0"], table.submit_many, time.time))

    drive(ground, story)


def test_an_interface_that_is_not_here(ground: Ground) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        with pytest.raises(NotFound, match="eth9"):
            inside(ground[0], lambda: Server(loop, ["eth0", "eth9"], Table().submit_many, time.time))
        inside(ground[0], lambda: Server(loop, ["eth0"], Table().submit_many, time.time)).close()

    asyncio.run(run())


def test_what_others_forget_in_is_what_it_remembers_in() -> None:
    """Also while it is empty."""
    promises = Promises(10)
    with asyncio.Runner() as runner:
        server = Server(runner.get_loop(), (), Table().submit_many, time.time, promises=promises)
    assert server.desk.promises is promises
