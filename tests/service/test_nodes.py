"""Two nodes on one PostgreSQL, both with their threads, and clients that claim and release at both."""

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.model import uses as u
from tenure.model.answers import Failure, Holding
from tenure.service.feed import Follower
from tenure.service.replay import differences
from tenure.store.interface import Head
from tests.service.world import Node, World, claim, submission


@pytest.fixture
def world(tmp_path: Path, postgres_url: str, seed: int) -> Iterator[World]:
    """An empty ledger on a server."""
    world = World(tmp_path, seed, postgres_url)
    yield world
    world.close()


def client(node: Node, name: int, chance: random.Random, wrong: list[object]) -> None:
    """Claims and releases, now this, now that; what it is refused, it tells."""
    held: list[Holding] = []
    for at in range(40):
        if held and chance.random() < 0.4:
            use: u.Use = u.ReleaseClaim(claim=held.pop().claim.id)
        else:
            use = claim(f"{name}-{at}", hostname=f"h{name}-{at}")
        (reply,) = node.submit(submission(use)).result(60)
        if isinstance(reply.answer, Failure):
            wrong.append(reply.answer)
        elif isinstance(use, u.ClaimAddresses) and isinstance(reply.answer, Holding):
            held.append(reply.answer)


def test_two_nodes_share_a_ledger(world: World, rng: random.Random) -> None:
    one, two = world.node("one"), world.node("two")
    world.furnish(one)
    one.ok(u.CreateSubnet(network="prod", cidr="10.4.0.0/22"))
    for node in (one, two):
        node.writer.start()
    wrong: list[object] = []
    clients = [
        threading.Thread(target=client, args=((one, two)[at % 2], at, random.Random(rng.random()), wrong))
        for at in range(8)
    ]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    for node in (one, two):
        node.writer.stop()
        node.writer.step()
    assert wrong == []
    assert differences(one.store) == []
    follower = Follower(one.store, Head(one.head.epoch, 0, "", None))
    seen: list[int] = []
    while entries := follower.read(100):
        seen += [entry.sequence for entry in entries]
    assert seen == list(range(1, one.sequence + 1))
    for node in (one, two):
        assert [entry.sequence for told in node.told for entry in told.entries] == seen
        node.check()


def test_a_server_restored_to_an_earlier_state(world: World) -> None:
    """Rows that are gone from the server's ledger are noticed by a node that goes on running."""
    node = world.site()
    node.claim("a", hostname="a")
    follower = Follower(node.store, Head(node.head.epoch, 0, "", None))
    while follower.read():
        pass
    node.witness.note(Head(node.head.epoch, node.sequence, "another", None))
    serials = dict(node.writer.memory.serials)
    node.claim("b")
    assert node.writer.memory.head is not None and node.writer.memory.head.epoch != node.head.epoch
    assert all(node.writer.memory.serials[zone] - serial == 2**28 for zone, serial in serials.items())
    node.check()
