"""Decisions a second: plans for each strategy by number of hosts, and simulated events.

`python -m bench.placement` prints a table of figures, `--json` one JSON value.
Seconds are the processor's: nothing here waits, and others may use the machine.
"""

import argparse
import gc
import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple, get_args

from bench.figures import Figure, Report
from bench.halls import Hall
from tenure.app.child import collect_seldom
from tenure.model.policy import StrategyName
from tenure.simulate import blocks, plans, runs
from tenure.simulate.drive import Drive, Make
from tenure.simulate.scenarios import scenario
from tenure.simulate.workload import Arrive, Event, Leave, Workload
from tenure.simulate.world import Policy, World

HOSTS = (10, 1_000, 10_000)
THERE = 10_000
"""Addresses that are held while it is measured, whatever the number of hosts."""
BATCH = 500
"""Claims, and releases, that are planned in a round."""
ROUNDS = 20
"""A round asks each site in turn, so that what slows the machine down slows all of them."""

KEPT = 0.7
"""Part of the rate with the fewest hosts that is kept with the most: of the default strategy, the target."""
EVENTS_ALONE, EVENTS_PLANNED = 100_000.0, 20_000.0
HOURS = 24.0
"""Of the reference world that are simulated; it is the one that `tenure simulate` is judged by."""


class _Round(NamedTuple):
    """Seconds of a batch of each."""

    releases: float
    claims: float

    @property
    def both(self) -> float:
        return self.releases + self.claims


class Bench:
    """All figures, once.

    Args:
        scale: Of every count; at less than 1 the targets say nothing and are left out.
    """

    def __init__(self, report: Report, scale: float, seed: int) -> None:
        self._report = report
        self._scale = scale
        self._seed = seed

    def plans(self, strategy: StrategyName) -> None:
        """Plans a second of a strategy, with each number of hosts."""
        halls = {hosts: Hall(strategy, hosts, self._seed) for hosts in HOSTS}
        there = self._count(THERE)
        first = {hosts: hall.begin(there, BATCH) / there for hosts, hall in halls.items()}
        batch = self._count(BATCH)
        gc.freeze()
        rounds = [
            {hosts: _Round(hall.release(batch), hall.claim(batch)) for hosts, hall in halls.items()}
            for _ in range(ROUNDS)
        ]
        gc.unfreeze()
        for hosts in HOSTS:
            mine = [each[hosts] for each in rounds]
            figure = Figure(
                name=f"{strategy}, {hosts:,} hosts: plans",
                unit="/s",
                measured=2 * batch / median(each.both for each in mine),
                facts={
                    "us_per_claim": median(each.claims for each in mine) / batch * 1e6,
                    "us_per_release": median(each.releases for each in mine) / batch * 1e6,
                    "us_per_claim_while_filled": first[hosts] * 1e6,
                },
            )
            if hosts != HOSTS[0]:
                figure.of = f"{HOSTS[0]} hosts"
                figure.ratio = median(each[HOSTS[0]].both / each[hosts].both for each in rounds)
                judged = self._scale == 1 and strategy == "topology" and hosts == HOSTS[-1]
                figure.ratio_least = KEPT if judged else None
            self._report.add(figure)

    def simulated(self, policy: Policy, make: Make, name: str, least: float | None) -> None:
        """Events a second of the reference world: the allocator's alone, and with the load and the hourly figures."""
        world = reference(policy)._replace(hours=max(2.0, HOURS * self._scale))
        events = list(Workload(world, self._seed).events())
        alone = _seconds(events, make(world))
        began = time.process_time()
        result = runs.run(world, self._seed, make)
        whole = time.process_time() - began
        judged = least if self._scale == 1 else None
        self._report.add(Figure(name=name, unit="/s", measured=len(events) / alone, least=judged))
        facts: dict[str, object] = {"events": result.whole.events, "refused": result.whole.refused}
        measured = result.whole.events / whole
        self._report.add(Figure(name=f"{name}, whole run", unit="/s", measured=measured, facts=facts))

    def _count(self, full: int) -> int:
        return max(1, int(full * self._scale))


def reference(policy: Policy) -> World:
    """The first world of the reference scenario under a policy."""
    return scenario("reference").worlds[0]._replace(policy=policy)


def _seconds(events: Sequence[Event], drive: Drive) -> float:
    """How long an allocator takes for arrivals and departures, and for what is due each minute."""
    minute = 0
    began = time.process_time()
    for event in events:
        if event[0] >= minute * 60:
            drive.tick(minute * 60.0)
            minute = int(event[0] // 60) + 1
        if isinstance(event, Arrive):
            drive.claim(event.workload, event.host)
        elif isinstance(event, Leave):
            drive.release(event.workload)
    return time.process_time() - began


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.placement", description="Measure decisions a second.")
    parser.add_argument("--scale", type=float, default=1.0, help="of every count; targets are for 1 (default)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one JSON value instead of a table")
    asked = parser.parse_args(argv)
    collect_seldom()
    report = Report(asked.scale)
    bench = Bench(report, asked.scale, asked.seed)
    for strategy in get_args(StrategyName):
        bench.plans(strategy)
    for policy in (Policy(), Policy("host_block", 26, cap=20), Policy("first_free")):
        judged = policy == Policy()
        name = f"{policy.strategy}: events, "
        bench.simulated(policy, blocks.drive, name + "strategies and blocks alone", EVENTS_ALONE if judged else None)
        bench.simulated(policy, plans.drive, name + "whole plans", EVENTS_PLANNED if judged else None)
    report.show(as_json=asked.json)


if __name__ == "__main__":
    main()
