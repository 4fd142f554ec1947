"""tenure.naming.authority: what a zone says of itself and of the zones below it, as dnspython reads it."""

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.zone
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.dnsdata import CATALOG, Record, Zone
from tenure.naming.authority import Delegated, authority, delegation, member, own_server, servers_of, start
from tenure.naming.records import AAAA, CNAME, NS, PTR, TXT, A, forward
from tenure.naming.reverse import classless_zone, pointer_name, zones_for
from tenure.net.addresses import parse_address, parse_prefix
from tests.naming.test_records import read

HERE = (parse_address("192.0.2.53"), parse_address("2001:db8::53"))
OCTET = "2.0.192.in-addr.arpa."


def zone(name: str, **fields: object) -> Zone:
    return Zone(id=f"01J{name[:8].upper()}", vrf="v", name=name, **{"ttl": 300, **fields})  # type: ignore[arg-type]


def shown(records: list[Record]) -> set[tuple[str, int, str]]:
    return {(record.owner, record.type, read(record)) for record in records}


def cut(name: str, *servers: str, glue: tuple[Record, ...] = (), **fields: object) -> Delegated:
    below = zone(name, **fields)
    return Delegated(below, servers or servers_of(below, ()), glue)


def test_a_zone_that_names_no_servers_is_served_here() -> None:
    prod = zone("prod.example.", serial=9)
    servers = servers_of(prod, ())
    assert servers == (own_server(prod.name),) == ("ns.prod.example.",)
    assert read(start(prod, servers)) == "ns.prod.example. hostmaster.prod.example. 9 3600 600 1209600 60"
    assert shown(list(authority(prod, servers, (), HERE))) == {
        ("prod.example.", NS, "ns.prod.example."),
        ("ns.prod.example.", A, "192.0.2.53"),
        ("ns.prod.example.", AAAA, "2001:db8::53"),
    }


def test_a_zone_s_servers_go_before_its_vrf_s() -> None:
    assert servers_of(zone("a.example.", name_servers=("ns.b.example.",)), ("ns.c.example.",)) == ("ns.b.example.",)
    assert servers_of(zone("a.example."), ("ns.c.example.",)) == ("ns.c.example.",)
    named = zone("a.example.", name_servers=("ns.b.example.", "ns.c.example."))
    assert shown(list(authority(named, servers_of(named, ()), (), HERE))) == {
        ("a.example.", NS, "ns.b.example."),
        ("a.example.", NS, "ns.c.example."),
    }


def test_the_zone_above_has_servers_and_glue() -> None:
    """Delegation of one zone served here, and of one that others serve under names in it."""
    glue = (Record("ns1.lab.prod.example.", A, 60, bytes((10, 0, 0, 1))),)
    below = (cut("dev.prod.example."), cut("lab.prod.example.", "ns1.lab.prod.example.", glue=glue))
    found = shown(list(authority(zone("prod.example."), ("ns.elsewhere.",), below, HERE[:1])))
    assert found == {
        ("prod.example.", NS, "ns.elsewhere."),
        ("dev.prod.example.", NS, "ns.dev.prod.example."),
        ("ns.dev.prod.example.", A, "192.0.2.53"),
        ("lab.prod.example.", NS, "ns1.lab.prod.example."),
        ("ns1.lab.prod.example.", A, "10.0.0.1"),
    }


@pytest.mark.parametrize("nibble", "9abcdef")
def test_glue_below_any_nibble_is_valid(nibble: str) -> None:
    """A reverse zone at a letter is a zone like any other, and its server has its address."""
    name = f"{nibble}.8.b.d.0.1.0.0.2.ip6.arpa."
    found = list(delegation(cut(name), HERE))
    assert shown(found) == {
        (name, NS, f"ns.{name}"),
        (f"ns.{name}", A, "192.0.2.53"),
        (f"ns.{name}", AAAA, "2001:db8::53"),
    }
    assert dns_zone("8.b.d.0.1.0.0.2.ip6.arpa.", found).get_rdataset(f"ns.{name}", "AAAA") is not None


