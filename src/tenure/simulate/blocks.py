"""Strategies and blocks alone: the allocator without claims, names and events, for figures in seconds."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Final

import msgspec

from tenure.engine.choosing import choose
from tenure.engine.leaving import emptied, leaving
from tenure.engine.reach import barrier, near
from tenure.engine.state import State
from tenure.engine.strategies import IDLE, STRATEGIES, View, Wish, host_block, idle
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet, Vrf
from tenure.model.policy import reach_of
from tenure.model.topology import Location
from tenure.simulate.counting import Tables
from tenure.simulate.drive import Figures
from tenure.simulate.world import Policy, World

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
NETWORK: Final = "network"
SUBNET: Final = "subnet"


def drive(world: World) -> "BlocksAlone":
    """An allocator of blocks alone for a world."""
    return BlocksAlone(world)


def fields_of(policy: Policy, version: int) -> dict[str, object]:
    """A policy as the fields of a network, as a caller would send them."""
    return {
        "strategy": policy.strategy,
        "boundary": msgspec.to_builtins(policy.boundary),
        "prefer": policy.prefer,
        "cooldown": policy.cooldown,
        f"block_length_v{version}": policy.block_length,
        f"rack_block_length_v{version}": policy.rack_block_length,
    }


def begin(world: World) -> State:
    """A state with the site, its network and its subnet, and nothing held."""
    state = State()
    state.advance(START)
    state.reduce(e.VrfCreated(vrf=Vrf(id="default", name="default")))
    for rack in range(world.site.racks):
        state.reduce(e.LocationCreated(location=Location(id=f"r{rack}", name=f"r{rack}", kind="rack")))
    for host in range(world.site.hosts):
        state.reduce(e.LocationCreated(location=host_at(host, world.site.rack_of(host))))
    prefix = world.prefix
    fields = {"id": NETWORK, "name": NETWORK, "vrf": "default", **fields_of(world.policy, prefix.version)}
    state.reduce(e.NetworkCreated(network=msgspec.convert(fields, Network)))
    subnet = Subnet(id=SUBNET, network=NETWORK, vrf="default", cidr=str(prefix), use_all_addresses=True)
    state.reduce(e.SubnetCreated(subnet=subnet))
    return state


def host_at(host: int, rack: int, incarnation: int = 0) -> Location:
    """A host; each incarnation of it is another location."""
    id_ = f"h{host}" + f"-{incarnation}" * bool(incarnation)
    return Location(id=id_, name=id_, kind="host", parent=f"r{rack}")


class BlocksAlone:
    """See `Drive`."""

    def __init__(self, world: World) -> None:
        self.state = begin(world)
        self.space = self.state.subnets[SUBNET]
        self.capacity = self.space.capacity
        self._tables = Tables(self.state, self.space)
        policy = world.policy
        self._network = self.state.networks[NETWORK]
        self._strategy = (
            host_block.capped(policy.cap) if policy.strategy == "host_block" else STRATEGIES[policy.strategy]
        )
        self._idle = IDLE[policy.strategy]
        self._reach, self._prefer = reach_of(policy.boundary), policy.prefer
        self._cooldown = timedelta(seconds=policy.cooldown)
        self._ids = [f"h{host}" for host in range(world.site.hosts)]
        self._racks = [world.site.rack_of(host) for host in range(world.site.hosts)]
        self._wishes: dict[int, tuple[Wish, Callable[[str | None], bool]]] = {}
        self._held: dict[int, tuple[int, str]] = {}
        self._retired: dict[str, int] = {}
        self._seed = 0

    def claim(self, workload: int, host: int) -> bool:
        """Give a workload an address."""
        space = self.space
        wish, mine = self._wishes.get(host) or self._wish(host)
        self._seed += 1
        view = View((space,) if space.available else (), str, self.state.now, self._seed, mine)
        chosen = choose(self._strategy(wish, view), view, self.state.subnets, self.state.reduce)
        if chosen is None:
            return False
        number, owner = chosen[1], wish.owner
        space.take(number)
        block = space.block_at(number)
        if block is None or block.owner != owner:
            space.loosen(number, owner)
        self._held[workload] = number, owner
        return True

    def release(self, workload: int) -> bool:
        """Take back what a workload holds."""
        held = self._held.pop(workload, None)
        if held is None:
            return False
        self._give_back(*held)
        return True

    def _give_back(self, number: int, owner: str) -> None:
        space = self.space
        space.untake(number)
        if space.loose:
            space.loosen(number, None)
        if self._cooldown:
            space.rest(number, self.state.now + self._cooldown)
        block = space.block_at(number)
        if block is not None and block.emptied is not None:
            for step in emptied(space, number):
                self.state.reduce(step)
        if owner in self._retired:
            self._left(owner)

    def move(self, workload: int, host: int, renumber: bool) -> bool:
        """Let a workload be elsewhere."""
        old = self._held[workload]
        if renumber:
            moved = self.claim(workload, host)
            if moved:
                self._give_back(*old)
            return moved
        number, before = old
        owner = self._ids[host]
        if barrier(self.state, self._network, self.space, number, owner) is not None:
            return False
        block = self.space.block_at(number)
        self.space.loosen(number, None if block is not None and block.owner == owner else owner)
        self._held[workload] = number, owner
        if before in self._retired:
            self._left(before)
        return True

    def replace(self, host: int) -> None:
        """The host comes again as another; the old one goes with the last that it holds."""
        old = self._ids[host]
        new = host_at(host, self._racks[host], int(old.partition("-")[2] or 0) + 1)
        self.state.reduce(e.LocationCreated(location=new))
        self._ids[host] = new.id
        self._wishes.clear()
        self._retired[old] = 1 + sum(owner == old for _, owner in self._held.values())
        self._left(old)

    def _left(self, retired: str) -> None:
        """There is one reason less to keep a host that was replaced."""
        self._retired[retired] -= 1
        if not self._retired[retired]:
            del self._retired[retired]
            self._remove(retired)

    def add_rack(self, rack: int, hosts: tuple[int, ...]) -> None:
        """A rack of new hosts."""
        self.state.reduce(e.LocationCreated(location=Location(id=f"r{rack}", name=f"r{rack}", kind="rack")))
        for host in hosts:
            self.state.reduce(e.LocationCreated(location=host_at(host, rack)))
            self._ids.append(f"h{host}")
            self._racks.append(rack)
        self._wishes.clear()

    def remove_rack(self, rack: int) -> None:
        """A rack goes, with its hosts."""
        for host in [host for host, at in enumerate(self._racks) if at == rack]:
            self._remove(self._ids[host])
        self._remove(f"r{rack}")
        self._wishes.clear()

    def _remove(self, place: str) -> None:
        for step in leaving(self.space, place):
            self.state.reduce(step)
        self.state.reduce(e.LocationDeleted(location=self.state.locations[place]))

    def tick(self, now: float) -> None:
        """Time passes."""
        self.state.advance(START + timedelta(seconds=now))
        for step in chain(self._idle(self.space, self.state.now), idle.wider(self.space, self.state.now)):
            self.state.reduce(step)

    def figures(self) -> Figures:
        """What routers hold now."""
        return self._tables.figures()

    def _wish(self, host: int) -> tuple[Wish, Callable[[str | None], bool]]:
        """What a host asks for, and whose blocks the boundary lets it use."""
        owner = self._ids[host]
        path, rack, areas = self.state.way_up(owner)
        wish = Wish(owner, rack, path, self._reach, f"h{host}", areas, self._prefer)
        asked = self._wishes[host] = wish, near(self.state, owner, self._reach)
        return asked
