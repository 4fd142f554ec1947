"""What is in zones, case by case: situations from public bug reports, and what templates, people and zones do."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from tenure.model import uses as u
from tenure.model.answers import Failure, Leased
from tenure.model.dnsdata import CATALOG, Record, Zone
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.naming import rdata, records
from tenure.naming.authority import delegation
from tenure.service.contents import Contents, zone_contents
from tenure.service.links import stretches_of
from tests.service.world import Node, World, listed, submission

PROD = "prod.example."
REVERSE = "3.0.10.in-addr.arpa."
OCTET = "2.0.192.in-addr.arpa."
CLASSLESS = "64-26.2.0.192.in-addr.arpa."
LINK = Place(link=int(ip_address("10.0.3.1")))


@pytest.fixture
def node(tmp_path: Path, seed: int) -> Iterator[Node]:
    """A site with a network `prod` in a domain."""
    world = World(tmp_path, seed)
    yield world.site()
    world.close()


def contents(node: Node, zone: str) -> Contents:
    """A zone, loaded alone; what it holds is what whoever followed it holds."""
    (found,) = [each for each in node.writer.memory.state.zones.values() if each.name == zone]
    with node.store.snapshot() as snapshot:
        (one,) = zone_contents(snapshot, {found.id})
        return one._replace(records=iter(list(one.records)))


def shown(node: Node, zone: str) -> set[tuple[str, str]]:
    """Each owner, relative to the zone, with its data as text, as whoever follows has them."""
    (id_,) = (each.id for each in node.writer.memory.state.zones.values() if each.name == zone)
    assert node.names.zones[id_] == set(listed(contents(node, zone)))
    return {text(zone, record) for record in node.names.zones[id_]}


def text(zone: str, record: Record) -> tuple[str, str]:
    return record.owner.removesuffix("." + zone), rdata.text(record.type, record.rdata)


def make(node: Node, name: str, type_: Any, data: str, zone: str = PROD, **fields: Any) -> str:
    made = node.ok(u.CreateRecord(zone=zone, name=name, type=type_, data=data, **fields))
    return made.record.id  # type: ignore[union-attr]


def subnet(node: Node, cidr: str, network: str = "prod", **fields: object) -> None:
    node.ok(u.CreateSubnet(network=network, cidr=cidr, fields=fields))


def zones(node: Node) -> list[str]:
    return sorted(zone.name for zone in node.store.reads.zones(limit=1000).items)


def moved(node: Node) -> set[str]:
    """Zones whose serial moved in the last transaction."""
    told, names = node.told[-1], {zone.id: zone.name for zone in node.store.reads.zones(limit=1000).items}
    return {names[change.zone] for change in told.zone_changes} | {names[zone] for zone in told.reload}


def lease(node: Node, mac: str, name: str | None) -> str:
    """A client takes what it is offered."""
    client = Client(mac=mac, hostname=name)
    offered = node.ok(u.LeaseOffer(client=client, place=LINK))
    assert isinstance(offered, Leased) and offered.lease is not None
    node.ok(u.LeaseCommit(client=client, place=LINK, address=offered.lease.address, form="selecting"))
    return str(ip_address(offered.lease.address))


# Situations from public bug reports


def test_pointers_of_a_prefix_of_two_octets_are_in_two_zones(node: Node) -> None:
    """phpipam 666."""
    subnet(node, "10.8.0.0/23")
    for at, ip in enumerate(("10.8.0.7", "10.8.1.7")):
        node.claim(f"h{at}", hostname=f"h{at}", address=ip)
    assert shown(node, "0.8.10.in-addr.arpa.") == {("7", "h0.prod.example.")}
    assert shown(node, "1.8.10.in-addr.arpa.") == {("7", "h1.prod.example.")}
    node.check()


def test_three_subnets_of_an_octet_do_not_touch_each_other(node: Node) -> None:
    """phpipam 418, MAAS LP 2041276: one zone, declared once; what happens to one leaves the others' pointers."""
    for at in (0, 32, 64):
        subnet(node, f"192.0.2.{at}/27", reverse="plain")
        node.claim(f"h{at}", hostname=f"h{at}", address=f"192.0.2.{at + 5}")
    assert zones(node).count(OCTET) == 1
    node.ok(u.ChangeSubnet(subnet="192.0.2.32/27", changes={"reverse": "off"}))
    assert shown(node, OCTET) == {("5", "h0.prod.example."), ("69", "h64.prod.example.")}
    node.check()


