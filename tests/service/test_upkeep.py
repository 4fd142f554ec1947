"""What upkeep has the writer do, seen in the ledger."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Failure, Observed, Reply
from tenure.model.dnsdata import Zone, ZoneChange
from tenure.naming import serial
from tenure.service.upkeep import JOURNAL_LASTS, Upkeep
from tenure.testing.ledgers import Scribe, ident
from tests.service.world import Node, World, claim

HOUR = timedelta(hours=1).total_seconds()


@pytest.fixture
def world(tmp_path: Path, seed: int) -> Iterator[World]:
    """A fresh ledger."""
    world = World(tmp_path, seed)
    yield world
    world.close()


def upkeep(world: World, node: Node) -> Upkeep:
    """That of a node whose writer works when it is asked."""

    def submit(asked: Sequence[u.Submission]) -> Future[list[Reply]]:
        future = node.submit(*asked)
        node.writer.step()
        return future

    return Upkeep(node.store, world.clock, "one", submit)


def kinds(node: Node, since: int) -> list[str]:
    return [entry.event.kind.removeprefix("tenure.") for entry in node.store.entries(since, 1000)]


def test_idle_blocks_go_back_as_time_passes(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    node.release(node.claim("a", host="h1"))
    before = node.sequence
    assert keeps.step() == 0
    for _ in range(120):
        world.clock.pause(30)
        node.writer.step()
    assert keeps.step() == 1
    assert kinds(node, before) == ["block.surrendered"]
    assert [entry.actor for entry in node.store.entries(before, 1)] == ["upkeep"]
    node.check()


def test_hand_overs_end_and_budgets_are_crossed(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    for name in ("h2", "h3"):
        node.ok(u.CreateLocation(name=name, kind="host"))
    node.ok(u.ChangeNetwork(network="prod", changes={"route_budget": 1}))
    held = [node.claim(name, host=name) for name in ("h1", "h2")]
    node.ok(u.RebindClaim(claim=held[0].claim.id, host="h3", handover=30))
    before = node.sequence
    world.clock.pause(31)
    assert keeps.step() == 2
    assert kinds(node, before) == ["claim.settled", "network.budget_crossed"]
    assert keeps.step() == 0
    node.check()


def test_more_than_is_done_at_once_is_done_in_one_step(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    node.ok(u.CreateLocation(name="h2", kind="host"))
    node.ok(u.CreateSubnet(network="prod", cidr="10.0.8.0/21"))
    uses = tuple(claim(f"c{n}", host="h1") for n in range(300))
    node.ok(u.Together(uses=uses))
    node.ok(u.EvacuateHost(host="h1", to="h2", handover=30))
    world.clock.pause(31)
    assert keeps.step() == 300
    node.check()


def test_claims_end_and_are_announced(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    node.claim("a", expires=world.clock.now() + timedelta(hours=1))
    before = node.sequence
    assert keeps.step() == 1
    world.clock.pause(HOUR)
    assert keeps.step() == 1
    assert kinds(node, before) == ["claim.expiring", "address.released"]
    assert keeps.step() == 0
    node.check()


def test_a_network_that_runs_low_says_so(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    node.ok(u.ChangeNetwork(network="prod", changes={"low_threshold": 254}))
    held = node.claim("a")
    before = node.sequence
    assert (keeps.step(), keeps.step()) == (1, 0)
    node.release(held)
    assert (keeps.step(), keeps.step()) == (1, 0)
    assert kinds(node, before) == ["network.depleted", "address.released", "network.replenished"]
    node.check()


def test_those_that_queue_are_served(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    held = node.claim("all", count=254)
    node.claim("a", queue=True)
    assert keeps.step() == 0
    node.release(held)
    before = node.sequence
    assert keeps.step() == 1
    assert kinds(node, before) == ["claim.bound", "address.allocated"]
    node.check()


def ready(node: Node, name: str, mac: str) -> None:
    node.ok(u.CreateMachine(name=name, interfaces=(u.NewInterface(mac=mac, network="prod", boot=True),)))
    node.ok(u.CommissionMachine(machine=name))
    node.ok(u.ReadyMachine(machine=name))


def test_a_network_is_harvested(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    fields: dict[str, object] = {"harvest": True, "harvest_after": 60, "harvest_below": 254}
    node.ok(u.ChangeNetwork(network="prod", changes=fields))
    ready(node, "m0", "52:54:00:00:00:01")
    world.clock.pause(61)
    before = node.sequence
    assert (keeps.step(), keeps.step()) == (1, 0)
    assert kinds(node, before) == ["address.released"]
    node.check()


def test_what_strangers_were_seen_on_is_known_after_a_restart_and_ages(world: World) -> None:
    node = world.site()
    held = node.claim("a", mac="52:54:00:00:00:01")
    sightings = (u.Sighting(ip="10.0.3.9"), u.Sighting(ip=held.addresses[0].ip, mac="52:54:00:00:00:02"))
    answer = node.ok(u.ObserveAddresses(sightings=sightings))
    assert isinstance(answer, Observed)
    assert [sight.outcome for sight in answer.sights] == ["stranger", "conflict"]
    node.check()
    node.die()
    again = world.node("two")
    again.check()
    again.release(held)
    again.check()
    space = next(iter(again.writer.memory.state.subnets.values()))
    assert (space.avoided, len(space.strangers)) == (2, 2)
    for _ in range(24 * 120):
        world.clock.pause(30)
    again.writer.step()
    again.claim("b")
    assert (space.avoided, len(space.strangers)) == (0, 0)
    again.check()


def renumbered(world: World) -> Node:
    node = world.site()
    for n in range(3):
        node.claim(f"n{n}", hostname=f"n{n}")
    node.ok(u.CreateSubnet(network="prod", cidr="10.0.4.0/24"))
    node.ok(u.RenumberSubnet(subnet="10.0.3.0/24", to="10.0.4.0/24", fields={"wave": 2}))
    return node


def test_a_subnet_is_renumbered_and_its_zones_follow_change_by_change(world: World) -> None:
    node = renumbered(world)
    keeps = upkeep(world, node)
    before, loads = node.sequence, sum(bool(told.reload) for told in node.told)
    assert (keeps.step(), keeps.step()) == (2, 0)
    world.clock.pause(60)
    assert (keeps.step(), keeps.step()) == (1, 0)
    one = ["address.allocated", "address.released"]
    happened = [kind for kind in kinds(node, before) if not kind.startswith("block.")]
    assert happened == [*one, *one, "subnet.changed", *one, "subnet.changed"]
    assert sum(bool(told.reload) for told in node.told) == loads, "no zone was loaded again"
    events = [entry.event for entry in node.store.entries(before, 99)]
    going = [event.subnet.renumbering for event in events if isinstance(event, e.SubnetChanged)]
    assert [each is None for each in going] == [False, True]
    node.check()


def test_a_clock_that_stepped_suspends_all_of_it(world: World) -> None:
    node = renumbered(world)
    node.claim("a", subnet="10.0.4.0/24", expires=world.clock.now() + timedelta(hours=1))
    world.clock.step(HOUR * 2)
    node.claim("b")
    before = node.sequence
    for use in (u.Lapse(), u.HarvestNetwork(network="prod"), u.ExpireLeases(), u.Tend()):
        answer = node.answer(use)
        assert isinstance(answer, Failure) and answer.code == "store_unavailable", use
    assert node.sequence == before
    for _ in range(70):
        world.clock.pause(10)
        node.answer(u.ReadCapacity(network="prod"))
    node.ok(u.Lapse())
    assert sorted(kinds(node, before))[:1] == ["address.allocated"]
    node.check()


def test_what_happened_to_a_zone_can_be_followed_for_fourteen_days(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    (zone,) = node.store.reads.zones(q="prod.").items
    node.claim("a", hostname="vm-1")
    keeps.step()
    world.clock.pause(JOURNAL_LASTS.total_seconds() / 2)
    node.claim("b", hostname="vm-2")
    keeps.step()
    both = node.store.reads.changes_since(zone.id, zone.serial)
    assert [change.added[0].owner for change in both] == ["vm-1.prod.example.", "vm-2.prod.example."]
    world.clock.pause(JOURNAL_LASTS.total_seconds() / 2 + 1)
    keeps.step()
    assert node.store.reads.changes_since(zone.id, zone.serial) == []
    assert node.store.reads.changes_since(zone.id, both[0].serial) == both[1:]
    node.check()


def test_long_journals_go_part_by_part(world: World) -> None:
    node = world.site()
    keeps = upkeep(world, node)
    scribe = Scribe(node.store)
    (vrf,) = node.store.reads.vrfs().items
    zone = Zone(id=ident(5), vrf=vrf.id, name="other.example.")

    def journal(first: int, last: int, number: int) -> int:
        """Steps at these sequences, from a serial on, and a leap, behind which they are to go."""
        steps = [ZoneChange(zone.id, number + n, first + n) for n in range(last - first)]
        leapt = serial.leap(steps[-1].serial)
        scribe.write(e.ZoneReshaped(zone=zone), zone_changes=[*steps, ZoneChange(zone.id, leapt, last)])
        return leapt

    scribe.write(e.ZoneCreated(zone=zone))
    leapt = journal(1, 12_001, 1)
    for oldest in (10_001, 12_001):
        keeps.step()
        assert node.store.reads.zone_changes(zone.id, 0, 1)[0].sequence == oldest
    journal(12_002, 12_004, leapt + 1)
    keeps.step()
    assert len(node.store.reads.zone_changes(zone.id, 0)) == 4, "there is nothing to go for a while"
    world.clock.pause(600)
    keeps.step()
    assert [change.sequence for change in node.store.reads.zone_changes(zone.id, 0)] == [12_004]
