"""Which zones prefixes bring, and which zones a change of the inventory makes new as a whole."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest

from tenure.engine.plan import Draft
from tenure.engine.prefixes import Prefixes
from tenure.engine.state import State
from tenure.errors import Conflict, InUse, InvalidValue
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.dnsdata import Zone
from tenure.model.holding import ClaimRequest
from tests.service.zoning_oracle import ZonedWorld, cuts, wanted

OCTET = "2.0.192.in-addr.arpa."
FORWARD = "prod.example."


@pytest.fixture
def world() -> ZonedWorld:
    """A vrf with a network that has a domain."""
    found = ZonedWorld()
    found.do(u.CreateVrf(name="default"))
    found.do(u.CreateLocation(name="h1", kind="host"))
    found.do(u.CreateNetwork(name="prod", fields={"domain": FORWARD, "cooldown": 0}))
    return found


def subnet(world: ZonedWorld, cidr: str, **fields: object) -> None:
    world.do(u.CreateSubnet(network="prod", cidr=cidr, fields=fields))


def whole(world: ZonedWorld, use: u.Use) -> list[tuple[str, str]]:
    """What became of which zones by a use."""
    kinds = {e.ZoneCreated: "came", e.ZoneReshaped: "reshaped", e.ZoneDeleted: "went"}
    events = world.plan(use).events
    return sorted((kinds[type(each)], each.zone.name) for each in events if type(each) in kinds)  # type: ignore[union-attr]


def record(zone: str, name: str, data: str = "192.0.2.9", type: str = "A") -> u.CreateRecord:
    return u.CreateRecord(zone=zone, name=name, type=type, data=data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cidr", "count", "one"),
    [
        ("10.0.0.0/8", 1, "10.in-addr.arpa."),
        ("10.128.0.0/9", 128, "255.10.in-addr.arpa."),
        ("10.7.0.0/16", 1, "7.10.in-addr.arpa."),
        ("10.7.4.0/22", 4, "7.7.10.in-addr.arpa."),
        ("10.7.4.0/23", 2, "5.7.10.in-addr.arpa."),
        ("192.0.2.0/24", 1, OCTET),
        ("192.0.2.128/25", 1, f"128-25.{OCTET}"),
        ("192.0.2.64/26", 1, f"64-26.{OCTET}"),
        ("192.0.2.8/29", 1, f"8-29.{OCTET}"),
        ("192.0.2.4/30", 1, f"4-30.{OCTET}"),
        ("192.0.2.254/31", 1, f"254-31.{OCTET}"),
        ("192.0.2.0/32", 1, f"0-32.{OCTET}"),
        ("2001:db8::/32", 1, "8.b.d.0.1.0.0.2.ip6.arpa."),
        ("2001:db8::/48", 1, "0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
        ("2001:db8::/56", 1, "0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
        ("2001:db8::/62", 4, "3.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
        ("2001:db8::/64", 1, "0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
        ("fdff:5c53:1fd::1:0/112", 1, "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.1.0.3.5.c.5.f.f.d.f.ip6.arpa."),
        ("2001:db8::4/126", 1, "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa."),
        ("2001:db8::2/127", 1, "0." * 23 + "8.b.d.0.1.0.0.2.ip6.arpa."),
    ],
)
def test_the_zones_of_a_prefix_come_and_go_with_it(world: ZonedWorld, cidr: str, count: int, one: str) -> None:
    """dns.md's figures; phpipam 666 (/23) and 1113 (the nibbles of a /112)."""
    subnet(world, cidr)
    zones = world.zones() - {FORWARD}
    assert one in zones
    assert len(zones) == count
    if not one.partition(".")[0].count("-"):
        assert zones == cuts(ip_network(cidr))
    assert world.zones() == wanted(world.state, next(iter(world.state.vrfs)))
    world.do(u.DeleteSubnet(subnet=cidr))
    assert world.zones() == {FORWARD}


