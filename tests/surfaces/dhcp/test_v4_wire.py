import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs
from scapy.layers.dhcp import BOOTP, DHCP

from tenure.surfaces.dhcp import v4_wire as wire
from tenure.surfaces.dhcp.v4_wire import Message, WireError, decode, encode
from tests.surfaces.dhcp.vectors import Vector, read

VECTORS = read("v4.txt")
AMPLE = 65507

addresses = st.integers(0, 2**32 - 1)
codes = st.integers(1, 254).filter(lambda code: code not in wire._FIXED and code not in (wire.OVERLOAD, wire.RELAY))
values = st.one_of(st.binary(max_size=20), st.binary(max_size=700))
relays = st.lists(st.tuples(st.sampled_from([1, 2, 6, 9, 151]), st.binary(max_size=60)), max_size=4).map(
    lambda pairs: b"".join(bytes((code, len(value))) + value for code, value in pairs)
)
texts = st.binary(max_size=40).filter(lambda text: b"\0" not in text)


@st.composite
def messages(draw: st.DrawFn) -> Message:
    options = draw(st.dictionaries(codes, values, max_size=8))
    if draw(st.booleans()):
        options[wire.RELAY] = draw(relays)
    chaddr = draw(st.binary(max_size=16))
    return Message(
        op=draw(st.sampled_from([1, 2])),
        htype=draw(st.integers(0, 255)),
        hlen=len(chaddr),
        hops=draw(st.integers(0, 255)),
        xid=draw(addresses),
        secs=draw(st.integers(0, 65535)),
        flags=draw(st.integers(0, 65535)),
        ciaddr=draw(addresses),
        yiaddr=draw(addresses),
        siaddr=draw(addresses),
        giaddr=draw(addresses),
        chaddr=chaddr,
        sname=draw(texts),
        file=draw(texts),
        options={53: b"\x01", **options},
    )


def plain(**changed: object) -> Message:
    fields: dict[str, object] = dict.fromkeys(Message.__struct_fields__, 0) | {
        "op": 1,
        "htype": 1,
        "hlen": 6,
        "chaddr": bytes.fromhex("525400010203"),
        "sname": b"",
        "file": b"",
        "options": {53: b"\x01"},
    }
    return Message(**(fields | changed))  # type: ignore[arg-type]


@pytest.mark.parametrize("vector", [v for v in VECTORS if v.message], ids=lambda v: v.title)
def test_a_vector_means_what_it_says(vector: Vector) -> None:
    message = decode(vector.wire)
    assert vector.message is not None
    assert message == vector.message
    assert list(message.options) == list(vector.message.options)
    assert decode(encode(message, AMPLE)) == message


@pytest.mark.parametrize("vector", [v for v in VECTORS if v.canonical], ids=lambda v: v.title)
def test_a_canonical_vector_is_what_we_write(vector: Vector) -> None:
    assert vector.message is not None
    assert encode(vector.message, 548).hex() == vector.wire.hex()


@pytest.mark.parametrize("vector", [v for v in VECTORS if not v.message], ids=lambda v: v.title)
def test_a_malformed_vector_is_refused(vector: Vector) -> None:
    with pytest.raises(WireError, match=vector.reason):
        decode(vector.wire)


@given(messages())
def test_what_is_written_is_read_again(message: Message) -> None:
    datagram = encode(message, AMPLE)
    if len(datagram) <= wire.LONGEST:
        again = decode(datagram)
        assert again == message
        assert encode(again, AMPLE) == datagram


@given(messages(), st.integers(300, 1472))
def test_a_message_never_passes_its_room_and_loses_whole_options_only(message: Message, room: int) -> None:
    datagram = encode(message, room)
    assert 300 <= len(datagram) <= room
    again = decode(datagram)
    assert again.options.items() <= message.options.items()
    assert (again.sname, again.file, again.options[53]) == (message.sname, message.file, b"\x01")
    assert decode(encode(again, room)) == again


@given(messages(), st.integers(300, 1472))
def test_relay_information_is_last_in_the_options_field(message: Message, room: int) -> None:
    datagram = encode(message, room)
    if decode(datagram).options.get(wire.RELAY):
        assert _codes(datagram)[-1] == wire.RELAY


