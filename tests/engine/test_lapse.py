"""What time alone does to claims: ends and their announcement, queues, and networks that run low."""

from datetime import timedelta
from typing import Any

from tenure.engine.facts import MOST_QUEUED
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Number
from tests.engine import naive
from tests.engine.world import World, site

POOL = "10.0.0.0/29"
HOUR, DAY = 3600, 86400


def pool(cidr: str = POOL, **network: Any) -> World:
    return site(cidr, cooldown=0, strategy="first_free", **network)


def lapse(world: World, limit: int = 256) -> list[e.Event]:
    made = world.plan(u.Lapse(limit=limit))
    assert isinstance(made.answer, Number)
    assert 0 <= made.answer.value <= limit
    assert bool(made.answer.value) == bool(made.events)
    naive.check(world)
    return made.events


def kinds(events: list[e.Event]) -> list[str]:
    return [event.kind.removeprefix("tenure.") for event in events]


def until(world: World, seconds: float, handle: str, **fields: Any) -> Any:
    return world.claim(handle=handle, expires=world.now + timedelta(seconds=seconds), **fields)


def open_handles(world: World) -> list[str]:
    return sorted(claim.handle for claim in world.tables.open("claims"))


# Ends


def test_a_claim_is_announced_a_day_before_its_end_and_then_ends() -> None:
    world = pool()
    until(world, 3 * DAY, "a")
    assert lapse(world) == []
    world.wait(2 * DAY)
    (event,) = lapse(world)
    assert isinstance(event, e.ClaimExpiring) and event.claim.warned
    assert lapse(world) == []
    world.wait(DAY - 1)
    assert lapse(world) == []
    world.wait(1)
    (released,) = lapse(world)
    assert isinstance(released, e.AddressReleased)
    assert (released.reason, released.closes) == ("expired", True)
    assert open_handles(world) == []


def test_one_that_is_shorter_is_announced_at_once_and_one_that_is_over_is_not() -> None:
    world = pool()
    until(world, HOUR, "a")
    assert kinds(lapse(world)) == ["claim.expiring"]
    until(world, HOUR, "b")
    world.wait(HOUR)
    assert kinds(lapse(world)) == ["address.released"] * 2


def test_a_pending_claim_ends_too_and_so_does_one_without_an_address() -> None:
    world = pool()
    until(world, HOUR, "a", defer=True)
    world.wait(HOUR)
    assert kinds(lapse(world)) == ["claim.released"]


def test_an_end_that_was_put_off_is_announced_again() -> None:
    world = pool()
    held = until(world, HOUR, "a")
    lapse(world)
    later = (world.now + timedelta(days=3)).isoformat()
    world.do(u.ChangeClaim(claim=held.claim.id, changes={"expires": later}))
    world.wait(2 * HOUR)
    assert lapse(world) == []
    world.wait(2 * DAY)
    assert kinds(lapse(world)) == ["claim.expiring"]


def test_the_earliest_end_comes_first_and_the_limit_is_kept() -> None:
    world = pool()
    for seconds, handle in ((300, "c"), (100, "a"), (200, "b")):
        until(world, seconds, handle)
    world.wait(HOUR)
    lapse(world, 2)
    assert open_handles(world) == ["c"]
    lapse(world, 2)
    assert open_handles(world) == []


# Queues


def full(count: int = 6, **network: Any) -> tuple[World, list[Any]]:
    """A network of which every address is held."""
    world = pool(**network)
    return world, [world.claim() for _ in range(count)]


def queue(world: World, handle: str, **fields: Any) -> Any:
    held = world.claim(handle=handle, queue=True, **fields)
    assert held.claim.state == "pending"
    world.wait(1)
    return held


def bound(world: World) -> list[str]:
    return [c.handle for c in world.tables.open("claims") if c.request.queue and c.state == "bound"]


def test_those_that_queue_are_served_in_order_when_there_is_room() -> None:
    world, held = full()
    for handle in ("z", "y", "x"):
        queue(world, handle)
    assert lapse(world) == []
    world.release(held[0])
    assert kinds(lapse(world)) == ["claim.bound", "address.allocated"]
    assert bound(world) == ["z"]
    world.release(held[1])
    world.release(held[2])
    lapse(world)
    assert sorted(bound(world)) == ["x", "y", "z"]


def test_one_that_wants_more_is_not_overtaken() -> None:
    world, held = full()
    queue(world, "large", count=2)
    queue(world, "small")
    world.release(held[0])
    assert lapse(world) == [], "a step that was refused leaves nothing"
    world.release(held[1])
    lapse(world)
    assert bound(world) == ["large"]


