"""Who may see what: keys choose the view, secondaries may have its zones, strangers are refused and counted."""

from collections import Counter
from ipaddress import ip_address
from typing import Any

import dns.message
import dns.opcode
import dns.rcode
import dns.tsig
import dns.update
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.dnsdata import Record, Secondary, Zone, ZoneChange
from tenure.naming.hostnames import wire
from tenure.surfaces.dns import tsig
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.answer import answer
from tenure.surfaces.dns.responder import Responder
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.tsig import Key
from tenure.surfaces.dns.views import View, Views
from tests.surfaces.dns.oracle import FORWARD
from tests.surfaces.dns.test_transfer_changes import asking

A, TXT = 1, 16
SECRETS = {"ns2.": b"2" * 32, "ns3.": b"3" * 64, "blue.": b"b" * 32}
ALGORITHMS = {"ns2.": "hmac-sha256", "ns3.": "hmac-sha512", "blue.": "hmac-sha256"}
MANY = [Record("many.prod.example.", TXT, 300, bytes((15,)) + b"x" * 14 + bytes((at,))) for at in range(20)]
BLUE = Zone(id="b", vrf="blue", name=FORWARD.name, serial=77)


def theirs(name: str) -> dns.tsig.Key:
    return dns.tsig.Key(name, SECRETS[name], ALGORITHMS[name])


def host(at: int) -> Record:
    return Record(f"vm-{at}.prod.example.", A, 300, (0x0A000000 + at).to_bytes(4))


class Site:
    """Two views with a zone of one name, three keys, two secondaries."""

    def __init__(self) -> None:
        self.views, self.counters = Views(), Counter[str]()
        for vrf, zone in (("default", FORWARD), ("blue", BLUE)):
            self.views.tables[vrf] = ZoneTable([ip_address("127.0.0.1")])
            self.views.tables[vrf].load(zone, [*MANY, host(1)])
        for at in range(40):
            change = ZoneChange(FORWARD.id, 8 + at, at, added=(host(100 + at),))
            self.views.tables["default"].apply(change)
        self.views.know(
            Key(name, wire(name), tsig.algorithm(ALGORITHMS[name]), secret, "blue" if name == "blue." else None)
            for name, secret in SECRETS.items()
        )
        self.access = Access(["2001:db8::/32"])
        self.access.admit(
            [
                Secondary(id="2", name="a", vrf="default", address="192.0.2.2", key="ns2."),
                Secondary(id="3", name="b", vrf="default", address="192.0.2.3", transfer_from=("198.51.100.0/24",)),
                Secondary(id="4", name="c", vrf="blue", address="192.0.2.2", key="blue."),
            ]
        )
        self.view = View(self.views, "default")
        self.responder = Responder(self.views, self.access, self.counters)

    def ask(self, query: bytes, peer: str = "192.0.2.2") -> bytes | None:
        return self.responder.datagram(query, peer, self.view)

    def transfer(self, peer: str, key: str | None = None, serial: int | None = None) -> tuple[int, int]:
        """The rcode, and the serial that came."""
        query: dns.message.Message = dns.message.make_query(FORWARD.name, "AXFR")
        if serial is not None:
            query = dns.message.from_wire(asking(FORWARD.name, serial))
        if key is not None:
            query.use_tsig(theirs(key))
        return self._read(query, key, list(self.responder.stream(query.to_wire(), peer, self.view)))

    def _read(self, query: dns.message.Message, key: str | None, messages: list[Any]) -> tuple[int, int]:
        keyring: Any = False if key is None else theirs(key)
        context, first = None, None
        for octets in messages:
            read = dns.message.from_wire(
                octets, keyring=keyring, request_mac=query.mac or b"", multi=True, tsig_ctx=context, xfr=True
            )
            context, first = read.tsig_ctx, first or read
            assert read.had_tsig == (key is not None)
        assert first is not None
        return first.rcode(), first.answer[0][0].serial if first.answer else 0


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.mark.parametrize(
    ("peer", "key", "expected"),
    [
        ("192.0.2.2", "ns2.", (0, 47)),
        ("192.0.2.2", None, (5, 0)),
        ("192.0.2.2", "ns3.", (5, 0)),
        ("192.0.2.9", "ns2.", (5, 0)),
        ("192.0.2.3", None, (5, 0)),
        ("198.51.100.7", None, (0, 47)),
        ("198.51.100.7", "ns3.", (0, 47)),
        ("::ffff:198.51.100.7", None, (0, 47)),
        ("2001:db8::7", None, (0, 47)),
        ("2001:db8::7", "blue.", (0, 77)),
        ("192.0.2.2", "blue.", (0, 77)),
        ("198.51.100.7", "blue.", (5, 0)),
        ("fe80::1%eth0", None, (5, 0)),
    ],
)
def test_who_may_transfer_what(site: Site, peer: str, key: str | None, expected: tuple[int, int]) -> None:
    assert site.transfer(peer, key) == expected
    assert site.counters["strangers"] == (expected[0] != 0)
    assert site.counters["signed"] == (key is not None)
    if key != "blue.":
        assert site.transfer(peer, key, 20) == expected
        kinds = ("axfr", "ixfr", "transfers")
        assert [site.counters[kind] for kind in kinds] == [not expected[0], not expected[0], 2]