def test_a_long_prefix_of_ipv6_is_cut_at_its_nibbles(node: Node) -> None:
    """phpipam 1113."""
    subnet(node, "fdff:5c53:1fd::1:0/112")
    node.claim("a", hostname="a", address="fdff:5c53:1fd::1:2a")
    name = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.1.0.3.5.c.5.f.f.d.f.ip6.arpa."
    assert shown(node, name) == {("a.2.0.0", "a.prod.example.")}
    node.check()


def test_one_of_two_pointers_of_an_address_goes_and_the_alias_above_stays(node: Node) -> None:
    """netbox-plugin-dns 225: the zone above is not even touched."""
    node.ok(u.CreateZone(name=OCTET))
    subnet(node, "192.0.2.64/26", reverse="rfc2317")
    held = node.claim("a", hostname="a", address="192.0.2.70")
    make(node, "70", "PTR", "b.prod.example.", CLASSLESS)
    assert shown(node, CLASSLESS) == {("70", "a.prod.example."), ("70", "b.prod.example.")}
    aliases = [record for cut in contents(node, OCTET).below for record in delegation(cut, ())]
    assert ("70", f"70.{CLASSLESS}") in {text(OCTET, record) for record in aliases}
    node.release(held)
    assert shown(node, CLASSLESS) == {("70", "b.prod.example.")}
    assert [record for cut in contents(node, OCTET).below for record in delegation(cut, ())] == aliases
    assert moved(node) == {PROD, CLASSLESS}
    node.check()


def test_a_zone_that_becomes_classless_leaves_nothing_behind(node: Node) -> None:
    """netbox-plugin-dns 795, and back."""
    node.ok(u.CreateZone(name=OCTET))
    subnet(node, "192.0.2.64/26")
    node.claim("a", hostname="a", address="192.0.2.70")
    assert shown(node, OCTET) == {("70", "a.prod.example.")}
    node.ok(u.ChangeSubnet(subnet="192.0.2.64/26", changes={"reverse": "rfc2317"}))
    assert shown(node, OCTET) == set()
    assert [cut.zone.name for cut in contents(node, OCTET).below] == [CLASSLESS]
    assert shown(node, CLASSLESS) == {("70", "a.prod.example.")}
    node.ok(u.ChangeSubnet(subnet="192.0.2.64/26", changes={"reverse": "plain"}))
    assert shown(node, OCTET) == {("70", "a.prod.example.")} and CLASSLESS not in zones(node)
    assert contents(node, OCTET).below == ()
    node.check()


@pytest.mark.parametrize("way", ["release", "unname"])
def test_both_records_of_an_address_go_together(node: Node, way: str) -> None:
    """netbox-plugin-dns 97."""
    held = node.claim("a", hostname="a", address="10.0.3.9")
    if way == "release":
        node.release(held)
    else:
        node.ok(u.RenameAddress(vrf="default", ip="10.0.3.9", hostname=None))
    assert shown(node, PROD) == shown(node, REVERSE) == set()
    assert moved(node) == {PROD, REVERSE}
    node.check()


def test_one_of_two_names_of_an_address_goes_alone(node: Node) -> None:
    """MAAS LP 2120556: one name is the allocation's, the other a person's."""
    node.claim("a", hostname="a", address="10.0.3.9")
    made = make(node, "b", "A", "10.0.3.9")
    assert shown(node, PROD) == {("a", "10.0.3.9"), ("b", "10.0.3.9")}
    node.ok(u.DeleteRecord(record=made))
    assert shown(node, PROD) == {("a", "10.0.3.9")} and moved(node) == {PROD}
    node.check()


