"""Whoever follows zones change by change holds what they hold, exactly, whatever happens."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.model import uses as u
from tests.service.plain_zones import plainly
from tests.service.test_followed_lives import HOSTS, MACHINES, mac_of
from tests.service.world import Node, World
from tests.service.zone_lives import Follower, ZoneLives, whole

STEPS = 150


@pytest.fixture
def node(tmp_path: Path, seed: int) -> Iterator[Node]:
    """Three networks, two of which have one domain; subnets of all sorts; machines that boot."""
    world = World(tmp_path, seed)
    node = world.node()
    node.ok(u.CreateVrf(name="default"))
    for rack in range(2):
        node.ok(u.CreateLocation(name=f"r{rack}", kind="rack"))
    for host in HOSTS:
        node.ok(u.CreateLocation(name=host, kind="host", parent=f"r{host[1]}"))
    lengths = {"block_length_v4": 30, "rack_block_length_v4": 27, "block_length_v6": 126, "rack_block_length_v6": 122}
    shared = {"cooldown": 0, "shared_names": True}
    node.ok(u.CreateNetwork(name="prod", fields={**shared, **lengths, "domain": "prod.example."}))
    node.ok(u.CreateNetwork(name="twin", fields={**shared, "domain": "prod.example."}))
    node.ok(u.CreateNetwork(name="lab", fields={"cooldown": 0, "domain": "lab.prod.example."}))
    for network, cidr in (
        ("prod", "10.0.0.0/25"),
        ("prod", "10.1.0.0/23"),
        ("prod", "2001:db8::/120"),
        ("prod", "2001:db8:1::/64"),
    ):
        node.ok(u.CreateSubnet(network=network, cidr=cidr))
    node.ok(u.CreateSubnet(network="twin", cidr="192.0.2.64/26", fields={"reverse": "rfc2317"}))
    node.ok(u.CreateSubnet(network="lab", cidr="10.2.0.0/28"))
    for n in range(MACHINES):
        port = u.NewInterface(mac=mac_of(n), name="eth0", network="prod", boot=True)
        node.ok(u.CreateMachine(name=f"m{n}", location=HOSTS[n % len(HOSTS)], interfaces=(port,)))
    node.ok(u.CreateRange(subnet="10.0.0.0/25", start="10.0.0.112", end="10.0.0.119", role="dynamic"))
    yield node
    world.close()


def test_what_follows_holds_exactly_what_is_there(node: Node, seed: int) -> None:
    """Two nodes write in turn, each follows what the other wrote, and both hold what plain counting gives.

    At every step: what was there, less what was told to go, and what was told to come, is what is there; nothing
    goes that was not there, and nothing comes that was. Zones that are told to be read again are left out.
    """
    other = node.world.node("two")
    lives = ZoneLives(node, random.Random(seed))
    followers = {id(each): Follower(each) for each in (node, other)}
    count = 0
    for step in range(STEPS):
        lives.node = lives.chance.choice((node, other))
        lives.step()
        count += followers[id(lives.node)].follow()
        if step % 20 == 0:
            assert plainly(lives.node) == {zone: records for zone, (_, records) in whole(lives.node).items()}
    for each in (node, other):
        each.ok(u.CreateLocation(name=f"end-{id(each)}", kind="host"))
        followers[id(each)].follow()
        each.check()
    assert count > STEPS // 2
    assert len(lives.done) >= 25, sorted(lives.done.items())
