"""Tables of routes over placed facts: those of the fabrics kept in step, those of a rack or a host made when asked."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from tenure.engine.routes import FollowedTable, Level, RouteTable
from tenure.model.events import Entry
from tenure.model.topology import Location
from tenure.net.addresses import width
from tenure.service.placed import Area, Placed, Placement, Step

FABRICS: Final = ("fabric", "hosts")
Where = Literal["fabric", "hosts", "rack", "host"]

_NAMING: Final = ("vrf", "location", "network")


class Scope(NamedTuple):
    """Whose table, and of what.

    Attributes:
        place: The rack or host; None for a fabric.
        budget: What the network allows, if one is meant.
    """

    where: Where
    level: Level
    place: Location | None
    areas: tuple[Area, ...]
    budget: int | None = None


class Pair:
    """The table that routers are told, and the smallest one, of the same facts."""

    def __init__(self, version: int, level: Level, placements: Iterable[Placement]) -> None:
        bits = width(version)
        self.followed, self.smallest = FollowedTable(bits, level), RouteTable(bits, level)
        for placement in placements:
            self.take(placement, True)

    def take(self, placement: Placement, there: bool) -> None:
        """A fact that came, or one that went."""
        kind, first, length, owner = placement
        if kind == "handover":
            return
        for table in (self.followed, self.smallest):
            table.put(kind, first, length, owner) if there else table.drop(kind, first, length)


class Tables:
    """The tables over one `Placed`, which they listen to.

    Attributes:
        sequence: Place in the ledger of the last entry that was taken in.
    """

    def __init__(self, placed: Placed, sequence: int) -> None:
        self.placed = placed
        self.sequence = sequence
        self._named = sequence  # when names, or the shape of the tree, last changed
        self._moved = placed.moved
        self._loaded = sequence
        self._fabrics: dict[tuple[Area, str], Pair] = {}
        self._hosts: dict[str, list[str]] = {}  # in each place, once somebody asked
        self._areas: Counter[Area] = Counter()  # when one last changed
        self._places: Counter[str] = Counter()  # when a location's facts last changed, or what lies in them
        placed.listener = self._note

    def take(self, entry: Entry) -> None:
        """Take in the next entry."""
        self.sequence = entry.sequence
        self.placed.take(entry.event)
        _, noun, verb = entry.event.kind.split(".")
        if noun == "location":
            self._hosts.clear()
        if noun in _NAMING and verb != "created":
            self._named = entry.sequence
        if self.placed.moved != self._moved:
            self._moved = self.placed.moved
            self._fabrics.clear()

    def changed(self, scope: Scope) -> int:
        """The last entry that may have changed a table."""
        if scope.place is None:
            return max(self._named, *(self._areas[area] for area in scope.areas), 0)
        return max(self._named, *(self._places[each] for each in self.members(scope.place)))

    def pair(self, area: Area, scope: Scope) -> Pair:
        """The tables of one area. Cost: of a rack or a host that of what it has; of a fabric O(1) but for the first."""
        facts = self.placed.areas[area]
        if scope.place is not None:
            members = self.members(scope.place)
            return Pair(area.version, scope.level, facts.of(members, width(area.version)))
        key = (area, scope.where)
        if key not in self._fabrics:
            self._fabrics[key] = Pair(area.version, scope.level, facts.all())
        return self._fabrics[key]

    def members(self, place: Location) -> list[str]:
        """A place, and the hosts in it. Cost: linear in those; when the tree changed, once in all locations."""
        if not self._hosts:
            for each in self.placed.locations.values():
                for above in self.placed.above(each.id) if each.kind == "host" else ():
                    self._hosts.setdefault(above, []).append(each.id)
        return list({place.id, *self._hosts.get(place.id, ())})

    def _note(self, step: Step) -> None:
        area, placement = step.area, step.fact
        self._areas[area] = self.sequence
        around = self.placed.areas[area].around(placement.first, placement.length, width(area.version))
        for owner in {placement.owner, step.instead_of, *(each.owner for each in around)}:
            if owner is not None:
                self._places[owner] = self.sequence
        for fabric in FABRICS:
            pair = self._fabrics.get((area, fabric))
            if pair is not None:
                pair.take(placement, step.there)
