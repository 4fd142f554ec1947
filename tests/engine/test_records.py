"""Records that people make, beside each other and beside what allocations say."""

from itertools import pairwise
from typing import Any

import pytest

from tenure.errors import Conflict, InUse, InvalidValue, NotFound, StaleRevision, TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.dnsdata import ZoneRecord
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of
from tests.engine.world import World, site

ZONE = "prod.example."
REVERSE = "0.0.10.in-addr.arpa."


def zoned(*cidrs: str, **network: Any) -> World:
    """A network in a zone, with its reverse zones, as the service would have made them."""
    world = site(*(cidrs or ("10.0.0.0/24", "2001:db8::/64")), **({"domain": ZONE} | network))
    world.do(u.CreateZone(name=ZONE))
    for name in (REVERSE, "0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."):
        world.do(u.CreateZone(name=name))
    return world


def make(world: World, name: str, type_: Any, data: str, ttl: int | None = None, *, zone: str = ZONE) -> ZoneRecord:
    made = world.do(u.CreateRecord(zone=zone, name=name, type=type_, data=data, ttl=ttl)).record
    assert isinstance(made, ZoneRecord)
    return made


def refusal(world: World, *args: Any, **fields: Any) -> TenureError:
    with pytest.raises(TenureError) as caught:
        make(world, *args, **fields)
    return caught.value


def last(world: World) -> Any:
    return world.events[-1]


def test_a_record_is_made_changed_and_deleted() -> None:
    world = zoned()
    made = make(world, "Www", "A", "192.0.2.1")
    assert (made.owner, made.data, made.ttl, made.revision) == ("www.prod.example.", "192.0.2.1", None, 1)
    changed = world.do(u.ChangeRecord(record=made.id, changes={"data": "192.0.2.2", "ttl": 60})).record
    assert (changed.data, changed.ttl, changed.revision) == ("192.0.2.2", 60, 2)
    event = last(world)
    assert isinstance(event, e.RecordChanged) and event.before == made
    assert world.plan(u.ChangeRecord(record=made.id, changes={"ttl": 60})).events == []
    with pytest.raises(StaleRevision):
        world.do(u.DeleteRecord(record=made.id), if_match=1)
    world.do(u.DeleteRecord(record=made.id), if_match=2)
    assert not world.state.records and not world.state.made and not world.state.under and not world.state.aimed
    with pytest.raises(NotFound):
        world.do(u.DeleteRecord(record=made.id))
    with pytest.raises(NotFound):
        make(world, "www", "A", "192.0.2.1", zone="other.example.")


def test_a_dry_run_records_nothing() -> None:
    world = zoned()
    world.plan(u.CreateRecord(zone=ZONE, name="www", type="A", data="192.0.2.1"), dry_run=True)
    assert not world.state.records


@pytest.mark.parametrize(
    ("name", "type_", "data", "ttl", "pointer"),
    [
        ("www..x", "A", "192.0.2.1", None, "/name"),
        ("www.other.example.", "A", "192.0.2.1", None, "/name"),
        ("a" * 64, "A", "192.0.2.1", None, "/name"),
        ("q3.prod.example", "A", "192.0.2.1", None, "/name"),
        ("*.PROD.example", "A", "192.0.2.1", None, "/name"),
        ("prod.example", "MX", "0 .", None, "/name"),
        ("q3", "CNAME", "q4.prod.example", None, "/data"),
        ("x." * 125 + "x", "A", "192.0.2.1", None, "/name"),
        ("a.*", "TXT", "x", None, "/name"),
        ("_x", "A", "192.0.2.1", None, "/name"),
        ("_x.y", "MX", "10 mail", None, "/name"),
        ("*._x", "AAAA", "2001:db8::1", None, "/name"),
        ("0/25", "TXT", "x", None, "/name"),
        ("@", "NS", "ns1.example.net.", None, "/type"),
        ("@", "CNAME", "www", None, "/type"),
        ("*", "NS", "ns1.example.net.", None, "/name"),
        ("www", "A", "192.0.2.256", None, "/data"),
        ("www", "A", "192.0.2.1", -1, "/ttl"),
        ("www", "A", "192.0.2.1", 2**31, "/ttl"),
    ],
)
def test_what_cannot_be_is_refused(name: str, type_: str, data: str, ttl: int | None, pointer: str) -> None:
    found = refusal(zoned(), name, type_, data, ttl)
    assert isinstance(found, InvalidValue) and found.facts["pointer"] == pointer


