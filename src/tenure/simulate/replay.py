"""A world's events, put to an allocator one by one, and what is seen meanwhile."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

from tenure.simulate.bounds import fewest_routes
from tenure.simulate.drive import Drive, Figures
from tenure.simulate.workload import AddRack, Arrive, Event, Leave, Move, RemoveRack, Repeat, Replace
from tenure.simulate.world import HOUR, World

_MINUTE: Final = 60.0
_REST_MINUTES: Final = 24 * 60
"""What passes after everybody has left, so that all that takes time has been done."""


class Sample(NamedTuple):
    """What was seen at a moment.

    Attributes:
        time: Seconds from the start.
        mark: The share of the subnet that was reached just then; None for the samples of every hour.
        figures: The allocator's.
        fabric_bound: The fewest routes in the fabric with which any policy could deliver what is held now.
        spine_bound: The same at the spine.
    """

    time: float
    mark: float | None
    figures: Figures
    fabric_bound: int
    spine_bound: int


@dataclass(slots=True)
class Counts:
    """What happened.

    Attributes:
        events: All of them.
        arrived: Workloads that asked for an address.
        refused: Of these, those that got none.
        refused_with_room: Of these, those refused while a usable address was free, whoever's it was.
        moved: Workloads that moved.
        stuck: Moves that were refused.
        returned: Moves that brought somebody home.
        stale: Releases of what was held no more.
        stale_accepted: Of these, those that released something: each is a fault.
    """

    events: int = 0
    arrived: int = 0
    refused: int = 0
    refused_with_room: int = 0
    moved: int = 0
    stuck: int = 0
    returned: int = 0
    stale: int = 0
    stale_accepted: int = 0

    def since(self, then: "Counts") -> "Counts":
        """What happened after `then`."""
        return Counts(*(getattr(self, each.name) - getattr(then, each.name) for each in fields(self)))

    def copy(self) -> "Counts":
        """The same numbers, which stay as they are."""
        return self.since(Counts())


class Result(NamedTuple):
    """One run.

    Attributes:
        samples: One an hour, from hour 0, and one for each mark.
        counts: What happened after the warm-up.
        whole: What happened from the start.
        drained: The figures after everybody had left and a day had passed, if the world asks for it.
    """

    samples: tuple[Sample, ...]
    counts: Counts
    whole: Counts
    drained: Figures | None


def replay(
    world: World, events: Iterable[Event], drive: Drive, advance: Callable[[int], None] = lambda hours: None
) -> Result:
    """Run a world.

    Args:
        world: Its site, hours, marks and warm-up count here; its load is `events` already.
        events: In order of time.
        drive: An allocator that nobody has used.
        advance: Called with 1 for each simulated hour.

    Cost: under 1 µs an event, beside the allocator's; a sample costs next hops times some ten steps.
    """
    return _Replay(world, drive, advance).run(events)


class _Replay:
    """The state of a run: who is where."""

    def __init__(self, world: World, drive: Drive, advance: Callable[[int], None]) -> None:
        self._world, self._drive, self._advance = world, drive, advance
        self._host_of: dict[int, int] = {}
        self._home: dict[int, int] = {}
        self._refused: set[int] = set()
        self._held = [0] * world.site.hosts
        self._rack_of = [world.site.rack_of(host) for host in range(world.site.hosts)]
        self._samples: list[Sample] = []
        self._counts = Counts()
        self._at_warm_up = Counts()
        self._minute = self._hour = 0
        self._marks = list(reversed(world.marks))
        self._next_mark = self._mark_at()
        self._end = world.hours * HOUR

    def run(self, events: Iterable[Event]) -> Result:
        steps: dict[type, Callable[..., None]] = {
            Arrive: self._arrive,
            Leave: self._leave,
            Move: self._move,
            Replace: self._replace,
            Repeat: self._repeat,
            AddRack: self._add_rack,
            RemoveRack: self._remove_rack,
        }
        due, counts = 0.0, self._counts
        for event in events:
            if event[0] >= due:
                due = self._pass(event[0])
            counts.events += 1
            steps[type(event)](event)
            if self._world.marks and not self._marks:
                self._end = event[0]
                break
        self._pass(self._end)
        measured = counts.since(self._at_warm_up)
        return Result(tuple(self._samples), measured, counts.copy(), self._drained() if self._world.drained else None)

    def _pass(self, until: float) -> float:
        """Let time pass until then, and say when the next thing is due."""
        while (now := self._minute * _MINUTE) <= until:
            if self._minute % 60 == 0:
                self._hour_passes(now)
            else:
                self._drive.tick(now)
            self._minute += 1
        return now

    def _hour_passes(self, now: float) -> None:
        self._sample(now, None)
        if self._hour == int(self._world.warm_up):
            self._at_warm_up = self._counts.copy()
        if self._hour:
            self._advance(1)
        self._hour += 1

    def _sample(self, now: float, mark: float | None) -> None:
        self._drive.tick(now)
        racks: dict[int, int] = {}
        for host, held in enumerate(self._held):
            rack = self._rack_of[host]
            racks[rack] = racks.get(rack, 0) + held
        size = self._world.addresses
        bounds = fewest_routes(self._held, size), fewest_routes(racks.values(), size)
        self._samples.append(Sample(now, mark, self._drive.figures(), *bounds))

    def _mark_at(self) -> float:
        return self._marks[-1] * self._world.addresses if self._marks else float("inf")

    def _arrive(self, event: Arrive) -> None:
        _, workload, host = event
        self._counts.arrived += 1
        if not self._drive.claim(workload, host):
            self._refuse(workload)
            return
        self._host_of[workload] = host
        self._held[host] += 1
        if len(self._host_of) >= self._next_mark:
            self._sample(event.time, self._marks.pop())
            self._next_mark = self._mark_at()

    def _refuse(self, workload: int) -> None:
        self._refused.add(workload)
        self._counts.refused += 1
        self._counts.refused_with_room += len(self._host_of) < self._drive.capacity

    def _leave(self, event: Leave) -> None:
        workload = event.workload
        host = self._host_of.pop(workload, None)
        if host is None:
            self._refused.discard(workload)
            return
        self._held[host] -= 1
        self._drive.release(workload)
        if self._home:
            self._home.pop(workload, None)

    def _move(self, event: Move) -> None:
        _, workload, host, renumber = event
        here = self._host_of.get(workload)
        if here is None or here == host:
            return
        if not self._drive.move(workload, host, renumber):
            self._counts.stuck += 1
            return
        self._counts.moved += 1
        self._counts.returned += self._home.setdefault(workload, here) == host
        self._host_of[workload] = host
        self._held[here] -= 1
        self._held[host] += 1

    def _replace(self, event: Replace) -> None:
        self._drive.replace(event.host)

    def _repeat(self, event: Repeat) -> None:
        self._counts.stale += 1
        self._counts.stale_accepted += self._drive.release(event.workload)

    def _add_rack(self, event: AddRack) -> None:
        self._held += [0] * len(event.hosts)
        self._rack_of += [event.rack] * len(event.hosts)
        self._drive.add_rack(event.rack, event.hosts)

    def _remove_rack(self, event: RemoveRack) -> None:
        """What could not move away when it should, for a boundary kept its address there, ends with the rack."""
        stuck = [workload for workload, host in self._host_of.items() if self._rack_of[host] == event.rack]
        for workload in stuck:
            self._leave(Leave(event.time, workload))
        self._drive.remove_rack(event.rack)

    def _drained(self) -> Figures:
        for workload in [*self._host_of]:
            self._leave(Leave(self._end, workload))
        for minute in range(1, _REST_MINUTES + 1):
            self._drive.tick(self._end + minute * _MINUTE)
        return self._drive.figures()
