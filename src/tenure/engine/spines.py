"""How many routes the spine has for each network with a budget, kept in step with its blocks.

A network without a budget costs a look at None for each change of a block.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from tenure.engine.routes.levels import spine
from tenure.engine.routes.places import Kind
from tenure.engine.routes.table import RouteTable
from tenure.model.addressing import Network
from tenure.model.topology import Location
from tenure.net.addresses import width

if TYPE_CHECKING:
    from tenure.engine.space import Space


class Watch:
    """Tells a table what the blocks and loose addresses of a subnet mean to it."""

    __slots__ = ("_table",)

    def __init__(self, table: RouteTable) -> None:
        self._table = table

    def put(self, kind: Kind, first: int, length: int, owner: str | None) -> None:
        """A prefix is this from now on; a wider block that is nobody's means nothing to routes."""
        if kind == "region" and not owner:
            self.drop(kind, first, length)
        else:
            self._table.put(kind, first, length, owner or None)

    def drop(self, kind: Kind, first: int, length: int) -> None:
        """It is this no longer, if it was."""
        with suppress(KeyError):  # of subnets that lie in each other both may have had it
            self._table.drop(kind, first, length)

    def loosen(self, number: int, host: str | None) -> None:
        """A host uses an address away from its block's owner; None: nobody does."""
        if host is None:
            self.drop("loose", number, self._table.width)
        else:
            self.put("loose", number, self._table.width, host)


class Spine:
    """The spine's smallest tables for one network.

    Args:
        locations: By id; looked up when a fact comes.
        spaces: All subnets of the network.

    Cost: linear in their blocks, some ten microseconds each; then one path of a table for each change.
    """

    def __init__(self, locations: Mapping[str, Location], spaces: Iterable["Space"]) -> None:
        self._spaces = list(spaces)
        versions = {space.version for space in self._spaces}
        self._tables = {version: RouteTable(width(version), spine(locations)) for version in versions}
        for space in self._spaces:
            space.show(Watch(self._tables[space.version]))

    @property
    def size(self) -> int:
        """The number of routes, of both families."""
        return sum(table.size for table in self._tables.values())

    def close(self) -> None:
        """Listen no longer."""
        for space in self._spaces:
            space.watch = None


class Spines:
    """The spines of networks with a budget. What they know may be forgotten at any time: it is read anew.

    Attributes:
        budgets: Ids of the networks that have a budget, or are said to be over one.
    """

    def __init__(self) -> None:
        self.budgets: dict[str, None] = {}
        self._spines: dict[str, Spine] = {}

    def note(self, id_: str, network: Network | None) -> None:
        """A network is like this from now on; None: it is gone."""
        if network is not None and (network.route_budget is not None or network.over_budget):
            self.budgets[id_] = None
        else:
            self.budgets.pop(id_, None)
            self.forget(id_)

    def forget(self, network: str) -> None:
        """A network has other subnets now than it had."""
        known = self._spines.pop(network, None)
        if known is not None:
            known.close()

    def forget_all(self) -> None:
        """The tree of locations has another shape."""
        for network in [*self._spines]:
            self.forget(network)

    def routes(self, network: str, locations: Mapping[str, Location], spaces: Iterable["Space"]) -> int:
        """How many routes the spine has for a network. Cost: see `Spine`, where it was forgotten; else O(1)."""
        known = self._spines.get(network)
        if known is None:
            known = self._spines[network] = Spine(locations, spaces)
        return known.size
