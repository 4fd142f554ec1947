from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tenure.errors import NotFound, OutcomeUnknown, StoreUnavailable, TenureError
from tenure.model.leases import Lease, LeaseRefused
from tenure.surfaces.dhcp import v4_wire as wire
from tenure.surfaces.dhcp.limits import Buckets
from tenure.surfaces.dhcp.link import Arrival
from tenure.surfaces.dhcp.v4_desk import Desk, Outgoing, Pending
from tenure.surfaces.dhcp.v4_memory import Promises
from tests.surfaces.dhcp.conversation import ADDRESS, BROADCAST, MAC, OURS, RELAY, UNICAST, lease, message

NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
SERVER_ID = OURS.to_bytes(4)


def desk(client_burst: int = 1000, link_burst: int = 1000) -> Desk:
    return Desk(Promises(100), Buckets(1, client_burst, 100), Buckets(1, link_burst, 100))


def octets(kind: int, options: dict[int, bytes] | None = None, **changed: Any) -> bytes:
    return wire.encode(message(kind, options, **changed), 548)


def heard(at: Desk, datagram: bytes, arrival: Arrival = BROADCAST, now: float = NOW) -> Pending:
    pending = at.hear(datagram, arrival, now)
    assert isinstance(pending, Pending)
    return pending


def promised(seconds: int = 7200) -> Lease:
    return lease(held_until=datetime.fromtimestamp(NOW, UTC) + timedelta(seconds=seconds))


def granted(at: Desk, seconds: int = 7200) -> None:
    pending = heard(at, octets(wire.COMMIT, {50: ADDRESS.to_bytes(4), 54: SERVER_ID}))
    assert at.answer(pending, promised(seconds), NOW)


RENEWAL = octets(wire.COMMIT, ciaddr=ADDRESS)


def test_an_exchange_is_counted() -> None:
    at = desk()
    outgoing = at.answer(heard(at, octets(wire.DISCOVER)), lease(), NOW)
    assert outgoing is not None
    assert wire.decode(outgoing.datagram).yiaddr == ADDRESS
    assert (outgoing.interface, outgoing.source) == ("eth0", OURS)
    granted(at)
    assert at.received == {"discover": 1, "request": 1}
    assert at.sent == {"offer": 1, "ack": 1}
    assert not at.dropped


def test_a_renewal_inside_the_promise_is_answered_at_once() -> None:
    at = desk()
    granted(at)
    outgoing = at.hear(RENEWAL, UNICAST, NOW + 1800)
    assert isinstance(outgoing, Outgoing)
    assert wire.decode(outgoing.datagram).options[51] == (3600).to_bytes(4)
    assert at.from_memory == 1
    assert isinstance(at.hear(RENEWAL, UNICAST, NOW + 3601), Pending)


@pytest.mark.parametrize("kind", [wire.RELEASE, wire.DECLINE])
def test_a_client_that_gives_up_its_lease_is_forgotten(kind: int) -> None:
    at = desk()
    granted(at)
    gone = octets(kind, {54: SERVER_ID, 50: ADDRESS.to_bytes(4)}, ciaddr=ADDRESS)
    assert at.answer(heard(at, gone, UNICAST), None, NOW) is None
    assert isinstance(at.hear(RENEWAL, UNICAST, NOW), Pending)
    assert not at.dropped


@pytest.mark.parametrize("kind", [wire.RELEASE, wire.DECLINE])
def test_nobody_else_gives_up_a_clients_lease(kind: int) -> None:
    at = desk()
    granted(at)
    forged = octets(kind, {54: SERVER_ID, 50: ADDRESS.to_bytes(4)}, ciaddr=ADDRESS, chaddr=b"\x52\x54\0\0\0\x09")
    heard(at, forged, UNICAST)
    assert isinstance(at.hear(RENEWAL, UNICAST, NOW), Outgoing)


