"""Many runs: every world with every seed, on several processors if asked; the figures are the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from tenure.simulate import trace
from tenure.simulate.drive import Make
from tenure.simulate.replay import Result, replay
from tenure.simulate.workload import Event, Workload
from tenure.simulate.world import World


class Row(NamedTuple):
    """A world, and a result for each seed, in the order of the seeds."""

    world: World
    results: tuple[Result, ...]


def rows(
    worlds: Sequence[World],
    seeds: Sequence[int],
    make: Make,
    processes: int = 1,
    advance: Callable[[int], None] = lambda hours: None,
) -> list[Row]:
    """Run every world with every seed.

    Args:
        make: Makes the allocator of each run; other processes import it by its name.
        processes: How many runs at once; 1 runs them here.
        advance: Called with simulated hours as they are done, `hours(worlds, seeds)` in all.

    Raises:
        InvalidValue: A trace cannot be read.
    """
    jobs = [(world, seed) for world in worlds for seed in seeds]
    done = _here(jobs, make, advance) if processes == 1 else _elsewhere(jobs, make, processes, advance)
    results = iter(done)
    return [Row(world, tuple(next(results) for _ in seeds)) for world in worlds]


def hours(worlds: Iterable[World], seeds: Sequence[int]) -> int:
    """Simulated hours in all."""
    return sum(int(world.hours) for world in worlds) * len(seeds)


def run(world: World, seed: int, make: Make, advance: Callable[[int], None] = lambda hours: None) -> Result:
    """One run of one world."""
    return replay(world, _events(world, seed), make(world), advance)


def _events(world: World, seed: int) -> Iterator[Event]:
    return Workload(world, seed).events() if world.trace is None else iter(trace.read(Path(world.trace)).events)


def _here(jobs: list[tuple[World, int]], make: Make, advance: Callable[[int], None]) -> list[Result]:
    return [run(world, seed, make, advance) for world, seed in jobs]


def _elsewhere(
    jobs: list[tuple[World, int]], make: Make, processes: int, advance: Callable[[int], None]
) -> list[Result]:
    """In processes that start afresh: a fork would copy the threads of a progress bar in mid-air."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        pending = {pool.submit(run, world, seed, make): world for world, seed in jobs}
        for future in as_completed(pending):
            if future.exception() is not None:
                pool.shutdown(cancel_futures=True)
            advance(int(pending[future].hours))
        return [future.result() for future in pending]
