"""Worlds in which placement once went wrong: trees that change, subnets of odd sizes, and what rests in the way."""

from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from tenure.engine.fingerprint import fingerprint
from tenure.engine.state import State
from tenure.errors import Exhausted, InUse
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.placement import Block
from tests.engine import naive
from tests.engine.test_counting import Bulk, lines_of
from tests.engine.world import World


def tree(cidr: str, *places: tuple[str, str, str | None], **network: Any) -> World:
    """A world of these places (name, kind, parent) and a network of one subnet, all of whose addresses are used."""
    world = World()
    world.do(u.CreateVrf(name="default"))
    for name, kind, parent in places:
        world.do(u.CreateLocation(name=name, kind=kind, parent=parent))  # type: ignore[arg-type]
    world.do(u.CreateNetwork(name="prod", fields=network))
    world.do(u.CreateSubnet(network="prod", cidr=cidr, fields={"use_all_addresses": True}))
    return world


def move(world: World, place: str, parent: str | None) -> None:
    world.do(u.ChangeLocation(location=place, changes={"parent": parent}))


def claimed(world: World, host: str | None, count: int) -> list[str]:
    """Addresses of so many claims of a host, one each; what is remembered is looked at after each."""
    found = []
    for _ in range(count):
        found.append(world.ip(host=host))
        naive.check(world)
    return found


def same_when_loaded(world: World) -> None:
    assert fingerprint(State.load(world.tables, world.now)) == fingerprint(world.state)


def same_when_replayed(world: World) -> None:
    """A replay hears of the time only at its end."""
    replayed = State()
    for event in world.events:
        replayed.reduce(event)
    replayed.advance(world.now)
    assert fingerprint(replayed) == fingerprint(world.state)


@pytest.mark.parametrize("cidr", ["10.0.0.0/32", "10.0.0.0/31", "2001:db8::/127", "2001:db8::/128"])
def test_the_smallest_subnets_serve_one_of_many_sites(cidr: str) -> None:
    """Each of five sites would be given less than an address."""
    sites = [(f"s{n}", "site", None) for n in range(5)]
    racks = [(f"r{n}", "rack", f"s{n}") for n in range(5)]
    world = tree(cidr, *sites, *racks, ("a", "host", "r0"))
    assert len(claimed(world, "a", world.space(cidr).size)) == world.space(cidr).size


def test_a_host_of_a_site_without_racks_takes_what_another_sites_rack_has_left() -> None:
    """A site's block never lies in a rack's: the host has its own there."""
    world = tree("10.0.0.0/28", ("s1", "site", None), ("r", "rack", "s1"), ("a", "host", "r"), boundary="hard")
    world.do(u.ChangeNetwork(network="prod", changes={"block_length_v4": 29, "rack_block_length_v4": 28}))
    claimed(world, "a", 1)
    world.do(u.CreateLocation(name="s2", kind="site"))
    world.do(u.CreateLocation(name="b", kind="host", parent="s2"))
    move(world, "a", None)
    assert len(claimed(world, "b", 8)) == 8
    same_when_loaded(world)


@pytest.mark.parametrize("host", ["b", None])
def test_who_is_in_no_rack_takes_what_racks_left(host: str | None) -> None:
    places = ("r", "rack", None), ("a", "host", "r"), ("b", "host", None)
    world = tree("10.0.0.0/29", *places, boundary="hard", cooldown=0)
    held = world.claim(host="a")
    while world.space("10.0.0.0/29").available:
        world.claim(host="a")
    for claim in world.tables.open("claims"):
        if claim.id != held.claim.id:
            world.do(u.ReleaseClaim(claim=claim.id))
    with pytest.raises(Exhausted):
        world.claim(host=host)
    world.release(held)
    assert len(claimed(world, host, 8)) == 8


LEVELS = ("region", "site", "rack", "host")


@pytest.mark.parametrize("level", LEVELS[:3])
def test_a_host_that_moved_lends_no_longer_to_whom_a_boundary_keeps_apart(level: str) -> None:
    """Its block is still where its former rack's are."""
    places = [(f"{kind}{n}", kind, f"{up}{n}" if up else None) for up, kind in pairwise(("", *LEVELS)) for n in (1, 2)]
    world = tree("10.0.0.0/27", *places, ("b", "host", "rack1"), boundary={level: "hard"}, block_length_v4=28)
    claimed(world, "host1", 1)
    move(world, "host1", "rack2")
    with pytest.raises(Exhausted):
        claimed(world, "b", 32)
    assert [block.text for block in world.space("10.0.0.0/27").blocks.values() if block.lender is not None] == []


@pytest.mark.parametrize("boundary", ["hard", {"rack": "hard"}])
def test_a_loan_is_not_used_once_a_boundary_is_hard(boundary: Any) -> None:
    world = tree("10.0.0.0/28", ("r", "rack", None), ("a", "host", "r"), ("b", "host", "r"), ("c", "host", None))
    claimed(world, "a", 1)
    move(world, "b", "r")
    claimed(world, "b", 1)
    lent = [block for block in world.space("10.0.0.0/28").blocks.values() if block.lender is not None]
    assert [block.text for block in lent] == ["10.0.0.12/30"]
    move(world, "a", None)
    world.do(u.ChangeNetwork(network="prod", changes={"boundary": boundary}))
    with pytest.raises(Exhausted):
        world.ip(host="b")


