"""Signatures, with dnspython on the other side."""

import base64

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.tsig
import dns.tsigkeyring
import dns.xfr
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.naming.hostnames import wire
from tenure.surfaces.dns import tsig
from tenure.surfaces.dns.tsig import BADKEY, BADSIG, BADTIME, BADTRUNC, Key, Refusal, Signer
from tenure.surfaces.dns.wire import WireError, decode, reply

NOW = 1_800_000_000
SECRET = bytes(range(32))
LENGTHS = {"hmac-sha256": 32, "hmac-sha512": 64}


def key(algorithm: str = "hmac-sha256", secret: bytes = SECRET) -> Key:
    return Key("k1", wire("transfer.example."), tsig.algorithm(algorithm), secret)


def theirs(algorithm: str = "hmac-sha256", secret: bytes = SECRET, name: str = "transfer.example.") -> dns.tsig.Key:
    return dns.tsig.Key(name, secret, algorithm)


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dnspython signs, and checks, at a time of the test's."""
    monkeypatch.setattr("time.time", lambda: float(NOW))


def signed_query(of: dns.tsig.Key) -> tuple[dns.message.Message, bytes]:
    query = dns.message.make_query("prod.example.", "SOA", use_edns=0)
    query.use_tsig(of)
    return query, query.to_wire()


def checked(message: bytes, now: float = NOW, known: Key | None = None) -> tuple[tsig.Signature, Key | Refusal]:
    signature = tsig.found(message)
    assert signature is not None and tsig.maybe(message)
    mine = known or key()
    return signature, tsig.verify(signature, {mine.name: mine}, now)


@pytest.mark.parametrize("algorithm", sorted(LENGTHS))
def test_each_side_verifies_the_other(algorithm: str) -> None:
    query, octets = signed_query(theirs(algorithm))
    signature, verified = checked(octets, known=key(algorithm))
    assert isinstance(verified, Key)
    asked = decode(signature.message)
    answer = reply(signature.message, 0, asked.end, asked.edns)
    whole = Signer(verified, signature.mac, lambda: NOW).sign(answer)
    assert len(whole) == len(answer) + verified.room
    response = dns.message.from_wire(whole, keyring=theirs(algorithm), request_mac=query.mac)
    assert response.had_tsig and response.id == query.id


def test_a_forwarded_query_has_another_id_than_was_signed() -> None:
    _, octets = signed_query(theirs())
    signature, verified = checked(b"\x12\x34" + octets[2:])
    assert isinstance(verified, Key)
    assert signature.message[:2] == b"\x12\x34"
    assert signature.original == octets[:2]


def test_case_of_the_keys_name_does_not_matter() -> None:
    _, octets = signed_query(theirs(name="Transfer.EXAMPLE."))
    assert isinstance(checked(octets)[1], Key)


def test_the_keys_name_may_be_a_pointer() -> None:
    query = dns.message.make_query("transfer.example.", "SOA")
    query.use_tsig(theirs())
    octets = query.to_wire()
    at = octets.index(b"\xc0\x0c\x00\xfa")
    assert isinstance(checked(octets)[1], Key)
    assert checked(octets[:at] + b"\xc0\x15" + octets[at + 2 :])[1] == Refusal(BADKEY)  # example.
    for pointer in (b"\xc0\x00", bytes((0xC0, at)), b"\xff\xff", b"\xc0\x0d"):
        with pytest.raises(WireError):
            tsig.found(octets[:at] + pointer + octets[at + 2 :])


@pytest.mark.parametrize("class_", [0, 1, 3, 254, 65535])
def test_a_signature_of_another_class_is_not_taken_for_none(class_: int) -> None:
    """Nor is one with a TTL (RFC 8945 section 4.2)."""
    _, octets = signed_query(theirs())
    at = octets.rindex(b"\x00\xfa\x00\xff")
    for wrong in (class_.to_bytes(2) + bytes(4), b"\x00\xff" + (class_ + 1).to_bytes(4)):
        broken = octets[: at + 2] + wrong + octets[at + 8 :]
        assert tsig.maybe(broken)
        with pytest.raises(WireError):
            tsig.found(broken)


def refused(algorithm: dns.tsig.Key, *, now: float = NOW, cut: int = 0) -> tuple[bytes, bytes, Refusal]:
    """The code of a query that is refused, the answer to it, and why."""
    query, octets = signed_query(algorithm)
    if cut:
        octets = shortened(octets, cut)
    signature, why = checked(octets, now)
    assert isinstance(why, Refusal)
    asked = decode(signature.message)
    return query.mac or b"", tsig.refused(reply(signature.message, 9, asked.end, asked.edns), signature, why, now), why


def shortened(octets: bytes, to: int) -> bytes:
    """A query whose code is cut to some octets."""
    signature = tsig.found(octets)
    assert signature is not None
    return signature.stamp.put(signature.message, signature.mac[:to])


