"""Addresses given to others, their holders given others, and names changed, while machines are off or on."""

from typing import Any

import pytest

from tenure.errors import Conflict, InvalidValue, NotFound, TenureError
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Displaced, Holding
from tenure.model.holding import Allocation
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import World, site

A, B = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
VRF = "default"


def two(**network: Any) -> World:
    """Machines `a` and `b`, each with one interface, on a network with names."""
    world = site("10.0.0.0/24", domain="prod.example.", **network)
    for name, mac in (("a", A), ("b", B)):
        world.do(u.CreateMachine(name=name, interfaces=(u.NewInterface(mac=mac, network="prod"),)))
    return world


def move(world: World, ip: str, **how: Any) -> Holding:
    answer = world.do(u.ReassignAddress(vrf=VRF, ip=ip, **how))
    naive.check(world)
    return answer  # type: ignore[no-any-return]


def boot(world: World, mac: str, ip: str, form: str = "selecting") -> Any:
    """A client asks for an address; the answer."""
    use = u.LeaseCommit(client=Client(mac), place=Place(number_of("10.0.0.1")), address=number_of(ip), form=form)
    return world.do(use)


def offered(world: World, mac: str) -> int | None:
    lease = world.do(u.LeaseOffer(client=Client(mac), place=Place(number_of("10.0.0.1")))).lease
    return None if lease is None else int(lease.address)


def rows(world: World) -> dict[str, Allocation]:
    return {a.ip: a for a in world.tables.open("allocations")}


def users(world: World, ip: str) -> set[str]:
    """Names of the machines that use an address."""
    ports = {i.id: i.machine for i in world.tables.all("interfaces")}
    machines = {m.id: m.name for m in world.tables.all("machines")}
    mine = rows(world)[ip].id
    return {machines[ports[x.interface]] for x in world.tables.open("attachments") if x.allocation == mine}


def rows_of_ports(world: World) -> dict[str, str]:
    """Ids of interfaces by MAC."""
    return {i.mac: i.id for i in world.tables.all("interfaces")}


def kinds(plan: Any) -> list[str]:
    return [event.kind.removeprefix("tenure.") for event in plan.events]


def test_an_address_goes_to_another_machine_with_its_claim_and_takes_its_name() -> None:
    world = two()
    mine = world.claim(machine="a")
    ip = mine.addresses[0].ip
    moved = move(world, ip, machine="b")
    assert moved.claim.id == mine.claim.id
    assert [a.name for a in moved.addresses] == ["b.prod.example."]
    assert users(world, ip) == {"b"}
    assert moved.effective_by is None
    plan = world.plan(u.ReassignAddress(vrf=VRF, ip=ip, machine="b"))
    assert plan.events == []  # it is there already


def test_two_are_swapped_by_two_calls() -> None:
    world = two()
    one, other = (world.ip(machine=name) for name in ("a", "b"))
    first = move(world, one, machine="b")
    assert [d.became for d in first.displaced] == ["shelved"]
    second = move(world, other, interface=A)
    assert second.displaced == ()
    held = rows(world)
    assert (held[one].hostname, held[other].hostname) == ("b", "a")
    assert {held[ip].standing for ip in (one, other)} == {"primary"}
    assert users(world, one) == {"b"} and users(world, other) == {"a"}


@pytest.mark.parametrize(("how", "became"), [("shelve", "shelved"), ("keep", "kept"), ("release", "released")])
def test_what_the_receiver_has_goes_as_the_call_says(how: Any, became: str) -> None:
    world = two()
    one, other = (world.ip(machine=name) for name in ("a", "b"))
    (displaced,) = move(world, one, machine="b", on_override=how).displaced
    assert (displaced.ip, displaced.became) == (other, became)
    assert offered(world, B) == number_of(one)


