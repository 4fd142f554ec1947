"""Shared and floating addresses, and the routes that follow them."""

from typing import Any

import pytest

from tenure.errors import Conflict, NotFound, TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Holding
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.test_reassign import VRF, A, B, boot, kinds, move, offered, rows, two, users
from tests.engine.world import World, site


def attach(world: World, ip: str, interface: str) -> Holding:
    answer = world.do(u.AttachAddress(vrf=VRF, ip=ip, interface=interface))
    naive.check(world)
    return answer  # type: ignore[no-any-return]


def detach(world: World, ip: str, interface: str | None = None) -> Holding:
    answer = world.do(u.DetachAddress(vrf=VRF, ip=ip, interface=interface))
    naive.check(world)
    return answer  # type: ignore[no-any-return]


def at_hosts(**network: Any) -> World:
    """Machine `a` at host h0-0 and `b` at h1-0 of a clustered network."""
    world = site("10.0.0.0/24", fields={"locations": ["s1"]}, model="clustered", domain="prod.example.", **network)
    for name, mac, host in (("a", A, "h0-0"), ("b", B, "h1-0")):
        port = u.NewInterface(mac=mac, network="prod")
        world.do(u.CreateMachine(name=name, location=host, interfaces=(port,)))
    return world


def route(world: World, ip: str) -> str | None:
    """The host that announces an address away from its block's owner."""
    host = world.space("10.0.0.0/24").loose.get(number_of(ip))
    return None if host is None else world.state.locations[host].name


def test_a_shared_address_is_used_by_several_at_once() -> None:  # VRRP
    world = two()
    mine = [world.ip(machine=name) for name in ("a", "b")]
    ip = world.ip(shared=True, hostname="gw")
    for mac in (A, B):
        assert attach(world, ip, mac).displaced == ()
    assert users(world, ip) == {"a", "b"}
    assert world.plan(u.AttachAddress(vrf=VRF, ip=ip, interface=A)).events == []
    assert [offered(world, mac) for mac in (A, B)] == [number_of(each) for each in mine]
    with pytest.raises(Conflict, match="say which"):
        detach(world, ip)
    detach(world, ip, A)
    assert users(world, ip) == {"b"}
    detach(world, ip)
    assert users(world, ip) == set()
    assert world.plan(u.DetachAddress(vrf=VRF, ip=ip)).events == []
    with pytest.raises(Conflict, match="shared"):
        move(world, ip, machine="a")


def test_a_floating_address_moves_in_one_step_and_keeps_its_name() -> None:
    world = two()
    home = world.ip(machine="b")
    ip = world.ip(hostname="www")
    attach(world, ip, A)
    plan = world.plan(u.AttachAddress(vrf=VRF, ip=ip, interface=B))
    assert kinds(plan) == ["address.detached", "address.attached", "address.aliased"]
    assert users(world, ip) == {"b"}
    assert rows(world)[ip].hostname == "www"
    assert offered(world, B) == number_of(home), "beside its primary address it is an alias"
    attach(world, ip, A)
    assert (rows(world)[ip].standing, offered(world, A)) == ("primary", number_of(ip))


def test_its_host_route_follows() -> None:
    world = at_hosts()
    ip = world.ip(hostname="www", host="h0-1")
    assert route(world, ip) is None  # in a block of its host
    attach(world, ip, A)
    assert route(world, ip) == "h0-0"
    moved = attach(world, ip, B)
    assert route(world, ip) == "h1-0"
    assert moved.addresses[0].title == "borrowed"
    let_go = detach(world, ip)
    assert route(world, ip) is None
    assert (let_go.claim.host, let_go.claim.machine, let_go.claim.interface) == (None, None, None)
    assert world.state.claims_at[str(world.state.find("location", "h1-0"))] == 0


def test_a_reassigned_address_takes_its_route_along() -> None:
    world = at_hosts()
    ip = world.ip(machine="a", host="h0-0")
    assert route(world, ip) is None
    move(world, ip, machine="b")
    assert route(world, ip) == "h1-0"
    several = world.claim(host="h0-0", count=2)
    one = several.addresses[1].ip
    move(world, one, machine="b")
    assert route(world, one) == "h1-0"
    assert route(world, several.addresses[0].ip) is None


def test_a_boundary_keeps_an_address_where_it_is() -> None:
    world = at_hosts(boundary="hard")
    ip = world.ip(machine="a", host="h0-0")
    for use in (
        u.AttachAddress(vrf=VRF, ip=ip, interface=B),
        u.ReassignAddress(vrf=VRF, ip=ip, machine="b"),
    ):
        with pytest.raises(Conflict, match="hard boundary"):
            world.do(use)
    assert users(world, ip) == {"a"}


def test_what_was_promised_to_the_former_user_is_kept() -> None:
    world = two()
    ip = world.ip(machine="a")
    assert boot(world, A, ip).lease is not None
    plan = world.plan(u.AttachAddress(vrf=VRF, ip=ip, interface=B))
    assert [type(event) for event in plan.events] == [e.AddressMoved]
    assert boot(world, A, ip, "renewing").refused is not None
    assert offered(world, B) is None
    assert rows(world)[ip].hostname == "b"


def test_a_machines_name_is_not_left_on_an_address_that_it_does_not_use() -> None:
    world = two()
    ip = world.ip(machine="a")
    detach(world, ip)
    assert rows(world)[ip].hostname is None
    assert users(world, ip) == set()
    attach(world, ip, B)
    assert users(world, ip) == {"b"}


