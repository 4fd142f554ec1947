"""Answers about routes: a table's prefixes, with next hops by name."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple, TypeVar

import msgspec

from tenure.engine.routes import Level, Route, host, hosts, rack, spine
from tenure.engine.routes.levels import LOCAL, UP
from tenure.errors import InvalidValue, NotFound
from tenure.model.addressing import Network, Vrf
from tenure.model.policy import LocationKind
from tenure.model.topology import Location
from tenure.net.addresses import prefix_text, width
from tenure.service.placed import Area, Placed
from tenure.service.route_tables import Scope, Tables, Where

T = TypeVar("T", Vrf, Network, Location)

_SPINE: Final = ("fabric", "spine")
"""Words for the table with one next hop a rack."""
_PARAMETERS: Final = {"vrf": "vrf", "network": "network", "location": "for"}


class Via(msgspec.Struct, frozen=True):
    """A next hop.

    Attributes:
        kind: Of the location; `local` is the place itself, `up` what lies above it, `unreachable` nothing at all.
        router: Its router of the prefix's family, if it has one.
    """

    name: str | None
    kind: LocationKind | Literal["local", "up", "unreachable"]
    router: str | None = None


class TableRoute(msgspec.Struct, frozen=True):
    """One route.

    Attributes:
        kind: `host` for one address used away from its block's owner, else `aggregate`.
        preferred: False for the host that an address is leaving.
    """

    prefix: str
    via: Via
    kind: Literal["aggregate", "host"]
    preferred: bool = True


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """All routes of one router.

    Attributes:
        optimum: Routes of the smallest table that delivers the same. What is more keeps changes small, keeps to the
            space of who is routed to, or is the second announcer of a hand-over.
        budget: How large the smallest table of the fabric may be, if a network was named that has one.
        sequence: Place in the ledger that it reflects, `epoch:sequence`.
    """

    place: str
    where: Where
    routes: list[TableRoute]
    aggregates: int
    host_routes: int
    optimum: int
    budget: int | None
    sequence: str


class _Line(NamedTuple):
    """A route of one area, before it has names; lines sort as tables are read, the preferred one of two first."""

    area: Area
    route: Route
    left: bool = False


def scope_of(placed: Placed, place: str, network: str, vrf: str) -> Scope:
    """What a question is about; see `RouteView.table`."""
    within = _named(placed.vrfs, "vrf", vrf or "default")
    known = _named(placed.networks, "network", network) if network else None
    areas = sorted(
        area
        for area in placed.areas
        if (area.network == known.id if known else placed.networks[area.network].vrf == within.id)
    )
    budget = known.route_budget if known else None
    if place in _SPINE:
        return Scope("fabric", spine(placed.locations), None, tuple(areas), budget)
    if place == "hosts":
        return Scope("hosts", hosts(placed.locations), None, tuple(areas), None)
    where, level, there = _at_place(placed, place)
    return Scope(where, level, there, tuple(areas), None)


def _at_place(placed: Placed, name: str) -> tuple[Where, Level, Location]:
    place = _named(placed.locations, "location", name)
    if place.kind == "rack":
        return "rack", rack(placed.locations, place.id), place
    if place.kind == "host":
        return "host", host(place.id), place
    raise InvalidValue(
        f"{place.name} is a {place.kind}; there are routes for the fabric, a rack or a host", parameter="for"
    )


def table_of(tables: Tables, scope: Scope, sequence: str) -> Table:
    """A table as it is answered."""
    pairs = [(area, tables.pair(area, scope)) for area in scope.areas]
    lines = {(area, *route[:2], False): _Line(area, route) for area, pair in pairs for route in pair.followed.routes()}
    for line in _handed_over(tables.placed, scope):
        lines.setdefault((line.area, *line.route[:2], line.left), line)
    vias = _Vias(tables.placed.locations, scope)
    ordered = sorted(lines.values(), key=lambda line: (line.area.version, line.route[:2], line.left))
    routes = [_shown(line, vias) for line in ordered]
    alone = sum(route.kind == "host" for route in routes)
    return Table(
        place=scope.place.name if scope.place else scope.where,
        where=scope.where,
        routes=routes,
        aggregates=len(routes) - alone,
        host_routes=alone,
        optimum=sum(pair.smallest.size for _, pair in pairs),
        budget=scope.budget,
        sequence=sequence,
    )


def _shown(line: _Line, vias: "_Vias") -> TableRoute:
    first, length, hop, loose = line.route
    prefix = prefix_text(line.area.version, first, length)
    return TableRoute(prefix, vias.of(hop, line.area.version), "host" if loose else "aggregate", not line.left)


def _handed_over(placed: Placed, scope: Scope) -> Iterator[_Line]:
    """Addresses that two hosts announce, where those are different next hops: to the new one, and to the old one.

    The first may be in the table already. It is needed in any case, because the other is as narrow as can be.
    A host that was deleted meanwhile announces nothing.
    """
    level = scope.level
    for handover in placed.handovers.values():
        if handover.leaving not in placed.locations:
            continue
        new, old = level.hop(handover.host), level.hop(handover.leaving)
        if old in (new, level.default):
            continue
        for area, number in handover.addresses:
            if area in scope.areas:
                bits = width(area.version)
                yield _Line(area, Route(number, bits, new, True))
                yield _Line(area, Route(number, bits, old, True), True)


class _Vias:
    """Next hops by name, each made once."""

    def __init__(self, locations: Mapping[str, Location], scope: Scope) -> None:
        self._locations = locations
        self._place = scope.place
        self._known: dict[tuple[str | None, int], Via] = {}

    def of(self, hop: str | None, version: int) -> Via:
        """The next hop that a table names, with its router of a family."""
        key = (hop, version)
        if key not in self._known:
            self._known[key] = self._via(hop, version)
        return self._known[key]

    def _via(self, hop: str | None, version: int) -> Via:
        if hop is None:
            return Via(None, "unreachable")
        if hop == UP:
            above = self._above(version)
            return Via(above.name, "up", above.router_for(version)) if above else Via(None, "up")
        place = self._place if hop == LOCAL else self._locations.get(hop)
        if place is None:  # a location that is gone before its last block
            return Via(hop, "host")
        return Via(place.name, "local" if hop == LOCAL else place.kind, place.router_for(version))

    def _above(self, version: int) -> Location | None:
        """Where a rack's or host's default route leads: the nearest place above it with a router, else the next."""
        assert self._place is not None
        found = nearest = self._locations.get(self._place.parent or "")
        while found is not None and found.router_for(version) is None:
            found = self._locations.get(found.parent or "")
        return found or nearest


def _named(things: Mapping[str, T], kind: str, name: str) -> T:
    found = things.get(name) or next((each for each in things.values() if each.name == name), None)
    if found is None:
        raise NotFound(f"There is no {kind} {name!r}.", kind=kind, name=name, parameter=_PARAMETERS[kind])
    return found