@pytest.mark.parametrize("error", [StoreUnavailable("later"), OutcomeUnknown("perhaps")])
def test_when_the_store_is_away_only_what_was_promised_is_given(error: TenureError) -> None:
    at = desk()
    granted(at)
    outgoing = at.answer(heard(at, RENEWAL, UNICAST, NOW + 5000), error, NOW + 5000)
    assert outgoing is not None
    assert wire.decode(outgoing.datagram).options[51] == (2200).to_bytes(4)
    assert at.answer(heard(at, octets(wire.DISCOVER)), error, NOW) is None
    assert at.answer(heard(at, RENEWAL, UNICAST, NOW + 7200), error, NOW + 7200) is None


def test_an_address_forgotten_while_the_writer_answered_stays_forgotten() -> None:
    at = desk()
    pending = heard(at, octets(wire.COMMIT, {50: ADDRESS.to_bytes(4), 54: SERVER_ID}))
    at.promises.forget(ADDRESS)
    assert at.answer(pending, promised(), NOW)
    assert isinstance(at.hear(RENEWAL, UNICAST, NOW), Pending)


def test_a_refused_client_is_told_and_not_remembered() -> None:
    at = desk()
    outgoing = at.answer(heard(at, RENEWAL, UNICAST), LeaseRefused("moved"), NOW)
    assert outgoing is not None
    assert wire.decode(outgoing.datagram).options[53] == bytes((wire.NAK,))
    assert len(at.promises) == 0


def test_a_flood_from_one_client_stops_at_its_limit() -> None:
    at = desk(client_burst=5)
    passed = sum(at.hear(octets(wire.DISCOVER), BROADCAST, NOW) is not None for _ in range(100))
    assert passed == 5
    assert at.dropped == {"client_rate": 95}


def test_a_flood_of_made_up_clients_stops_at_the_links_limit() -> None:
    at = desk(link_burst=50)
    floods = [octets(wire.DISCOVER, chaddr=MAC[:4] + n.to_bytes(2)) for n in range(500)]
    assert sum(at.hear(each, BROADCAST, NOW) is not None for each in floods) == 50
    assert at.dropped == {"link_rate": 450}
    assert at.hear(octets(wire.DISCOVER, giaddr=RELAY), UNICAST, NOW)  # another link


def test_what_is_dropped_is_counted_by_reason() -> None:
    at = desk()
    assert at.hear(bytes(20), BROADCAST, NOW) is None
    assert at.hear(octets(wire.OFFER), BROADCAST, NOW) is None
    assert at.hear(octets(wire.DISCOVER), structs.replace(BROADCAST, address=0), NOW) is None
    assert at.hear(octets(wire.DISCOVER, giaddr=RELAY), structs.replace(BROADCAST, server=0), NOW) is None
    assert at.answer(heard(at, octets(wire.DISCOVER)), NotFound("no link"), NOW) is None
    assert at.answer(heard(at, octets(wire.DISCOVER)), None, NOW) is None
    assert at.dropped == {"malformed": 1, "ignored": 1, "unknown_link": 2, "no_address": 1, "silent": 1}


@given(st.binary(max_size=400), st.booleans())
def test_no_datagram_breaks_it(tail: bytes, broadcast: bool) -> None:
    start = octets(wire.DISCOVER)[:240]
    at = desk()
    for datagram in (tail, start + tail, start + b"\x35\x01\x03" + tail):
        pending = at.hear(datagram, BROADCAST if broadcast else UNICAST, NOW)
        if isinstance(pending, Pending):
            at.answer(pending, lease(), NOW)
    assert at.received.total() + at.dropped["malformed"] == 3


def test_what_the_writer_is_not_asked_about_gets_what_was_promised_or_is_counted() -> None:
    at = desk()
    granted(at)
    later = NOW + 5000
    outgoing = at.give_up(heard(at, RENEWAL, UNICAST, later), "stale", later + 10)
    assert outgoing is not None
    assert wire.decode(outgoing.datagram).options[51] == (2190).to_bytes(4)
    assert at.give_up(heard(at, octets(wire.DISCOVER)), "overload", NOW) is None
    assert at.give_up(heard(at, RENEWAL, UNICAST, later), "stale", NOW + 7200) is None
    assert at.dropped == {"overload": 1, "stale": 1}