def test_what_it_had_displaced_comes_back() -> None:
    world = two()
    home = world.ip(machine="a")
    ip = world.ip(machine="a")
    assert [d.became for d in detach(world, ip).displaced] == ["restored"]
    assert offered(world, A) == number_of(home)


@pytest.mark.parametrize(
    ("fields", "ip", "interface", "refusal"),
    [
        ({}, None, "52:54:00:00:00:0c", NotFound),
        ({}, "10.0.0.200", A, NotFound),
        ({"count": 2}, None, A, Conflict),
        ({"machine": "b", "static": True}, None, A, Conflict),
    ],
)
def test_what_cannot_float_is_refused(
    fields: dict[str, Any], ip: str | None, interface: str, refusal: type[TenureError]
) -> None:
    world = two()
    held = world.ip(**fields)
    with pytest.raises(refusal):
        attach(world, ip or held, interface)


def test_a_retired_machine_uses_nothing_any_more() -> None:
    world = two()
    ip = world.ip()
    world.do(u.RetireMachine(machine="a"))
    for use in (u.AttachAddress(vrf=VRF, ip=ip, interface=A), u.ReassignAddress(vrf=VRF, ip=ip, machine="a")):
        with pytest.raises(Conflict, match="retired"):
            world.do(use)


def test_an_address_that_is_shelved_is_reassigned_and_not_attached() -> None:
    world = two()
    home = world.ip(machine="a")
    world.claim(machine="a")
    with pytest.raises(Conflict, match="shelved"):
        attach(world, home, B)
    move(world, home, interface=B)
    assert offered(world, B) == number_of(home)


def test_one_of_two_families_does_not_float() -> None:
    world = site("10.0.0.0/24", "2001:db8::/64", domain="prod.example.")
    for name, mac in (("a", A), ("b", B)):
        world.do(u.CreateMachine(name=name, interfaces=(u.NewInterface(mac=mac, network="prod"),)))
    both = world.claim(machine="a", family="dual")
    for address in both.addresses:
        for use in (u.AttachAddress(vrf=VRF, ip=address.ip, interface=B), u.DetachAddress(vrf=VRF, ip=address.ip)):
            with pytest.raises(Conflict, match="one of 2"):
                world.do(use)


def test_what_was_attached_beside_a_primary_address_takes_its_place() -> None:
    world = two()
    home, ip = world.claim(machine="a"), world.ip(hostname="www")
    attach(world, ip, A)
    assert rows(world)[ip].standing == "alias"
    (back,) = world.release(home).displaced
    assert (back.ip, back.became) == (ip, "restored")
    assert offered(world, A) == number_of(ip)


def test_a_detached_alias_stands_behind_nobody() -> None:
    world = two()
    home, ip = world.claim(machine="a"), world.ip(hostname="www")
    attach(world, ip, A)
    detach(world, ip)
    assert (rows(world)[ip].standing, rows(world)[ip].behind) == ("primary", None)
    assert world.release(home).displaced == ()


def test_two_machines_do_not_share_a_name_by_attaching() -> None:
    world = two()
    world.claim(machine="a", hostname="web")
    ip = world.ip(machine="a", hostname="web", alias=True)
    for use in (u.AttachAddress(vrf=VRF, ip=ip, interface=B), u.DetachAddress(vrf=VRF, ip=ip)):
        with pytest.raises(Conflict, match="web.prod.example"):
            world.do(use)
    with pytest.raises(Conflict, match="web.prod.example"):
        move(world, ip, machine="b")
    assert users(world, ip) == {"a"}


def test_two_interfaces_of_a_machine_have_its_name_and_no_other_machine() -> None:
    world = two()
    more = "52:54:00:00:00:1a"
    world.do(u.ChangeMachine(machine="a", changes={"interfaces": [{"mac": A}, {"mac": more}]}))
    world.claim(mac=A, hostname="web")
    ip = world.ip(mac=more)
    world.do(u.RenameAddress(vrf=VRF, ip=ip, hostname="web"))
    with pytest.raises(Conflict, match="web.prod.example"):
        attach(world, ip, B)


def test_what_floats_outlives_the_machine_that_uses_it() -> None:
    world = two()
    home, ip = world.claim(machine="a"), world.ip(hostname="www")
    attach(world, ip, A)
    world.do(u.RetireMachine(machine="a"))
    naive.check(world)
    assert set(rows(world)) == {ip}
    assert (users(world, ip), rows(world)[ip].hostname, rows(world)[ip].standing) == (set(), "www", "primary")
    assert home.claim.id not in {c.id for c in world.tables.open("claims")}
    attach(world, ip, B)
    assert users(world, ip) == {"b"}


@pytest.mark.parametrize("used_by_other", [True, False])
def test_a_shared_address_ends_with_the_last_machine_that_uses_it(used_by_other: bool) -> None:
    world = two()
    vip = world.claim(machine="a", shared=True, hostname="gw")
    ip = vip.addresses[0].ip
    if used_by_other:
        attach(world, ip, B)
    world.do(u.RetireMachine(machine="a"))
    naive.check(world)
    assert set(rows(world)) == ({ip} if used_by_other else set())
    if used_by_other:
        (claim,) = world.tables.open("claims")
        assert (users(world, ip), claim.machine, rows(world)[ip].standing) == ({"b"}, None, "alias")


def test_the_name_that_a_claim_asked_for_may_be_anothers_by_now() -> None:
    world = two()
    held = world.claim(hostname="www")
    ip = held.addresses[0].ip
    world.do(u.RenameAddress(vrf=VRF, ip=ip, hostname=None))
    world.claim(machine="b", hostname="www")
    with pytest.raises(Conflict, match="www.prod.example"):
        move(world, ip, machine="a")
