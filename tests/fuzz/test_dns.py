"""DNS: the answer to any datagram, transfers, and streams however they are cut."""

import asyncio
from collections.abc import Iterator
from ipaddress import ip_address

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import pytest
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Zone
from tenure.naming.hostnames import wire
from tenure.surfaces.dns import transfer
from tenure.surfaces.dns.answer import answer, truncated
from tenure.surfaces.dns.connection import Connection, Connections
from tenure.surfaces.dns.table import ZoneTable
from tests.fuzz.mutation import cut, mutated
from tests.fuzz.recorder import Recorder
from tests.fuzz.rounds import Rounds
from tests.surfaces.dns.oracle import FORWARD, NIBBLES, REVERSE

pytestmark = pytest.mark.fuzz

A, PTR, TXT = 1, 12, 16
MOST_MESSAGES = 3
CLOSED = Zone(id="c", vrf="default", name="closed.example.")
HOSTS = [Record(f"vm-{at}.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(900)]
MANY = [Record("many.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4)) for at in range(200)]
TEXTS = [Record(f"a.b.text-{at}.prod.example.", TXT, 0, b"\xff" + bytes(255)) for at in range(3)]
POINTER = Record("17.2.0.192.in-addr.arpa.", PTR, 300, wire("vm-17.prod.example."))

TABLE = ZoneTable([ip_address("127.0.0.1"), ip_address("::1")])
TABLE.load(FORWARD, [*HOSTS, *MANY, *TEXTS])
TABLE.load(REVERSE, [POINTER])
TABLE.load(NIBBLES, [])
TABLE.close(CLOSED)

NAMES = ["vm-17.prod.example.", "MANY.prod.example.", "text-1.prod.example.", POINTER.owner, "ns.prod.example."]
NAMES += [FORWARD.name, NIBBLES.name, "x." + CLOSED.name, "www.example.com.", ".", "a" * 63 + "." + FORWARD.name]


def _query(name: str, kind: str, edns: int, **more: int) -> bytes:
    made = dns.message.make_query(name, kind, use_edns=edns, payload=more.pop("payload", 1232), want_dnssec=edns == 0)
    for flag in more.values():
        made.flags |= flag
    return made.to_wire()


CORPUS = [_query(name, kind, edns) for name in NAMES for kind in ("A", "ANY", "AXFR") for edns in (-1, 0)]
CORPUS += [_query("many.prod.example.", "A", 0, payload=size) for size in (0, 511, 65535)]
CORPUS += [_query(NAMES[0], kind, 1) for kind in ("PTR", "IXFR", "MAILB", "TYPE0", "OPT")]
CORPUS += [_query(NAMES[0], "A", -1, flag=flag) for flag in (dns.flags.QR, dns.opcode.to_flags(dns.opcode.UPDATE))]
CORPUS += [message for message in (answer(query, TABLE, True) for query in CORPUS[:12]) if message]


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
    _has_transfer(query)


def _has_transfer(query: bytes) -> None:
    question = transfer.asked(query)
    if question is None:
        return
    for permitted in (True, False):
        given = list(transfer.transfer(query, question, TABLE, permitted=permitted))
        assert 1 <= len(given) <= MOST_MESSAGES
        for each in given:
            _is_reply(each, query)


def _is_reply(given: bytes, query: bytes) -> dns.message.Message:
    assert given[:2] == query[:2] and given[2] & 0x80
    return dns.message.from_wire(given, one_rr_per_rrset=True)


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
    connection = Connection(asyncio.get_running_loop(), _answers, 30, Connections(1))
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


def _answers(query: bytes, peer: str) -> Iterator[bytes]:
    question = transfer.asked(query)
    if question is not None:
        return transfer.transfer(query, question, TABLE, permitted=True)
    response = answer(query, TABLE, True)
    return iter(() if response is None else (response,))


def _expected(stream: bytes) -> Iterator[bytes]:
    at = 0
    while at + 2 <= len(stream) and at + 2 + (length := int.from_bytes(stream[at : at + 2])) <= len(stream):
        yield from _answers(stream[at + 2 : at + 2 + length], "")
        at += 2 + length