@pytest.mark.parametrize("name", ["_sip._tcp", "_dmarc", "*", "*.apps", "@", "xn--bcher-kva", "bücher"])
def test_owners_that_hosts_cannot_have(name: str) -> None:
    make(zoned(), name, "TXT", '"x"', 2**31 - 1)


def test_a_reverse_zone_takes_pointers_aliases_servers_and_texts() -> None:
    world = zoned()
    for type_, data in (("PTR", "a.example."), ("CNAME", "1.0/25"), ("NS", "ns.example.net."), ("TXT", "x")):
        make(world, {"PTR": "1", "CNAME": "2", "NS": "0/25", "TXT": "3"}[type_], type_, data, zone=REVERSE)
    found = refusal(world, "9", "A", "192.0.2.1", zone=REVERSE)
    assert found.facts == {"pointer": "/type", "allowed": ["CNAME", "NS", "PTR", "TXT"]}


def test_nobody_makes_records_in_the_catalog() -> None:
    world = site(domain=ZONE)
    world.do(u.CreateSecondary(name="b", fields={"address": "192.0.2.53"}))
    plan = world.plan(u.CreateSecondary(name="c", fields={"address": "192.0.2.54"}), dry_run=True)
    assert len(plan.events) == 1, "the service brings the catalog"


def test_an_alias_is_alone() -> None:
    world = zoned()
    alias = make(world, "www", "CNAME", "web")
    found = refusal(world, "www", "A", "192.0.2.1")
    assert isinstance(found, Conflict) and found.facts == {"record": alias.id, "pointer": "/type"}
    host = make(world, "web", "A", "192.0.2.1")
    assert refusal(world, "web", "CNAME", "www2").facts["record"] == host.id
    assert refusal(world, "www", "CNAME", "web2").facts["pointer"] == "/type"
    make(world, "w", "CNAME", "www")
    world.do(u.ChangeRecord(record=alias.id, changes={"data": "elsewhere.example."}))


def test_aliases_never_lead_in_a_circle() -> None:
    world = zoned()
    assert refusal(world, "a", "CNAME", "a").facts["pointer"] == "/data"
    first = make(world, "a", "CNAME", "b")
    make(world, "b", "CNAME", "c")
    assert "circle" in refusal(world, "c", "CNAME", "a").message
    make(world, "c", "CNAME", "d")
    with pytest.raises(Conflict, match="circle"):
        world.do(u.ChangeRecord(record=first.id, changes={"data": "a"}))
    names = [f"n{at}" for at in range(20)]
    for name, target in list(pairwise(names))[::-1][:8]:
        make(world, name, "CNAME", target)
    assert "more than 8" in refusal(world, *("n10", "CNAME", "n11")).message


def test_a_circle_through_another_zone_is_seen() -> None:
    world = zoned()
    world.do(u.CreateZone(name="other.example"))
    make(world, "a", "CNAME", "a.other.example.")
    assert "circle" in refusal(world, "a", "CNAME", "a.prod.example.", zone="other.example").message


def test_one_set_has_one_ttl() -> None:
    world = zoned()
    one = make(world, "www", "A", "192.0.2.1", 60)
    found = refusal(world, "www", "A", "192.0.2.2")
    assert found.facts == {"record": one.id, "pointer": "/ttl"}
    other = make(world, "www", "A", "192.0.2.2", 60)
    make(world, "www", "TXT", "x", 5)
    assert "already" in refusal(world, "www", "A", "192.0.2.2", 60).message
    world.do(u.ChangeRecord(record=one.id, changes={"ttl": None}))
    assert world.state.records[other.id].ttl is None, "its whole set follows"
    assert world.state.records[other.id].revision == 2


def test_a_record_belongs_into_the_innermost_zone() -> None:
    world = zoned()
    inner = world.do(u.CreateZone(name="dev.prod.example")).zone
    for name in ("dev", "a.dev", "*.dev"):
        assert refusal(world, name, "TXT", "x").facts == {"zone": inner.id, "pointer": "/name"}
    make(world, "adev", "TXT", "x")
    classless = world.do(u.CreateZone(name="64-26.0.0.10.in-addr.arpa.")).zone
    assert refusal(world, "65", "PTR", "a.example.", zone=REVERSE).facts["zone"] == classless.id
    make(world, "65", "PTR", "a.example.", zone=classless.name)
    make(world, "63", "PTR", "a.example.", zone=REVERSE)


