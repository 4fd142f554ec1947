from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tenure.errors import AlreadyAllocated, EpochChanged, Exhausted, NotFound, StoreUnavailable, TenureError
from tenure.model.leases import LeaseRefused
from tenure.model.uses import LeaseCommit, LeaseDecline, LeaseInform, LeaseOffer, LeaseRelease
from tenure.surfaces.dhcp import v4_wire as wire
from tenure.surfaces.dhcp.link import Arrival
from tenure.surfaces.dhcp.v4_session import Destination, ask, reply, room
from tests.surfaces.dhcp.conversation import ADDRESS, BROADCAST, MAC, OURS, RELAY, UNICAST, lease, message
from tests.surfaces.dhcp.test_v4_wire import messages

SERVER_ID = OURS.to_bytes(4)
OTHERS_ID = bytes((10, 0, 0, 99))
WANTED = ADDRESS.to_bytes(4)
TO_ALL = Destination(0xFFFFFFFF, 68)


def test_discover_asks_for_an_offer() -> None:
    use = ask(message(wire.DISCOVER, {50: WANTED, 61: b"\x01" + MAC, 12: b"Node1\0", 60: b"udhcp"}), BROADCAST)
    assert isinstance(use, LeaseOffer)
    assert use.requested == ADDRESS
    assert structs.astuple(use.client) == ("52:54:00:01:02:03", "01525400010203", "node1", "udhcp")
    assert use.place.link == OURS
    assert not use.place.relayed


@pytest.mark.parametrize(
    ("options", "fields", "arrival", "form"),
    [
        ({54: SERVER_ID, 50: WANTED}, {}, BROADCAST, "selecting"),
        ({50: WANTED}, {}, BROADCAST, "init-reboot"),
        ({}, {"ciaddr": ADDRESS}, UNICAST, "renewing"),
        ({}, {"ciaddr": ADDRESS}, BROADCAST, "rebinding"),
        ({}, {"ciaddr": ADDRESS, "giaddr": RELAY}, UNICAST, "rebinding"),
        ({82: b"\x0a\x01\x80"}, {"ciaddr": ADDRESS, "giaddr": RELAY}, UNICAST, "renewing"),  # RFC 5010
        ({54: OTHERS_ID, 50: WANTED}, {}, BROADCAST, None),
        ({54: OTHERS_ID, 50: WANTED, 82: b"\x0b\x04" + OTHERS_ID}, {"giaddr": RELAY}, UNICAST, "selecting"),  # RFC 5107
        ({54: SERVER_ID}, {}, BROADCAST, None),
        ({}, {}, BROADCAST, None),
    ],
)
def test_the_forms_of_request(options: Any, fields: Any, arrival: Arrival, form: str | None) -> None:
    use = ask(message(wire.COMMIT, options, **fields), arrival)
    if form is None:
        assert use is None
    else:
        assert isinstance(use, LeaseCommit)
        assert (use.form, use.address) == (form, ADDRESS)


def test_release_decline_and_inform() -> None:
    assert isinstance(ask(message(wire.RELEASE, {54: SERVER_ID}, ciaddr=ADDRESS), UNICAST), LeaseRelease)
    assert isinstance(ask(message(wire.DECLINE, {54: SERVER_ID, 50: WANTED}), BROADCAST), LeaseDecline)
    assert isinstance(ask(message(wire.INFORM, ciaddr=ADDRESS), BROADCAST), LeaseInform)
    assert ask(message(wire.RELEASE, {54: OTHERS_ID}, ciaddr=ADDRESS), UNICAST) is None
    assert ask(message(wire.DECLINE, {54: OTHERS_ID, 50: WANTED}), BROADCAST) is None
    assert ask(message(wire.RELEASE, {54: SERVER_ID}), UNICAST) is None
    assert ask(message(wire.INFORM), BROADCAST) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"op": 2},
        {"htype": 6},
        {"hlen": 4, "chaddr": MAC[:4]},
        {"chaddr": bytes(6)},
        {"chaddr": b"\xff" * 6},
        {"hops": 17},
        {"giaddr": 0xE0000001},
        {"giaddr": 0x7F000001},
        {"options": {53: b"\x02"}},
        {"options": {53: b"\x63"}},
    ],
)
def test_what_is_not_asked(fields: Any) -> None:
    assert ask(message(wire.DISCOVER, **fields), BROADCAST) is None


