"""Capacity by location: what a scheduler places by."""

import random
from itertools import pairwise
from typing import Any

import pytest

from tenure.errors import Exhausted
from tenure.model import uses as u
from tenure.model.answers import Capacity, Room
from tenure.model.policy import Boundaries
from tests.engine.test_counting import Bulk
from tests.engine.world import World, site


def places(world: World) -> dict[str, Room]:
    """What each location has of IPv4."""
    counts = world.do(u.ReadCapacity(network="prod", by_location=True))
    return {place.name: place.v4 for place in counts.locations}


def rooms(world: World) -> dict[str, int]:
    return {name: room.room for name, room in places(world).items()}


def test_who_has_nothing_yet_has_room_in_what_is_nobodys() -> None:
    world = site("10.0.0.0/24", racks=1, hosts=2, boundary="hard")
    assert rooms(world) == {"s1": 254, "r0": 254, "h0-0": 254, "h0-1": 254}
    assert places(world)["h0-0"] == Room(room=254)


def test_a_hard_boundary_keeps_others_blocks_out() -> None:
    world = site("10.0.0.0/26", racks=1, hosts=2, boundary="hard", block_length_v4=28)
    for _ in range(16):
        world.ip(host="h0-0")
    found = places(world)
    mine = found["h0-0"]
    assert mine.in_use == 16
    assert found["h0-1"].room == 62 - (mine.capacity - mine.reserved)
    assert found["h0-0"].room == found["r0"].room == 62 - 16


def test_a_soft_boundary_leaves_everything_to_everybody() -> None:
    world = site("10.0.0.0/26", racks=2, hosts=1)
    for _ in range(10):
        world.ip(host="h0-0")
    assert set(rooms(world).values()) == {52}


def test_a_location_that_no_subnet_reaches_or_that_is_draining_has_no_room() -> None:
    world = site(racks=2, hosts=2, model="clustered")
    world.do(u.CreateSubnet(network="prod", cidr="10.0.0.0/28", fields={"locations": ["r0"]}))
    assert rooms(world) == {"s1": 14, "r0": 14, "h0-0": 14, "h0-1": 14}
    world.do(u.ChangeLocation(location="h0-0", changes={"draining": True}))
    assert rooms(world) == {"s1": 14, "r0": 14, "h0-1": 14}
    world.do(u.ChangeLocation(location="r0", changes={"draining": True}))
    assert rooms(world) == {}


BOUNDARIES: list[Any] = ["soft", "hard", Boundaries(rack="hard"), Boundaries(site="hard")]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("strategy", ["topology", "first_free"])
def test_room_is_what_can_be_claimed(boundary: Any, strategy: str, rng: random.Random) -> None:
    """Whoever claims at one host is refused when it has no room, and not before, wherever the others have claimed."""
    for _ in range(8):
        lengths: dict[str, Any] = {
            "block_length_v4": rng.choice((28, 30, 32)),
            "rack_block_length_v4": rng.choice((26, 27, 28)),
        }
        world = site("10.0.0.0/26", "10.0.1.0/28", boundary=boundary, strategy=strategy, cooldown=0, **lengths)
        hosts = [place.name for place in world.state.locations.values() if place.kind == "host"]
        held = [claimed for _ in range(rng.randrange(70)) if (claimed := tried(world, rng.choice(hosts)))]
        for each in rng.sample(held, len(held) // 2):
            world.release(each)
        host = rng.choice(hosts)
        seen = [rooms(world).get(host, 0)]
        while tried(world, host):
            seen.append(rooms(world).get(host, 0))
        assert seen[-1] == 0
        assert all(after < before for before, after in pairwise(seen))
        if boundary in ("soft", "hard"):
            assert seen == list(range(len(seen)))[::-1]


def tried(world: World, host: str) -> Any:
    try:
        return world.claim(host=host)
    except Exhausted:
        return None


def test_a_scheduler_that_reads_capacity_is_never_refused(rng: random.Random) -> None:
    """10,000 placements on a hard boundary, in a network that is nearly full most of the time."""
    bulk = Bulk(site("10.0.0.0/25", racks=3, hosts=4, boundary="hard", cooldown=0, block_length_v4=29))
    held: list[Any] = []
    placed = 0
    while placed < 10_000:
        counts = bulk.use(u.ReadCapacity(network="prod", by_location=True)).answer
        assert isinstance(counts, Capacity)
        free = [place.name for place in counts.locations or () if place.kind == "host" and place.v4.room]
        for host in rng.sample(free, min(1, len(free))):
            held.append(bulk.claim(host=host).answer)
            placed += 1
        while held and (not free or rng.random() < 0.45):
            bulk.use(u.ReleaseClaim(claim=held.pop(rng.randrange(len(held))).claim.id))
            free = free or [""]
    assert bulk.world.state.claims_of[bulk.world.state.names["network", "prod"]] == len(held)