@pytest.mark.parametrize("no_longer", [False, True])
def test_one_of_two_addresses_of_a_name_goes_alone(node: Node, no_longer: bool) -> None:
    """MAAS LP 2120556, with shared names: each has its own A and its own pointer, whether or not more may join."""
    node.ok(u.ChangeNetwork(network="prod", changes={"shared_names": True}))
    first, second = (node.claim(f"h{at}", hostname="a", address=f"10.0.3.{at}") for at in (8, 9))
    if no_longer:
        node.ok(u.ChangeNetwork(network="prod", changes={"shared_names": False}))
    assert shown(node, PROD) == {("a", "10.0.3.8"), ("a", "10.0.3.9")}
    node.release(first)
    assert shown(node, PROD) == {("a", "10.0.3.9")}
    assert shown(node, REVERSE) == {("9", "a.prod.example.")}
    node.release(second)
    assert shown(node, PROD) == set()
    node.check()


def test_a_person_s_record_outlives_a_lease_that_says_the_same(node: Node) -> None:
    """Technitium 394: it is said twice and there once, whoever comes first, and stays until nobody says it."""
    node.ok(u.CreateRange(subnet="10.0.3.0/24", start="10.0.3.100", end="10.0.3.100", role="dynamic"))
    made = make(node, "pc", "A", "10.0.3.100")
    ip = lease(node, "52:54:00:00:00:01", "pc")
    assert ip == "10.0.3.100" and shown(node, PROD) == {("pc", ip)} and moved(node) == {REVERSE}
    node.ok(u.LeaseRelease(client=Client(mac="52:54:00:00:00:01"), place=LINK, address=int(ip_address(ip))))
    assert shown(node, PROD) == {("pc", ip)} and shown(node, REVERSE) == set()
    node.ok(u.DeleteRecord(record=made))
    assert shown(node, PROD) == set()
    node.check()


def test_a_reserved_host_s_name_does_not_vanish_when_it_is_switched_off(node: Node) -> None:
    """Technitium 354: its client gives the lease back; the address is its all the same."""
    mac = "52:54:00:00:00:02"
    node.claim("a", hostname="nfs", mac=mac, address="10.0.3.7")
    assert lease(node, mac, "other") == "10.0.3.7"
    node.answer(u.LeaseRelease(client=Client(mac=mac), place=LINK, address=int(ip_address("10.0.3.7"))))
    assert shown(node, PROD) == {("nfs", "10.0.3.7")}
    node.check()


def test_a_client_that_comes_back_after_expiry_has_its_records_again(node: Node) -> None:
    """Kea 1409: its name is the same as before, and so is its address."""
    node.ok(u.CreateRange(subnet="10.0.3.0/24", start="10.0.3.100", end="10.0.3.109", role="dynamic"))
    ip = lease(node, "52:54:00:00:00:03", "laptop")
    node.world.clock.pause(2 * 86400)
    node.ok(u.ExpireLeases())
    assert shown(node, PROD) == shown(node, REVERSE) == set()
    assert lease(node, "52:54:00:00:00:03", "laptop") == ip
    assert shown(node, PROD) == {("laptop", ip)}
    assert shown(node, REVERSE) == {(ip.rpartition(".")[2], "laptop.prod.example.")}
    node.check()


def test_a_rename_changes_both_records_in_one_step(node: Node) -> None:
    """PowerDNS-Admin 1111: the pointer is another, and not gone."""
    node.claim("a", hostname="a", address="10.0.3.9")
    before = dict(node.names.serials)
    node.ok(u.RenameAddress(vrf="default", ip="10.0.3.9", hostname="b"))
    assert shown(node, PROD) == {("b", "10.0.3.9")} and shown(node, REVERSE) == {("9", "b.prod.example.")}
    assert all(node.names.serials[zone] == serial + 1 for zone, serial in before.items())
    node.check()