def test_a_zone_that_would_hide_records_is_refused() -> None:
    world = zoned()
    make(world, "a.dev", "TXT", "x")
    with pytest.raises(Conflict) as caught:
        world.do(u.CreateZone(name="dev.prod.example"))
    assert caught.value.facts["holders"] == ["a.dev.prod.example."]
    make(world, "65", "PTR", "a.example.", zone=REVERSE)
    with pytest.raises(Conflict):
        world.do(u.CreateZone(name="64-26.0.0.10.in-addr.arpa."))
    world.do(u.CreateZone(name="128-26.0.0.10.in-addr.arpa."))


# Delegation


def test_a_name_is_delegated_with_glue() -> None:
    world = zoned()
    found = refusal(world, "sub", "NS", "ns1.sub")
    assert isinstance(found, Conflict) and found.facts == {"name": "ns1.sub.prod.example.", "pointer": "/data"}
    glue = make(world, "ns1.sub", "A", "192.0.2.1")
    server = make(world, "sub", "NS", "ns1.sub")
    make(world, "sub", "NS", "ns.elsewhere.example.")
    with pytest.raises(InUse) as caught:
        world.do(u.DeleteRecord(record=glue.id))
    assert caught.value.facts["holders"] == ["record sub.prod.example. NS"]
    world.do(u.ChangeRecord(record=glue.id, changes={"ttl": 5}))
    moved = world.do(u.ChangeRecord(record=glue.id, changes={"data": "192.0.2.9"})).record
    assert moved.data == "192.0.2.9", "it has an address still"
    second = make(world, "ns1.sub", "AAAA", "2001:db8::1")
    world.do(u.DeleteRecord(record=glue.id))
    world.do(u.DeleteRecord(record=server.id))
    world.do(u.DeleteRecord(record=second.id))


def test_what_is_delegated_is_not_ours_to_say() -> None:
    world = zoned()
    make(world, "sub", "NS", "ns.elsewhere.example.")
    for name, type_, data in (
        ("sub", "TXT", "x"),
        ("a.sub", "TXT", "x"),
        ("a.sub", "NS", "x.example."),
        ("*.sub", "TXT", "x"),
        ("www.sub", "A", "192.0.2.1"),
        ("sub", "AAAA", "2001:db8::1"),
    ):
        found = refusal(world, name, type_, data)
        assert found.facts == {"name": "sub.prod.example.", "pointer": "/name"}
    with pytest.raises(Conflict, match="delegated"):
        world.claim(hostname="vm.sub")
    with pytest.raises(Conflict, match="delegated"):
        world.claim(hostname="sub")
    world.claim(hostname="notsub")


def test_an_address_is_delegated_away_only_with_its_server() -> None:
    world = zoned()
    for name in ("ns1.sub", "www.sub", "sub"):
        make(world, name, "A", "192.0.2.1")
    found = refusal(world, "sub", "NS", "ns1.sub")
    assert (found.facts["holders"], found.facts["count"]) == (["www.sub.prod.example. A", "sub.prod.example. A"], 2)
    for record in list(world.state.records.values())[1:]:
        world.do(u.DeleteRecord(record=record.id))
    make(world, "sub", "NS", "ns1.sub")
    assert isinstance(refusal(world, "www.sub", "A", "192.0.2.1"), Conflict)


def test_a_second_server_is_named_before_it_has_an_address() -> None:
    """Before that its address would be hidden, which is refused."""
    world = zoned()
    make(world, "ns1.sub", "A", "192.0.2.1")
    first = make(world, "sub", "NS", "ns1.sub")
    assert isinstance(refusal(world, "ns2.sub", "A", "192.0.2.2"), Conflict)
    second = make(world, "sub", "NS", "ns2.sub")
    with pytest.raises(InUse) as caught:
        world.do(u.DeleteRecord(record=first.id))
    assert caught.value.facts["holders"] == ["record sub.prod.example. NS ns2.sub.prod.example."]
    glue = make(world, "ns2.sub", "A", "192.0.2.2")
    world.do(u.DeleteRecord(record=first.id))
    for record in (second, glue):
        world.do(u.DeleteRecord(record=record.id))