@pytest.mark.parametrize(
    ("with_", "error"),
    [
        (theirs(name="other.example."), BADKEY),
        (theirs("hmac-sha512"), BADKEY),
        (theirs("hmac-sha384"), BADKEY),
        (theirs(secret=b"x" * 32), BADSIG),
    ],
)
def test_a_strangers_signature_is_answered_unsigned(with_: dns.tsig.Key, error: int) -> None:
    _, answer, why = refused(with_)
    assert why == Refusal(error)
    response = dns.message.from_wire(answer, ignore_trailing=False, keyring=False)
    assert response.rcode() == dns.rcode.NOTAUTH
    assert response.tsig is not None
    assert (response.tsig[0].error, response.tsig[0].mac, response.tsig[0].other) == (error, b"", b"")
    assert response.tsig.name == with_.name


@pytest.mark.parametrize("off", [-301, 301, 10**6])
def test_a_clock_that_is_off_is_told_ours(off: int) -> None:
    mac, answer, why = refused(theirs(), now=NOW + off)
    assert why == Refusal(BADTIME, key())
    response = dns.message.from_wire(answer, keyring=False)
    assert response.tsig is not None
    rdata = response.tsig[0]
    assert int.from_bytes(rdata.other) == NOW + off
    assert rdata.time_signed == NOW
    with pytest.raises(dns.tsig.PeerBadTime):
        dns.message.from_wire(answer, keyring=theirs(), request_mac=mac)
    signature = tsig.found(answer)
    assert signature is not None
    assert tsig.verify(signature, {key().name: key()}, NOW, mac) == key()


@pytest.mark.parametrize("off", [-300, 0, 300])
def test_five_minutes_are_no_matter(off: int) -> None:
    assert isinstance(checked(signed_query(theirs())[1], NOW + off)[1], Key)


@pytest.mark.parametrize("cut", [16, 31])
def test_a_code_that_is_cut_is_refused(cut: int) -> None:
    mac, answer, why = refused(theirs(), cut=cut)
    assert why == Refusal(BADTRUNC, key())
    signature = tsig.found(answer)
    assert signature is not None and signature.stamp.error == BADTRUNC
    assert tsig.verify(signature, {key().name: key()}, NOW, mac[:cut]) == key()


@pytest.mark.parametrize("cut", [0, 9, 15, 33])
def test_a_code_of_no_length_that_codes_have_is_malformed(cut: int) -> None:
    octets = signed_query(theirs())[1]
    signature = tsig.found(octets)
    assert signature is not None
    mac = (signature.mac + b"x")[:cut]
    assert checked(signature.stamp.put(signature.message, mac))[1] == Refusal(0)


def test_every_message_of_many_is_verified() -> None:
    query, octets = signed_query(theirs())
    signature, verified = checked(octets)
    assert isinstance(verified, Key)
    asked = decode(signature.message)
    signer = Signer(verified, signature.mac, lambda: NOW)
    sent = list(signer.signed(reply(signature.message, 0, asked.end, asked.edns) for _ in range(5)))
    context = None
    for message in sent:
        response = dns.message.from_wire(
            message, keyring=theirs(), request_mac=query.mac, multi=True, tsig_ctx=context, xfr=True
        )
        context = response.tsig_ctx
    with pytest.raises(dns.tsig.BadSignature):
        dns.message.from_wire(sent[3], keyring=theirs(), request_mac=query.mac, multi=True, tsig_ctx=context, xfr=True)


def test_a_tsig_anywhere_but_at_the_end_is_malformed() -> None:
    octets = signed_query(theirs())[1]
    signature = tsig.found(octets)
    assert signature is not None
    with pytest.raises(WireError):
        tsig.found(signature.stamp.put(octets, signature.mac))
    for at, value in ((6, 1), (8, 1), (10, 7)):
        with pytest.raises(WireError):
            tsig.found(octets[:at] + value.to_bytes(2) + octets[at + 2 :])
    assert tsig.found(signature.message) is None


@given(st.data())
def test_cut_and_altered_messages_are_malformed_or_badly_signed(data: st.DataObject) -> None:
    octets = signed_query(theirs())[1]
    at = data.draw(st.integers(12, len(octets) - 1))
    altered = bytearray(octets[: data.draw(st.sampled_from([at, len(octets)]))])
    if len(altered) == len(octets):
        altered[at] ^= data.draw(st.integers(1, 255))
    try:
        signature = tsig.found(bytes(altered))
    except WireError:
        return
    if signature is not None:
        verified = tsig.verify(signature, {key().name: key()}, NOW)
        same = bytes(altered).lower() == octets.lower() and len(altered) == len(octets)
        assert isinstance(verified, Refusal) or same


def test_the_wire_form_is_that_of_a_keyring() -> None:
    ring = dns.tsigkeyring.from_text({"transfer.example.": base64.b64encode(SECRET).decode()})
    (mine,) = ring
    assert mine.to_wire() == key().name