def test_two_changes_of_one_name_at_once_end_as_the_last_one_says(node: Node) -> None:
    """MAAS LP 2045228: in one transaction, in two, and at a node that follows."""
    other = node.world.node("two")
    node.claim("a", hostname="a", address="10.0.3.9")
    renames = [u.RenameAddress(vrf="default", ip="10.0.3.9", hostname=name) for name in ("b", "c")]
    node.replies(*map(submission, renames))
    assert shown(node, PROD) == {("c", "10.0.3.9")} and shown(node, REVERSE) == {("9", "c.prod.example.")}
    assert node.told[-1].zone_changes[0].removed[0].owner == "a.prod.example."
    other.ok(renames[0])
    node.ok(renames[1])
    other.ok(u.ReadCapacity(network="prod"))
    for each in (node, other):
        assert shown(each, PROD) == {("c", "10.0.3.9")}
    node.check()


def test_a_name_that_is_no_host_name_is_refused_and_nothing_lost(node: Node) -> None:
    """phpipam 3786, netbox 4776, netbox-plugin-dns 268: said so at the edge; what is normalized means the same."""
    node.claim("a", hostname="a", address="10.0.3.9")
    for wrong in ("-b", "b-", "b_c", "b..c"):
        assert isinstance(node.answer(u.RenameAddress(vrf="default", ip="10.0.3.9", hostname=wrong)), Failure)
    assert shown(node, PROD) == {("a", "10.0.3.9")}
    node.ok(u.RenameAddress(vrf="default", ip="10.0.3.9", hostname="Bücher"))
    assert shown(node, PROD) == {("xn--bcher-kva", "10.0.3.9")}
    node.check()


# Names ahead of time


@pytest.fixture
def ahead(node: Node) -> Node:
    """A /29 whose addresses are called ahead of time, of a network of its own."""
    fields = {"domain": "dyn.example.", "name_template": "ip-{ip-dashed}", "cooldown": 0}
    node.ok(u.CreateNetwork(name="dyn", fields=fields))
    subnet(node, "10.9.0.0/29", "dyn", reverse="plain")
    return node


DYN = "dyn.example."
NINE = "0.9.10.in-addr.arpa."


def called(*numbers: int) -> set[tuple[str, str]]:
    return {(f"ip-10-9-0-{number}", f"10.9.0.{number}") for number in numbers}


def pointing(*numbers: int) -> set[tuple[str, str]]:
    return {(f"{number}", f"ip-10-9-0-{number}.{DYN}") for number in numbers}


def test_every_address_is_called_before_anybody_holds_it(ahead: Node) -> None:
    assert shown(ahead, DYN) == called(*range(8))
    assert shown(ahead, NINE) == pointing(*range(8))
    assert list(contents(ahead, DYN).records) == []
    ahead.check()


def test_a_name_replaces_both_computed_ones_while_it_is_there(ahead: Node) -> None:
    held = ahead.claim("a", network="dyn", hostname="a", address="10.9.0.3")
    assert moved(ahead) == {DYN, NINE} and ahead.told[-1].reload == ()
    assert shown(ahead, DYN) == called(0, 1, 2, 4, 5, 6, 7) | {("a", "10.9.0.3")}
    assert shown(ahead, NINE) == pointing(0, 1, 2, 4, 5, 6, 7) | {("3", f"a.{DYN}")}
    ahead.release(held)
    assert shown(ahead, DYN) == called(*range(8)) and shown(ahead, NINE) == pointing(*range(8))
    ahead.check()


def test_with_a_template_and_no_names_nothing_moves(ahead: Node) -> None:
    """dns.md: claims and leases change no serial; neither does who is called as the template calls it."""
    before = dict(ahead.names.serials)
    held = ahead.claim("a", network="dyn", address="10.9.0.3")
    ahead.release(held)
    ahead.release(ahead.claim("b", network="dyn", hostname="ip-10-9-0-4", address="10.9.0.4"))
    assert ahead.names.serials == before
    ahead.check()