def test_nothing_is_delegated_away_that_is_there() -> None:
    world = zoned()
    make(world, "a.sub", "TXT", "x")
    world.claim(hostname="vm.deep.sub2")
    world.claim(hostname="sub3")
    world.do(u.CreateZone(name="x.sub4.prod.example"))
    for name, holder in (
        ("sub", "a.sub.prod.example. TXT"),
        ("sub2", "vm.deep.sub2.prod.example."),
        ("sub3", "sub3.prod.example."),
        ("sub4", "zone x.sub4.prod.example."),
    ):
        found = refusal(world, name, "NS", "ns.elsewhere.example.")
        assert (found.facts["holders"], found.facts["count"], found.facts["pointer"]) == ([holder], 1, "/name")
    make(world, "ub", "NS", "ns.elsewhere.example.")


def test_a_name_that_a_client_gave_itself_bars_no_cut() -> None:
    world = zoned("10.0.0.0/24", dhcp={"enabled": True})
    world.do(u.CreateRange(subnet="10.0.0.0/24", start="10.0.0.128", end="10.0.0.254", role="dynamic"))
    place = Place(link=number_of("10.0.0.1"))
    for n, name in enumerate(("phone", "desk")):
        client = Client(mac=f"02:00:00:00:00:0{n}", hostname=name)
        offer = world.do(u.LeaseOffer(client=client, place=place)).lease
        world.do(u.LeaseCommit(client=client, place=place, address=offer.address, form="selecting"))
    assert len([row for row in world.tables.open("allocations") if row.hostname is not None]) == 2
    make(world, "phone", "NS", "ns.elsewhere.example.")
    world.do(u.CreateZone(name="desk.prod.example."))
    assert not [row for row in world.tables.open("allocations") if row.hostname is not None]


def test_a_server_is_no_alias() -> None:
    world = zoned()
    alias = make(world, "www", "CNAME", "web")
    for type_, data in (("MX", "10 www"), ("SRV", "0 0 80 www"), ("NS", "www")):
        assert refusal(world, "a", type_, data).facts == {"record": alias.id, "pointer": "/data"}
    make(world, "b", "MX", "10 mail")
    found = refusal(world, "mail", "CNAME", "web")
    assert (found.facts["holders"], found.facts["pointer"]) == (["b.prod.example. MX"], "/name")


def served(world: World, *servers: str, zone: str = ZONE) -> None:
    world.do(u.ChangeZone(zone=zone, changes={"name_servers": list(servers)}))


def test_the_zones_own_servers_have_addresses_that_people_made() -> None:
    """What an allocation says goes with it, and it must be possible to release it."""
    world = zoned()
    held = world.claim(hostname="a", address="10.0.0.5")
    with pytest.raises(Conflict, match=r"tenure record create prod\.example\. a A ADDRESS") as caught:
        served(world, "ns9.example.net.", "a.prod.example.")
    assert caught.value.facts.items() >= {"name": "a.prod.example.", "pointer": "/name_servers/1"}.items()
    made = make(world, "a", "A", "10.0.0.5")
    served(world, "ns9.example.net.", "a.prod.example.")
    with pytest.raises(InUse) as kept:
        world.do(u.DeleteRecord(record=made.id))
    assert kept.value.facts["holders"] == ["zone prod.example."]
    world.release(held)
    second = make(world, "a", "AAAA", "2001:db8::1")
    world.do(u.DeleteRecord(record=made.id))
    served(world, "ns.prod.example.")
    world.do(u.DeleteRecord(record=second.id))
    with pytest.raises(Conflict, match="@ A ADDRESS"):
        served(world, "prod.example.")


def test_servers_in_zones_inside_and_beside_have_addresses_there() -> None:
    world = zoned()
    for name in ("in.prod.example.", "lab.example."):
        world.do(u.CreateZone(name=name))
        with pytest.raises(Conflict, match="has no address"):
            served(world, f"ns1.{name}")
        with pytest.raises(Conflict, match="has no address"):
            world.do(u.CreateZone(name="new.example.", fields={"name_servers": [f"ns1.{name}"]}))
        alias = make(world, "ns2", "CNAME", "ns1", zone=name)
        with pytest.raises(Conflict, match="is an alias") as caught:
            served(world, f"ns2.{name}")
        assert caught.value.facts["record"] == alias.id
        made = make(world, "ns1", "A", "192.0.2.1", zone=name)
        served(world, f"ns1.{name}")
        with pytest.raises(InUse) as kept:
            world.do(u.DeleteRecord(record=made.id))
        assert kept.value.facts["holders"] == ["zone prod.example."]
        assert isinstance(refusal(world, "ns1", "CNAME", "x", zone=name), Conflict)
        served(world)
        world.do(u.DeleteRecord(record=made.id))