def test_a_rack_does_not_grow_out_of_its_sites_block() -> None:
    """Its site's next block lies beside, and is another block."""
    world = tree("10.0.0.0/28", ("s", "site", None), ("t", "site", None), ("r", "rack", "s"), ("a", "host", "r"))
    world.do(u.ChangeNetwork(network="prod", changes={"block_length_v4": 30, "rack_block_length_v4": 30}))
    claimed(world, "a", 16)
    same_when_loaded(world)


def test_a_racks_space_goes_back_though_all_of_it_rested_when_it_was_looked_at() -> None:
    lengths = {"block_length_v4": 30, "rack_block_length_v4": 29}
    world = tree("10.0.0.0/27", ("r", "rack", None), ("a", "host", "r"), cooldown=86400, **lengths)
    for _ in range(2):
        for held in [world.claim(host="a") for _ in range(8)]:
            world.release(held)
        tended(world, 7200)
    tended(world, 90000)
    tended(world, 7200)
    assert not world.space("10.0.0.0/27").regions


def tended(world: World, seconds: int) -> None:
    world.wait(seconds)
    world.do(u.Tend())
    naive.check(world)


def test_a_host_block_over_two_blocks_of_a_rack_is_parted_when_the_rack_goes() -> None:
    """For what was cut from one site goes back to it, and what from another to that."""
    world = tree("10.0.0.0/28", ("s", "site", None), ("t", "site", None), ("r", "rack", "s"), ("a", "host", "r"))
    space = world.space("10.0.0.0/28")
    world.do(u.ChangeNetwork(network="prod", changes={"block_length_v4": 30, "rack_block_length_v4": 29}))
    for step in (("s", "site", 29, 0), ("t", "site", 29, 8), ("r", "rack", 29, 0), ("r", "rack", 29, 8)):
        own(world, *step)
    claimed(world, "a", 14)
    assert "10.0.0.0/28" in {block.text for block in space.blocks.values()}
    move(world, "a", "t")
    world.do(u.DeleteLocation(location="r"))
    naive.check(world)
    same_when_loaded(world)
    assert [block.text for block in space.blocks.values()] == ["10.0.0.0/29", "10.0.0.8/29"]


def own(world: World, place: str, kind: Any, length: int, low: int) -> None:
    """A place owns a wider block from now on."""
    space, owner = world.space("10.0.0.0/28"), world.state.find("location", place)
    event = e.BlockOwned(block=Block(space.subnet.id, f"10.0.0.{low}/{length}", owner, kind))
    world.state.reduce(event)
    world.tables.apply([event])


def test_no_number_of_racks_whose_space_rests_hides_the_one_that_has_room() -> None:
    racks = [(f"r{n}", "rack", None) for n in range(24)]
    hosts = [(f"h{n}", "host", f"r{n}") for n in range(24)]
    lengths = {"block_length_v4": 30, "rack_block_length_v4": 29}
    world = tree("10.0.0.0/24", *racks, *hosts, boundary="hard", cooldown=86400, **lengths)
    for n in range(23):
        for held in [world.claim(host=f"h{n}") for _ in range(8)]:
            world.release(held)
    world.ip(host="h23")
    world.wait(1000)
    world.do(u.Tend())
    while True:
        left = world.space("10.0.0.0/24").available
        try:
            world.ip(host="h0")
        except Exhausted:
            break
    assert left == 3  # of the block in which h23 has an address


@pytest.mark.parametrize("strategy", ["topology", "host_block"])
def test_no_number_of_blocks_that_rest_hides_those_that_do_not(strategy: str) -> None:
    """110 blocks are empty and all of each rests; the 18 that became empty after them were used by half."""
    hosts = [(f"h{n}", "host", None) for n in range(129)]
    world = tree("10.0.0.0/24", *hosts, boundary="hard", cooldown=86400, block_length_v4=31, strategy=strategy)
    whole = [world.claim(host=f"h{n // 2}") for n in range(220)]
    half = [world.claim(host=f"h{n}") for n in range(110, 128)]
    for held in (*whole, *half):
        world.release(held)
    world.wait(100)
    assert len(claimed(world, "h128", 18)) == 18


def test_no_number_of_subnets_hides_the_room_that_a_soft_boundary_leaves() -> None:
    """In each of 70 an empty block rests, and the one free address lies in another host's block."""
    places = ("a", "host", None), ("b", "host", None), ("c", "host", None)
    world = tree("10.1.0.0/30", *places, block_length_v4=31, cooldown=86400)
    again = []
    for n in range(70):
        if n:
            world.do(u.CreateSubnet(network="prod", cidr=f"10.1.{n}.0/30", fields={"use_all_addresses": True}))
        world.ip(host="a")
        for held in [world.claim(host="b") for _ in range(2)]:
            world.release(held)
        again.append(world.claim(host="a"))
    world.do(u.ChangeNetwork(network="prod", changes={"cooldown": 0}))
    for held in again:
        world.release(held)
    assert claimed(world, "c", 1)