def test_plain_bootp_is_not_asked() -> None:
    assert ask(structs.replace(message(wire.DISCOVER), options={}), BROADCAST) is None


@pytest.mark.parametrize(
    ("options", "fields", "arrival", "link"),
    [
        ({}, {}, BROADCAST, OURS),
        ({}, {"giaddr": RELAY}, UNICAST, RELAY),
        ({118: b"\x0a\x02\x00\x00"}, {"giaddr": RELAY}, UNICAST, 0x0A020000),
        ({118: b"\x0a\x02\x00\x00", 82: b"\x05\x04\x0a\x03\x00\x00"}, {"giaddr": RELAY}, UNICAST, 0x0A030000),
        ({}, {"ciaddr": 0x0A090005}, UNICAST, 0x0A090005),
        ({}, {"ciaddr": 0x0A090005}, BROADCAST, OURS),
        ({}, {}, structs.replace(BROADCAST, address=0), None),
    ],
)
def test_the_link(options: Any, fields: Any, arrival: Arrival, link: int | None) -> None:
    use = ask(message(wire.COMMIT, {50: WANTED, **options}, **fields), arrival)
    assert isinstance(use, LeaseCommit)
    assert use.place.link == link


def test_relay_identifiers_are_told_in_hexadecimal() -> None:
    use = ask(message(wire.DISCOVER, {82: b"\x01\x02\xab\xcd\x02\x01\x07"}, giaddr=RELAY), UNICAST)
    assert isinstance(use, LeaseOffer)
    assert (use.place.circuit_id, use.place.remote_id, use.place.relayed) == ("abcd", "07", True)


@pytest.mark.parametrize(
    ("options", "hostname"),
    [
        ({12: b"web..example"}, None),  # Kea 4557
        ({12: b"web-1.example.com"}, "web-1"),
        ({12: b"bad_name"}, None),
        ({12: b"-x"}, None),
        ({12: b"\xff\xfe"}, None),
        ({12: b""}, None),
        ({12: b"x" * 64}, None),
        ({12: b"ignored", 81: b"\x00\x00\x00web.example.com"}, "web"),
        ({81: b"\x04\x00\x00\x03web\x07example\x00"}, "web"),
        ({81: b"\x04\x00\x00\x03web"}, "web"),
        ({81: b"\x04\x00\x00\x09web"}, None),
        ({81: b"\x04\x00\x00\x03a.b\x00"}, None),
        ({81: b"\x01"}, None),
    ],
)
def test_the_name_that_a_client_calls_itself(options: Any, hostname: str | None) -> None:
    use = ask(message(wire.DISCOVER, options), BROADCAST)
    assert isinstance(use, LeaseOffer)
    assert use.client.hostname == hostname


def answered(asked: wire.Message, result: Any, arrival: Arrival = BROADCAST) -> tuple[wire.Message, Destination]:
    answer = reply(asked, arrival, result)
    assert answer is not None
    return answer


def test_an_offer_goes_straight_to_a_client_without_an_address() -> None:
    offer, destination = answered(message(wire.DISCOVER, {55: bytes((3, 6, 15, 12, 119, 28, 3))}), lease())
    assert destination == Destination(ADDRESS, 68, MAC)
    assert (offer.op, offer.xid, offer.yiaddr, offer.ciaddr, offer.siaddr) == (2, 0x1234, ADDRESS, 0, 0)
    t1, t2 = int.from_bytes(offer.options.pop(58)), int.from_bytes(offer.options.pop(59))
    assert 1620 <= t1 <= 1800 < t2 <= 3150
    assert offer.options == {
        53: b"\x02",
        54: SERVER_ID,
        51: (3600).to_bytes(4),
        1: b"\xff\xff\xff\x00",
        3: bytes((10, 0, 0, 254)),
        6: bytes((10, 0, 0, 2, 10, 0, 0, 3)),
        15: b"example.com",
        12: b"node1",
        119: b"\x07example\x03com\x00",
        28: bytes((10, 0, 0, 255)),
    }