def test_what_an_address_had_displaced_comes_back_when_it_goes() -> None:
    world = two()
    home, spare = world.ip(machine="a"), world.claim(machine="a")
    assert rows(world)[home].standing == "shelved"
    moved = move(world, spare.addresses[0].ip, machine="b")
    assert moved.displaced == (Displaced(home, "restored", rows(world)[home].claim),)
    assert rows(world)[home].standing == "primary"
    assert offered(world, A) == number_of(home)


def test_one_of_several_gets_a_claim_of_its_own() -> None:
    world = two()
    kept = world.claim(handle="pool", count=3, purpose="spare")
    ip = kept.addresses[1].ip
    moved = move(world, ip, machine="b")
    assert moved.claim.id != kept.claim.id
    assert moved.claim.by_name and moved.claim.project == kept.claim.project
    left = {a.ip for a in world.tables.open("allocations") if a.claim == kept.claim.id}
    assert left == {a.ip for a in kept.addresses} - {ip}
    world.release(moved)
    naive.check(world)


def test_an_address_joins_a_claim_and_stands_before_what_that_has() -> None:
    world = two()
    mine, other = world.claim(machine="a"), world.claim(machine="b")
    ip, old = mine.addresses[0].ip, other.addresses[0].ip
    moved = move(world, ip, claim=other.claim.id)
    assert {a.ip: a.standing for a in moved.addresses} == {ip: "primary", old: "alias"}
    assert [d.became for d in moved.displaced] == ["kept"]
    assert world.tables.rows["claims"][mine.claim.id,].until is not None
    assert move(world, ip, claim=other.claim.id).claim.id == other.claim.id
    back = move(world, ip, machine="a")
    assert [d.became for d in back.displaced] == ["restored"], "its next one is primary again"
    assert rows(world)[old].standing == "primary"


def test_a_machine_that_is_off_gets_another_address_and_its_name_at_once() -> None:
    world = two()
    mine = world.claim(machine="a")
    old = mine.addresses[0].ip
    plan = world.plan(u.ReassignAddress(vrf=VRF, ip=old, address="10.0.0.77"))
    assert kinds(plan) == ["address.allocated", "address.released"]
    answer: Any = plan.answer
    assert answer.claim.id == mine.claim.id
    assert [(a.ip, a.name) for a in answer.addresses] == [("10.0.0.77", "a.prod.example.")]
    assert answer.effective_by is None
    assert offered(world, A) == number_of("10.0.0.77")
    naive.check(world)


def test_a_static_claim_needs_somebody_who_changes_the_machine() -> None:
    world = two()
    ip = world.ip(machine="a", static=True)
    for how in ({"address": "10.0.0.77"}, {"machine": "b"}):
        with pytest.raises(Conflict, match="by hand") as refused:
            move(world, ip, **how)
        assert refused.value.facts["pointer"] == "/static_acknowledged"
    other = world.claim(machine="b", static=True)
    with pytest.raises(Conflict, match="by hand"):
        move(world, world.ip(), claim=other.claim.id)
    assert move(world, ip, address="10.0.0.77", static_acknowledged=True).addresses[0].ip == "10.0.0.77"


@pytest.mark.parametrize(
    ("how", "refusal"),
    [
        ({}, InvalidValue),
        ({"machine": "b", "address": "10.0.0.77"}, InvalidValue),
        ({"machine": "nobody"}, NotFound),
        ({"interface": "52:54:00:00:00:0c"}, NotFound),
        ({"interface": "nothing"}, NotFound),
        ({"claim": "nothing"}, NotFound),
        ({"address": "10.9.9.9"}, InvalidValue),
        ({"address": "2001:db8::1"}, InvalidValue),
        ({"address": "10.0.0.0"}, Conflict),
    ],
)
def test_what_cannot_be_is_refused(how: dict[str, str], refusal: type[TenureError]) -> None:
    world = two()
    ip = world.ip(machine="a")
    with pytest.raises(refusal):
        move(world, ip, **how)


