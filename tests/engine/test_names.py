"""Who may be called what: two holders, templates, records, leases, and how a name may be written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.engine.names import computed_for, template_of
from tenure.errors import Conflict, InvalidValue
from tenure.model import uses as u
from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.naming.templates import parse_template, readings
from tenure.net.addresses import number_of, text_of
from tests.engine.test_records import REVERSE, ZONE, make, zoned
from tests.engine.world import World, site

TEMPLATE = "ip-{ip-dashed}"


def names(world: World) -> dict[str, str | None]:
    return {a.ip: a.hostname for a in world.tables.open("allocations")}


def lease(world: World, mac: str, hostname: str) -> str | None:
    """What a client that calls itself so is called, once it has a dynamic address."""
    client = Client(mac=mac, hostname=hostname)
    place = Place(link=number_of("10.0.0.1"))
    offer = world.do(u.LeaseOffer(client=client, place=place)).lease
    world.do(u.LeaseCommit(client=client, place=place, address=offer.address, form="selecting"))
    return names(world)[text_of(4, offer.address)]


def dynamic(**network: Any) -> World:
    world = zoned("10.0.0.0/24", dhcp={"enabled": True}, **network)
    world.do(u.CreateRange(subnet="10.0.0.0/24", start="10.0.0.128", end="10.0.0.254", role="dynamic"))
    return world


# How a name may be written


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        ("vm-1", "vm-1"),
        ("VM-1", "vm-1"),
        ("vm-1.prod.example.", "vm-1"),
        ("a.b.Prod.Example.", "a.b"),
        ("bücher", "xn--bcher-kva"),
        ("Bücher.prod.example.", "xn--bcher-kva"),
    ],
)
def test_a_name_is_held_in_one_spelling(asked: str, held: str) -> None:
    world = zoned()
    first = world.claim(handle="a", hostname=asked)
    assert set(names(world).values()) == {held}
    assert first.addresses[0].name == f"{held}.{ZONE}"
    assert world.claim(handle="a", hostname=held).claim == first.claim, "asked for again in another spelling"
    other = world.ip()
    with pytest.raises(Conflict, match="belongs to"):
        world.do(u.RenameAddress(vrf="default", ip=other, hostname=asked))


@pytest.mark.parametrize("asked", ["vm.other.example.", "prod.example.", "vm.xprod.example.", "vm.example."])
def test_a_name_in_another_zone_is_refused(asked: str) -> None:
    """phpIPAM 3786, netbox 4776, netbox-dns 268: what is fully qualified is neither cut nor appended to in silence."""
    world = zoned()
    with pytest.raises(InvalidValue) as caught:
        world.claim(hostname=asked)
    assert (caught.value.facts["pointer"], caught.value.facts["domain"]) == ("/hostname", ZONE)
    ip = world.ip()
    with pytest.raises(InvalidValue):
        world.do(u.RenameAddress(vrf="default", ip=ip, hostname=asked))


def test_a_fully_qualified_name_needs_a_domain() -> None:
    world = site("10.0.0.0/24")
    with pytest.raises(InvalidValue, match="no domain"):
        world.claim(hostname="vm.prod.example.")


@pytest.mark.parametrize(
    "asked", ["", ".", "a_b", "-a", "a-", "a..b", "*", "10.0.0.1", "a" * 64, "xn--a", "a b", "a\0b"]
)
def test_what_is_no_host_name_is_refused(asked: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        zoned().claim(hostname=asked)
    assert caught.value.facts["pointer"] == "/hostname"


@given(asked=st.text(max_size=30))
def test_any_text_is_a_name_or_refused(asked: str) -> None:
    world = zoned("10.0.0.0/24")
    try:
        world.claim(hostname=asked)
    except InvalidValue:
        assert not names(world)
    else:
        assert all(name == name.lower() and name.isascii() for name in names(world).values() if name)


def test_a_name_in_a_zone_inside_is_not_this_networks() -> None:
    world = zoned()
    world.do(u.CreateZone(name="dev.prod.example"))
    with pytest.raises(Conflict, match="dev.prod.example"):
        world.claim(hostname="vm.dev")


# Two holders


def test_two_holders_of_one_name_are_refused_unless_it_is_shared() -> None:
    world = zoned("10.0.0.0/24")
    first = world.claim(hostname="web")
    with pytest.raises(Conflict, match="belongs to"):
        world.claim(hostname="web")
    world.do(u.ChangeNetwork(network="prod", changes={"shared_names": True}))
    second = world.claim(hostname="web")
    assert sorted(names(world).values(), key=str) == ["web", "web"]
    world.release(first)
    assert names(world) == {second.addresses[0].ip: "web"}


def test_who_shares_a_name_keeps_it_when_no_more_may_join() -> None:
    world = zoned("10.0.0.0/24", shared_names=True)
    one, two = (world.claim(hostname="web") for _ in range(2))
    first, second = (each.addresses[0].ip for each in (one, two))
    world.do(u.ChangeNetwork(network="prod", changes={"shared_names": False}))
    assert names(world) == {first: "web", second: "web"}
    with pytest.raises(Conflict, match="belongs to"):
        world.claim(hostname="web")
    world.do(u.CreateMachine(name="m", interfaces=(u.NewInterface(mac="52:54:00:00:00:0a", network="prod"),)))
    with pytest.raises(Conflict, match="belongs to"):
        world.do(u.AttachAddress(vrf="default", ip=first, interface="52:54:00:00:00:0a"))
    world.do(u.ReassignAddress(vrf="default", ip=first, address="10.0.0.77"))
    assert names(world) == {"10.0.0.77": "web", second: "web"}, "another address of its holder takes the name along"
    world.do(u.RenameAddress(vrf="default", ip=second, hostname="web-2"))
    with pytest.raises(Conflict, match="belongs to"):
        world.do(u.RenameAddress(vrf="default", ip=second, hostname="web"))
    world.release(one)
    world.do(u.RenameAddress(vrf="default", ip=second, hostname="web"))
    assert names(world) == {second: "web"}


def test_two_networks_of_one_domain_share_names_if_both_say_so() -> None:
    world = zoned("10.0.0.0/24", shared_names=True)
    world.do(u.CreateNetwork(name="more", fields={"domain": ZONE}))
    world.do(u.CreateSubnet(network="more", cidr="10.0.1.0/24"))
    world.claim(hostname="web")
    with pytest.raises(Conflict):
        world.claim("more", hostname="web")
    world.do(u.ChangeNetwork(network="more", changes={"shared_names": True}))
    world.claim("more", hostname="web")


def test_of_two_changes_of_one_name_the_last_holds_everywhere() -> None:
    """MAAS LP 2045228: two changes at once of one host's name left the old one in the zone."""
    world = zoned("10.0.0.0/24")
    ip = world.ip(hostname="a")
    both = (u.RenameAddress(vrf="default", ip=ip, hostname=name) for name in ("b", "c"))
    world.do(u.Together(uses=tuple(both)))
    assert names(world) == {ip: "c"}
    events: list[Any] = world.events[-2:]
    first, second = events
    assert (first.left.hostname, first.allocation.hostname) == ("a", "b")
    assert (second.left.hostname, second.allocation.hostname) == ("b", "c")
    world.claim(hostname="a")
    world.claim(hostname="b")


