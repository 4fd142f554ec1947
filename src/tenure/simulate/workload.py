"""The life of a made-up site as a stream of events in the order of time; the same seed, the same stream.

One exponential clock serves all hosts (the sum of Poisson processes is one);
who it rings for is drawn by weight. Departures wait in a heap.
"""

import random
from bisect import bisect
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import accumulate, pairwise
from math import inf
from typing import NamedTuple

from tenure.simulate.world import HOUR, SKEWS, Load, Site, World

_RETURNING = 0.5
_LATE = HOUR
"""A release that comes after its host was replaced comes within an hour, and once more an hour later."""


class Arrive(NamedTuple):
    """A workload starts on a host and wants an address. Times are seconds from the start."""

    time: float
    workload: int
    host: int


class Leave(NamedTuple):
    """A workload ends."""

    time: float
    workload: int


class Move(NamedTuple):
    """A workload is on another host from now on, with its address or (`renumber`) with a new one."""

    time: float
    workload: int
    host: int
    renumber: bool


class Replace(NamedTuple):
    """A host is deleted and made again under its name. What ran there leaves later: its releases come late."""

    time: float
    host: int


class Repeat(NamedTuple):
    """The release of a workload that has left is sent once more: it is stale."""

    time: float
    workload: int


class AddRack(NamedTuple):
    """A rack starts to be used, with hosts that nobody had seen."""

    time: float
    rack: int
    hosts: tuple[int, ...]


class RemoveRack(NamedTuple):
    """A rack goes, and its hosts; what ran there has left."""

    time: float
    rack: int


Event = Arrive | Leave | Move | Replace | Repeat | AddRack | RemoveRack


class Workload:
    """What happens in a world.

    Args:
        world: Its site, load, hours and addresses; the policy plays no part.
        seed: Of everything that is drawn, the weights of the hosts too.

    Cost: about 2 µs an event; memory for what lives at a time.
    """

    def __init__(self, world: World, seed: int) -> None:
        self._load = world.load
        self._world = world
        self._end = world.hours * HOUR
        self._rng = random.Random(seed)
        self._weights = _Weights(world.site, self._rng)
        self._racks = _racks(world.site)
        self._waiting: list[Event] = [*_planned(world.load, world.site)]
        self._waiting.sort()
        self._host_of: dict[int, int] = {}
        self._next = 0

    def events(self) -> Iterator[Event]:
        """The events, in order of time, none after the end of the world. To be asked for once."""
        if self._load.first_requests:
            yield from self._first_requests()
            return
        if self._load.populated:
            yield from self._population()
        for start, end, amount, slope in self._phases():
            yield from self._phase(start, end, amount, slope)
        yield from self._due(self._end)

    def _first_requests(self) -> Iterator[Event]:
        hosts = list(range(self._world.site.hosts))
        self._rng.shuffle(hosts)
        return (Arrive(0.0, number, host) for number, host in enumerate(hosts))

    def _population(self) -> Iterator[Event]:
        """Those that live at the start: of them more are long-lived than of those that arrive."""
        lifetime = self._load.lifetime
        short = lifetime.short * lifetime.short_hours / lifetime.mean
        for _ in range(round(self._world.amount(self._load.levels[0]))):
            yield self._arrival(0.0, short)

    def _phases(self) -> Iterator[tuple[float, float, float, float]]:
        """Start and end in seconds, how many live at the start, and how many more each second."""
        points = [(level.hour * HOUR, self._world.amount(level)) for level in self._load.levels]
        points.append((inf, points[-1][1]))
        for (start, amount), (end, then) in pairwise(points):
            if start < self._end:
                yield start, min(end, self._end), amount, 0.0 if end == inf else (then - amount) / (end - start)

    def _phase(self, start: float, end: float, amount: float, slope: float) -> Iterator[Event]:
        """Arrivals at such a rate that as many live as shall: what dies is replaced, and what is missing added.

        Short and long-lived ones are two streams of their own, each of which keeps its share of those alive.
        """
        lifetime, burst, draw = self._load.lifetime, self._load.burst, self._rng.expovariate
        mean = lifetime.mean * HOUR
        occupied = lifetime.short * lifetime.short_hours / lifetime.mean
        time = start
        while True:
            dying = max(amount + slope * (time - start), 0.0) / mean
            rate = dying + slope
            if rate <= 0:
                break
            time += draw(rate / burst)
            if time >= end:
                break
            yield from self._due(time)
            short = max(dying * lifetime.short + slope * occupied, 0.0) / rate if occupied else 0.0
            for _ in range(self._size(burst)):
                yield self._arrival(time, short)
        yield from self._due(end)

    def _size(self, mean: float) -> int:
        """The size of a deployment: geometric."""
        size = 1
        while mean > 1 and self._rng.random() > 1 / mean:
            size += 1
        return size

    def _arrival(self, time: float, short: float) -> Arrive:
        """A workload starts, and what becomes of it is put down."""
        rng, lifetime = self._rng, self._load.lifetime
        number = self._next
        self._next = number + 1
        hours = lifetime.short_hours if short and rng.random() < short else lifetime.hours
        end = time + rng.expovariate(1 / (hours * HOUR))
        host = self._weights.pick()
        self._host_of[number] = host
        heappush(self._waiting, Leave(end, number))
        if self._load.migration and rng.random() < self._load.migration:
            self._plan_moves(time, end, number, host)
        return Arrive(time, number, host)

    def _plan_moves(self, time: float, end: float, number: int, home: int) -> None:
        rng, renumber = self._rng, self._load.renumber
        away, back = sorted((rng.uniform(time, end), rng.uniform(time, end)))
        host = self._weights.pick()
        heappush(self._waiting, Move(away, number, host, renumber))
        if rng.random() < _RETURNING:
            heappush(self._waiting, Move(back, number, home, renumber))

    def _due(self, until: float) -> Iterator[Event]:
        """What was put down for a time before this."""
        waiting, host_of = self._waiting, self._host_of
        while waiting and waiting[0][0] <= until:
            event = heappop(waiting)
            if type(event) is not Leave:
                yield from self._rare(event)
            elif event.workload in host_of:
                del host_of[event.workload]
                yield event

    def _rare(self, event: Event) -> Iterator[Event]:
        if isinstance(event, Move):
            if event.workload in self._host_of and event.host in self._weights:
                self._host_of[event.workload] = event.host
                yield event
        elif isinstance(event, Replace):
            if event.host in self._weights:
                yield event
                self._leave_late(event)
        elif isinstance(event, AddRack):
            self._racks[event.rack] = event.hosts
            self._weights.add(event.hosts)
            yield event
        elif isinstance(event, RemoveRack):
            yield from self._removed(event)
        else:
            yield event

    def _on(self, hosts: tuple[int, ...]) -> list[int]:
        return [workload for workload, host in self._host_of.items() if host in hosts]

    def _leave_late(self, event: Replace) -> None:
        for workload in self._on((event.host,)):
            late = event.time + self._rng.random() * _LATE
            heappush(self._waiting, Leave(late, workload))
            heappush(self._waiting, Repeat(late + _LATE, workload))

    def _removed(self, event: RemoveRack) -> Iterator[Event]:
        hosts = self._racks.pop(event.rack)
        self._weights.remove(hosts)
        for workload in self._on(hosts):
            del self._host_of[workload]
            yield Leave(event.time, workload)
        yield event


