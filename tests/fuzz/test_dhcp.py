"""DHCPv4: the codec, and the whole desk from datagram to answer."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec import structs

from tenure.errors import error_classes
from tenure.model.leases import Lease, LeaseRefused
from tenure.model.uses import LeaseInform
from tenure.surfaces.dhcp import v4_memory
from tenure.surfaces.dhcp.frames import frame
from tenure.surfaces.dhcp.limits import Buckets
from tenure.surfaces.dhcp.link import Arrival
from tenure.surfaces.dhcp.v4_desk import Desk, Outgoing, Pending
from tenure.surfaces.dhcp.v4_memory import Promises
from tenure.surfaces.dhcp.v4_wire import REPLY, WireError, decode, encode
from tests.fuzz.mutation import mutated
from tests.fuzz.rounds import Rounds
from tests.surfaces.dhcp.conversation import ADDRESS, BROADCAST, MAC, OURS, RELAY, UNICAST, lease, message
from tests.surfaces.dhcp.vectors import read

pytestmark = pytest.mark.fuzz

AMPLE = 65507
BOUND = 3
NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPTIONS = {
    50: ADDRESS.to_bytes(4),
    54: OURS.to_bytes(4),
    55: bytes(range(1, 255)),
    57: b"\x05\xdc",
    61: b"\1" + MAC,
    81: b"\5\0\0\4vm-1\7example\0",
    82: b"\1\4eth1\2\6switch\5\4\x0a\0\0\1\x0b\4\x0a\0\0\1\x0a\1\x80\x13\0",
    118: b"\x0a\0\0\0",
}
CORPUS = [
    *(vector.wire for vector in read("v4.txt")),
    *(encode(message(kind, OPTIONS), AMPLE) for kind in range(1, 9)),
    *(encode(message(kind, OPTIONS, ciaddr=ADDRESS), 548) for kind in (3, 4, 7, 8)),
    *(encode(message(kind, OPTIONS, giaddr=RELAY), 548) for kind in (1, 3)),
    encode(message(3, {**OPTIONS, 43: bytes(700), 12: b"vm-1"}), 548),
]
ARRIVALS = [
    BROADCAST,
    UNICAST,
    Arrival(interface="eth0", address=0, server=OURS, ours=frozenset({OURS}), broadcast=True),
    Arrival(interface="eth0", address=0, server=0, ours=frozenset(), broadcast=False, source_port=65535),
]
PROMISED = NOW + timedelta(hours=2)
LEASES = [
    lease(),
    lease(held_until=PROMISED),
    lease(held_until=PROMISED, options={121: b"\x18\x0a\0\1\x0a\0\0\2", 119: bytes(255), 43: bytes(255), 1: b"\0"}),
    lease(prefix_length=0, lease_time=2**40, gateway=None, dns_servers=(), hostname=None, domain=None),
    lease(prefix_length=32, lease_time=0, dns_servers=(1,) * 60, hostname="a" * 63, domain="b." * 120),
    lease(address=0xFFFFFFFF, options={code: bytes(50) for code in range(256)}, domain="."),
    lease(address=0, hostname="a.b.", options={121: b"\xff", 249: b"\x20\1"}),
]
REFUSALS: list[Any] = [None, LeaseRefused("gone"), LeaseRefused("é" * 300)]
REFUSALS += [cls("away") for cls in error_classes().values()]
MOMENTS = [-1.0, 0.0, 1.0, 3599.0, 3601.0, 7201.0, 1e9]


def test_dhcp_datagrams_are_refused_or_stable(rounds: Rounds) -> None:
    rounds.feed(_is_refused_or_stable, mutated(CORPUS), number=300)


def _is_refused_or_stable(datagram: bytes) -> None:
    try:
        meant = decode(datagram)
    except WireError:
        return
    once = encode(meant, AMPLE)
    assert decode(once) == meant
    assert encode(decode(once), AMPLE) == once


def test_dhcp_desk_answers_or_drops(rounds: Rounds) -> None:
    turns = st.tuples(
        mutated(CORPUS), st.sampled_from(ARRIVALS), st.sampled_from([*LEASES, *REFUSALS]), st.sampled_from(MOMENTS)
    )
    rounds.feed(_is_served, st.lists(turns, min_size=1, max_size=12), number=60)


def _is_served(turns: list[tuple[bytes, Arrival, Any, float]]) -> None:
    clients, links = Buckets(1, 5, BOUND), Buckets(1, 9, BOUND)
    desk = Desk(Promises(BOUND), clients, links)
    for datagram, arrival, result, since in turns:
        now = NOW.timestamp() + since
        heard = desk.hear(datagram, arrival, now)
        if isinstance(heard, Pending):
            heard = desk.answer(heard, _about(heard, result), now)
        if heard is not None:
            _is_sendable(heard, datagram)
        assert max(len(clients), len(links), len(desk.promises)) <= BOUND
        assert len(desk.promises._forgotten) <= v4_memory._RECENT
    assert desk.received.total() + desk.dropped["malformed"] == len(turns)
    assert len(desk.received) + len(desk.sent) + len(desk.dropped) <= 30


def _about(pending: Pending, result: Any) -> Any:
    """A lease is mostly of the address asked about, else nothing would be acknowledged; of none for INFORM only."""
    if not isinstance(result, Lease) or isinstance(pending.use, LeaseInform):
        return result
    wanted = getattr(pending.use, "address", ADDRESS)
    return structs.replace(result, address=wanted) if result.address in (0, ADDRESS) else result


def _is_sendable(outgoing: Outgoing, datagram: bytes) -> None:
    answer, asked, to = decode(outgoing.datagram), decode(datagram), outgoing.destination
    assert (answer.op, answer.xid, answer.chaddr) == (REPLY, asked.xid, asked.chaddr)
    assert 300 <= len(outgoing.datagram) <= 1472
    assert answer.options[53][0] in (2, 5, 6)
    assert to.address and 0 < to.port < 65536 and len(to.hardware) in (0, 6)
    sent = frame(
        outgoing.datagram,
        hardware=(MAC, to.hardware or bytes(6)),
        addresses=(outgoing.source, to.address),
        ports=(67, to.port),
    )
    assert len(sent) <= 1514