def test_everybody_may_ask_and_a_key_chooses_the_view(site: Site) -> None:
    for key, expected in ((None, 47), ("ns2.", 47), ("ns3.", 47), ("blue.", 77)):
        query = dns.message.make_query(FORWARD.name, "SOA", use_edns=0)
        if key:
            query.use_tsig(theirs(key))
        octets = site.ask(query.to_wire(), "203.0.113.1")
        assert octets is not None
        keyring: Any = theirs(key) if key else False
        read = dns.message.from_wire(octets, keyring=keyring, request_mac=query.mac or b"")
        assert read.answer[0][0].serial == expected
        assert read.had_tsig == (key is not None)


def test_signed_answers_are_no_longer_than_the_asker_allows(site: Site) -> None:
    for key in SECRETS:
        for payload in range(512, 1300, 20):
            query = dns.message.make_query("many.prod.example.", "TXT", use_edns=0, payload=payload)
            query.use_tsig(theirs(key))
            octets = site.ask(query.to_wire())
            assert octets is not None and len(octets) <= min(payload, 1232)
            dns.message.from_wire(octets, keyring=theirs(key), request_mac=query.mac or b"")


def test_over_udp_changes_go_to_secondaries(site: Site) -> None:
    query = dns.message.from_wire(asking(FORWARD.name, 46))
    refused = site.ask(query.to_wire())
    assert refused is not None and dns.message.from_wire(refused).rcode() == dns.rcode.REFUSED
    query.use_tsig(theirs("ns2."))
    octets = site.ask(query.to_wire())
    assert octets is not None
    read = dns.message.from_wire(octets, keyring=theirs("ns2."), request_mac=query.mac or b"", one_rr_per_rrset=True)
    assert len(read.answer) == 5
    assert len(octets) <= 512


@pytest.mark.parametrize("over_tcp", [False, True])
def test_bad_signatures_are_answered_so_and_counted(site: Site, over_tcp: bool) -> None:
    wrong = {
        "badkey": dns.tsig.Key("nobody.", b"x" * 32, "hmac-sha256"),
        "badsig": dns.tsig.Key("ns2.", b"x" * 32, "hmac-sha256"),
    }
    for name, key in wrong.items():
        query = dns.message.make_query(FORWARD.name, "AXFR")
        query.use_tsig(key)
        octets: Any = site.ask(query.to_wire())
        if over_tcp:
            (octets,) = site.responder.stream(query.to_wire(), "192.0.2.2", site.view)
        read = dns.message.from_wire(octets, keyring=False)
        assert (read.rcode(), read.answer) == (dns.rcode.NOTAUTH, [])
        assert read.tsig is not None and not read.tsig[0].mac
        assert site.counters[name] > 0
    assert site.counters["transfers"] == 0


def test_messages_that_are_not_queries_are_signed_too(site: Site) -> None:
    update = dns.update.UpdateMessage(FORWARD.name, keyring=theirs("ns2."))
    update.add("x", 300, "A", "192.0.2.1")
    octets = site.ask(update.to_wire())
    assert octets is not None
    assert dns.message.from_wire(octets, keyring=theirs("ns2."), request_mac=update.mac or b"").rcode() == 4


def test_a_malformed_signature_is_a_malformed_message(site: Site) -> None:
    query = dns.message.make_query(FORWARD.name, "A")
    query.use_tsig(theirs("ns2."))
    octets = query.to_wire()
    signature = tsig.found(octets)
    assert signature is not None
    twice = signature.stamp.put(octets, signature.mac)
    cut = octets[:-1]
    at = octets.rindex(tsig.KIND) + 2
    of_class, with_ttl = octets[:at] + b"\0\1" + octets[at + 2 :], octets[: at + 5] + b"\1" + octets[at + 6 :]
    for each in (cut, octets + b"x", octets[:10] + b"\0\2" + octets[12:], twice, of_class, with_ttl):
        given = site.ask(each)
        assert given is not None and given[3] & 15 == dns.rcode.FORMERR
    response = octets[:2] + b"\x81" + octets[3:]
    assert site.ask(response[:-1]) is None
    assert site.ask(response) is None