def test_a_change_of_ranges_moves_each_serial_once(ahead: Node) -> None:
    before = dict(ahead.names.serials)
    ahead.ok(u.CreateRange(subnet="10.9.0.0/29", start="10.9.0.2", end="10.9.0.4", role="reserved"))
    assert shown(ahead, DYN) == called(0, 1, 5, 6, 7) and shown(ahead, NINE) == pointing(0, 1, 5, 6, 7)
    steps = {zone: serial - before[zone] for zone, serial in ahead.names.serials.items()}
    assert sorted(steps.values()) == [0, 0, 1, 1]
    ahead.ok(u.CreateRange(subnet="10.9.0.0/29", start="10.9.0.5", end="10.9.0.6", role="dynamic"))
    assert shown(ahead, DYN) == called(0, 1, 5, 6, 7)
    ahead.check()


def test_what_people_say_hides_what_is_computed(ahead: Node) -> None:
    made = make(ahead, "ip-10-9-0-3", "TXT", '"mine"', DYN)
    assert shown(ahead, DYN) == called(0, 1, 2, 4, 5, 6, 7) | {("ip-10-9-0-3", '"mine"')}
    held = ahead.claim("a", network="dyn", hostname="a", address="10.9.0.3")
    ahead.release(held)
    assert ("ip-10-9-0-3", "10.9.0.3") not in shown(ahead, DYN)
    ahead.ok(u.DeleteRecord(record=made))
    assert shown(ahead, DYN) == called(*range(8))
    ahead.check()


def test_a_nested_subnet_speaks_for_itself(ahead: Node) -> None:
    """Also where the one around it gave the address, before."""
    ahead.claim("a", network="dyn", hostname="a", address="10.9.0.6")
    ahead.ok(u.CreateSubnet(network="dyn", cidr="10.9.0.0/30", fields={"name_template": "h{ip-hex}"}))
    mine = {(f"h0a09000{number}", f"10.9.0.{number}") for number in range(4)}
    assert shown(ahead, DYN) == mine | called(4, 5, 7) | {("a", "10.9.0.6")}
    ahead.ok(u.DeleteSubnet(subnet="10.9.0.0/30"))
    assert shown(ahead, DYN) == called(0, 1, 2, 3, 4, 5, 7) | {("a", "10.9.0.6")}
    ahead.check()


def test_a_large_prefix_of_ipv6_is_answered_and_not_listed(ahead: Node) -> None:
    subnet(ahead, "2001:db8:9::/64", "dyn")
    subnet(ahead, "2001:db8:8::/125", "dyn")
    forward = [computed.stretch for computed in contents(ahead, DYN).stretches if not computed.stretch.pointers]
    assert {(stretch.version, stretch.listed) for stretch in forward} == {(4, True), (6, False), (6, True)}
    ahead.claim("a", network="dyn", hostname="a", address="2001:db8:9::5")
    assert moved(ahead) == {DYN, "0.0.0.0.9.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."}
    assert ahead.told[-1].zone_changes[0].removed == ()
    ahead.check()


def test_stretches_of_the_state_are_those_that_load(ahead: Node) -> None:
    subnet(ahead, "2001:db8:9::/64", "dyn")
    ahead.ok(u.CreateSubnet(network="dyn", cidr="10.9.0.4/30", fields={"name_template": "h{ip-hex}"}))
    memory = ahead.writer.memory
    said = {s for id_ in memory.state.subnets for s in stretches_of(memory.state, id_, memory.links.pointers)}
    with ahead.store.snapshot() as snapshot:
        loaded = {each.stretch for contents in zone_contents(snapshot) for each in contents.stretches}
    assert said == loaded and len(said) == 6


# What zones say of each other