# Computed names


@pytest.mark.parametrize(
    "where",
    [{"name_template": TEMPLATE}, {"fields": {"name_template": TEMPLATE}}, {}],
    ids=["network", "subnet", "zone"],
)
def test_a_name_that_a_template_has_for_another_address_is_refused(where: dict[str, Any]) -> None:
    world = zoned("10.0.0.0/24", **where)
    if not where:
        world.do(u.ChangeZone(zone=ZONE, changes={"name_template": TEMPLATE}))
    for fields in ({"address": "10.0.0.6"}, {}, {"defer": True}):
        with pytest.raises(Conflict) as caught:
            world.claim(hostname="ip-10-0-0-5", **fields)
        assert (caught.value.facts["address"], caught.value.facts["pointer"]) == ("10.0.0.5", "/hostname")
    assert world.ip(hostname="ip-10-0-0-5", address="10.0.0.5") == "10.0.0.5"
    world.claim(hostname="ip-10-0-1-5")
    world.claim(hostname="xip-10-0-0-7")
    with pytest.raises(Conflict):
        world.do(u.RenameAddress(vrf="default", ip="10.0.0.5", hostname="ip-10-0-0-4"))


def test_the_widest_template_gives_way_to_the_narrowest() -> None:
    world = zoned("10.0.0.0/24", name_template="net-{ip-hex}", fields={"name_template": "{ip-dashed}.sub"})
    world.do(u.ChangeZone(zone=ZONE, changes={"name_template": "zone-{ip-hex}"}))
    world.claim(hostname="zone-0a000005")
    world.claim(hostname="net-0a000005")
    with pytest.raises(Conflict):
        world.claim(hostname="10-0-0-5.sub")