def test_only_what_was_asked_for_is_sent_beyond_the_mandatory() -> None:
    ack, _ = answered(message(wire.COMMIT, {50: WANTED, 54: SERVER_ID, 55: b"\x06"}), lease(options={42: bytes(4)}))
    assert set(ack.options) == {53, 54, 51, 58, 59, 1, 6}
    everything, _ = answered(message(wire.DISCOVER), lease())
    assert {3, 6, 12, 15, 28} <= set(everything.options)


def test_what_belongs_to_the_protocol_cannot_be_set_or_asked_for() -> None:
    own = dict.fromkeys((51, 53, 54, 58, 59, 61, 81, 82, 118), b"\x00")
    offer, _ = answered(message(wire.DISCOVER, {55: bytes((*own, 42))}), lease(options={**own, 42: bytes(4)}))
    assert offer.options[53] == b"\x02"
    assert not {61, 81, 82, 118} & set(offer.options)
    assert offer.options[42] == bytes(4)


def test_times_are_spread_by_client_and_the_same_each_time() -> None:
    def t1(mac: bytes) -> bytes:
        return answered(message(wire.DISCOVER, chaddr=mac), lease())[0].options[58]

    assert t1(MAC) == t1(MAC)
    assert len({t1(MAC[:5] + bytes((last,))) for last in range(50)}) > 20


def test_a_lease_without_end_has_no_times_to_renew() -> None:
    ack, _ = answered(message(wire.DISCOVER), lease(lease_time=2**40))
    assert ack.options[51] == b"\xff" * 4
    assert not {58, 59} & set(ack.options)


@pytest.mark.parametrize("code", [121, 249])
def test_classless_routes_always_have_the_default_one(code: int) -> None:
    route = b"\x10\xc0\xa8\x0a\x00\x00\x07"
    ack, _ = answered(message(wire.DISCOVER, {55: bytes((code, 3))}), lease(options={121: route}))
    assert ack.options[code] == route + b"\x00\x0a\x00\x00\xfe"
    with_default = b"\x00\x0a\x00\x00\x07" + route
    ack, _ = answered(message(wire.DISCOVER, {55: bytes((code, 3))}), lease(options={121: with_default}))
    assert ack.options[code] == with_default


def test_the_server_decides_the_fully_qualified_name() -> None:
    asked = {81: b"\x04\x00\x00\x04mine\x00"}
    ack, _ = answered(message(wire.DISCOVER, asked), lease())
    assert ack.options[81] == b"\x07\xff\xff\x05node1\x07example\x03com\x00"
    ack, _ = answered(message(wire.DISCOVER, {81: b"\x01\x00\x00mine"}), lease())
    assert ack.options[81] == b"\x01\xff\xffnode1.example.com."
    ack, _ = answered(message(wire.DISCOVER, asked), lease(hostname=".".join(["x" * 60] * 4)))
    assert ack.options[81] == b"\x0c\xff\xff"
    ack, _ = answered(message(wire.DISCOVER, asked), lease(hostname=None))
    assert ack.options[81] == b"\x0c\xff\xff"


def test_a_renewal_is_answered_to_the_client() -> None:
    ack, destination = answered(message(wire.COMMIT, ciaddr=ADDRESS), lease(), UNICAST)
    assert destination == Destination(ADDRESS, 68)
    assert (ack.ciaddr, ack.yiaddr, ack.options[53]) == (ADDRESS, ADDRESS, b"\x05")


def test_the_broadcast_flag_is_honoured() -> None:
    offer, destination = answered(message(wire.DISCOVER, flags=0x8000), lease())
    assert destination == TO_ALL
    assert offer.flags == 0x8000


def test_an_answer_through_a_relay() -> None:
    information = b"\x01\x02\xab\xcd\x13\x00"
    asked = message(wire.DISCOVER, {82: information}, giaddr=RELAY, hops=1)
    offer, destination = answered(asked, lease(), structs.replace(UNICAST, source_port=4067))
    assert destination == Destination(RELAY, 4067)  # RFC 8357
    assert (offer.giaddr, offer.hops, offer.options[82]) == (RELAY, 0, information)
    _, destination = answered(message(wire.DISCOVER, giaddr=RELAY), lease(), structs.replace(UNICAST, source_port=4067))
    assert destination == Destination(RELAY, 67)


