"""Reservations: several addresses, side by side, by name; and what they lend."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.engine.adjacent import stretches
from tenure.engine.fingerprint import fingerprint
from tenure.engine.state import State
from tenure.engine.strategies.view import everybody
from tenure.errors import AlreadyAllocated, Conflict, Exhausted, InvalidValue, NotFound, NotPermitted
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Displaced
from tenure.net.addresses import number_of
from tests.engine import naive
from tests.engine.world import START, World, site

MAC = "52:54:00:0a:0b:0c"


def ips(holding: Any) -> list[str]:
    return [a.ip for a in holding.addresses]


def lent(world: World) -> dict[str, str | None]:
    return {a.ip: a.lender for a in world.tables.open("allocations")}


# Which addresses


def test_by_count_with_purpose_and_end() -> None:
    world = site("10.0.0.0/24")
    held = world.claim(count=5, purpose="landscape", expires=START + timedelta(days=2), tags=("b", "a", "b"))
    assert len(set(ips(held))) == 5
    claim = held.claim
    assert (claim.request.purpose, claim.expires, claim.tags) == ("landscape", START + timedelta(days=2), ("a", "b"))
    naive.check(world)


def test_by_name_all_or_none() -> None:
    world = site("10.0.0.0/24", "2001:db8::/64", domain="prod.example.")
    wanted = ("10.0.0.9", "2001:db8:0::9", "10.0.0.7")
    held = world.claim(handle="r", addresses=wanted, hostname="spare")
    assert (held.claim.request.family, ips(held)) == ("dual", ["10.0.0.7", "10.0.0.9", "2001:db8::9"])
    assert {a.name for a in held.addresses} == {"spare.prod.example."}
    assert world.claim(handle="r", addresses=wanted, hostname="spare").claim.id == held.claim.id
    with pytest.raises(AlreadyAllocated) as refused:  # the world asserts that nothing was left
        world.claim(addresses=("10.0.0.8", "10.0.0.9"))
    assert refused.value.facts == {"address": "10.0.0.9", "pointer": "/addresses/1"}
    assert len(world.release(held).addresses) == 0
    with pytest.raises(Conflict, match="rests"):
        world.claim(addresses=("10.0.0.9",))
    assert ips(world.claim(addresses=("10.0.0.9",), during_cooldown=True)) == ["10.0.0.9"]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"addresses": ("10.0.0.9", "10.0.0.9")}, "/addresses/1"),
        ({"addresses": ("10.0.0.9", "10.0.0.x")}, "/addresses/1"),
        ({"addresses": ("10.0.0.9", "10.9.0.9")}, "/addresses/1"),
        ({"addresses": ("10.0.0.9",), "address": "10.0.0.8"}, "/addresses"),
        ({"addresses": ("10.0.0.9",), "count": 2}, "/count"),
        ({"addresses": ("10.0.0.9",), "family": "v6"}, "/family"),
        ({"addresses": ("10.0.0.9",), "contiguous": True}, "/contiguous"),
        ({"count": 1025}, "/count"),
        ({"alias": True}, "/alias"),
        ({"expires": START}, "/expires"),
        ({"tags": ("Upper",)}, "/tags/0"),
        ({"custom": {"no name": 1}}, "/custom"),
        ({"custom": {"n": float("nan")}}, "/custom/n"),
        ({"project": "machine"}, "/project"),
        ({"project": "dhcp"}, "/project"),
        ({"handle": "machine:1"}, "/handle"),
        ({"handle": "dhcp:1"}, "/handle"),
    ],
)
def test_what_cannot_be_asked_for(fields: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        site("10.0.0.0/24").claim(**fields)
    assert refused.value.facts["pointer"] == pointer


# Side by side


def test_side_by_side() -> None:
    world = site("10.0.0.0/24", "2001:db8::/64")
    world.ip(address="10.0.0.4")
    held = world.claim(count=5, contiguous=True, family="dual")
    assert ips(held) == [*(f"10.0.0.{n}" for n in range(5, 10)), *(f"2001:db8::{n}" for n in range(1, 6))]


def test_side_by_side_beyond_a_page() -> None:
    world = site("10.0.0.0/22")
    world.ip(address="10.0.1.44")
    held = world.claim(count=600, contiguous=True)
    assert [ips(held)[0], ips(held)[-1]] == ["10.0.1.45", "10.0.3.132"]


def test_hosts_blocks_are_left_alone_while_there_is_room_elsewhere() -> None:
    world = site("10.0.0.0/26", block_length_v4=28)
    for host in ("h0-0", "h0-1"):
        world.ip(host=host)
    space = world.space("10.0.0.0/26")
    outside = world.claim(count=31, contiguous=True)
    assert {space.block_at(number_of(ip)) for ip in ips(outside)} == {None}
    inside = world.claim(count=13, contiguous=True)
    assert {b.owner is not None for b in map(space.block_at, map(number_of, ips(inside))) if b} == {True}
    assert {a.title for a in inside.addresses} == {"borrowed"}
    naive.check(world)


def test_a_hard_boundary_keeps_hosts_blocks() -> None:
    world = site("10.0.0.0/27", block_length_v4=28, boundary="hard")
    world.ip(host="h0-0")
    with pytest.raises(Exhausted) as refused:
        world.claim(count=16, contiguous=True)
    assert refused.value.facts == {"network": "prod", "family": "v4", "longest": 15}


def test_the_longest_stretch_is_told() -> None:
    world = site("10.0.0.0/28")
    for last in (4, 9):
        world.ip(address=f"10.0.0.{last}")
    with pytest.raises(Exhausted, match="at most, not 6") as refused:
        world.claim(count=6, contiguous=True)
    assert refused.value.facts["longest"] == 5


def test_a_large_prefix_costs_what_is_used_of_it() -> None:
    world = site("2001:db8::/64", "10.0.0.0/8")
    for address in ("10.200.0.1", "2001:db8::ffff:0:1"):
        world.ip(address=address)
    assert len(ips(world.claim(count=1024, contiguous=True, family="dual"))) == 2048
    assert len(world.space("10.0.0.0/8").pages) < 10
    assert len(world.space("2001:db8::/64").pages) < 10


@settings(max_examples=40, deadline=None)
@given(taken=st.sets(st.integers(1, 62)), count=st.integers(2, 12))
def test_stretches_are_those_of_a_list(taken: set[int], count: int) -> None:
    world = site("10.0.0.0/26", racks=1, hosts=1)
    if taken:
        world.claim(addresses=tuple(f"10.0.0.{n}" for n in sorted(taken)))
    free = [n not in taken for n in range(1, 63)]
    runs = [n for n in range(1, 63) if all(free[n - 1 : n - 1 + count]) and n + count <= 63]
    found = list(stretches(world.space("10.0.0.0/26"), everybody))
    assert sum(last - first + 1 for first, last in found) == sum(free)
    if runs:
        assert ips(world.claim(count=count, contiguous=True))[0] == f"10.0.0.{runs[0]}"
    else:
        with pytest.raises(Exhausted):
            world.claim(count=count, contiguous=True)


# Lending


def test_what_is_reserved_is_lent_and_comes_back() -> None:
    world = site("10.0.0.0/24", domain="prod.example.")
    kept = world.claim(handle="spare", count=2)
    old = world.claim(mac=MAC, hostname="vm-1", host="h0-0")
    taken = world.claim(handle="vm", mac=MAC, host="h0-0", reservation="spare")
    ip = ips(kept)[0]
    assert (ips(taken), taken.addresses[0].name) == ([ip], "vm-1.prod.example.")
    assert taken.displaced == (Displaced(ips(old)[0], "shelved", old.claim.id),)
    assert lent(world)[ip] == kept.claim.id
    assert ips(world.claim(handle="spare", count=2)) == ips(kept)[1:]
    naive.check(world)
    ended = world.release(taken)
    assert set(ended.displaced) == {
        Displaced(ip, "returned", kept.claim.id),
        Displaced(ips(old)[0], "restored", old.claim.id),
    }
    again = world.claim(handle="spare", count=2)
    assert (ips(again), {a.name for a in again.addresses}) == (ips(kept), {None})
    assert world.space("10.0.0.0/24").cooling == 0
    naive.check(world)


def test_the_same_claim_from_a_reservation_has_the_same_answer() -> None:
    world = site("10.0.0.0/24")
    kept = world.claim(handle="spare")
    taken = world.claim(handle="vm", mac=MAC, reservation="spare")
    for name in ("spare", kept.claim.id):
        assert world.claim(handle="vm", mac=MAC, reservation=name).claim == taken.claim
    world.release(kept)
    for name in ("spare", kept.claim.id):
        assert world.claim(handle="vm", mac=MAC, reservation=name).addresses == taken.addresses
    with pytest.raises(Conflict) as refused:
        world.claim(handle="vm", mac=MAC)
    assert refused.value.facts["differs"] == {"from": [kept.claim.id, None]}


def test_a_reservation_that_ends_leaves_what_it_lent() -> None:
    world = site("10.0.0.0/24")
    kept = world.claim(handle="spare")
    taken = world.claim(mac=MAC, reservation="spare")
    world.release(kept)
    assert lent(world) == {ips(taken)[0]: kept.claim.id}
    assert world.release(taken).displaced == ()
    assert (lent(world), world.space("10.0.0.0/24").cooling) == ({}, 1)


def test_which_addresses_are_lent() -> None:
    world = site("10.0.0.0/24", "2001:db8::/64")
    world.claim(handle="spare", addresses=("10.0.0.5", "10.0.0.6", "10.0.0.7"))
    assert ips(world.claim(reservation="spare", mac=MAC, address="10.0.0.6")) == ["10.0.0.6"]
    assert ips(world.claim(reservation="spare", count=2, mac=MAC)) == ["10.0.0.5", "10.0.0.7"]
    world.claim(handle="two")
    both = world.claim(reservation="two", mac=MAC, handle="both")
    assert (both.claim.request.family, len(both.addresses)) == ("dual", 2)


def test_a_name_that_a_reservation_gave_stays_with_the_address() -> None:
    world = site("10.0.0.0/24", domain="prod.example.")
    world.claim(handle="spare", hostname="db")
    taken = world.claim(mac=MAC, machine="vm-1", reservation="spare")
    assert taken.addresses[0].name == "db.prod.example."
    world.release(taken)
    assert world.claim(handle="spare", hostname="db").addresses[0].name == "db.prod.example."


def test_what_may_not_be_lent() -> None:
    world = site("10.0.0.0/28")
    world.do(u.CreateNetwork(name="other"))
    world.do(u.CreateSubnet(network="other", cidr="10.1.0.0/24"))
    kept = world.claim(handle="spare")
    blue = world.claim(handle="blue", project="blue")
    with pytest.raises(NotFound):
        world.claim(reservation="nobody", mac=MAC)
    with pytest.raises(NotFound):
        world.claim(reservation="blue", mac=MAC)  # handles are a project's own
    with pytest.raises(NotPermitted):
        world.claim(reservation=blue.claim.id, mac=MAC)
    with pytest.raises(InvalidValue, match="in network prod"):
        world.claim(network="other", reservation="spare", mac=MAC)
    with pytest.raises(Conflict, match="does not hold"):
        world.claim(reservation="spare", mac=MAC, address="10.0.0.9")
    with pytest.raises(Exhausted):
        world.claim(reservation="spare", mac=MAC, count=2)
    machine = world.claim(handle="machine", mac=MAC)
    with pytest.raises(Conflict, match="no reservation"):
        world.claim(reservation="machine", mac="52:54:00:00:00:01")
    waits = world.claim(handle="later", defer=True)
    with pytest.raises(Conflict, match="waits"):
        world.claim(reservation=waits.claim.id, mac=MAC)
    world.claim(reservation="spare", mac=MAC)
    with pytest.raises(Exhausted, match="holds 0"):
        world.claim(reservation="spare", mac="52:54:00:00:00:01")
    world.release(kept)
    with pytest.raises(Conflict, match="was released"):
        world.claim(reservation=kept.claim.id, mac=MAC)
    assert standing(world, machine) == ["shelved"]


def standing(world: World, holding: Any) -> list[str]:
    return [a.standing for a in world.tables.open("allocations") if a.claim == holding.claim.id]


def test_a_boundary_holds_for_what_is_lent() -> None:
    world = site("10.0.0.0/26", block_length_v4=28, boundary="hard")
    world.claim(handle="spare", host="h0-0")
    with pytest.raises(Conflict, match="boundary is hard"):
        world.claim(reservation="spare", mac=MAC, host="h0-1")
    assert [a.title for a in world.claim(reservation="spare", mac=MAC, host="h0-0").addresses] == ["own"]


def test_what_was_promised_waits_before_others_use_it() -> None:
    world = site("10.0.0.0/24")
    world.claim(handle="spare", address="10.0.0.5")
    taken = world.claim(mac=MAC, reservation="spare")
    held = next(a for a in world.tables.open("allocations"))
    claim = next(c for c in world.tables.open("claims") if c.id == taken.claim.id)
    until = world.now + timedelta(hours=1)
    renewed = e.LeasePromised(claim=claim, allocation=msgspec.structs.replace(held, held_until=until))
    world.state.reduce(renewed)
    world.tables.apply([renewed])
    world.release(taken)
    back = next(a for a in world.tables.open("allocations"))
    assert (back.held_until, back.waits_until) == (None, until + timedelta(seconds=5))
    again = world.claim(mac="52:54:00:00:00:01", reservation="spare")
    assert next(a for a in world.tables.open("allocations")).waits_until == until + timedelta(seconds=5)
    world.release(again)
    world.release(world.claim(handle="spare", address="10.0.0.5"))
    assert list(world.space("10.0.0.0/24").resting.values()) == [until + timedelta(seconds=5)]


# Waiting in order


def test_a_claim_queues_where_there_is_no_room() -> None:
    world = site("10.0.0.0/30", cooldown=0)
    held = [world.claim(queue=True) for _ in range(2)]
    assert [h.claim.state for h in held] == ["bound", "bound"]
    waiting = [world.claim(queue=True, mac=MAC) for _ in range(2)]
    assert [w.claim.state for w in waiting] == ["pending", "pending"]
    with pytest.raises(Exhausted):
        world.claim()
    world.release(held[0])
    late = world.claim(queue=True)  # room for one, and two wait
    assert late.claim.state == "pending"
    naive.check(world)


def test_a_queue_is_no_way_around_other_refusals() -> None:
    world = site("10.0.0.0/24")
    world.claim(address="10.0.0.5")
    with pytest.raises(AlreadyAllocated):
        world.claim(address="10.0.0.5", queue=True)


@pytest.mark.parametrize("fields", [{"addresses": ("10.0.0.5", "10.0.0.6")}, {"reservation": "spare"}])
def test_what_was_asked_for_by_name_is_not_renumbered(fields: dict[str, Any]) -> None:
    world = site("10.0.0.0/24")
    world.claim(handle="spare")
    held = world.claim(mac=MAC, host="h0-0", **fields)
    with pytest.raises(Conflict, match="just what it has"):
        world.do(u.RebindClaim(claim=held.claim.id, host="h0-1", renumber=True))
    moved = world.do(u.RebindClaim(claim=held.claim.id, host="h0-1"))
    assert ips(moved) == ips(held)


def whole(world: World) -> None:
    """What was recorded is what a node that starts now reads."""
    assert fingerprint(State.load(world.tables, world.now)) == fingerprint(world.state)
    naive.check(world)


def test_what_is_reassigned_to_its_own_reservation_is_lent_no_more() -> None:
    world = site("10.0.0.0/24")
    spare = world.claim(handle="r")
    borrower = world.claim(mac=MAC, reservation="r")
    ip = borrower.addresses[0].ip
    world.do(u.ReassignAddress(vrf="default", ip=ip, claim=spare.claim.id))
    assert lent(world) == {ip: None}
    world.release(spare)
    assert world.tables.open("claims") == []
    whole(world)


def test_a_borrower_lends_nothing_on() -> None:
    world = site("10.0.0.0/24")
    world.claim(handle="r")
    world.claim(handle="b", reservation="r")
    with pytest.raises(Conflict, match="borrows"):
        world.claim(mac=MAC, reservation="b")
    world.claim(handle="other", count=2)
    ip = next(ip for ip, lender in lent(world).items() if lender is not None)
    other = next(c.id for c in world.tables.open("claims") if c.handle == "other")
    world.do(u.ReassignAddress(vrf="default", ip=ip, claim=other))
    with pytest.raises(Exhausted):
        world.claim(mac=MAC, reservation="other", count=3)
    whole(world)


def test_a_name_that_went_over_to_the_borrowers_next_address_stays_there() -> None:
    world = site("10.0.0.0/24", domain="prod.example.")
    world.claim(handle="r", hostname="www", address="10.0.0.5")
    world.claim(mac=MAC, reservation="r")
    world.do(u.ReassignAddress(vrf="default", ip="10.0.0.5", address="10.0.0.9"))
    assert {a.ip: a.hostname for a in world.tables.open("allocations")} == {"10.0.0.5": None, "10.0.0.9": "www"}


def test_two_lent_ones_take_their_name_back() -> None:
    world = site("10.0.0.0/24", domain="prod.example.")
    world.claim(handle="r", hostname="www", count=2)
    world.release(world.claim(mac=MAC, reservation="r", count=2))
    assert [a.hostname for a in world.tables.open("allocations")] == ["www", "www"]