def test_no_zone_is_declared_twice_when_a_subnet_is_added(world: ZonedWorld) -> None:
    """MAAS LP 2041276; three /27 of an octet, touched one by one (phpipam 418)."""
    for at in (0, 32, 64):
        subnet(world, f"192.0.2.{at}/27", reverse="plain")
        assert world.zones() == {FORWARD, OCTET}
    for at in (32, 0):
        assert whole(world, u.DeleteSubnet(subnet=f"192.0.2.{at}/27")) == []
    assert whole(world, u.DeleteSubnet(subnet="192.0.2.64/27")) == [("went", OCTET)]


def test_turning_a_zone_into_rfc_2317_leaves_no_old_records(world: ZonedWorld) -> None:
    """netbox-plugin-dns 795: the zone that loses the pointers and the one that gains them are both taken whole."""
    subnet(world, "192.0.2.0/26", reverse="plain")
    subnet(world, "192.0.2.64/26", reverse="plain")
    child = f"64-26.{OCTET}"
    turned = u.ChangeSubnet(subnet="192.0.2.64/26", changes={"reverse": "rfc2317"})
    assert whole(world, turned) == [("came", child), ("reshaped", OCTET)]
    back = u.ChangeSubnet(subnet="192.0.2.64/26", changes={"reverse": "plain"})
    assert whole(world, back) == [("reshaped", OCTET), ("went", child)]
    off = u.ChangeSubnet(subnet="192.0.2.64/26", changes={"reverse": "off"})
    assert whole(world, off) == [("reshaped", OCTET)]


def test_auto_follows_whoever_serves_the_octet(world: ZonedWorld) -> None:
    child = f"64-26.{OCTET}"
    subnet(world, "192.0.2.64/26")
    assert world.zones() == {FORWARD, child}
    assert whole(world, u.CreateZone(name=OCTET)) == [("came", OCTET), ("went", child)]
    assert whole(world, u.DeleteZone(zone=OCTET)) == [("came", child), ("went", OCTET)]
    wide = u.CreateSubnet(network="prod", cidr="192.0.2.0/23")
    assert whole(world, wide) == [("came", OCTET), ("came", "3.0.192.in-addr.arpa."), ("went", child)]
    off = u.ChangeSubnet(subnet="192.0.2.0/23", changes={"reverse": "off"})
    assert whole(world, off) == [("came", child), ("went", OCTET), ("went", "3.0.192.in-addr.arpa.")]


def test_a_longer_subnet_in_a_short_one_has_no_zone_of_its_own_unless_it_says_so(world: ZonedWorld) -> None:
    subnet(world, "10.16.0.0/16")
    for mode in ("auto", "plain"):
        assert whole(world, u.CreateSubnet(network="prod", cidr="10.16.5.0/25", fields={"reverse": mode})) == []
        assert whole(world, u.DeleteSubnet(subnet="10.16.5.0/25")) == []
    made = u.CreateSubnet(network="prod", cidr="10.16.5.0/25", fields={"reverse": "rfc2317"})
    assert whole(world, made) == [("came", "0-25.5.16.10.in-addr.arpa."), ("reshaped", "16.10.in-addr.arpa.")]


def test_a_classless_zone_in_another_takes_the_pointers_from_it(world: ZonedWorld) -> None:
    world.do(u.CreateZone(name=OCTET))
    subnet(world, "192.0.2.0/25", reverse="rfc2317")
    made = u.CreateSubnet(network="prod", cidr="192.0.2.0/26", fields={"reverse": "rfc2317"})
    assert whole(world, made) == [
        ("came", f"0-26.{OCTET}"),
        ("reshaped", f"0-25.{OCTET}"),
        ("reshaped", OCTET),
    ]


