"""Changes of a routing table a second, and what a table that changes little costs in routes.

`python -m bench.routes` prints a table of figures, `--json` one JSON value.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bench.figures import Figure, Report
from tenure.engine.routes import FollowedTable, RouteTable, hosts, spine
from tenure.engine.routes.places import Kind
from tenure.model.topology import Location

Fact = tuple[Kind, int, int]

MICROSECONDS, LARGE = 25.0, 10_000
"""The target for a change, and how many facts are too many for it."""


@dataclass(frozen=True)
class World:
    """A subnet cut into regions of racks, and these into blocks of hosts, with addresses used elsewhere.

    Attributes:
        width, subnet, region, block: Bits of an address, and prefix lengths.
        racks, racked: Racks, and hosts in each.
        blocks: Of each host, on average; placed anywhere in the rack's regions.
        lent: The part of the blocks that belongs to a host of any rack.
        loose: Addresses away from their block's owner.
    """

    name: str
    width: int = 32
    subnet: int = 16
    region: int = 21
    block: int = 26
    racks: int = 20
    racked: int = 25
    blocks: float = 1.1
    lent: float = 0.02
    loose: int = 500

    def locations(self) -> dict[str, Location]:
        """The racks and their hosts."""
        places = [Location(id=f"r{rack}", name=f"r{rack}", kind="rack") for rack in range(self.racks)]
        places += [
            Location(id=f"h{rack}-{at}", name=f"h{at}", kind="host", parent=f"r{rack}")
            for rack in range(self.racks)
            for at in range(self.racked)
        ]
        return {place.id: place for place in places}

    def facts(self, rng: random.Random) -> Iterator[tuple[Fact, str]]:
        """Regions first, then blocks, then addresses."""
        regions = rng.sample(range(1 << (self.region - self.subnet)), self._regions)
        for at, region in enumerate(regions):
            yield ("region", region << (self.width - self.region), self.region), f"r{at % self.racks}"
        slots = [(at, slot) for at in range(len(regions)) for slot in range(1 << (self.block - self.region))]
        count = min(len(slots), int(self.blocks * self.racks * self.racked))
        owned = rng.sample(slots, count)
        turns = Counter[int]()
        for at, slot in owned:
            rack = rng.randrange(self.racks) if rng.random() < self.lent else at % self.racks
            first = regions[at] << (self.width - self.region) | slot << (self.width - self.block)
            turns[rack] += 1
            yield ("block", first, self.block), f"h{rack}-{turns[rack] % self.racked}"
        for _ in range(self.loose):
            at, slot = rng.choice(owned)
            first = regions[at] << (self.width - self.region) | slot << (self.width - self.block)
            inside = rng.randrange(1 << (self.width - self.block))
            yield ("loose", first | inside, self.width), f"h{rng.randrange(self.racks)}-{rng.randrange(self.racked)}"

    @property
    def _regions(self) -> int:
        room = 1 << (self.region - self.subnet)
        wanted = -(-int(self.blocks * self.racks * self.racked) // (1 << (self.block - self.region)))
        return min(room, max(self.racks, wanted + wanted // 4))


WORLDS = (
    World("/16, a block a host"),
    World("/16, full, much is lent", blocks=1.9, lent=0.2, loose=4_000),
    World("/16, small blocks", block=28, blocks=4.0, lent=0.05),
    World("/64, blocks of /124", width=128, subnet=64, region=112, block=124),
    World("/12, 10,000 hosts", subnet=12, region=19, racks=100, racked=100, loose=10_000),
)


class Bench:
    """Every world once, at both levels of a fabric."""

    def __init__(self, report: Report, scale: float) -> None:
        self._report = report
        self._scale = scale

    def run(self, world: World, seed: int) -> None:
        """Fill tables, change them, compare them."""
        for name, level in ("hosts", hosts(world.locations())), ("spine", spine(world.locations())):
            facts = dict(world.facts(random.Random(seed)))
            smallest, followed = RouteTable(world.width, level), FollowedTable(world.width, level)
            for fact, owner in facts.items():
                smallest.put(*fact, owner)
                followed.put(*fact, owner)
            followed.changes()
            self._sizes(f"{world.name}, {name}", smallest, followed)
            self._change(f"{world.name}, {name}: smallest", smallest, facts, seed, lambda: None)
            self._change(f"{world.name}, {name}: followed", followed, facts, seed, followed.changes)

    def _sizes(self, name: str, smallest: RouteTable, followed: FollowedTable) -> None:
        more = 100 * (followed.size / smallest.size - 1)
        facts: dict[str, object] = {"smallest": smallest.size, "followed": followed.size}
        self._report.add(
            Figure(name=f"{name}: routes more than the fewest, followed", unit="%", measured=more, facts=facts)
        )
        self._report.add(Figure(name=f"{name}: the fewest", unit="routes", measured=smallest.size))

    def _change(
        self,
        name: str,
        table: RouteTable | FollowedTable,
        facts: dict[Fact, str],
        seed: int,
        after: Callable[[], object],
    ) -> None:
        """Drop a block or an address and put it back, many times."""
        rng = random.Random(seed)
        movable = [fact for fact in facts if fact[0] != "region"]
        chosen = rng.choices(movable, k=max(1, int(10_000 * self._scale)))
        start = time.perf_counter()
        for fact in chosen:
            table.drop(*fact)
            after()
            table.put(*fact, facts[fact])
            after()
        each = (time.perf_counter() - start) / len(chosen) / 2
        most = MICROSECONDS if self._scale == 1 and len(facts) < LARGE else None
        self._report.add(Figure(name=f"{name}, a change", unit="µs", measured=each * 1e6, most=most))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.routes", description="Measure routing tables.")
    parser.add_argument("--scale", type=float, default=1.0, help="of every count; targets are for 1 (default)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worlds", type=int, default=len(WORLDS), help="only the first so many")
    parser.add_argument("--json", action="store_true", help="one JSON value instead of a table")
    asked = parser.parse_args(argv)
    report = Report(asked.scale)
    for world in WORLDS[: asked.worlds]:
        Bench(report, asked.scale).run(world, asked.seed)
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
