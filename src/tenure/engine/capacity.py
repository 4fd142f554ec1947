"""How many addresses there are, and in what state: of a network, and at each location what a scheduler places by."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import sub
from typing import Final

import msgspec

from tenure.engine import resolve
from tenure.engine.choosing import choose
from tenure.engine.draft import Draft
from tenure.engine.placing import Serving, view_of, wish_of
from tenure.engine.reach import area, draining
from tenure.engine.space import Slice, Space
from tenure.engine.state import State
from tenure.engine.strategies import STRATEGIES, Wish
from tenure.model.addressing import Network
from tenure.model.answers import Capacity, Count, PlaceCount, Room
from tenure.model.placement import ROOT
from tenure.model.policy import reach_of
from tenure.model.topology import Location
from tenure.model.uses import ReadCapacity

_NONE: Final = Count()


def read_capacity(use: ReadCapacity, draft: Draft) -> Capacity:
    """Count a network. Cost: one step a subnet; by location, one a block, and one claim's decision a host."""
    network = resolve.network(draft.state, use.network)
    v4, v6 = (_sum(_whole(s) for s in draft.state.spaces(network.id, version)) for version in (4, 6))
    return Capacity(v4, v6, tuple(_places(draft, network)) if use.by_location else None)


def _whole(space: Space) -> Count:
    """What a draining subnet could still give is kept from everybody: reserved."""
    kept = space.available if space.subnet.draining else 0
    return Count(space.capacity, space.in_use, space.reserved + kept, space.cooling, space.available - kept)


def _sum(counts: Iterable[Count]) -> Count:
    figures = [msgspec.structs.astuple(count) for count in counts]
    return Count(*map(sum, zip(*figures, strict=True))) if figures else _NONE


def _less(count: Count, part: Count) -> Count:
    return Count(*map(sub, msgspec.structs.astuple(count), msgspec.structs.astuple(part)))


def _places(draft: Draft, network: Network) -> Iterator[PlaceCount]:
    """Every location that has blocks, or at which a claim could have an address, by name."""
    families = [_Family(draft, network, version) for version in (4, 6)]
    for place in sorted(draft.state.locations.values(), key=lambda place: place.name):
        v4, v6 = (family.at(place) for family in families)
        if v4 != _EMPTY or v6 != _EMPTY:
            yield PlaceCount(place.name, place.kind, v4, v6)


_EMPTY: Final = Room()


class _Family:
    """A network's subnets of one version, by location."""

    def __init__(self, draft: Draft, network: Network, version: int) -> None:
        self._state = draft.state
        self._reach = reach_of(network.boundary)
        self._spread = {s.subnet.id: _Spread(draft.state, s) for s in draft.state.spaces(network.id, version)}
        self._serving: dict[str, dict[str, None]] = {}
        for place in draft.state.locations.values() if self._spread else ():
            if place.kind == "host" and draining(draft.state, place.id) is None:
                self._serve(draft, network, version, place)

    def _serve(self, draft: Draft, network: Network, version: int, host: Location) -> None:
        """Note which subnets serve a host, for it and for all that it is in, if a claim there would not be refused."""
        wish = wish_of(draft, host.id, network)
        serving = Serving(draft, network, version, wish, None)
        if _would_be_placed(draft, network, wish, serving):
            found = dict.fromkeys(space.subnet.id for space in serving)
            for up in wish.path:
                self._serving.setdefault(up, {}).update(found)

    def at(self, place: Location) -> Room:
        """The blocks of a location, counted, and what it could be given."""
        whole = _sum(count for spread in self._spread.values() for count in spread.counts.get(place.id, ()))
        near = ROOT if self._reach == "anywhere" else area(self._state, place.id, self._reach)
        room = sum(self._spread[subnet].room(near) for subnet in self._serving.get(place.id, ()))
        return Room(**msgspec.structs.asdict(whole), room=room)


def _would_be_placed(draft: Draft, network: Network, wish: Wish, serving: Iterable[Space]) -> bool:
    """Whether the strategy finds an address; what it would do to blocks for it is taken back."""
    undo: list[Callable[[], object]] = []
    view = view_of(draft, wish, serving)
    candidates = STRATEGIES[network.strategy](wish, view)
    found = choose(candidates, view, draft.state.subnets, lambda step: undo.append(draft.state.reduce(step)))
    while undo:
        undo.pop()()
    return found is not None


class _Spread:
    """One subnet's available addresses, by who keeps them from others.

    Attributes:
        counts: The blocks of each location, counted.
    """

    def __init__(self, state: State, space: Space) -> None:
        self._available = space.available
        self.counts: dict[str, list[Count]] = {}
        self._kept = 0
        self._kept_by: Counter[str] = Counter()
        for block, count in _counted(space):
            if block.owner is not None:
                self.counts.setdefault(block.owner, []).append(count)
            if block.kind == "host" and not block.is_empty:
                self._kept += count.available
                for up in state.way_up(block.owner or None)[0]:
                    self._kept_by[up] += count.available

    def room(self, near: str) -> int:
        """What a place, and those that may lend to each other there, could be given.

        That is all but what others keep: they give back blocks that they do not use.
        """
        return self._available if near == ROOT else self._available - self._kept + self._kept_by[near]


def _counted(space: Space) -> Iterator[tuple[Slice, Count]]:
    """Each block with its count; what a host has lent is its borrower's."""
    for region in space.regions.values():
        yield region, _count(space, region)
    for block in space.blocks.values():
        loans = () if block.loans is None else block.loans.between(block.first, block.last)
        yield block, _less(_count(space, block), _sum(_count(space, loan) for loan in loans))


def _count(space: Space, block: Slice) -> Count:
    held, resting, closed = space.counts(block)
    edges = space.edges.within(block.first, block.first + block.size - 1).size
    capacity, reserved = block.size - edges, closed - edges
    return Count(capacity, held, reserved, resting, capacity - held - resting - reserved)
