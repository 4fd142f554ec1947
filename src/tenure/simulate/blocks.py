"""Strategies and blocks alone: the allocator without claims, names and events, for figures in seconds."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from tenure.engine.buddy import Buddy
from tenure.engine.choosing import choose
from tenure.engine.leaving import emptied, leaving
from tenure.engine.routes import RouteTable, hosts, spine
from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.engine.strategies import IDLE, STRATEGIES, View, Wish, host_block
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet, Vrf
from tenure.model.policy import reach_of
from tenure.model.topology import Location
from tenure.simulate.drive import Figures
from tenure.simulate.world import Policy, World

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
NETWORK: Final = "network"
SUBNET: Final = "subnet"


def drive(world: World) -> "BlocksAlone":
    """An allocator of blocks alone for a world."""
    return BlocksAlone(world)


def network_of(policy: Policy, version: int) -> Network:
    """The network that a policy describes."""
    lengths = {
        f"block_length_v{version}": policy.block_length,
        f"rack_block_length_v{version}": policy.rack_block_length,
    }
    return Network(
        id=NETWORK,
        name=NETWORK,
        vrf="default",
        strategy=policy.strategy,
        boundary=policy.boundary,
        prefer=policy.prefer,
        cooldown=policy.cooldown,
        **lengths,  # type: ignore[arg-type]
    )


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
    state.reduce(e.NetworkCreated(network=network_of(world.policy, prefix.version)))
    subnet = Subnet(id=SUBNET, network=NETWORK, vrf="default", cidr=str(prefix), use_all_addresses=True)
    state.reduce(e.SubnetCreated(subnet=subnet))
    return state


def host_at(host: int, rack: int, incarnation: int = 0) -> Location:
    """A host; its name stays when it is replaced, its id does not."""
    return Location(
        id=f"h{host}" + f"-{incarnation}" * bool(incarnation), name=f"h{host}", kind="host", parent=f"r{rack}"
    )


def figures_of(state: State, space: Space) -> Figures:
    """What the routers of a site hold now: routes announced, and the fewest that would do. Cost: linear in them."""
    counts = []
    for level in (hosts(state.locations), spine(state.locations)):
        table = RouteTable(space.width, level)
        for (first, length, _), region in space.regions.items():
            table.put("region", first, length, region.owner)
        for block in space.blocks.values():
            table.put("block", block.first, block.length, block.owner)
        for number, host in space.loose.items():
            table.put("loose", number, space.width, host)
        counts.append(table.size)
    return Figures(
        fabric=len(space.blocks) + len(space.loose),
        spine=sum(1 for _ in at_spine(state, space)),
        blocks=len(space.blocks),
        loose=len(space.loose),
        live=space.held,
        free=space.available,
        least_fabric=counts[0],
        least_spine=counts[1],
    )


def at_spine(state: State, space: Space) -> Iterator[tuple[int, int, str]]:
    """What each rack announces: its blocks, those of its hosts and addresses outside of them, neighbours as one."""
    told: dict[str, Buddy] = {}

    def tell(owner: str | None, first: int, length: int) -> None:
        rack = state.way_up(owner)[1] or owner
        if rack is None:
            return
        mine = told.setdefault(rack, Buddy(space.first, space.length, space.width, empty=True))
        around = space.region_at(first, length)
        if mine.around(first, length) is None or (around is not None and around.owner != rack):
            mine.give(first, length)

    for (first, length, _), region in sorted(space.regions.items()):
        tell(region.owner, first, length)
    for block in sorted(space.blocks.values(), key=lambda block: block.length):
        tell(block.owner, block.first, block.length)
    for number, host in space.loose.items():
        tell(host, number, space.width)
    return ((*piece, rack) for rack, mine in told.items() for piece in mine.pieces())


class BlocksAlone:
    """See `Drive`."""

    def __init__(self, world: World) -> None:
        self.state = begin(world)
        self.space = self.state.subnets[SUBNET]
        self.capacity = self.space.capacity
        policy = world.policy
        self._strategy = (
            host_block.capped(policy.cap) if policy.strategy == "host_block" else STRATEGIES[policy.strategy]
        )
        self._idle = IDLE[policy.strategy]
        self._reach, self._prefer = reach_of(policy.boundary), policy.prefer
        self._cooldown = timedelta(seconds=policy.cooldown)
        self._ids = [f"h{host}" for host in range(world.site.hosts)]
        self._racks = [world.site.rack_of(host) for host in range(world.site.hosts)]
        self._wishes: dict[int, Wish] = {}
        self._held: dict[int, int] = {}
        self._seed = 0

    def claim(self, workload: int, host: int) -> bool:
        """Give a workload an address."""
        space = self.space
        wish = self._wishes.get(host) or self._wish(host)
        self._seed += 1
        view = View((space,), str, self.state.now, self._seed)
        chosen = choose(self._strategy(wish, view), view, self.state.subnets, self.state.reduce)
        if chosen is None:
            return False
        number = chosen[1]
        space.take(number)
        block = space.block_at(number)
        if block is None or block.owner != wish.owner:
            space.loose[number] = wish.owner
        self._held[workload] = number
        return True

    def release(self, workload: int) -> bool:
        """Take back what a workload holds."""
        number = self._held.pop(workload, None)
        if number is None:
            return False
        self._give_back(number)
        return True

    def _give_back(self, number: int) -> None:
        space = self.space
        space.untake(number)
        space.loose.pop(number, None)
        if self._cooldown:
            space.rest(number, self.state.now + self._cooldown)
        block = space.block_at(number)
        if block is not None and block.emptied is not None:
            for step in emptied(space, number):
                self.state.reduce(step)

    def move(self, workload: int, host: int, renumber: bool) -> bool:
        """Let a workload be elsewhere."""
        number = self._held[workload]
        if renumber:
            moved = self.claim(workload, host)
            if moved:
                self._give_back(number)
            return moved
        block = self.space.block_at(number)
        owner = None if block is None else block.owner
        if self._reach == "host" and owner not in (None, self._ids[host]):
            return False
        self.space.loose.pop(number, None)
        if owner != self._ids[host]:
            self.space.loose[number] = self._ids[host]
        return True

    def replace(self, host: int) -> None:
        """The host goes, and comes again under its name."""
        old = self.state.locations[self._ids[host]]
        for step in leaving(self.space, old.id):
            self.state.reduce(step)
        self.state.reduce(e.LocationDeleted(location=old))
        new = host_at(host, self._racks[host], int(old.id.partition("-")[2] or 0) + 1)
        self.state.reduce(e.LocationCreated(location=new))
        self._ids[host] = new.id
        self._wishes.clear()

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
        for step in self._idle(self.space, self.state.now):
            self.state.reduce(step)

    def figures(self) -> Figures:
        """What routers hold now."""
        return figures_of(self.state, self.space)

    def _wish(self, host: int) -> Wish:
        owner = self._ids[host]
        path, rack, areas = self.state.way_up(owner)
        wish = self._wishes[host] = Wish(owner, rack, path, self._reach, f"h{host}", areas, self._prefer)
        return wish