def test_servers_of_the_vrf_are_like_those_of_a_zone_but_for_zones_that_come_later() -> None:
    world = zoned()
    alias = make(world, "al", "CNAME", "x")
    for name in ("q", "al"):
        with pytest.raises(Conflict) as caught:
            world.do(u.ChangeVrf(vrf="default", changes={"name_servers": ["ns.else.", f"{name}.prod.example."]}))
        assert caught.value.facts["pointer"] == "/name_servers/1"
    world.do(u.DeleteRecord(record=alias.id))
    made = make(world, "q", "A", "192.0.2.1")
    servers = ["ns1.later.example.", "q.prod.example."]
    world.do(u.ChangeVrf(vrf="default", changes={"name_servers": servers}))
    with pytest.raises(InUse) as kept:
        world.do(u.DeleteRecord(record=made.id))
    assert kept.value.facts["holders"] == ["vrf default"]
    world.do(u.CreateZone(name="later.example."))
    world.do(u.ChangeZone(zone="later.example.", changes={"ttl": 5}))
    assert isinstance(refusal(world, "ns1", "CNAME", "x", zone="later.example."), Conflict)
    make(world, "ns1", "A", "192.0.2.1", zone="later.example.")
    world.do(u.CreateVrf(name="more", name_servers=("q.prod.example.",)))


def test_this_servers_name_in_a_zone_stays_as_long_as_it_serves_others() -> None:
    """It needs no record, for it has the listeners' addresses; but only while it serves its own zone too."""
    world = zoned()
    world.do(u.CreateZone(name="lab.example.", fields={"name_servers": ["ns.prod.example."]}))
    world.do(u.CreateZone(name="b.example."))
    served(world, "ns.b.example.", zone="lab.example.")
    refused: list[u.Use] = [
        u.ChangeZone(zone="b.example.", changes={"name_servers": ["ns.else."]}),
        u.ChangeVrf(vrf="default", changes={"name_servers": ["ns.else."]}),
        u.DeleteZone(zone="b.example."),
    ]
    for use in refused:
        with pytest.raises(InUse) as kept:
            world.do(use)
        assert kept.value.facts["holders"] == ["zone lab.example."]
    make(world, "ns", "A", "192.0.2.1", zone="b.example.")
    world.do(refused[0])
    served(world, zone="lab.example.")
    (record,) = [each for each in world.state.records.values() if each.owner == "ns.b.example."]
    world.do(u.DeleteRecord(record=record.id))
    world.do(u.DeleteZone(zone="b.example."))


# Beside allocations


def test_a_record_may_say_what_an_allocation_says_in_either_order() -> None:
    world = zoned()
    held = world.claim(hostname="vm", address="10.0.0.5")
    made = make(world, "vm", "A", "10.0.0.5")
    assert last(world).doubles
    other = make(world, "vm", "A", "10.0.0.6")
    assert not last(world).doubles
    pointer = make(world, "5", "PTR", "vm.prod.example.", zone=REVERSE)
    assert last(world).doubles
    make(world, "5", "PTR", "other.example.", zone=REVERSE)
    assert not last(world).doubles
    world.do(u.ChangeRecord(record=other.id, changes={"data": "10.0.0.7"}))
    assert (last(world).doubled, last(world).doubles) == (False, False)
    world.do(u.DeleteRecord(record=made.id))
    assert last(world).doubled
    world.do(u.ChangeRecord(record=other.id, changes={"data": "10.0.0.5"}))
    assert (last(world).doubled, last(world).doubles) == (False, True)
    world.release(held)
    world.do(u.DeleteRecord(record=other.id))
    assert not last(world).doubled
    world.do(u.DeleteRecord(record=pointer.id))
    assert not last(world).doubled
    make(world, "new", "A", "10.0.0.9")
    world.claim(hostname="new", address="10.0.0.9")


def test_an_address_of_another_vrf_or_name_is_not_doubled() -> None:
    world = zoned()
    world.do(u.CreateVrf(name="lab"))
    world.do(u.CreateZone(name=ZONE, vrf="lab"))
    (lab,) = (z.id for z in world.state.zones.values() if z.name == ZONE and z.vrf == world.state.find("vrf", "lab"))
    world.claim(hostname="vm", address="10.0.0.5")
    make(world, "vm", "A", "10.0.0.5", zone=lab)
    assert not last(world).doubles
    with pytest.raises(InvalidValue, match="several"):
        make(world, "vm", "A", "10.0.0.5")