def test_a_signed_message_that_comes_again_is_answered_again_and_changes_nothing(site: Site) -> None:
    """Nothing is asked for here that does something; who replays a query learns what it learnt before."""
    query = dns.message.make_query(FORWARD.name, "SOA")
    query.use_tsig(theirs("ns2."))
    octets = query.to_wire()
    before = site.views.tables["default"].served(FORWARD.id).serial
    for _ in range(3):
        given = site.ask(octets, "203.0.113.1")
        assert given is not None
        dns.message.from_wire(given, keyring=theirs("ns2."), request_mac=query.mac or b"")
    transfer = dns.message.make_query(FORWARD.name, "AXFR")
    transfer.use_tsig(theirs("ns2."))
    elsewhere = list(site.responder.stream(transfer.to_wire(), "203.0.113.1", site.view))
    assert [dns.message.from_wire(each, keyring=False).rcode() for each in elsewhere] == [dns.rcode.REFUSED]  # type: ignore[arg-type]
    assert site.views.tables["default"].served(FORWARD.id).serial == before


def test_pointers_that_lead_nowhere_are_malformed(site: Site) -> None:
    """In the question, in the name of another record, in that of a signature: none is followed round and round."""
    head, tail = b"\x12\x34\1\0\0\1\0\0\0\0\0", b"\0\1\0\1"
    loops = [b"\xc0\x0c", b"\1a\xc0\x0c", b"\xc0\x0e\xc0\x0c", b"\xc0\x00", b"\xff\xff", b"\x40a\0"]
    for loop in loops:
        given = site.ask(head + b"\0" + loop + tail)
        assert given is not None and given[3] & 15 == dns.rcode.FORMERR
    question, signature = b"\4prod\7example\0" + tail, tsig.KIND + b"\0\xff" + bytes(4) + b"\0\0"
    for loop in (b"\xc0\x22", b"\1a\xc0\x22", b"\xc0\x24\xc0\x22"):
        given = site.ask(head + b"\1" + question + loop + signature)
        assert given is not None and given[3] & 15 == dns.rcode.FORMERR


def test_a_key_that_is_known_no_longer_is_none(site: Site) -> None:
    assert site.transfer("192.0.2.2", "ns2.")[0] == 0
    site.views.know(())
    query = dns.message.make_query(FORWARD.name, "SOA")
    query.use_tsig(theirs("ns2."))
    octets = site.ask(query.to_wire())
    assert octets is not None and octets[3] & 15 == dns.rcode.NOTAUTH


def test_a_view_of_nothing_refuses(site: Site) -> None:
    site.view.show("")
    octets = site.ask(dns.message.make_query(FORWARD.name, "SOA").to_wire())
    assert octets is not None and octets[3] & 15 == dns.rcode.REFUSED


@given(st.data())
def test_unsigned_octets_are_answered_as_without_keys(data: st.DataObject) -> None:
    """Whatever they are; what only looks signed too."""
    site = SITE
    octets = bytearray(data.draw(st.sampled_from(CORPUS)))
    for _ in range(data.draw(st.integers(0, 3))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    query = bytes(octets[: data.draw(st.integers(0, len(octets)))]) if data.draw(st.booleans()) else bytes(octets)
    given = site.ask(query, "203.0.113.1")
    silent = len(query) < 12 or bool(query[2] & 0x80)
    assert (given is None) == silent
    streamed = list(site.responder.stream(query, "203.0.113.1", site.view))
    assert (not streamed) == silent
    if given is not None and not tsig.maybe(query) and given[3] & 15 not in (dns.rcode.REFUSED, dns.rcode.FORMERR):
        assert given == answer(query, site.view.table, False)


SITE = Site()


def _corpus() -> list[bytes]:
    made = []
    for kind in ("A", "SOA", "AXFR", "TXT"):
        query = dns.message.make_query(FORWARD.name, kind, use_edns=0)
        made.append(query.to_wire())
        query.use_tsig(theirs("ns2."))
        made.append(query.to_wire())
    return [*made, asking(FORWARD.name, 40)]


CORPUS = _corpus()
