"""A small allocator to drive: fixed blocks of hosts, the fullest walk first, borrowing when they run out."""

from collections import OrderedDict
from random import Random

from tenure.simulate.drive import Figures
from tenure.simulate.world import World

LENGTH = 26


class FixedBlocks:
    """Blocks of one length: an own one with room, else a new one from a start by host, else an address of another's."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.size = 1 << 32 - (world.policy.block_length or LENGTH)
        self.capacity = world.addresses
        self.rack_of = dict(enumerate(map(world.site.rack_of, range(world.site.hosts))))
        count = world.addresses // self.size
        self.owner: list[int | None] = [None] * count
        self.free = [OrderedDict.fromkeys(range(self.size)) for _ in range(count)]
        self.own: dict[int, list[int]] = {}
        self.holds: dict[int, tuple[int, int, int]] = {}
        self.ticks: list[float] = []
        self.made = 0

    def claim(self, workload: int, host: int) -> bool:
        block = self._block(host)
        if block is None:
            return False
        offset, _ = self.free[block].popitem(last=False)
        self.holds[workload] = (block, offset, host)
        return True

    def _block(self, host: int) -> int | None:
        own = self.own.setdefault(host, [])
        with_room = [block for block in own if self.free[block]]
        if with_room:
            return with_room[0]
        count = len(self.owner)
        start = Random(host).randrange(count)
        walk = [(start + step) % count for step in range(count)]
        cap = self.world.policy.cap
        if cap is not None and len(own) >= cap:
            return None
        unowned = next((block for block in walk if self.owner[block] is None and self.free[block]), None)
        if unowned is not None:
            self.owner[unowned] = host
            own.append(unowned)
            own.sort()
            self.made += 1
            return unowned
        if self.world.policy.boundary == "hard":
            return None
        return next((block for block in walk if self.free[block]), None)

    def release(self, workload: int) -> bool:
        if workload not in self.holds:
            return False
        block, offset, _ = self.holds.pop(workload)
        self.free[block][offset] = None
        return True

    def move(self, workload: int, host: int, renumber: bool) -> bool:
        if renumber:
            self.release(workload)
            return self.claim(workload, host)
        block, offset, _ = self.holds[workload]
        self.holds[workload] = (block, offset, host)
        return True

    def replace(self, host: int) -> None:
        for block in self.own.pop(host, []):
            self.owner[block] = None

    def add_rack(self, rack: int, hosts: tuple[int, ...]) -> None:
        self.rack_of |= dict.fromkeys(hosts, rack)

    def remove_rack(self, rack: int) -> None:
        for host in [host for host, its in self.rack_of.items() if its == rack]:
            del self.rack_of[host]
            self.replace(host)

    def tick(self, now: float) -> None:
        self.ticks.append(now)
        if now % 900 == 0:
            self._surrender()

    def _surrender(self) -> None:
        for own in self.own.values():
            for block in [block for block in own if len(self.free[block]) == self.size]:
                if len(own) >= 2 or len(self.ticks) > 60 * 72 + 900:
                    own.remove(block)
                    self.owner[block] = None

    def figures(self) -> Figures:
        loose = [held for held in self.holds.values() if self.owner[held[0]] != held[2]]
        racks = [None if owner is None else self.rack_of[owner] for owner in self.owner]
        away = sum(self.rack_of.get(host) != racks[block] for block, _, host in loose)
        blocks = sum(owner is not None for owner in self.owner)
        live = len(self.holds)
        spine = _collapsed(racks) + away
        return Figures(blocks + len(loose), spine, blocks, len(loose), live, self.capacity - live, self.made)


def _collapsed(racks: list[int | None]) -> int:
    """Routes that are left when neighbours of one rack become one, again and again."""
    routes = 0
    while len(racks) > 1:
        pairs = list(zip(racks[::2], racks[1::2], strict=True))
        routes += sum((a is not None) + (b is not None) for a, b in pairs if a != b)
        racks = [a if a == b else None for a, b in pairs]
    return routes + sum(rack is not None for rack in racks)