class _Weights:
    """Hosts by weight; a draw is a search in the sums."""

    def __init__(self, site: Site, rng: random.Random) -> None:
        self._rng = rng
        self._skew = SKEWS[site.skew]
        racks = [rng.lognormvariate(0.0, self._skew.rack) for _ in range(site.racks)]
        self._weights = {host: self._weight(racks[site.rack_of(host)]) for host in range(site.hosts)}
        self._sum()

    def __contains__(self, host: int) -> bool:
        return host in self._weights

    def pick(self) -> int:
        return self._hosts[bisect(self._sums, self._rng.random() * self._total, 0, self._last)]

    def add(self, hosts: tuple[int, ...]) -> None:
        rack = self._rng.lognormvariate(0.0, self._skew.rack)
        self._weights |= {host: self._weight(rack) for host in hosts}
        self._sum()

    def remove(self, hosts: tuple[int, ...]) -> None:
        for host in hosts:
            del self._weights[host]
        self._sum()

    def _weight(self, rack: float) -> float:
        return rack * self._rng.lognormvariate(0.0, self._skew.host)

    def _sum(self) -> None:
        self._hosts = list(self._weights)
        self._sums = list(accumulate(self._weights.values()))
        self._total = self._sums[-1]
        self._last = len(self._sums) - 1


def _racks(site: Site) -> dict[int, tuple[int, ...]]:
    racks: dict[int, tuple[int, ...]] = {}
    for host in range(site.hosts):
        rack = site.rack_of(host)
        racks[rack] = (*racks.get(rack, ()), host)
    return racks


def _planned(load: Load, site: Site) -> Iterator[Event]:
    """What the load says of hosts and racks."""
    if load.replaced is not None:
        start, end = load.replaced
        for host in range(site.hosts):
            yield Replace((start + (end - start) * host / site.hosts) * HOUR, host)
    if load.rack_added is not None:
        size = sum(site.rack_of(host) == 0 for host in range(site.hosts))
        yield AddRack(load.rack_added * HOUR, site.racks, tuple(range(site.hosts, site.hosts + size)))
    if load.rack_removed is not None:
        yield RemoveRack(load.rack_removed * HOUR, 0)