def test_a_nested_subnet_has_its_own_template() -> None:
    world = zoned("10.0.0.0/24", fields={"name_template": TEMPLATE})
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.64/26"))
    world.claim(hostname="ip-10-0-0-65")
    with pytest.raises(Conflict) as caught:
        world.do(u.ChangeSubnet(subnet="10.0.0.64/26", changes={"name_template": TEMPLATE}))
    assert caught.value.facts["pointer"] == "/name_template"
    with pytest.raises(Conflict):
        world.do(u.DeleteSubnet(subnet="10.0.0.64/26"))
    world.claim(hostname="ip-10-0-2-65")
    with pytest.raises(Conflict) as caught:
        world.do(u.CreateSubnet(network="prod", cidr="10.0.2.0/24", fields={"name_template": TEMPLATE}))
    assert (caught.value.facts["count"], caught.value.facts["pointer"]) == (1, "/cidr")


@pytest.mark.parametrize(
    "use",
    [
        u.ChangeZone(zone=ZONE, changes={"name_template": TEMPLATE}),
        u.ChangeNetwork(network="prod", changes={"name_template": TEMPLATE}),
        u.ChangeSubnet(subnet="10.0.0.0/24", changes={"name_template": TEMPLATE}),
    ],
)
def test_a_template_that_would_call_an_address_as_another_is_called_is_refused(use: u.Use) -> None:
    world = zoned("10.0.0.0/24")
    for at in range(5, 30):
        world.claim(hostname=f"ip-10-0-0-{at}", address=f"10.0.0.{at + 100}")
    world.claim(hostname="ip-10-0-0-9x")
    own = world.claim(hostname="ip-10-0-0-50", address="10.0.0.50")
    with pytest.raises(Conflict) as caught:
        world.do(use)
    assert caught.value.facts["count"] == 25 and len(caught.value.facts["holders"]) == 20
    for held in list(world.tables.open("claims")):
        if held.id != own.claim.id:
            world.do(u.ReleaseClaim(claim=held.id))
    world.do(use)


def test_what_a_batch_called_so_is_seen_when_a_template_comes() -> None:
    world = zoned("10.0.0.0/24")
    asked = ClaimRequest(network="prod", hostname="ip-10-0-0-5", address="10.0.0.9")
    template = u.ChangeZone(zone=ZONE, changes={"name_template": TEMPLATE})
    with pytest.raises(Conflict):
        world.do(u.Together(uses=(u.ClaimAddresses(request=asked, handle="a"), template)))


