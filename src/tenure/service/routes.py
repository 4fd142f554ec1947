"""What routers are told: the routes of a fabric, a rack's switch or a host, kept in step with the ledger.

Loaded from the rows when it is first asked, and then followed, at each question, entry by entry: a change touches
one path of a table. It reads committed state alone, and never asks the writer.
"""

import threading
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple

from tenure.engine.routes import Move, moves
from tenure.errors import EpochChanged
from tenure.model.addressing import Network
from tenure.net.addresses import width
from tenure.service.feed import PAGE, Follower, Source, cursor
from tenure.service.placed import Area, Placed, Placement
from tenure.service.placed_at import placed_at
from tenure.service.route_answers import Table, scope_of, table_of
from tenure.service.route_tables import FABRICS, Tables, Where
from tenure.store.interface import Head, Seen
from tenure.store.placements import HandedOver

_BEHIND: Final = 20_000
"""Entries that are followed; further behind, the rows are read again."""
_SMALL: Final = {4: 28, 6: 124}
"""Length of the widest block that a plan of moves would empty."""
_CONSIDERED: Final = 1000


class Saving(NamedTuple):
    """Addresses or blocks that lie side by side and would save routes by being elsewhere; each with who has it."""

    vrf: str
    area: Area
    facts: tuple[Placement, ...]
    saves: int


class Size(NamedTuple):
    """How many routes a network has in one fabric's table, or in the smallest that would do."""

    network: Network
    table: str
    routes: int


class Plan(NamedTuple):
    """What would save routes, best first; and the names of the networks and locations in it, by id."""

    savings: list[Saving]
    names: dict[str, str]


class RouteView:
    """Routes of now and of before. From any thread; one question is answered at a time.

    Raises:
        StoreUnavailable: From each method: the ledger cannot be read.

    Memory: linear in blocks and loose addresses, twice for each fabric that is asked for.
    """

    def __init__(self, store: Source) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._tables: Tables | None = None
        self._follower: Follower | None = None

    def table(self, place: str, network: str = "", vrf: str = "", at: datetime | None = None) -> Seen[Table]:
        """The routes to announce somewhere.

        Args:
            place: `fabric` or `spine` (a next hop is a rack), `hosts` (it is a host), or a rack or host by name or
                id.
            network: By name or id; "" is all of the vrf's.
            vrf: By name or id; "" is `default`.
            at: As it was then; see `placed_at` for what that costs.

        Raises:
            NotFound: There is no such thing (at that time), or nothing was recorded yet.
            InvalidValue: The place is a site or a region: no router stands for it.
        """
        if at is not None:
            head = self._store.head()
            placed, sequence = placed_at(self._store, at)
            then = scope_of(placed, place, network, vrf)
            return Seen(table_of(Tables(placed, sequence), then, cursor(head.epoch, sequence)), head)
        with self._lock:
            tables, head = self._now()
            scope = scope_of(tables.placed, place, network, vrf)
            return Seen(table_of(tables, scope, cursor(head.epoch, head.sequence)), head)

    def changed(self, place: str, network: str = "", vrf: str = "") -> Seen[str]:
        """A place in the ledger since which a table is the same: the same text means the same table."""
        with self._lock:
            tables, head = self._now()
            return Seen(cursor(head.epoch, tables.changed(scope_of(tables.placed, place, network, vrf))), head)

    def plan(self, count: int, network: str = "", vrf: str = "") -> Seen[Plan]:
        """What would save most routes in the fabric for each thing that moves: at most `count` savings, best first."""
        with self._lock:
            tables, head = self._now()
            placed, scope = tables.placed, scope_of(tables.placed, "fabric", network, vrf)
            found = (
                _saving(placed, area, move)
                for area in scope.areas
                for move in moves(tables.pair(area, scope).smallest, _CONSIDERED, _SMALL[area.version])
            )
            away = [each for each in found if all(_away(placed, each.area, fact) for fact in each.facts)]
            best = sorted(away, key=lambda each: (-each.saves / len(each.facts), -each.saves))[:count]
            names = {each.area.network: placed.networks[each.area.network].name for each in best}
            owners = {fact.owner for each in best for fact in each.facts if fact.owner is not None}
            names |= {owner: placed.locations[owner].name for owner in owners}
            return Seen(Plan(best, names), head)

    def sizes(self) -> list[Size]:
        """How many routes each network has in the tables of both fabrics."""
        with self._lock:
            tables, _ = self._now()
            return [_size(tables, network, where) for network in tables.placed.networks.values() for where in FABRICS]

    def over_budget(self) -> list[Size]:
        """Networks that the engine says are over their budget, with what that counts: the smallest table, of now."""
        with self._lock:
            tables, _ = self._now()
            over = [network for network in tables.placed.networks.values() if network.over_budget]
            return [_least(tables, network) for network in over if network.route_budget is not None]

    def _now(self) -> tuple[Tables, Head]:
        """The tables, and the head of the ledger that they reflect."""
        tables, follower = self._tables, self._follower
        if tables is None or follower is None:
            return self._load()
        try:
            head = self._store.head()
            if head == follower.place:
                return tables, head
            if head.sequence - follower.place.sequence > _BEHIND:
                return self._load()
            while entries := follower.read(PAGE):
                self._tables = None  # what an error leaves half taken in is not used again
                for entry in entries:
                    tables.take(entry)
                self._tables = tables
        except EpochChanged:
            return self._load()
        return tables, follower.place

    def _load(self) -> tuple[Tables, Head]:
        self._tables = None
        with self._store.snapshot() as snapshot:
            placed = Placed()
            for name in ("vrfs", "locations", "networks", "subnets"):
                getattr(placed, name).update((each.id, each) for each in getattr(snapshot, name))
            for block in snapshot.blocks():
                placed.own(block)
            for loose in snapshot.loose():
                placed.loosen(*loose)
            for (claim, at, leaving), addresses in _by_claim(snapshot.handovers()):
                placed.hand_over(claim, at, leaving, addresses)
            head = snapshot.head
        self._tables, self._follower = Tables(placed, head.sequence), Follower(self._store, head)
        return self._tables, head