def test_a_subnet_that_shrinks_into_a_block_keeps_what_is_held_near_its_host() -> None:
    world = tree("10.0.0.0/26", ("r", "rack", None), ("a", "host", "r"), cooldown=0)
    held = [world.claim(host="a") for _ in range(20)]
    for each in held[12:]:
        world.release(each)
    assert [block.text for block in world.space("10.0.0.0/26").blocks.values()] == ["10.0.0.0/27"]
    world.do(u.ChangeSubnet(subnet="10.0.0.0/26", changes={"cidr": "10.0.0.0/28"}))
    naive.check(world)
    same_when_loaded(world)
    space = world.space("10.0.0.0/28")
    assert [(block.text, block.held) for block in space.blocks.values()] == [("10.0.0.0/28", 12)]


def test_a_subnet_does_not_grow_around_another_that_lies_where_it_holds_something() -> None:
    """It lay in the other one before."""
    world = tree("10.0.0.0/28", ("a", "host", None))
    held = world.claim(host="a")
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.0/27"))
    with pytest.raises(InUse, match=held.addresses[0].ip):
        world.do(u.ChangeSubnet(subnet="10.0.0.0/28", changes={"cidr": "10.0.0.0/26"}))
    world.release(held)
    world.wait(3600)
    world.do(u.ChangeSubnet(subnet="10.0.0.0/28", changes={"cidr": "10.0.0.0/26"}))
    naive.check(world)


def test_a_subnet_that_moved_after_a_rest_is_the_same_when_replayed() -> None:
    world = tree("10.0.0.0/32", ("a", "host", None), cooldown=60)
    world.release(world.claim(host="a"))
    world.wait(60)
    world.do(u.ChangeSubnet(subnet="10.0.0.0/32", changes={"cidr": "10.0.9.0/28"}))
    same_when_replayed(world)


def test_a_rest_that_was_over_before_a_subnet_was_cut_out_is_not_counted_when_replayed() -> None:
    """What rested in the one that was cut out goes on in the one around it, where nobody said that it was over."""
    world = tree("10.0.0.0/28", ("a", "host", None), cooldown=60)
    world.release(world.claim(host="a", address="10.0.0.9"))
    world.wait(60)
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.8/29"))
    world.release(world.claim(host="a", address="10.0.0.9"))
    world.do(u.DeleteSubnet(subnet="10.0.0.8/29"))
    same_when_replayed(world)
    assert world.space("10.0.0.0/28").cooling == 1
    world.wait(60)
    same_when_replayed(world)
    assert world.space("10.0.0.0/28").cooling == 0


def test_a_large_block_lends_all_that_it_has() -> None:
    """What is lent lies at its end: after some pages it is looked for from its beginning."""
    world = tree("10.0.0.0/20", ("r", "rack", None), ("a", "host", "r"), ("b", "host", "r"), boundary={"rack": "hard"})
    world.do(u.ChangeNetwork(network="prod", changes={"block_length_v4": 20}))
    bulk = Bulk(world)
    bulk.claim(host="a")
    for _ in range(4095):
        bulk.claim(host="b")
    assert world.space("10.0.0.0/20").available == 0


def test_a_boundary_around_sites_costs_little_for_each_rack_that_has_nothing_to_lend() -> None:
    """One site is full, and a host of it, with loans of its own, asks in vain for more; the other has room."""
    costs = []
    for racks in (10, 110):
        places = [(f"r{n}", "rack", "s" if n else "t") for n in range(racks)]
        hosts = [(f"h{n}", "host", f"r{n}") for n in range(racks)]
        sites = ("s", "site", None), ("t", "site", None)
        world = tree("10.0.0.0/23", *sites, *places, *hosts, boundary={"site": "hard"}, block_length_v4=30)
        bulk = Bulk(world)
        bulk.claim(host="h0")
        for n in range(1, 600):
            with suppress(Exhausted):
                bulk.claim(host=f"h{n % racks}" if n % racks else "h1")
        costs.append(lines_of(partial(refused, bulk)))
    assert costs[1] < costs[0] + 4 * 100


def refused(bulk: Bulk) -> None:
    with pytest.raises(Exhausted):
        bulk.claim(host="h1")


@pytest.mark.parametrize("level", ["site", "region"])
def test_hosts_outside_of_all_that_a_boundary_is_around_lend_to_each_other(level: str) -> None:
    world = tree("10.0.0.0/28", ("a", "host", None), ("r", "rack", None), ("b", "host", "r"), boundary={level: "hard"})
    claimed(world, "a", 1)
    assert len(claimed(world, "b", 15)) == 15


def test_hosts_in_no_rack_lend_to_each_other_what_they_have_of_a_racks_space() -> None:
    places = ("r", "rack", None), ("a", "host", "r"), ("b", "host", None), ("c", "host", None)
    world = tree("10.0.0.0/28", *places, boundary={"rack": "hard"}, cooldown=0)
    world.release(world.claim(host="a"))
    claimed(world, "b", 1)
    assert len(claimed(world, "c", 15)) == 15