def _codes(datagram: bytes) -> list[int]:
    at, found = 240, []
    while datagram[at] != wire.END:
        found.append(datagram[at])
        at += 2 + datagram[at + 1]
    return found


header = bytes.fromhex("010106002a3b4c5d00000000") + bytes(16) + bytes.fromhex("525400010203") + bytes(202)


@given(
    st.one_of(st.binary(max_size=600), st.binary(max_size=300).map(lambda tail: header + b"\x63\x82\x53\x63" + tail))
)
@example(header + b"\x63\x82\x53\x63")
@example(header + b"\x63\x82\x53\x63" + b"\xff" * 300)
@example(header + b"\x63\x82\x53\x63" + b"\x34\x01\x03")
@example(bytes(65507))
def test_any_octets_are_refused_or_stable(datagram: bytes) -> None:
    try:
        message = decode(datagram)
    except WireError:
        return
    once = encode(message, AMPLE)
    assert decode(once) == message
    assert encode(decode(once), AMPLE) == once


@given(messages(), st.data())
def test_a_damaged_message_is_refused_or_stable(message: Message, data: st.DataObject) -> None:
    octets = bytearray(encode(message, 1472))
    for _ in range(data.draw(st.integers(1, 4))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(octets[: data.draw(st.integers(0, len(octets)))])
    test_any_octets_are_refused_or_stable.hypothesis.inner_test(cut)  # type: ignore[attr-defined]


def test_options_that_fill_more_than_their_field_use_file_and_sname() -> None:
    options = {53: b"\x05", 125: bytes(270), 43: bytes(100), 67: bytes(50)}
    message = plain(options=options)
    datagram = encode(message, 548)
    assert decode(datagram) == message
    assert _codes(datagram).count(wire.OVERLOAD) == 1
    assert len(datagram) <= 548


def test_a_used_boot_file_field_is_never_overloaded() -> None:
    message = plain(file=b"pxelinux.0", options={53: b"\x05", 43: bytes(200), 125: bytes(200)})
    again = decode(encode(message, 548))
    assert again.file == b"pxelinux.0"
    assert set(again.options) == {53, 43}


def test_an_option_of_more_than_255_octets_is_split_and_joined() -> None:
    message = plain(options={53: b"\x01", 121: bytes(range(256)) * 2})
    datagram = encode(message, 1472)
    assert _codes(datagram) == [53, 121, 121, 121]
    assert decode(datagram) == message


def test_a_field_that_is_too_long_is_refused_when_written() -> None:
    with pytest.raises(WireError):
        encode(plain(file=bytes(129)), 548)


@given(addresses, addresses, st.integers(0, 255), st.binary(min_size=1, max_size=200))
def test_scapy_writes_what_we_read(ciaddr: int, giaddr: int, hops: int, vendor: bytes) -> None:
    packet = BOOTP(op=1, ciaddr=_dotted(ciaddr), giaddr=_dotted(giaddr), hops=hops, xid=7, flags=0x8000) / DHCP(
        options=[("message-type", "discover"), ("vendor_class_id", vendor), "end"]
    )
    message = decode(bytes(packet))
    assert (message.ciaddr, message.giaddr, message.hops, message.xid) == (ciaddr, giaddr, hops, 7)
    assert message.flags == wire.BROADCAST
    assert message.options == {53: b"\x01", 60: vendor}


@given(messages(), st.dictionaries(st.integers(224, 254), st.binary(min_size=1, max_size=80), max_size=5))
def test_scapy_reads_what_we_write(message: Message, options: dict[int, bytes]) -> None:
    # Site-specific options only: scapy stops at an option of length 0 and guesses the types of those it knows.
    packet = BOOTP(encode(structs.replace(message, options={53: b"\x01", **options}), AMPLE))
    assert (packet.xid, packet.ciaddr, packet.secs) == (message.xid, _dotted(message.ciaddr), message.secs)
    assert packet.sname.split(b"\0")[0] == message.sname
    seen = packet[DHCP].options
    assert seen[0] == ("message-type", 1)
    assert [value for _, value in seen[1 : 1 + len(options)]] == list(options.values())
    assert seen[1 + len(options)] == "end"


def _dotted(address: int) -> str:
    return ".".join(str(octet) for octet in address.to_bytes(4))