def _by_claim(rows: Iterable[HandedOver]) -> Iterator[tuple[tuple[str, str, str], list[tuple[str, int]]]]:
    for claim, group in groupby(rows, key=lambda row: (row.claim, row.host, row.leaving)):
        yield claim, [(row.subnet, row.number) for row in group]


def _saving(placed: Placed, area: Area, move: Move) -> Saving:
    """A move with the locations whose facts it is about: the table knows next hops only."""
    facts = placed.areas[area]
    found = (
        each for fact in move.facts for each in facts.at(fact.first, fact.length) if each.kind == fact.kind
    )  # fmt: skip
    return Saving(placed.networks[area.network].vrf, area, tuple(found), move.saves)


def _away(placed: Placed, area: Area, fact: Placement) -> bool:
    """Whether it could be elsewhere: an address, or one of several blocks of a host, not in a region of its place."""
    if fact.kind == "loose" or fact.owner is None:
        return True
    facts = placed.areas[area]
    around = facts.around(fact.first, fact.length, width(area.version))
    at_home = {each.owner for each in around if each.kind == "region"} & {*placed.above(fact.owner)}
    return len(facts.owned[fact.owner]) > 1 and not at_home


def _size(tables: Tables, network: Network, where: Where) -> Size:
    scope = scope_of(tables.placed, where, network.id, network.vrf)
    return Size(network, where, sum(tables.pair(area, scope).followed.size for area in scope.areas))


def _least(tables: Tables, network: Network) -> Size:
    scope = scope_of(tables.placed, "fabric", network.id, network.vrf)
    return Size(network, "fabric", sum(tables.pair(area, scope).smallest.size for area in scope.areas))
