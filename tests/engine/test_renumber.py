"""A subnet's addresses are replaced by another's, a wave a minute; it can be stopped, resumed, looked at, cancelled."""

from typing import Any

import pytest

from tenure.engine.fingerprint import fingerprint
from tenure.engine.state import State
from tenure.errors import Conflict, Exhausted, InvalidValue, NotFound, TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.addressing import Renumbering, Subnet
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of, text_of
from tests.engine import naive
from tests.engine.world import World, site

OLD, NEW = "10.0.0.0/28", "10.0.1.0/28"
MAC = "52:54:00:00:00:0a"


def two(count: int = 0, **network: Any) -> World:
    """A network of two subnets, and so many addresses in the first."""
    world = site(OLD, cooldown=0, strategy="first_free", domain="prod.example.", **network)
    for n in range(count):
        world.claim(hostname=f"n{n}")
    world.do(u.CreateSubnet(network="prod", cidr=NEW))
    return world


def renumber(world: World, to: str | None = NEW, **fields: Any) -> Renumbering | None:
    subnet = world.do(u.RenumberSubnet(subnet=OLD, to=to, fields=fields)).subnet
    settled(world)
    assert isinstance(subnet, Subnet)
    return subnet.renumbering


def cancel(world: World) -> Subnet:
    subnet = world.do(u.CancelRenumbering(subnet=OLD)).subnet
    settled(world)
    assert isinstance(subnet, Subnet)
    return subnet


def minute(world: World, seconds: int = 60) -> int:
    """What moves when so much time has passed."""
    world.wait(seconds)
    moved = world.do(u.Lapse()).value
    settled(world)
    return int(moved)


def settled(world: World) -> None:
    naive.check(world)
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    replayed.advance(world.now)
    assert fingerprint(replayed) == fingerprint(State.load(world.tables, world.now)) == fingerprint(world.state)


def now(world: World) -> Renumbering | None:
    subnet: Subnet = next(s for s in world.tables.subnets if s.cidr == OLD)
    return subnet.renumbering


def draining(world: World) -> bool:
    return next(bool(s.draining) for s in world.tables.subnets if s.cidr == OLD)


def named(world: World) -> dict[str, str]:
    return {a.hostname: a.ip for a in world.tables.open("allocations") if a.hostname is not None}


def ips(world: World) -> set[str]:
    return {a.ip for a in world.tables.open("allocations")}


def test_addresses_move_in_waves_with_their_names_and_then_it_is_over() -> None:
    world = two(5)
    assert renumber(world, wave=2) == Renumbering(to=world.space(NEW).subnet.id, since=world.now, wave=2)
    assert draining(world)
    assert minute(world, 0) == 2
    assert minute(world, 59) == 0, "one wave a minute"
    assert minute(world, 1) == 2
    going = now(world)
    assert going is not None and (going.moved, going.waved) == (4, world.now)
    assert named(world) == {f"n{n}": f"10.0.1.{n + 1}" for n in range(4)} | {"n4": "10.0.0.5"}
    assert minute(world) == 1
    assert now(world) is None and draining(world)
    assert named(world) == {f"n{n}": f"10.0.1.{n + 1}" for n in range(5)}
    assert minute(world) == 0
    released = [x for x in world.events if isinstance(x, e.AddressReleased)]
    assert {(x.reason, x.closes) for x in released} == {("renumbered", False)} and len(released) == 5


def test_nothing_new_is_placed_in_what_is_renumbered() -> None:
    world = two(2)
    renumber(world)
    assert world.ip() == "10.0.1.1"
    with pytest.raises(Conflict):
        world.do(u.ChangeSubnet(subnet=OLD, changes={"draining": False}))
    with pytest.raises(InvalidValue):
        world.do(u.ChangeSubnet(subnet=OLD, changes={"renumbering": None}))


def test_it_stops_and_goes_on() -> None:
    world = two(4)
    renumber(world, wave=1)
    assert minute(world) == 1
    renumber(world, to=None, stopped=True)
    assert minute(world) == 0
    renumbering = renumber(world, to=NEW, stopped=False, wave=2)
    assert renumbering is not None and (renumbering.moved, renumbering.wave) == (1, 2)
    assert minute(world, 0) == 2
    assert renumber(world, to=None) == now(world), "said again, nothing changes"