def test_one_that_waits_at_a_full_place_keeps_nobody_else() -> None:
    world = pool("10.0.0.0/28", boundary="hard", block_length_v4=29, rack_block_length_v4=29)
    world.do(u.ChangeNetwork(network="prod", changes={"strategy": "topology"}))
    here = [world.claim(host="h0-0") for _ in range(7)]
    there = [world.claim(host="h1-0") for _ in range(7)]
    queue(world, "here", host="h0-0")
    queue(world, "there", host="h1-0")
    world.release(there[0])
    lapse(world)
    assert bound(world) == ["there"]
    world.release(here[0])
    lapse(world)
    assert bound(world) == ["here", "there"]


def test_a_place_that_is_draining_serves_nobody() -> None:
    world, held = full()
    queue(world, "a", host="h0-0")
    world.do(u.ChangeLocation(location="r0", changes={"draining": True}))
    world.release(held[0])
    assert lapse(world) == []
    world.do(u.ChangeLocation(location="r0", changes={"draining": False}))
    lapse(world)
    assert bound(world) == ["a"]


def test_both_families_or_neither() -> None:
    world, held = full()
    world.do(u.CreateSubnet(network="prod", cidr="2001:db8::/126"))
    queue(world, "dual", family="dual")
    assert lapse(world) == []
    world.release(held[0])
    assert kinds(lapse(world)) == ["claim.bound", "address.allocated", "address.allocated"]


# Thresholds


def told(world: World) -> list[tuple[str, str, int]]:
    found = [x for x in lapse(world) if isinstance(x, e.NetworkDepleted | e.NetworkReplenished)]
    return [
        (x.network.name, x.family, x.available) if isinstance(x, e.NetworkDepleted) else (x.network.name, "", -1)
        for x in found
    ]


def test_a_network_that_runs_low_says_so_once_and_once_that_it_does_no_longer() -> None:
    world = pool(low_threshold=3)
    held = [world.claim() for _ in range(3)]
    assert told(world) == [], "three are available, and three are not fewer"
    held.append(world.claim())
    assert told(world) == [("prod", "v4", 2)]
    held.append(world.claim())
    assert told(world) == []
    world.release(held.pop())
    assert told(world) == []
    world.release(held.pop())
    assert told(world) == [("prod", "", -1)]
    (network,) = world.tables.networks
    assert not network.depleted


def test_each_family_is_looked_at_and_what_nobody_gives_does_not_count() -> None:
    world = pool(low_threshold=3)
    world.do(u.CreateSubnet(network="prod", cidr="2001:db8::/126"))
    assert told(world) == []
    world.claim(family="v6")
    assert told(world) == [("prod", "v6", 2)]
    world.do(u.ChangeNetwork(network="prod", changes={"low_threshold": 0}))
    assert told(world) == [("prod", "", -1)]
    world.do(u.ChangeNetwork(network="prod", changes={"low_threshold": 2}))
    assert told(world) == []
    world.do(u.ChangeSubnet(subnet=POOL, changes={"draining": True}))
    assert told(world) == [("prod", "v4", 0)]


# Queues at many places


def two_full(count: int = 2) -> tuple[World, list[Any]]:
    """A network of so many subnets, each with both of its addresses held."""
    cidrs = [f"10.{n >> 6}.{n & 63}.0/30" for n in range(count)]
    world = site(*cidrs, cooldown=0, strategy="first_free")
    return world, [[world.claim(subnet=cidr) for _ in range(2)] for cidr in cidrs]


def test_those_that_wait_at_one_full_subnet_keep_nobody_from_another() -> None:
    world, held = two_full()
    for n in range(MOST_QUEUED):
        world.claim(handle=f"a{n}", queue=True, subnet="10.0.0.0/30")
    queue(world, "b", subnet="10.0.1.0/30")
    world.release(held[1][0])
    lapse(world)
    assert bound(world) == ["b"]


def test_however_many_places_are_full_those_after_them_have_their_turn() -> None:
    world, held = two_full(MOST_QUEUED + 2)
    for n in range(MOST_QUEUED + 2):
        world.claim(handle=f"q{n}", queue=True, subnet=f"10.{n >> 6}.{n & 63}.0/30")
    late, early = MOST_QUEUED + 1, 7
    world.release(held[late][0])
    for served in ([], [f"q{late}"]):
        lapse(world)
        assert bound(world) == served
    world.release(held[early][0])
    lapse(world)
    assert bound(world) == [f"q{early}", f"q{late}"], "it begins anew"