@pytest.mark.parametrize("cidr", ["192.0.2.0/24", "10.0.0.0/8", "2001:db8::/64", "2001:db8::/126"])
def test_rfc_2317_is_for_ipv4_longer_than_24(world: ZonedWorld, cidr: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        subnet(world, cidr, reverse="rfc2317")
    assert refused.value.facts["pointer"] == "/reverse"
    subnet(world, cidr)
    with pytest.raises(InvalidValue):
        world.do(u.ChangeSubnet(subnet=cidr, changes={"reverse": "rfc2317"}))


def test_a_classless_subnet_is_not_resized_into_an_octet(world: ZonedWorld) -> None:
    subnet(world, "192.0.2.0/25", reverse="rfc2317")
    with pytest.raises(InvalidValue):
        world.do(u.ChangeSubnet(subnet="192.0.2.0/25", changes={"cidr": "192.0.2.0/24"}))
    resized = u.ChangeSubnet(subnet="192.0.2.0/25", changes={"cidr": "192.0.2.0/24", "reverse": "auto"})
    assert whole(world, resized) == [("came", OCTET), ("went", f"0-25.{OCTET}")]


def test_people_keep_zones_and_what_is_in_them(world: ZonedWorld) -> None:
    subnet(world, "192.0.2.0/24")
    world.do(u.ChangeZone(zone=OCTET, changes={"kept": True}))
    assert whole(world, u.DeleteSubnet(subnet="192.0.2.0/24")) == []
    subnet(world, "192.0.2.0/24")
    world.do(u.DeleteZone(zone=OCTET))
    assert OCTET in world.zones()
    made = world.do(record(FORWARD, "www")).record
    world.do(u.DeleteSubnet(subnet="192.0.2.0/24"))
    world.do(u.DeleteNetwork(network="prod"))
    assert world.zones() == {FORWARD}
    assert whole(world, u.DeleteRecord(record=made.id)) == [("went", FORWARD)]


def test_a_subnet_whose_zone_has_records_goes_once_it_is_said_where_pointers_are(world: ZonedWorld) -> None:
    subnet(world, "192.0.2.0/24")
    subnet(world, "192.0.2.64/26")
    world.do(record(OCTET, "70", "x.example.", "PTR"))
    gone = u.DeleteSubnet(subnet="192.0.2.0/24")
    with pytest.raises(Conflict, match=r"delete that first, or set `reverse` of subnet 192.0.2.64/26 to `plain`") as it:
        world.do(gone)
    assert (it.value.facts["holders"], it.value.facts["pointer"]) == ([f"70.{OCTET}"], "")
    world.do(u.ChangeSubnet(subnet="192.0.2.64/26", changes={"reverse": "plain"}))
    assert whole(world, gone) == []
    assert world.zones() == {FORWARD, OCTET}


@pytest.mark.parametrize(
    "private", ["10.1.2", "172.16.2", "172.31.2", "192.168.2", "100.64.2", "100.127.2", "169.254.2"]
)
def test_private_addresses_are_in_the_octets_zone_unless_they_are_said_not_to_be(
    world: ZonedWorld, private: str
) -> None:
    octet = f"{'.'.join(private.split('.')[::-1])}.in-addr.arpa."
    subnet(world, f"{private}.64/26")
    assert world.zones() == {FORWARD, octet}
    with pytest.raises(InUse):
        world.do(u.DeleteZone(zone=octet))
    world.do(u.ChangeSubnet(subnet=f"{private}.64/26", changes={"reverse": "rfc2317"}))
    assert world.zones() == {FORWARD, f"64-26.{octet}"}


@pytest.mark.parametrize(
    "public", ["11.0.0", "172.15.2", "172.32.2", "192.169.0", "100.63.2", "100.128.0", "169.253.2"]
)
def test_other_addresses_have_a_zone_that_the_one_above_can_point_into(world: ZonedWorld, public: str) -> None:
    subnet(world, f"{public}.64/26")
    assert world.zones() == {FORWARD, f"64-26.{'.'.join(public.split('.')[::-1])}.in-addr.arpa."}


def test_a_zone_that_would_hide_records_is_refused(world: ZonedWorld) -> None:
    world.do(u.CreateZone(name="example."))
    world.do(record("example.", "a.lab"))
    with pytest.raises(Conflict) as refused:
        world.do(u.CreateNetwork(name="lab", fields={"domain": "lab.example."}))
    assert refused.value.facts["pointer"] == "/domain"
    assert "a.lab.example." in refused.value.facts["holders"]


def test_the_catalog_comes_with_the_first_secondary_and_goes_with_the_last(world: ZonedWorld) -> None:
    catalog = "catalog.tenure.invalid."
    first, second = (u.CreateSecondary(name=f"s{n}", fields={"address": f"198.51.100.{n}"}) for n in (1, 2))
    assert whole(world, first) == [("came", catalog)]
    assert whole(world, second) == []
    assert whole(world, u.DeleteSecondary(secondary="s1")) == []
    assert whole(world, u.DeleteSecondary(secondary="s2")) == [("went", catalog)]


def test_a_zone_is_delegated_by_the_one_around_it(world: ZonedWorld) -> None:
    assert whole(world, u.CreateZone(name="example.")) == [("came", "example.")]
    made = u.CreateNetwork(name="lab", fields={"domain": f"lab.{FORWARD}"})
    assert whole(world, made) == [("came", f"lab.{FORWARD}"), ("reshaped", FORWARD)]
    servers = u.ChangeZone(zone=FORWARD, changes={"name_servers": ["ns.else.test."]})
    assert whole(world, servers) == [("reshaped", "example."), ("reshaped", FORWARD)]
    assert whole(world, u.ChangeZone(zone=FORWARD, changes={"negative_ttl": 5})) == [("reshaped", FORWARD)]
    ttl = u.ChangeNetwork(network="prod", changes={"ttl": 77})
    assert whole(world, ttl) == [("reshaped", "example."), ("reshaped", FORWARD)]
    found = world.state.zone_named(next(iter(world.state.vrfs)), FORWARD)
    assert found is not None
    assert (found.ttl, found.negative_ttl) == (77, 5)
    of_vrf = u.ChangeVrf(vrf="default", changes={"name_servers": ["ns.else.test."]})
    assert whole(world, of_vrf) == [("reshaped", "example."), ("reshaped", f"lab.{FORWARD}"), ("reshaped", FORWARD)]


def test_an_address_of_a_server_is_glue_in_the_zone_around(world: ZonedWorld) -> None:
    world.do(u.CreateZone(name="example."))
    made = world.do(record(FORWARD, "ns1")).record
    world.do(u.ChangeZone(zone=FORWARD, changes={"name_servers": [f"ns1.{FORWARD}"]}))
    assert whole(world, u.ChangeRecord(record=made.id, changes={"ttl": 60})) == [("reshaped", "example.")]
    assert whole(world, record(FORWARD, "ns1", "2001:db8::1", "AAAA")) == [("reshaped", "example.")]
    assert whole(world, record(FORWARD, "ns2")) == []


def test_templates_reshape_the_zones_that_they_fill(world: ZonedWorld) -> None:
    pointers = ["4.7.10.in-addr.arpa.", "5.7.10.in-addr.arpa."]
    subnet(world, "10.7.4.0/23")
    subnet(world, "10.8.0.0/24", name_template="s-{ip-hex}")
    filled = [("reshaped", name) for name in (*pointers, FORWARD)]
    assert whole(world, u.ChangeZone(zone=FORWARD, changes={"name_template": "ip-{ip-dashed}"})) == filled
    assert whole(world, u.ChangeNetwork(network="prod", changes={"name_template": "n-{ip-dashed}"})) == filled
    assert whole(world, u.ChangeZone(zone=FORWARD, changes={"name_template": None})) == [("reshaped", FORWARD)]
    own = u.ChangeSubnet(subnet="10.7.4.0/23", changes={"name_template": "s-{ip-dashed}"})
    assert whole(world, own) == filled
    made = world.plan(u.CreateRange(subnet="10.7.4.0/23", start="10.7.5.10", end="10.7.5.20", role="reserved"))
    assert [each.zone.name for each in made.events if isinstance(each, e.ZoneReshaped)] == [FORWARD, pointers[1]]
    id_ = made.answer.range.id  # type: ignore[union-attr]
    assert whole(world, u.ChangeRange(range=id_, changes={"note": "x"})) == []
    wider = u.ChangeRange(range=id_, changes={"start": "10.7.4.255"})
    assert whole(world, wider) == filled
    dynamic = u.CreateRange(subnet="10.7.4.0/23", start="10.7.4.10", end="10.7.4.20", role="dynamic")
    assert whole(world, dynamic) == []
    nested = u.CreateSubnet(network="prod", cidr="10.7.4.32/28", fields={"reverse": "off"})
    assert whole(world, nested) == [("reshaped", pointers[0]), ("reshaped", FORWARD)]
    assert whole(world, u.DeleteSubnet(subnet="10.7.4.32/28")) == [("reshaped", pointers[0]), ("reshaped", FORWARD)]


def test_a_record_on_a_computed_name_reshapes_its_zone(world: ZonedWorld) -> None:
    subnet(world, "10.7.4.0/24", name_template="ip-{ip-dashed}")
    first = world.plan(record(FORWARD, "ip-10-7-4-9", "x", "TXT"))
    assert [each.zone.name for each in first.events if isinstance(each, e.ZoneReshaped)] == [FORWARD]
    assert whole(world, record(FORWARD, "ip-10-7-4-9", "y", "TXT")) == []
    assert whole(world, record(FORWARD, "ip-10-7-5-9", "y", "TXT")) == []
    octet = "4.7.10.in-addr.arpa."
    made = world.do(record(octet, "9", "x.test.", "PTR")).record
    assert whole(world, u.DeleteRecord(record=made.id)) == [("reshaped", octet)]


@pytest.mark.parametrize(
    "text",
    ["", "ip", "{ip}", "ip-{ip-dashed}-{ip-hex}", "_{ip-hex}", "ü-{ip-dashed}", "x" * 40 + "{ip-dashed}", "{ip-hex}."],
)
def test_templates_that_call_nothing(world: ZonedWorld, text: str) -> None:
    subnet(world, "10.7.4.0/24")
    for use in (
        u.ChangeNetwork(network="prod", changes={"name_template": text}),
        u.ChangeSubnet(subnet="10.7.4.0/24", changes={"name_template": text}),
        u.ChangeZone(zone=FORWARD, changes={"name_template": text}),
    ):
        with pytest.raises(InvalidValue) as refused:
            world.do(use)
        assert refused.value.facts["pointer"] == "/name_template"


def test_a_template_that_is_too_long_in_its_domain_is_refused(world: ZonedWorld) -> None:
    long = ".".join(["x" * 60] * 3) + f".{FORWARD}"
    world.do(u.CreateNetwork(name="long", fields={"domain": long}))
    world.do(u.CreateSubnet(network="long", cidr="10.9.0.0/24"))
    template = "y" * 20 + "-{ip-dashed}"
    for use in (
        u.ChangeNetwork(network="long", changes={"name_template": template}),
        u.ChangeSubnet(subnet="10.9.0.0/24", changes={"name_template": template}),
        u.ChangeZone(zone=long, changes={"name_template": template}),
    ):
        with pytest.raises(InvalidValue) as refused:
            world.do(use)
        assert refused.value.facts["pointer"] == "/name_template"
    world.do(u.ChangeNetwork(network="prod", changes={"name_template": template}))


@pytest.mark.parametrize(
    "servers",
    [["ns..test."], ["_ns.test."], ["ns.test.", "NS.test"], ["ns-.test."], [f"n{n}.test." for n in range(17)]],
)
def test_servers_that_cannot_be(world: ZonedWorld, servers: list[str]) -> None:
    with pytest.raises(InvalidValue):
        world.do(u.ChangeVrf(vrf="default", changes={"name_servers": servers}))
    with pytest.raises(InvalidValue):
        world.do(u.CreateVrf(name="more", name_servers=tuple(servers)))


def test_a_vrf_with_a_zone_that_a_person_made_is_not_closed(world: ZonedWorld) -> None:
    world.do(u.CreateVrf(name="more"))
    world.do(u.CreateZone(name="example.", vrf="more"))
    with pytest.raises(InUse):
        world.do(u.DeleteVrf(vrf="more"))
    world.do(u.DeleteZone(zone="example."))
    world.do(u.DeleteVrf(vrf="more"))


def test_claims_and_leases_reshape_nothing(world: ZonedWorld) -> None:
    subnet(world, "10.7.4.0/24", name_template="ip-{ip-dashed}")
    for hostname in (None, "vm-1"):
        request = ClaimRequest(network="prod", hostname=hostname, host="h1")
        made = world.plan(u.ClaimAddresses(request=request, handle=f"h-{hostname}"))
        gone = world.plan(u.ReleaseClaim(claim=made.answer.claim.id))  # type: ignore[union-attr]
        assert not any("Zone" in type(each).__name__ for each in (*made.events, *gone.events))


class Counted(ZonedWorld):
    """Counts the subnets and zones that are looked at for zones."""

    def __init__(self) -> None:
        super().__init__()
        self.looked: int | None = None

    def follow(self, draft: Draft) -> None:
        self.looked = 0
        super().follow(draft)
        self.figures, self.looked = self.looked, None

    def look(self) -> None:
        if self.looked is not None:
            self.looked += 1


def test_a_named_address_rests_as_long_as_its_zone_says_it_may_be_remembered(world: ZonedWorld) -> None:
    subnet(world, "10.7.4.0/24")
    world.do(u.ChangeZone(zone=FORWARD, changes={"ttl": 7200}))
    held = world.claim(hostname="vm-1", host="h1")
    (gone,) = [
        each for each in world.plan(u.ReleaseClaim(claim=held.claim.id)).events if isinstance(each, e.AddressReleased)
    ]
    assert gone.allocation.cooling_until == world.now + timedelta(seconds=7200)


class Zones(dict[str, Zone]):
    """Tells of each zone that is walked over."""

    def __init__(self, zones: dict[str, Zone], look: Callable[[], None]) -> None:
        super().__init__(zones)
        self._look = look

    def values(self) -> Any:
        for zone in super().values():
            self._look()
            yield zone


def test_a_subnet_costs_a_look_at_those_that_cross_it_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zones and subnets looked at for one more subnet are as few among many as among few."""
    world = Counted()
    world.do(u.CreateVrf(name="default"))
    world.do(u.CreateNetwork(name="prod", fields={"domain": FORWARD}))
    subnet(world, "10.0.0.0/8", name_template="ip-{ip-dashed}")
    crossing, zone_named = Prefixes.crossing, State.zone_named

    def crossed(self: Prefixes, *where: Any) -> Iterator[str]:
        for found in crossing(self, *where):
            world.look()
            yield found

    def named(self: State, vrf: str, name: str) -> Zone | None:
        world.look()
        return zone_named(self, vrf, name)

    monkeypatch.setattr(Prefixes, "crossing", crossed)
    monkeypatch.setattr(State, "zone_named", named)
    monkeypatch.setattr(world.state, "zones", Zones(world.state.zones, world.look))
    figures = []
    for at in range(160):
        subnet(world, f"10.{at // 80 + 1}.{at % 80}.0/{(24, 26)[at % 2]}", reverse=("auto", "rfc2317")[at % 2])
        figures.append(world.figures)
    assert max(figures[-20:]) <= max(figures[:20]) < 60


def test_a_network_that_joins_a_zone_leaves_it_its_times_unless_it_says_others(world: ZonedWorld) -> None:
    def times() -> tuple[int, int]:
        zone = world.state.zone_named(next(iter(world.state.vrfs)), FORWARD)
        assert zone is not None
        return zone.ttl, zone.negative_ttl

    world.do(u.ChangeZone(zone=FORWARD, changes={"ttl": 3600, "negative_ttl": 30}))
    assert whole(world, u.CreateNetwork(name="a", fields={"domain": FORWARD})) == []
    assert times() == (3600, 30)
    said = u.CreateNetwork(name="b", fields={"domain": FORWARD, "ttl": 300})
    assert whole(world, said) == [("reshaped", FORWARD)]
    assert times() == (300, 30), "300 was said, the negative one was not"
    world.do(u.CreateNetwork(name="c", fields={"ttl": 77, "negative_ttl": 7}))
    world.do(u.ChangeNetwork(network="c", changes={"domain": FORWARD}))
    assert times() == (300, 30)
    assert whole(world, u.ChangeNetwork(network="c", changes={"name": "d", "ttl": 77})) == [("reshaped", FORWARD)]
    assert times() == (77, 30), "said again, it counts though the network had it already"
    assert whole(world, u.ChangeNetwork(network="a", changes={"ttl": 77})) == []
    together = u.Together(uses=(u.ChangeNetwork(network="b", changes={"negative_ttl": 9, "cooldown": 1}),))
    assert whole(world, together) == [("reshaped", FORWARD)]
    assert times() == (77, 9)