def test_a_classless_zone_is_pointed_into() -> None:
    """RFC 2317, section 4: NS, and a CNAME for each address, network and broadcast included."""
    name = classless_zone(0xC0000240, 26)
    found = shown(list(delegation(cut(name, "ns.elsewhere."), HERE)))
    assert (name, NS, "ns.elsewhere.") in found
    aliases = {(owner, target) for owner, kind, target in found if kind == CNAME}
    assert aliases == {(f"{n}.{OCTET}", f"{n}.{name}") for n in range(64, 128)}
    assert len(found) == 65


@given(st.lists(st.tuples(st.integers(0, 255), st.integers(25, 32)), min_size=1, max_size=5))
def test_each_address_is_pointed_to_the_innermost_classless_zone_once(prefixes: list[tuple[int, int]]) -> None:
    names = {classless_zone(0xC0000200 | at, length): length for at, length in prefixes}
    found = list(authority(zone(OCTET), ("ns.x.",), [cut(name, "ns.x.") for name in names], HERE))
    assert len(found) == len(set(found))
    aliases = [record for record in found if record.type == CNAME]
    assert len({record.owner for record in aliases}) == len(aliases)
    expected = {}
    for at in range(256):
        inside = [name for name, size in names.items() if name == classless_zone(0xC0000200 | at, size)]
        if inside:
            expected[pointer_name(4, 0xC0000200 | at)] = f"{at}.{max(inside, key=lambda name: names[name])}"
    assert {record.owner: read(record) for record in aliases} == expected


def test_a_name_is_said_once_though_two_say_it() -> None:
    """A server's glue may be its zone's own address too."""
    own = forward("ns.lab.prod.example.", 4, int(HERE[0]), 300)
    found = list(authority(zone("prod.example."), ("ns.x.",), [cut("lab.prod.example.", glue=(own,))], HERE))
    assert found.count(own) == 1


def test_a_catalog_is_of_version_2_and_of_nobody_s_servers() -> None:
    """RFC 9432, sections 4.1 and 4.2.1."""
    catalog = zone(CATALOG)
    assert shown(list(authority(catalog, servers_of(catalog, ("ns.vrf.",)), (), HERE))) == {
        (CATALOG, NS, "invalid."),
        (f"version.{CATALOG}", TXT, '"2"'),
    }


def test_a_member_keeps_its_label_for_life() -> None:
    """RFC 9432, section 4.3: the label is the zone's id, whatever else of it changes."""
    catalog = zone(CATALOG, ttl=17)
    prod = Zone(id="01JD3K5YV7", vrf="v", name="prod.example.")
    found = member(catalog, prod)
    assert found == Record(f"01jd3k5yv7.zones.{CATALOG}", PTR, 17, b"\x04prod\x07example\0")
    assert member(catalog, Zone(id="01JD3K5YV7", vrf="v", name="prod.example.", serial=99, ttl=1, revision=7)) == found


def dns_zone(origin: str, records: list[Record]) -> dns.zone.Zone:
    """The records in a zone of dnspython, which refuses what lies outside."""
    made = dns.zone.Zone(dns.name.from_text(origin))
    for record in records:
        kind = dns.rdatatype.RdataType(record.type)
        rdata = dns.rdata.from_text(dns.rdataclass.IN, kind, read(record))
        made.find_rdataset(record.owner, kind, create=True).add(rdata, record.ttl)
    return made


def test_ipv6_glue_is_right_at_a_nibble_above_nine() -> None:
    """The zones of 2001:db8:a000::/36 to 2001:db8:f000::/36 are below letters."""
    for nibble in "9abcdef":
        ((name, first, _),) = zones_for(parse_prefix(f"2001:db8:{nibble}000::/36"))
        assert name == f"{nibble}.8.b.d.0.1.0.0.2.ip6.arpa."
        assert pointer_name(6, first).endswith("." + name)
        below = Delegated(zone(name), servers_of(zone(name), ()))
        assert shown(list(delegation(below, HERE))) == {
            (name, NS, f"ns.{name}"),
            (f"ns.{name}", A, "192.0.2.53"),
            (f"ns.{name}", AAAA, "2001:db8::53"),
        }
