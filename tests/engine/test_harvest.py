"""Pre-allocated addresses that nobody uses are taken back when few are left: whose, in which order, and why."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.errors import InvalidValue, NotFound
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Harvested
from tenure.model.uses import NewInterface, Sighting
from tests.engine import naive
from tests.engine.world import World, site

POOL = "10.0.0.0/28"
DAY = 86400


def farm(count: int, below: int = 14, cidr: str = POOL, **network: Any) -> World:
    """So many ready machines `m0`, `m1` …, each with an address of its own, made a minute apart."""
    fields: dict[str, Any] = {"harvest": True, "harvest_after": 30 * DAY, "harvest_below": below, "cooldown": 0}
    world = site(cidr, strategy="first_free", **{**fields, **network})
    for n in range(count):
        ready(world, f"m{n}", n)
        world.wait(60)
    return world


def ready(world: World, name: str, n: int, **machine: Any) -> None:
    port = NewInterface(mac=f"52:54:00:00:01:{n:02x}", network="prod", boot=True)
    world.do(u.CreateMachine(name=name, interfaces=(port,), **machine))
    world.do(u.CommissionMachine(machine=name))
    world.do(u.ReadyMachine(machine=name))


def harvest(world: World, limit: int = 256) -> Harvested:
    answer = world.do(u.HarvestNetwork(network="prod", limit=limit))
    assert isinstance(answer, Harvested)
    naive.check(world)
    return answer


def names(answer: Harvested) -> list[str]:
    return [gleaned.machine for gleaned in answer.taken]


def idle(count: int, below: int = 14, **network: Any) -> World:
    """As `farm`, and nobody was seen for so long that all may be harvested."""
    world = farm(count, below, **network)
    world.wait(31 * DAY)
    return world


def test_the_oldest_unseen_go_first_and_no_more_than_are_wanted() -> None:
    world = idle(4, below=12)
    world.do(u.SeeMachine(machine="m0", at=world.now - timedelta(seconds=30 * DAY + 1)))
    answer = harvest(world)
    assert (names(answer), answer.available, answer.wanted) == (["m1", "m2"], 10, 2)
    assert names(harvest(world)) == []


def test_each_release_says_why() -> None:
    world = idle(1)
    world.do(u.SeeMachine(machine="m0", at=world.now - timedelta(seconds=30 * DAY + 1)))
    events = len(world.events)
    harvest(world)
    (event,) = [x for x in world.events[events:] if isinstance(x, e.AddressReleased)]
    assert (event.reason, event.closes) == ("harvested", True)
    assert event.because == "prod had 13 available, 14 are wanted; m0 was last seen 2026-11-02 12:00 UTC"


def test_nothing_happens_while_enough_are_available() -> None:
    world = idle(4, below=10)
    events = len(world.events)
    assert harvest(world) == Harvested((), available=10, wanted=0)
    assert len(world.events) == events


def test_a_machine_that_was_seen_keeps_its_address() -> None:
    world = farm(2)
    world.wait(29 * DAY)
    world.do(u.SeeMachine(machine="m0"))
    world.wait(2 * DAY)
    assert names(harvest(world)) == ["m1"]


def test_the_holder_that_a_scan_sees_keeps_its_address() -> None:
    world = idle(1)
    (held,) = world.tables.open("allocations")
    world.do(u.ObserveAddresses(sightings=(Sighting(ip=held.ip),)))
    assert names(harvest(world)) == []


def test_a_deployed_machine_keeps_its_address_however_long_it_was_not_seen() -> None:
    world = farm(2)
    world.do(u.DeployMachine(machine="m0"))
    world.wait(365 * DAY)
    assert names(harvest(world)) == ["m1"]


def test_what_a_person_asked_for_is_kept() -> None:
    world = idle(0)
    world.claim(mac="52:54:00:00:02:01", machine="asked")
    world.claim(address="10.0.0.9", mac="52:54:00:00:02:02", machine="named")
    world.claim(mac="52:54:00:00:02:03", machine="static", static=True)
    world.wait(365 * DAY)
    assert names(harvest(world)) == []


def test_a_static_claim_of_a_machine_is_kept() -> None:
    world = idle(2)
    claim = next(c for c in world.tables.open("claims") if world_name(world, c.machine) == "m0")
    world.do(u.ChangeClaim(claim=claim.id, changes={"static": True}))
    assert names(harvest(world)) == ["m1"]


def world_name(world: World, machine: str) -> str:
    return next(str(m.name) for m in world.tables.all("machines") if m.id == machine)


@pytest.mark.parametrize(
    ("network", "machine", "claim", "goes"),
    [
        (True, "inherit", "inherit", True),
        (False, "inherit", "inherit", False),
        (False, "allowed", "inherit", True),
        (True, "never", "inherit", False),
        (False, "never", "allowed", True),
        (True, "allowed", "never", False),
    ],
)
def test_the_claim_wins_over_the_machine_and_that_over_the_network(
    network: bool, machine: Any, claim: str, goes: bool
) -> None:
    world = idle(0, harvest=network)
    ready(world, "m0", 0, harvest=machine)
    if claim != "inherit":
        (held,) = world.tables.open("claims")
        world.do(u.ChangeClaim(claim=held.id, changes={"harvest": claim}))
    world.wait(31 * DAY)
    assert names(harvest(world)) == (["m0"] if goes else [])


def test_addresses_that_rest_are_counted_on() -> None:
    world = idle(6, below=12, cooldown=3600)
    assert names(harvest(world)) == ["m0", "m1", "m2", "m3"]
    assert names(harvest(world)) == [], "those come back by themselves"


def test_the_limit_is_kept() -> None:
    world = idle(5)
    assert names(harvest(world, 2)) == ["m0", "m1"]
    for limit in (0, 10_001):
        with pytest.raises(InvalidValue):
            harvest(world, limit)
    with pytest.raises(NotFound):
        world.do(u.HarvestNetwork(network="none"))


def test_families_are_looked_at_apart() -> None:
    world = idle(0, below=3, cidr="10.0.0.0/24")
    ready(world, "old", 0)
    world.do(u.CreateSubnet(network="prod", cidr="2001:db8::/126"))
    for n in (1, 2):
        ready(world, f"m{n}", n)
    world.wait(31 * DAY)
    answer = harvest(world)
    assert [(g.machine, g.ip) for g in answer.taken] == [
        ("m1", "10.0.0.2"),
        ("m1", "2001:db8::1"),
        ("m2", "10.0.0.3"),
        ("m2", "2001:db8::2"),
    ], "the oldest has no IPv6 address, and there is enough IPv4"


def test_what_would_not_become_available_is_left() -> None:
    world = idle(2)
    ips = sorted(a.ip for a in world.tables.open("allocations"))
    world.do(u.ObserveAddresses(sightings=(Sighting(ip=ips[0], mac="52:54:00:00:09:09"),)))
    assert names(harvest(world)) == ["m1"], "a stranger uses the other"
    world.do(u.ChangeSubnet(subnet=POOL, changes={"draining": True}))
    assert names(harvest(world)) == []


def test_a_harvested_machine_gets_the_same_address_when_it_needs_one_again() -> None:
    world = idle(2)
    taken = {g.machine: g.ip for g in harvest(world).taken}
    world.do(u.DeployMachine(machine="m1"))
    (held,) = world.tables.open("allocations")
    assert held.ip == taken["m1"]


def test_a_use_before_it_in_the_same_batch_counts() -> None:
    world = idle(2)
    made = world.do(u.Together(uses=(u.DeployMachine(machine="m0"), u.HarvestNetwork(network="prod"))))
    assert names(made.items[1]) == ["m1"]


def test_time_harvests_by_itself() -> None:
    world = idle(3, below=13)
    assert world.do(u.Lapse()).value == 2
    assert sorted(world_name(world, c.machine) for c in world.tables.open("claims")) == ["m2"]


def test_another_policy_is_tried_before_it_is_switched_on() -> None:
    world = idle(2, below=0, harvest=False)
    said = u.HarvestNetwork(network="prod", allowed=True, after=30 * DAY, below=13)
    with pytest.raises(InvalidValue, match="only for a dry run"):
        world.do(said)
    answer = world.do(said, dry_run=True)
    assert isinstance(answer, Harvested)
    assert (names(answer), answer.available, answer.wanted) == (["m0"], 12, 1)
    assert names(harvest(world)) == []
