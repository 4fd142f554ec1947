"""Many runs: every world with every seed, on several processors if asked; the figures are the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from multiprocessing import active_children, get_context
from pathlib import Path
from signal import SIG_IGN, SIGINT, signal
from typing import Any, ClassVar, Final, NamedTuple

from tenure.simulate import trace
from tenure.simulate.drive import Make
from tenure.simulate.replay import Result, replay
from tenure.simulate.workload import Event, Workload
from tenure.simulate.world import World

_TOLD_EVERY: Final = 0.25
"""Seconds between two looks at how far other processes are."""


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
    """One run of one world. A world that ends early has done all its hours then."""
    left = int(world.hours)

    def told(hours: int) -> None:
        nonlocal left
        left -= hours
        advance(hours)

    result = replay(world, _events(world, seed), make(world), told)
    if left > 0:
        advance(left)
    return result


def _events(world: World, seed: int) -> Iterator[Event]:
    return Workload(world, seed).events() if world.trace is None else iter(trace.read(Path(world.trace)).events)


def _here(jobs: list[tuple[World, int]], make: Make, advance: Callable[[int], None]) -> list[Result]:
    return [run(world, seed, make, advance) for world, seed in jobs]


def _elsewhere(
    jobs: list[tuple[World, int]], make: Make, processes: int, advance: Callable[[int], None]
) -> list[Result]:
    """In processes that start afresh: a fork would copy the threads of a progress bar in mid-air."""
    context = get_context("spawn")
    done, told = context.Value("q", 0), 0
    with ProcessPoolExecutor(processes, context, _Process.begin, (done,)) as pool:
        futures = [pool.submit(_Process.run, world, seed, make) for world, seed in jobs]
        try:
            pending = set(futures)
            while pending:
                finished, pending = wait(pending, _TOLD_EVERY, FIRST_EXCEPTION)
                before, told = told, done.get_obj().value
                advance(told - before)
                for future in finished:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in active_children():
                process.terminate()
            raise
        return [future.result() for future in futures]


class _Process:
    """What another process knows: where it counts the simulated hours."""

    done: ClassVar[Any]

    @classmethod
    def begin(cls, done: Any) -> None:
        """Start; who interrupts the command ends its processes by way of the first."""
        signal(SIGINT, SIG_IGN)
        cls.done = done

    @classmethod
    def run(cls, world: World, seed: int, make: Make) -> Result:
        """One run."""
        return run(world, seed, make, cls._advance)

    @classmethod
    def _advance(cls, hours: int) -> None:
        with cls.done.get_lock():
            cls.done.value += hours