def test_a_name_is_changed_where_nobody_has_it() -> None:
    world = two()
    one, other = (world.ip(machine=name) for name in ("a", "b"))
    plan = world.plan(u.RenameAddress(vrf=VRF, ip=one, hostname="printer"))
    (event,) = plan.events
    assert isinstance(event, e.AddressMoved) and event.reason == "renamed"
    assert (event.left.hostname, event.allocation.hostname) == ("a", "printer")
    assert users(world, one) == {"a"}
    assert world.plan(u.RenameAddress(vrf=VRF, ip=one, hostname="printer")).events == []
    with pytest.raises(Conflict, match="belongs to"):
        world.do(u.RenameAddress(vrf=VRF, ip=other, hostname="printer"))
    with pytest.raises(InvalidValue):
        world.do(u.RenameAddress(vrf=VRF, ip=other, hostname="printer_1"))
    assert [a.name for a in move(world, one, machine="b").addresses] == ["printer.prod.example."], "it is its own"
    world.do(u.RenameAddress(vrf=VRF, ip=one, hostname=None))
    assert rows(world)[one].hostname == "b"
    naive.check(world)


def test_what_a_shelved_claim_is_given_stands_before_all_it_had() -> None:
    world = two()
    one, other = world.claim(machine="a"), world.claim(machine="a")
    given = world.ip()
    first, second = one.addresses[0].ip, other.addresses[0].ip
    moved = move(world, given, claim=one.claim.id)
    assert {d.ip: d.became for d in moved.displaced} == {first: "kept", second: "shelved"}
    assert [(rows(world)[ip].standing, rows(world)[ip].behind) for ip in (first, second, given)] == [
        ("alias", None),
        ("shelved", one.claim.id),
        ("primary", None),
    ]
    world.release(one)
    assert {ip: a.standing for ip, a in rows(world).items()} == {second: "primary"}


def test_what_overrode_a_claim_may_be_given_to_it() -> None:
    world = two()
    one, other = world.claim(machine="a"), world.claim(machine="a")
    first, second = one.addresses[0].ip, other.addresses[0].ip
    move(world, second, claim=one.claim.id)
    assert {ip: (a.standing, a.behind) for ip, a in rows(world).items()} == {
        first: ("alias", None),
        second: ("primary", None),
    }


def test_who_was_promised_an_address_may_have_it_again() -> None:
    world = two(cooldown=0, ttl=0)
    ip = world.ip(machine="a")
    assert boot(world, A, ip).lease is not None
    move(world, ip, machine="b")
    assert offered(world, B) is None
    move(world, ip, machine="a")
    assert offered(world, A) == number_of(ip)
    assert boot(world, A, ip, "renewing").lease is not None
    world.do(u.DetachAddress(vrf=VRF, ip=ip))
    world.do(u.AttachAddress(vrf=VRF, ip=ip, interface=A))
    assert boot(world, A, ip, "renewing").lease is not None
    world.do(u.AttachAddress(vrf=VRF, ip=ip, interface=B))
    assert offered(world, B) is None


def test_a_reservation_is_used_again_by_whoever_was_promised_its_address() -> None:
    world = two(cooldown=0, ttl=0)
    world.claim(handle="r", address="10.0.0.9")
    for _ in range(2):
        borrower = world.claim(machine="a", reservation="r")
        assert offered(world, A) == number_of("10.0.0.9")
        assert boot(world, A, "10.0.0.9").lease is not None
        world.release(borrower)
    world.claim(machine="b", reservation="r")
    assert offered(world, B) is None


def test_what_two_were_promised_waits_for_both() -> None:
    world = two(cooldown=0, ttl=0)
    ip = world.ip(machine="a")
    assert boot(world, A, ip).lease is not None
    end = rows(world)[ip].held_until
    move(world, ip, machine="b")
    world.wait((end - world.now).total_seconds() + 5)  # type: ignore[operator]
    assert boot(world, B, ip).lease is not None
    move(world, ip, machine="a")
    assert (rows(world)[ip].waits_for, offered(world, A)) == (rows_of_ports(world)[B], None)
