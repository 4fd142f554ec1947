"""What upkeep has the writer do, seen in the ledger."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.model import uses as u
from tenure.model.answers import Reply
from tenure.service.upkeep import Upkeep
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