def test_a_zone_in_another_one_is_delegated_with_glue(node: Node) -> None:
    """Its servers' addresses are those that people gave them in it."""
    node.ok(u.CreateZone(name="lab.prod.example."))
    make(node, "ns1", "A", "192.0.2.1", "lab.prod.example.")
    node.ok(u.ChangeZone(zone="lab.prod.example.", changes={"name_servers": ["ns1.lab.prod.example."]}))
    (cut,) = contents(node, PROD).below
    assert cut.servers == ("ns1.lab.prod.example.",)
    assert [text(PROD, record) for record in cut.glue] == [("ns1.lab", "192.0.2.1")]
    assert contents(node, PROD).servers == ("ns.prod.example.",)
    make(node, "ns1", "AAAA", "2001:db8::1", "lab.prod.example.")
    assert moved(node) == {PROD, "lab.prod.example."} and len(contents(node, PROD).below[0].glue) == 2


def test_servers_of_the_vrf_serve_zones_that_name_none(node: Node) -> None:
    node.ok(u.ChangeVrf(vrf="default", changes={"name_servers": ["ns.elsewhere.invalid."]}))
    assert contents(node, PROD).servers == contents(node, REVERSE).servers == ("ns.elsewhere.invalid.",)


def test_the_catalog_has_a_member_for_each_other_zone(node: Node) -> None:
    """RFC 9432: zones that come and go are changes of it, record by record; a member is its zone's id for life."""
    node.ok(u.CreateSecondary(name="s", fields={"address": "192.0.2.53"}))
    assert {data for _, data in shown(node, CATALOG)} == {PROD, REVERSE}
    node.ok(u.CreateZone(name="lab.example."))
    made = next(zone for zone in node.store.reads.zones().items if zone.name == "lab.example.")
    assert (f"{made.id}.zones", "lab.example.") in shown(node, CATALOG)
    (change,) = [change for change in node.told[-1].zone_changes if named(node, change.zone).name == CATALOG]
    assert [record.type for record in change.added] == [records.PTR] and change.removed == ()
    node.ok(u.DeleteZone(zone="lab.example."))
    assert {data for _, data in shown(node, CATALOG)} == {PROD, REVERSE}
    node.check()


def named(node: Node, zone: str) -> Zone:
    return node.writer.memory.state.zones[zone]


def test_records_have_the_ttl_of_their_zone(node: Node) -> None:
    """The last that was said of it holds; a person's record may have its own, beside nobody."""
    node.claim("a", hostname="a")
    make(node, "b", "A", "192.0.2.1")
    make(node, "c", "A", "192.0.2.1", ttl=77)
    node.ok(u.ChangeZone(zone=PROD, changes={"ttl": 42}))
    assert {record.owner: record.ttl for record in contents(node, PROD).records} == {
        "a.prod.example.": 42,
        "b.prod.example.": 42,
        "c.prod.example.": 77,
    }
    node.ok(u.ChangeNetwork(network="prod", changes={"ttl": 43}))
    assert {record.ttl for record in contents(node, PROD).records} == {43, 77}
    node.check()


def test_a_claim_and_a_record_of_one_transaction_are_one_change(node: Node) -> None:
    """Said by both in either order, taken back by one of them, within one transaction."""
    asked = u.ClaimAddresses(request=ClaimRequest(network="prod", hostname="a", address="10.0.3.9"), handle="a")
    record = u.CreateRecord(zone=PROD, name="a", type="A", data="10.0.3.9")
    node.ok(u.Together(uses=(asked, record)))
    assert shown(node, PROD) == {("a", "10.0.3.9")}
    (change,) = [change for change in node.told[-1].zone_changes if named(node, change.zone).name == PROD]
    assert len(change.added) == 1 and change.removed == ()
    (made,) = node.store.reads.records().items
    (claim,) = node.store.reads.claims().items
    again = u.CreateRecord(zone=PROD, name="a", type="A", data="10.0.3.9")
    node.ok(u.Together(uses=(u.DeleteRecord(record=made.id), again, u.ReleaseClaim(claim=claim.claim.id))))
    assert shown(node, PROD) == {("a", "10.0.3.9")} and moved(node) == {REVERSE}
    node.check()
