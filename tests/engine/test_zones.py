"""Zones as people make, change and delete them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.engine.zones import find_zone
from tenure.errors import Conflict, InUse, InvalidValue, NotFound, StaleRevision
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.dnsdata import CATALOG, Zone
from tests.engine.world import World, site


def zone(world: World, name: str, vrf: str = "default", **fields: Any) -> Zone:
    made = world.do(u.CreateZone(name=name, vrf=vrf, fields=fields)).zone
    assert isinstance(made, Zone)
    return made


def test_a_zone_is_made_found_changed_and_deleted() -> None:
    world = site()
    made = zone(world, "Example.ORG", ttl=60, name_template="IP-{ip-dashed}", name_servers=["NS.Example.net"])
    assert (made.name, made.ttl, made.kept, made.revision) == ("example.org.", 60, True, 1)
    assert (made.name_template, made.name_servers) == ("ip-{ip-dashed}", ("ns.example.net.",))
    assert {find_zone(world.state, name).id for name in (made.id, "example.org", "EXAMPLE.org.")} == {made.id}
    changed = world.do(u.ChangeZone(zone="example.org", changes={"ttl": 5, "name_template": None}), if_match=1).zone
    assert (changed.ttl, changed.name_template, changed.revision) == (5, None, 2)
    assert isinstance(world.events[-1], e.ZoneReshaped)
    assert world.plan(u.ChangeZone(zone=made.id, changes={"ttl": 5, "name_servers": ["ns.example.net"]})).events == []
    with pytest.raises(StaleRevision):
        world.do(u.DeleteZone(zone=made.id), if_match=1)
    world.do(u.DeleteZone(zone=made.id))
    assert not world.state.zones
    with pytest.raises(NotFound):
        world.do(u.DeleteZone(zone="example.org"))


@pytest.mark.parametrize(
    ("name", "fields", "pointer"),
    [
        ("", {}, "/name"),
        (".", {}, "/name"),
        ("a..b", {}, "/name"),
        ("*.example", {}, "/name"),
        ("a b", {}, "/name"),
        ("a" * 64, {}, "/name"),
        (".".join(["a" * 60] * 4), {}, "/name"),
        (CATALOG, {}, "/name"),
        ("256.in-addr.arpa", {}, "/name"),
        ("05.10.in-addr.arpa", {}, "/name"),
        ("1.2.0.192.in-addr.arpa", {}, "/name"),
        ("65-26.2.0.192.in-addr.arpa", {}, "/name"),
        ("0/26.2.0.192.in-addr.arpa", {}, "/name"),
        ("xy.ip6.arpa", {}, "/name"),
        (".".join("0" * 32) + ".ip6.arpa", {}, "/name"),
        ("x.example", {"ttl": -1}, "/ttl"),
        ("x.example", {"ttl": 2**31}, "/ttl"),
        ("x.example", {"negative_ttl": -1}, "/negative_ttl"),
        ("x.example", {"ttl": "5"}, "/ttl"),
        ("x.example", {"serial": 0}, "/serial"),
        ("x.example", {"kept": False}, "/kept"),
        ("x.example", {"name_template": "ip"}, "/name_template"),
        ("x.example", {"name_template": "{mac}"}, "/name_template"),
        ("10.in-addr.arpa", {"name_template": "ip-{ip-hex}"}, "/name_template"),
        ("x.example", {"name_servers": ["a_b.example."]}, "/name_servers/0"),
        ("x.example", {"name_servers": ["ns.example.", "NS.example"]}, "/name_servers/1"),
        ("x.example", {"name_servers": [f"ns{n}.example." for n in range(17)]}, "/name_servers"),
        ("x.example", {"name_servers": "ns.example."}, "/name_servers"),
    ],
)
def test_what_cannot_be_a_zone_is_refused(name: str, fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        site().do(u.CreateZone(name=name, fields=fields))
    assert caught.value.facts["pointer"] == pointer


@pytest.mark.parametrize(
    "name",
    ["_msdcs.example", "home.arpa", "bücher.example", "in-addr.arpa", "10.in-addr.arpa", "64-26.2.0.192.in-addr.arpa",
     "8.b.d.0.1.0.0.2.ip6.arpa"],
)  # fmt: skip
def test_zones_that_may_be(name: str) -> None:
    assert zone(site(), name).name.endswith(".")


@given(name=st.text(max_size=40))
def test_any_text_is_a_zone_or_refused(name: str) -> None:
    world = site()
    try:
        made = zone(world, name)
    except InvalidValue:
        assert not world.state.zones
    else:
        assert find_zone(world.state, made.name) == made


def test_two_vrfs_may_have_a_zone_of_one_name() -> None:
    world = site()
    world.do(u.CreateVrf(name="lab"))
    first, second = zone(world, "example."), zone(world, "example.", "lab")
    with pytest.raises(Conflict) as caught:
        zone(world, "example.", "lab")
    assert (caught.value.facts["id"], caught.value.facts["pointer"]) == (second.id, "/name")
    with pytest.raises(InvalidValue) as several:
        world.do(u.DeleteZone(zone="example."))
    assert several.value.facts["allowed"] == [first.id, second.id]
    world.do(u.DeleteZone(zone=second.id))
    world.do(u.DeleteZone(zone="example."))
    with pytest.raises(NotFound) as missing:
        zone(world, "example.", "none")
    assert missing.value.facts["pointer"] == "/vrf"


def test_a_zone_with_records_is_in_use() -> None:
    world = site()
    made = zone(world, "example.")
    world.do(u.CreateRecord(zone=made.id, name="www", type="A", data="192.0.2.1"))
    with pytest.raises(InUse) as caught:
        world.do(u.DeleteZone(zone=made.id))
    assert caught.value.facts == {"holders": ["www.example. A"], "count": 1}


def test_a_zone_that_a_network_needs_stays_with_it() -> None:
    world = site("10.0.0.0/24", domain="prod.example.")
    made, reverse = zone(world, "prod.example."), zone(world, "0.0.10.in-addr.arpa.")
    for each, holder in ((made, "network prod"), (reverse, "subnet 10.0.0.0/24")):
        world.do(u.DeleteZone(zone=each.id))
        assert not world.state.zones[each.id].kept, "the person's part in it is gone"
        with pytest.raises(InUse) as caught:
            world.do(u.DeleteZone(zone=each.id))
        assert caught.value.facts["holders"] == [holder]
        world.do(u.ChangeZone(zone=each.id, changes={"kept": True}))
        world.do(u.ChangeZone(zone=each.id, changes={"kept": False}))


def test_a_zone_that_nothing_else_needs_is_deleted_not_let_go() -> None:
    world = site()
    made = zone(world, "example.")
    with pytest.raises(Conflict) as caught:
        world.do(u.ChangeZone(zone=made.id, changes={"kept": False}))
    assert caught.value.facts["pointer"] == "/kept"


@pytest.mark.parametrize("field", ["vrf", "name", "serial", "floor", "id", "colour"])
def test_what_is_fixed_stays(field: str) -> None:
    world = site()
    made = zone(world, "example.")
    with pytest.raises(InvalidValue) as caught:
        world.do(u.ChangeZone(zone=made.id, changes={field: "x"}))
    assert caught.value.facts["pointer"] == f"/{field}"


def test_a_dry_run_makes_no_zone() -> None:
    world = site()
    world.plan(u.CreateZone(name="example."), dry_run=True)
    assert not world.state.zones
