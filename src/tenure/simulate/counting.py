"""What routers would have to hold: followed from blocks and loose addresses, whoever put them there."""

from collections.abc import Iterator

from tenure.engine.areas import Slice
from tenure.engine.buddy import Buddy, Piece
from tenure.engine.routes import Kind, RouteTable, hosts, spine
from tenure.engine.space import Space
from tenure.engine.spines import Watch
from tenure.engine.state import State
from tenure.simulate.drive import Figures


class Tables(Watch):
    """The smallest tables of a site's routers, and how often the fabric's is told of a change.

    Args:
        space: It is followed from now on.

    Cost: two paths of a table for each change of a block.
    """

    __slots__ = ("_space", "_state", "_tables", "_told", "_updates")

    def __init__(self, state: State, space: Space) -> None:
        self._state, self._space = state, space
        self._tables = RouteTable(space.width, hosts(state.locations)), RouteTable(space.width, spine(state.locations))
        self._told = [Watch(table) for table in self._tables]
        self._updates = 0
        space.show(self)

    def put(self, kind: Kind, first: int, length: int, owner: str | None) -> None:
        """A prefix is somebody's; the fabric has routes of host blocks, not of wider ones."""
        self._updates += kind == "block"
        for watch in self._told:
            watch.put(kind, first, length, owner)

    def drop(self, kind: Kind, first: int, length: int) -> None:
        """A prefix is nobody's."""
        self._updates += kind == "block"
        for watch in self._told:
            watch.drop(kind, first, length)

    def loosen(self, number: int, host: str | None) -> None:
        """An address is used away from its block's owner, or no longer."""
        self._updates += 1
        for watch in self._told:
            watch.loosen(number, host)

    def figures(self) -> Figures:
        """What the routers hold now. Cost: linear in blocks and loose addresses."""
        space = self._space
        return Figures(
            fabric=len(space.blocks) + len(space.loose),
            spine=sum(1 for _ in at_spine(self._state, space)),
            blocks=len(space.blocks),
            loose=len(space.loose),
            live=space.held,
            free=space.available,
            least_fabric=self._tables[0].size,
            least_spine=self._tables[1].size,
            updates=self._updates,
        )


def at_spine(state: State, space: Space) -> Iterator[tuple[int, int, str]]:
    """What each rack announces: its blocks, those of its hosts and addresses outside of them, neighbours as one.

    Inside its own space it announces again what lies in another rack's block there.
    """
    told: dict[str, Buddy] = {}

    def rack_of(owner: str | None) -> str | None:
        return state.way_up(owner)[1] or owner

    def tell(owner: str | None, piece: Piece, around: Slice | None) -> None:
        rack, other = rack_of(owner), None if around is None else rack_of(around.owner)
        if rack is not None:
            mine = told.setdefault(rack, Buddy(space.first, space.length, space.width, empty=True))
            if mine.around(*piece) is None or other not in (None, rack):
                mine.give(*piece)

    for _, region in sorted(space.regions.items()):
        tell(region.owner, region.key, space.around(region))
    for block in sorted(space.blocks.values(), key=lambda block: block.length):
        tell(block.owner, block.key, block.lender or space.region_at(*block.key))
    for number, host in space.loose.items():
        tell(host, (number, space.width), space.block_at(number) or space.region_at(number))
    return ((*piece, rack) for rack, mine in told.items() for piece in mine.pieces())