def test_an_address_that_replaces_another_is_not_called_as_that() -> None:
    world = zoned("10.0.0.0/24", name_template=TEMPLATE)
    world.claim(hostname="ip-10-0-0-5", address="10.0.0.5")
    world.claim(hostname="web", address="10.0.0.6")
    for old, new in (("10.0.0.5", "10.0.0.15"), ("10.0.0.6", "10.0.0.16")):
        world.do(u.ReassignAddress(vrf="default", ip=old, address=new))
    assert names(world) == {"10.0.0.15": None, "10.0.0.16": "web"}
    make(world, "26", "CNAME", "26.0/28", zone=REVERSE)
    with pytest.raises(Conflict):
        world.do(u.ReassignAddress(vrf="default", ip="10.0.0.16", address="10.0.0.26"))


def test_a_name_that_cannot_follow_any_more_is_dropped() -> None:
    world = dynamic()
    world.claim(mac="52:54:00:00:00:01", hostname="web", address="10.0.0.6")
    assert lease(world, "52:54:00:00:00:01", "web") == "web", "it is promised the address that it has"
    world.do(u.ReassignAddress(vrf="default", ip="10.0.0.6", address="10.0.0.16"))
    assert names(world) == {"10.0.0.6": "web", "10.0.0.16": None}, "the name waits for the client"
    make(world, "16", "CNAME", "16.0/28", zone=REVERSE)
    world.wait(3 * 86400)
    world.do(u.Lapse(limit=10))
    assert names(world) == {"10.0.0.16": None}


FORMS = st.sampled_from(
    ["ip-{ip-dashed}", "{ip-dashed}", "{ip-hex}", "a{ip-hex}f", "1-{ip-dashed}-2", "x.{ip-dashed}.y"]
)


@given(template=FORMS, number=st.integers(0, 2**32 - 1))
def test_every_computed_name_is_read_back(template: str, number: int) -> None:
    name = parse_template(template).name(4, number)
    assert (4, number) in set(readings(name))


@given(template=FORMS, number=st.integers(0, 2**128 - 1))
def test_every_computed_name_of_ipv6_is_read_back(template: str, number: int) -> None:
    name = parse_template(template).name(6, number)
    assert (6, number) in set(readings(name))


@given(template=FORMS, number=st.integers(0, 255), other=st.integers(0, 255))
def test_a_name_is_anothers_exactly_if_the_template_says_so(template: str, number: int, other: int) -> None:
    world = zoned("10.0.0.0/24", name_template=template)
    space = world.space("10.0.0.0/24")
    made = template_of(world.state, space.subnet)
    assert made is not None
    name = f"{made.name(4, space.first + number)}.{ZONE}"
    found = computed_for(world.state, space.subnet.vrf, name, text_of(4, space.first + other))
    assert found == (None if number == other else text_of(4, space.first + number))


# Leases


def test_what_a_client_calls_itself_is_dropped_where_it_cannot_be() -> None:
    world = dynamic(name_template=TEMPLATE)
    make(world, "alias", "CNAME", "x")
    make(world, "own", "A", "192.0.2.1", 60)
    make(world, "sub", "NS", "ns.example.net.")
    world.claim(hostname="held")
    for at, name in enumerate(
        ("alias", "own", "vm.sub", "held", "ip-10-0-0-5", "ns", "a_b", "bücher", "vm.", "x" * 64)
    ):
        assert lease(world, f"52:54:00:00:00:{at:02x}", name) is None
    assert lease(world, "52:54:00:00:01:00", "Laptop") == "laptop"


def test_a_lease_loses_its_name_to_a_record_that_cannot_be_beside_it() -> None:
    world = dynamic()
    for at, name in enumerate(("one", "two", "three")):
        assert lease(world, f"52:54:00:00:00:{at:02x}", name) == name
    make(world, "one", "CNAME", "x")
    make(world, "two", "A", "192.0.2.1", 60)
    make(world, "three", "A", "192.0.2.1")
    assert sorted(filter(None, names(world).values())) == ["three"]
