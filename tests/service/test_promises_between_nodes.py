"""A promise that one node made binds the other, which decides without having been told of it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.answers import Failure, Leased
from tenure.model.leases import Client, Place
from tenure.net.addresses import number_of
from tests.service.world import Node, World, claim

A, B = "52:54:00:00:00:0a", "52:54:00:00:00:0b"
LINK = Place(number_of("10.0.3.1"))
PROMISED = 2 * 3600
"""Seconds: promises are written two lease lengths ahead."""
MARGIN = 5


@pytest.fixture
def world(tmp_path: Path, seed: int) -> Iterator[World]:
    """An empty ledger in a file, where time passes when the test says so."""
    world = World(tmp_path, seed)
    yield world
    world.close()


@pytest.fixture
def server(tmp_path: Path, postgres_url: str, seed: int) -> Iterator[World]:
    """An empty ledger on a server, whose clock it is."""
    world = World(tmp_path, seed, postgres_url)
    yield world
    world.close()


def boot(node: Node, mac: str, ip: str, form: str = "renewing") -> Leased:
    answer = node.ok(u.LeaseCommit(client=Client(mac), place=LINK, address=number_of(ip), form=form))
    assert isinstance(answer, Leased)
    return answer


def held(node: Node) -> str:
    """Machines `a` and `b`; the address of the first."""
    for name, mac in (("a", A), ("b", B)):
        node.ok(u.CreateMachine(name=name, interfaces=(u.NewInterface(mac=mac, network="prod"),)))
    return node.claim("a", machine="a").addresses[0].ip


@pytest.mark.parametrize("how", [{"machine": "b"}, {"address": "10.0.3.77", "dns": "now"}])
def test_an_address_rests_or_waits_as_long_as_another_node_promised(world: World, how: dict[str, Any]) -> None:
    one, two = world.node("one"), world.node("two")
    ip = held(world.furnish(one))
    assert boot(one, A, ip).lease is not None
    world.clock.pause(4000)  # another promise is needed, and the other node makes it
    assert boot(two, A, ip).lease is not None
    one.ok(u.ReassignAddress(vrf="default", ip=ip, **how))
    assert boot(one, A, ip).refused is not None
    assert boot(two, A, ip).refused is not None
    world.clock.pause(PROMISED + MARGIN - 1)
    for node in (one, two):
        taken = node.answer(claim("early", address=ip))
        assert isinstance(taken, Failure) and taken.code in {"conflict", "already_allocated"}
        assert boot(node, B, ip, "selecting").lease is None
    world.clock.pause(2)
    if "machine" in how:
        assert boot(two, B, ip, "selecting").lease is not None
    else:
        two.claim("now", address=ip)
    for node in (one, two):
        node.writer.step()
        node.check()


def test_a_release_counts_what_another_node_promised(world: World) -> None:
    one, two = world.node("one"), world.node("two")
    ip = held(world.furnish(one))
    assert boot(two, A, ip).lease is not None
    one.release(one.claim("a", machine="a"))
    world.clock.pause(PROMISED + MARGIN - 1)
    assert isinstance(two.answer(claim("early", address=ip)), Failure)
    world.clock.pause(2)
    two.claim("now", address=ip)


def test_the_promise_is_read_with_the_ledgers_lock(server: World) -> None:
    """On a server, where nodes are truly apart."""
    one, two = server.node("one"), server.node("two")
    ip = held(server.furnish(one))
    promised = boot(two, A, ip).lease
    assert promised is not None and promised.held_until is not None
    one.ok(u.ReassignAddress(vrf="default", ip=ip, machine="b"))
    moved = one.told[-1].entries[-1].event
    assert isinstance(moved, e.AddressMoved)
    assert moved.allocation.waits_until == promised.held_until + timedelta(seconds=MARGIN)
    assert boot(two, B, ip, "selecting") == Leased()
    assert boot(two, A, ip).refused is not None
    for node in (one, two):
        node.writer.step()
        node.check()