def test_cancelled_it_ends_where_it_stands() -> None:
    world = two(4)
    renumber(world, wave=1)
    minute(world)
    subnet = cancel(world)
    assert subnet.renumbering is None and subnet.draining
    assert minute(world) == 0
    events = len(world.events)
    cancel(world)
    assert len(world.events) == events
    assert ips(world) == {"10.0.1.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}


def test_an_empty_subnet_is_done_at_once() -> None:
    world = two()
    renumber(world)
    assert minute(world, 0) == 0
    assert now(world) is None


@pytest.mark.parametrize(
    ("to", "error"),
    [
        (None, Conflict),
        ("none", NotFound),
        (OLD, InvalidValue),
        ("10.9.0.0/24", InvalidValue),
        ("2001:db8::/64", InvalidValue),
        ("10.0.0.0/24", InvalidValue),
        ("10.0.0.8/29", InvalidValue),
        ("10.0.2.0/24", Conflict),
        ("10.0.3.0/30", Exhausted),
    ],
)
def test_where_it_cannot_go(to: str | None, error: type[TenureError]) -> None:
    world = two(3)
    world.do(u.CreateNetwork(name="lab"))
    world.do(u.CreateSubnet(network="lab", cidr="10.9.0.0/24"))
    world.do(u.CreateSubnet(network="prod", cidr="2001:db8::/64"))
    world.do(u.CreateSubnet(network="prod", cidr="10.0.2.0/24", fields={"draining": True}))
    world.do(u.CreateSubnet(network="prod", cidr="10.0.3.0/30"))
    if to == "10.0.0.0/24":
        world.do(u.CreateSubnet(network="prod", cidr=to))
    if to == "10.0.0.8/29":
        world.do(u.CreateSubnet(network="prod", cidr=to))
    with pytest.raises(error) as refused:
        renumber(world, to)
    if error is Exhausted:
        assert (refused.value.facts["needed"], refused.value.facts["available"]) == (3, 2)
    assert now(world) is None and not draining(world)


@pytest.mark.parametrize(
    "fields", [{"wave": 0}, {"wave": 257}, {"lease_time": 59}, {"moved": 3}, {"to": "x"}, {"wave": "many"}]
)
def test_fields_are_bounded(fields: dict[str, Any]) -> None:
    world = two(1)
    with pytest.raises(InvalidValue) as refused:
        world.do(u.RenumberSubnet(subnet=OLD, to=NEW, fields=fields))
    assert refused.value.facts["pointer"] == f"/{next(iter(fields))}"


def test_while_it_lasts_it_goes_nowhere_else_and_the_other_stays() -> None:
    world = two(2)
    world.do(u.CreateSubnet(network="prod", cidr="10.0.2.0/28"))
    renumber(world)
    with pytest.raises(Conflict):
        renumber(world, "10.0.2.0/28")
    with pytest.raises(Conflict):
        world.do(u.DeleteSubnet(subnet=NEW))
    with pytest.raises(Conflict):
        world.do(u.RenumberSubnet(subnet=NEW, to=OLD))


def test_static_claims_stay_unless_that_is_acknowledged() -> None:
    world = two(1)
    static = world.claim(static=True, subnet=OLD, hostname="switch").addresses[0].ip
    renumber(world)
    assert minute(world, 0) == 1
    assert now(world) is None and static in ips(world), "nothing is left that moves by itself"
    renumber(world, static_acknowledged=True)
    assert minute(world) == 1
    assert named(world)["switch"].startswith("10.0.1.")


def test_what_was_asked_for_by_name_moves_because_a_person_asked() -> None:
    world = two()
    world.claim(address="10.0.0.9", hostname="named")
    renumber(world)
    assert minute(world) == 1
    assert named(world) == {"named": "10.0.1.1"}


def test_shelved_addresses_move_too_and_leases_end_by_themselves() -> None:
    world = two()
    world.do(u.CreateRange(subnet=OLD, start="10.0.0.8", end="10.0.0.11", role="dynamic"))
    world.do(u.ChangeNetwork(network="prod", changes={"enlist": False}))
    commit(world, "52:54:00:00:00:0b", "10.0.0.8")
    shelved = world.ip(mac=MAC, subnet=OLD)
    other = world.ip(mac=MAC, subnet=OLD)
    renumber(world)
    assert minute(world) == 2
    assert now(world) is None
    assert ips(world) == {"10.0.0.8", "10.0.1.1", "10.0.1.2"} and not {shelved, other} & ips(world)
    (claim,) = [claim for claim in world.tables.open("claims") if claim.request.mac == MAC and claim.handle == "h2"]
    world.do(u.ReleaseClaim(claim=claim.id))
    settled(world)
    (back,) = [a for a in world.tables.open("allocations") if not a.lease]
    assert (back.ip, back.standing) == ("10.0.1.1", "primary"), "what comes back is where the others are"


@pytest.mark.parametrize("leased", [False, True])
def test_what_is_lent_goes_back_as_the_new_address(leased: bool) -> None:
    world = two()
    reservation = world.claim(handle="r", subnet=OLD)
    lent = world.claim(mac=MAC, hostname="web", reservation="r")
    if leased:
        commit(world, MAC, lent.addresses[0].ip)
    renumber(world)
    if leased:
        world.wait(7200 - 120)
    assert minute(world) == 1
    assert now(world) is None
    if leased:
        commit(world, MAC, "10.0.1.1")
        settled(world)
    assert ips(world) == {"10.0.1.1"}
    world.release(lent)
    settled(world)
    (back,) = world.tables.open("allocations")
    assert (back.ip, back.claim, back.lender) == ("10.0.1.1", reservation.claim.id, None)


def test_its_target_is_neither_drained_nor_made_smaller() -> None:
    world = two(4)
    renumber(world, wave=1)
    for field, value in (("draining", True), ("cidr", "10.0.1.0/29"), ("cidr", "10.0.1.8/29")):
        with pytest.raises(Conflict, match="being renumbered") as refused:
            world.do(u.ChangeSubnet(subnet=NEW, changes={field: value}))
        assert refused.value.facts["subnet"] == OLD
    renumber(world, to=None, stopped=True)
    with pytest.raises(Conflict):
        world.do(u.ChangeSubnet(subnet=NEW, changes={"draining": True}))
    new = world.space(NEW).subnet.id
    world.do(u.ChangeSubnet(subnet=new, changes={"cidr": "10.0.1.0/27"}))
    renumber(world, to="10.0.1.0/27", stopped=False, wave=8)
    assert minute(world) == 4
    world.do(u.ChangeSubnet(subnet=new, changes={"draining": True}))


def test_nothing_moves_where_it_would_not_reach_its_host() -> None:
    world = two()
    here, there = world.ip(host="h0-0"), world.ip(host="h1-0")
    world.do(u.ChangeSubnet(subnet=NEW, changes={"locations": ["r0"]}))
    renumber(world)
    assert minute(world) == 1
    assert now(world) is not None
    assert ips(world) == {"10.0.1.1", there} and here not in ips(world)


def commit(world: World, mac: str, ip: str, form: str = "selecting") -> Any:
    place = Place(link=number_of("10.0.0.1"))
    return world.do(u.LeaseCommit(client=Client(mac=mac), place=place, address=number_of(ip), form=form))


def test_a_client_with_a_long_promise_waits_until_it_is_short_and_is_then_told_no() -> None:
    world = two()
    old = world.ip(mac=MAC, hostname="web")
    lease = commit(world, MAC, old).lease
    assert lease.lease_time == 3600
    renumber(world, lease_time=60)
    assert commit(world, MAC, old, "renewing").lease.lease_time == 60
    assert minute(world) == 0
    for _ in range(120):
        if minute(world):
            break
        assert commit(world, MAC, old, "renewing").lease is not None
    new = next(ip for ip in ips(world) if ip.startswith("10.0.1."))
    assert named(world) == {"web": old}, "it uses the old one still"
    assert commit(world, MAC, old, "renewing").refused is not None
    place = Place(link=number_of("10.0.1.1"))
    offered = world.do(u.LeaseOffer(client=Client(mac=MAC), place=place)).lease
    assert offered is not None and text_of(4, offered.address) == new
    world.do(u.LeaseCommit(client=Client(mac=MAC), place=place, address=number_of(new), form="selecting"))
    settled(world)
    assert named(world) == {"web": new} and ips(world) == {new}
    assert number_of(old) in world.space(OLD).resting, "what it was promised is nobody else's yet"


def test_a_name_follows_when_the_client_never_comes() -> None:
    world = two()
    old = world.ip(mac=MAC, hostname="web")
    commit(world, MAC, old)
    renumber(world, lease_time=3600)
    assert minute(world, 0) == 1
    assert named(world) == {"web": old}
    world.wait(2 * 3600 + 5)
    assert minute(world, 0) == 1
    assert named(world) == {"web": "10.0.1.1"} and ips(world) == {"10.0.1.1"}


def test_promises_that_are_long_do_not_keep_those_that_are_not() -> None:
    world = two()
    first = world.ip(mac=MAC, hostname="web")
    world.claim(hostname="db")
    commit(world, MAC, first)
    renumber(world, wave=1)
    assert minute(world, 0) == 1
    assert named(world) == {"web": first, "db": "10.0.1.1"}
    going = now(world)
    assert going is not None and going.moved == 1


def test_where_the_room_is_taken_meanwhile_it_waits() -> None:
    world = two(4)
    renumber(world, wave=2)
    minute(world)
    taken = [world.claim() for _ in range(12)]
    assert minute(world) == 0
    assert now(world) is not None
    world.release(taken[0])
    assert minute(world) == 1


def test_aliases_and_both_families_move_one_by_one() -> None:
    world = two()
    world.do(u.CreateSubnet(network="prod", cidr="2001:db8::/124"))
    kept = world.claim(mac=MAC, family="dual", subnet=None)
    world.claim(mac=MAC, alias=True, subnet=OLD)
    renumber(world)
    assert minute(world) == 2
    assert {a.ip for a in kept.addresses if ":" in a.ip} <= ips(world)
    standing = sorted(a.standing for a in world.tables.open("allocations"))
    assert standing == ["alias", "primary", "primary"]
