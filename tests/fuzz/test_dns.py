"""DNS: the answer to any datagram, signed or not, transfers, and streams however they are cut."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from ipaddress import ip_address

import dns.flags
import dns.message
import dns.opcode
import dns.rrset
import pytest
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Zone, ZoneChange
from tenure.naming.hostnames import wire
from tenure.naming.templates import Stretch, parse_template
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.answer import answer, truncated
from tenure.surfaces.dns.connection import Connection, Connections
from tenure.surfaces.dns.responder import Responder
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.tsig import Key, Stamp, algorithm
from tenure.surfaces.dns.views import View, Views
from tests.fuzz.mutation import cut, mutated
from tests.fuzz.recorder import Recorder
from tests.fuzz.rounds import Rounds
from tests.surfaces.dns.naive import Stretched
from tests.surfaces.dns.oracle import FORWARD, NIBBLES, REVERSE

pytestmark = pytest.mark.fuzz

A, NS, CNAME, PTR, MX, TXT = 1, 2, 5, 12, 15, 16
NOW = 1_800_000_000
MOST_MESSAGES = 3
SECONDARY, STRANGER = "127.0.0.1", "192.0.2.9"
KEY = Key("k1", wire("transfer.example."), algorithm("hmac-sha256"), bytes(range(32)))
CLOSED = Zone(id="c", vrf="default", name="closed.example.")
HOSTS = [Record(f"vm-{at}.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(900)]
MANY = [Record("many.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(200)]
TEXTS = [Record(f"a.b.text-{at}.prod.example.", TXT, 0, b"\xff" + bytes(255)) for at in range(3)]
POINTER = Record("17.2.0.192.in-addr.arpa.", PTR, 300, wire("vm-17.prod.example."))
ODD = [
    Record("www.prod.example.", CNAME, 300, wire("vm-17.prod.example.")),
    Record("one.prod.example.", CNAME, 300, wire("two.prod.example.")),
    Record("two.prod.example.", CNAME, 300, wire("one.prod.example.")),
    Record("*.wild.prod.example.", MX, 300, b"\0\x0a" + wire("vm-1.prod.example.")),
    Record("*.alias.prod.example.", CNAME, 300, wire("x.wild.prod.example.")),
    Record("lab.prod.example.", NS, 300, wire("ns.lab.prod.example.")),
    Record("ns.lab.prod.example.", A, 300, bytes((10, 9, 0, 53))),
]

NAMES = ["vm-17.prod.example.", "MANY.prod.example.", "text-1.prod.example.", POINTER.owner, "ns.prod.example."]
NAMES += [FORWARD.name, NIBBLES.name, "x." + CLOSED.name, "www.example.com.", ".", "a" * 63 + "." + FORWARD.name]
NAMES += ["www.prod.example.", "one.prod.example.", "a.wild.prod.example.", "a.b.alias.prod.example."]
NAMES += ["x.lab.prod.example.", "lab.prod.example.", "ip-10-0-0-5.prod.example.", "0a000047.dyn.prod.example."]
NAMES += ["dyn.prod.example.", "9.2.0.192.in-addr.arpa.", "5.0." + NIBBLES.name]


def _ahead(first: int, last: int, zone: str, text: str = "ip-{ip-dashed}") -> Stretched:
    version, pointers = 6 if last > 2**32 else 4, zone.endswith(".arpa.")
    stretch = Stretch(version, first, last, parse_template(text), FORWARD.name, zone, pointers, 300)
    return Stretched(stretch, {first + 1, first + 2})


def _table() -> ZoneTable:
    """Every kind of zone; the forward one has a history."""
    table = ZoneTable([ip_address("127.0.0.1"), ip_address("::1")])
    four, pointed, six = (int(ip_address(text)) for text in ("10.0.0.0", "192.0.2.0", "2001:db8::"))
    ahead = [_ahead(four, four + 63, FORWARD.name), _ahead(four + 64, four + 99, FORWARD.name, "{ip-hex}.dyn")]
    table.load(FORWARD, [*HOSTS, *MANY, *TEXTS, *ODD], ahead)
    table.load(REVERSE, [POINTER], [_ahead(pointed, pointed + 255, REVERSE.name)])
    table.load(NIBBLES, [], [_ahead(six, six + 2**64 - 1, NIBBLES.name)])
    table.close(CLOSED)
    for at in range(3):
        change = ZoneChange(
            FORWARD.id, FORWARD.serial + 1 + at, at, tuple(MANY[at : at + 2]), tuple(HOSTS[at : at + 1])
        )
        table.apply(change)
    return table


VIEWS = Views()
VIEWS.tables["default"] = TABLE = _table()
VIEWS.know([KEY])
VIEW = View(VIEWS, "default")
RESPONDER = Responder(VIEWS, Access(["127.0.0.0/8"]), Counter(), clock=lambda: NOW)


def _query(name: str, kind: str, edns: int, **more: int) -> bytes:
    made = dns.message.make_query(name, kind, use_edns=edns, payload=more.pop("payload", 1232), want_dnssec=edns == 0)
    for flag in more.values():
        made.flags |= flag
    return made.to_wire()


def _since(serial: int) -> bytes:
    """What changed in the forward zone since a serial?"""
    made = dns.message.make_query(FORWARD.name, "IXFR")
    soa = f"ns.prod.example. hostmaster.prod.example. {serial} 3600 600 1209600 60"
    made.authority.append(dns.rrset.from_text(FORWARD.name, 0, "IN", "SOA", soa))
    return made.to_wire()


def _signed(query: bytes, *, key: Key = KEY, late: int = 0) -> bytes:
    stamp = Stamp(key.name, key.algorithm, (NOW - late).to_bytes(6))
    return stamp.put(query, key.mac((query, stamp.variables())))


CORPUS = [_query(name, kind, edns) for name in NAMES for kind in ("A", "PTR", "ANY", "DS", "AXFR") for edns in (-1, 0)]
CORPUS += [_query("many.prod.example.", "A", 0, payload=size) for size in (0, 511, 65535)]
CORPUS += [_query(NAMES[0], kind, 1) for kind in ("PTR", "IXFR", "MAILB", "TYPE0", "OPT")]
CORPUS += [_query(NAMES[0], "A", -1, flag=flag) for flag in (dns.flags.QR, dns.opcode.to_flags(dns.opcode.UPDATE))]
CORPUS += [_since(FORWARD.serial + step) for step in (-1, 0, 2, 3, 9)]
CORPUS += [_signed(query) for query in (CORPUS[0], _query(FORWARD.name, "AXFR", 0), _since(FORWARD.serial))]
CORPUS += [_signed(CORPUS[0], late=301), _signed(CORPUS[0], key=KEY._replace(secret=b"another")), _signed(b"")]
CORPUS += [message for message in (answer(query, TABLE, True) for query in CORPUS[:40]) if message]


def test_dns_datagrams_have_answers_that_parse(rounds: Rounds) -> None:
    rounds.feed(_has_answers, mutated(CORPUS), number=300)


def _has_answers(query: bytes) -> None:
    silent = len(query) < 12 or bool(query[2] & 0x80)
    for over_tcp, most in ((False, 1232), (True, 65535)):
        given = answer(query, TABLE, over_tcp)
        assert (given is None) == silent
        if given is not None:
            assert len(given) <= most
            _is_reply(given, query)
    short = truncated(query)
    if short is not None:
        assert not silent and len(short) <= len(query)
        assert _is_reply(short, query).flags & dns.flags.TC
    _has_responses(query, silent)


def _has_responses(query: bytes, silent: bool) -> None:
    """The same of what is signed or asks for a transfer, for those who may have it and for others."""
    for peer in (SECONDARY, STRANGER):
        given = RESPONDER.datagram(query, peer, VIEW)
        assert (given is None) == silent
        if given is not None:
            assert len(given) <= 1232
            _is_reply(given, query)
        messages = _answers(query, peer)
        assert bool(messages) != silent and len(messages) <= MOST_MESSAGES
        for each in messages:
            _is_reply(each, query)


def _answers(query: bytes, peer: str) -> list[bytes]:
    """What is said over TCP; without an archive there is nothing to wait for."""
    return [each for each in RESPONDER.stream(query, peer, VIEW) if isinstance(each, bytes)]


def _is_reply(given: bytes, query: bytes) -> dns.message.Message:
    assert given[:2] == query[:2] and given[2] & 0x80
    return dns.message.from_wire(given, keyring=False, one_rr_per_rrset=True)


def test_dns_streams_have_the_answers_of_their_queries(rounds: Rounds) -> None:
    with asyncio.Runner() as runner:
        rounds.feed(lambda pieces: runner.run(_is_answered(pieces)), _streams().flatmap(cut), number=60)


@st.composite
def _streams(draw: st.DrawFn) -> bytes:
    """Messages with their lengths, perhaps damaged again as a whole."""
    queries = draw(st.lists(mutated(CORPUS), min_size=1, max_size=6))
    stream = b"".join(len(query).to_bytes(2) + query for query in queries)
    return draw(mutated([stream])) if draw(st.booleans()) else stream


async def _is_answered(pieces: list[bytes]) -> None:
    recorder = Recorder()
    loop = asyncio.get_running_loop()
    connection = Connection(loop, lambda query, peer: RESPONDER.stream(query, SECONDARY, VIEW), 30, Connections(1))
    connection.connection_made(recorder)
    for piece in pieces:
        await recorder.readable()
        connection.data_received(piece)
    await recorder.readable()
    whole = b"".join(pieces)
    assert recorder.written == b"".join(len(each).to_bytes(2) + each for each in _expected(whole))
    assert len(connection._pending) <= 65536
    connection.eof_received()
    assert recorder.is_closing()
    connection.connection_lost(None)


def _expected(stream: bytes) -> Iterator[bytes]:
    at = 0
    while at + 2 <= len(stream) and at + 2 + (length := int.from_bytes(stream[at : at + 2])) <= len(stream):
        yield from _answers(stream[at + 2 : at + 2 + length], SECONDARY)
        at += 2 + length