def test_a_relay_may_stand_in_as_the_server() -> None:
    offer, _ = answered(message(wire.DISCOVER, {82: b"\x0b\x04" + OTHERS_ID}, giaddr=RELAY), lease(), UNICAST)
    assert offer.options[54] == OTHERS_ID


@pytest.mark.parametrize("relayed", [False, True])
def test_a_nak_carries_only_what_it_may(relayed: bool) -> None:
    options = {50: WANTED, 55: b"\x03\x06", 61: b"\x01" + MAC, 118: b"\x0a\x02\x00\x00"}
    if relayed:
        options[82] = b"\x01\x01\x07"
    asked = message(wire.COMMIT, options, giaddr=RELAY if relayed else 0)
    nak, destination = answered(asked, LeaseRefused("wrong link"), BROADCAST)
    assert set(nak.options) == {53, 54, 56, 61} | ({82} if relayed else set())
    assert (nak.options[53], nak.options[56]) == (b"\x06", b"wrong link")
    assert (nak.ciaddr, nak.yiaddr, nak.siaddr) == (0, 0, 0)
    assert nak.flags == (0x8000 if relayed else 0)
    assert destination == (Destination(RELAY, 67) if relayed else TO_ALL)


def test_another_address_is_never_acknowledged() -> None:
    nak, _ = answered(message(wire.COMMIT, {50: WANTED}), lease(address=ADDRESS + 1))
    assert nak.options[53] == b"\x06"


@pytest.mark.parametrize(
    ("error", "spoken"),
    [
        (AlreadyAllocated("taken"), True),
        (Exhausted("full"), True),
        (NotFound("no such link"), False),
        (StoreUnavailable("later"), False),
        (EpochChanged("anew"), False),
    ],
)
def test_errors_in_the_protocols_words(error: TenureError, spoken: bool) -> None:
    assert bool(reply(message(wire.COMMIT, {50: WANTED}), BROADCAST, error)) is spoken
    assert reply(message(wire.DISCOVER), BROADCAST, error) is None


def test_silence() -> None:
    assert reply(message(wire.DISCOVER), BROADCAST, None) is None
    assert reply(message(wire.COMMIT, {50: WANTED}), BROADCAST, None) is None
    assert reply(message(wire.RELEASE, ciaddr=ADDRESS), UNICAST, None) is None
    assert reply(message(wire.DISCOVER), BROADCAST, LeaseRefused("no")) is None


def test_inform_gets_options_without_an_address_or_a_lease() -> None:
    ack, destination = answered(message(wire.INFORM, ciaddr=ADDRESS), lease(), UNICAST)
    assert (ack.yiaddr, ack.ciaddr, ack.options[53]) == (0, ADDRESS, b"\x05")
    assert not {51, 58, 59} & set(ack.options)
    assert ack.options[6]
    assert destination == Destination(ADDRESS, 68)


@pytest.mark.parametrize(("said", "octets"), [(None, 548), (100, 548), (1000, 972), (9000, 1472)])
def test_the_room_that_a_client_has(said: int | None, octets: int) -> None:
    options = {57: said.to_bytes(2)} if said else {}
    assert room(message(wire.DISCOVER, options)) == octets


@given(messages(), st.integers(1, 8), st.booleans())
def test_any_message_that_decodes_is_answered_or_not_but_never_breaks(
    any_message: wire.Message, kind: int, broadcast: bool
) -> None:
    arrival = BROADCAST if broadcast else UNICAST
    asked = structs.replace(
        any_message, op=1, htype=1, hlen=6, chaddr=MAC, options={**any_message.options, 53: bytes((kind,)), 50: WANTED}
    )
    if ask(asked, arrival) is None:
        return
    answer = reply(asked, arrival, lease())
    if answer is not None:
        again = wire.decode(wire.encode(answer[0], room(asked)))
        assert again.options[53] in (b"\x02", b"\x05", b"\x06")
        assert 54 in again.options