def test_an_alias_and_an_allocation_are_never_at_one_name() -> None:
    world = zoned()
    held = world.claim(hostname="vm")
    found = refusal(world, "vm", "CNAME", "x")
    assert found.facts == {"address": held.addresses[0].ip, "pointer": "/type"}
    alias = make(world, "web", "CNAME", "vm")
    with pytest.raises(Conflict) as caught:
        world.claim(hostname="web")
    assert (caught.value.facts["record"], caught.value.facts["pointer"]) == (alias.id, "/hostname")
    with pytest.raises(Conflict):
        world.do(u.RenameAddress(vrf="default", ip=held.addresses[0].ip, hostname="web"))


def test_an_alias_at_a_pointers_name_bars_only_named_addresses() -> None:
    world = zoned()
    make(world, "5", "CNAME", "5.0/28", zone=REVERSE)
    with pytest.raises(Conflict):
        world.claim(hostname="vm", address="10.0.0.5")
    world.claim(address="10.0.0.5")
    named = world.claim(hostname="vm", address="10.0.0.6")
    found = refusal(world, "6", "CNAME", "6.0/28", zone=REVERSE)
    assert found.facts["address"] == "10.0.0.6"
    world.release(named)
    make(world, "6", "CNAME", "6.0/28", zone=REVERSE)


def test_a_ttl_of_its_own_and_an_allocation_are_never_at_one_name() -> None:
    world = zoned()
    world.claim(hostname="vm", address="10.0.0.5")
    found = refusal(world, "vm", "A", "10.0.0.6", 60)
    assert found.facts == {"address": "10.0.0.5", "pointer": "/ttl"}
    make(world, "vm", "TXT", "x", 60)
    beside = make(world, "vm", "A", "10.0.0.6")
    with pytest.raises(Conflict):
        world.do(u.ChangeRecord(record=beside.id, changes={"ttl": 60}))
    assert refusal(world, "5", "PTR", "x.example.", 60, zone=REVERSE).facts["pointer"] == "/ttl"
    make(world, "db", "A", "10.0.0.7", 60)
    with pytest.raises(Conflict, match="TTL"):
        world.claim(hostname="db")
    make(world, "9", "PTR", "x.example.", 60, zone=REVERSE)
    with pytest.raises(Conflict, match="TTL"):
        world.claim(hostname="nine", address="10.0.0.9")


def test_this_servers_own_name_is_nobodys() -> None:
    world = zoned()
    with pytest.raises(Conflict, match="own name"):
        world.claim(hostname="ns")
    assert refusal(world, "ns", "CNAME", "x").facts["name"] == "ns.prod.example."
    make(world, "ns", "A", "192.0.2.53")
    world.do(u.ChangeZone(zone=ZONE, changes={"name_servers": ["ns.example.net."]}))
    world.claim(hostname="ns")


@pytest.mark.parametrize(
    ("zone", "owner"),
    [
        (REVERSE, "300"), (REVERSE, "05"), (REVERSE, "@"), (REVERSE, "5.0/25"), (REVERSE, "mail"), (REVERSE, "*.300"),
        (REVERSE, "b._dns-sd._udp.mail"),
        ("64-26.2.0.192.in-addr.arpa.", "63"), ("64-26.2.0.192.in-addr.arpa.", "128"),
        ("64-26.2.0.192.in-addr.arpa.", "5.70"), ("10.in-addr.arpa.", "5.0"),
    ],
)  # fmt: skip
def test_a_pointer_is_at_an_address_of_its_zone(zone: str, owner: str) -> None:
    world = zoned("192.0.2.0/24")
    for name in ("64-26.2.0.192.in-addr.arpa.", "10.in-addr.arpa."):
        world.do(u.CreateZone(name=name))
    refused = refusal(world, owner, "PTR", "x.example.", zone=zone)
    like = {REVERSE: "5.0.0.10.in-addr.arpa.", "10.in-addr.arpa.": "5.0.0.10.in-addr.arpa."}
    assert isinstance(refused, InvalidValue) and refused.facts["pointer"] == "/name"
    assert like.get(zone, f"64.{zone}") in str(refused)


@pytest.mark.parametrize(
    ("owner", "type_"),
    [("7", "PTR"), ("*", "PTR"), ("b._dns-sd._udp", "PTR"), ("0/25", "NS"), ("5", "CNAME"), ("mail", "TXT")],
)
def test_other_owners_in_reverse_zones_are_free(owner: str, type_: str) -> None:
    make(zoned(), owner, type_, "x.example.", zone=REVERSE)
