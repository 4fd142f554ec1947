"""A table that changes little: each route depends on what lies below it alone."""

from typing import NamedTuple

from tenure.engine.routes.hops import DEFAULT
from tenure.engine.routes.levels import Level
from tenure.engine.routes.places import Route
from tenure.engine.routes.trie import Node, Trie

Place = tuple[int, int]
Priced = tuple[int, int, int, bool]
"""A route, with its hop as a set of one, and whether it is loose."""


class Change(NamedTuple):
    """What to do to a table, in this order.

    Attributes:
        added: Routes to announce; one takes the place of whatever was at its prefix.
        withdrawn: Routes, as they were announced, of prefixes that have none any more.
    """

    added: list[Route]
    withdrawn: list[Route]


class FollowedTable(Trie):
    """A table for a router that is told of changes; what `RouteTable` promises holds, but for its size.

    Where two halves accept nothing in common, this one decides at once which of them has a route of its own;
    the smallest table waits for what lies above. So the routes depend on the facts alone, not on their history,
    and a change of facts touches the routes along one path. A route is as wide as free space in its region
    allows, so that a block that grows seldom changes one. And none reaches around what somebody else holds,
    unless that is lent inside of its own region or block: so traffic for a rack whose routes are withdrawn goes
    nowhere. The smallest table makes no such difference.

    Measured on made-up sites (`python -m bench.routes`), it has 0 to 0.1 % more routes than the smallest where
    racks are hops; where hosts are, 1 to 3 % with one or two blocks a host, and 10 % with four scattered ones.

    Args:
        width: Bits of an address, 32 or 128.
        level: Whose table it is.

    Cost: as for `Trie`.
    """

    def __init__(self, width: int, level: Level) -> None:
        self._routes: dict[Place, tuple[Route, Node]] = {}
        self._before: dict[Place, Route | None] = {}
        super().__init__(width, level)

    @property
    def size(self) -> int:
        """The number of routes. Cost: O(1)."""
        return len(self._routes)

    def routes(self) -> list[Route]:
        """All routes, in address order, wider first. Cost: O(routes)."""
        return sorted(route for route, _ in self._routes.values())

    def changes(self) -> Change:
        """What became of the routes since this was last asked (at first: all that there are), net and in order."""
        change = Change([], [])
        for place in sorted(self._before):
            before, now = self._before[place], self._routes.get(place)
            if now is None and before is not None:
                change.withdrawn.append(before)
            elif now is not None and now[0] != before:
                change.added.append(now[0])
        self._before.clear()
        return change

    def _weigh(self, node: Node) -> bool:
        """Agree, or place a route for a half that shall not have its way."""
        placed: list[Priced] = []
        left = self._lifted(node.left, node, placed)
        right = self._lifted(node.right, node, placed)
        accept = left & right or self._preferred(left, right, node.allow)
        if not left & accept:
            placed.append(self._priced(node.first, node.length + 1, left))
        if not right & accept:
            placed.append(self._priced(node.first | 1 << (self.width - node.length) >> 1, node.length + 1, right))
        if node is self._root and not accept & DEFAULT:
            placed.append(self._priced(0, 0, accept))
        self._place(node, tuple(placed))
        if accept == node.accept:
            return False
        node.accept = node.allow if accept == node.allow else accept
        return True

    def _lifted(self, child: Node | None, node: Node, placed: list[Priced]) -> int:
        """What a half of a node accepts; space above the child that does not agree with it wins."""
        if child is None:
            return node.allow
        if child.length - node.length == 1:
            return child.accept
        both = child.accept & node.allow
        if not both:
            placed.append(self._priced(child.first, child.length, child.accept))
        return both or node.allow

    def _preferred(self, left: int, right: int, around: int) -> int:
        """What holds for both halves, but for those that have a route of their own.

        That is what is most likely to agree with what lies further up: the default, or else what the space around
        accepts. Between two holders in their own region it is neither, so that neither reaches around the other.
        """
        for sure in (DEFAULT, around):
            if bool(left & sure) != bool(right & sure):
                return left if left & sure else right
        return DEFAULT if left & around else around

    def _priced(self, first: int, length: int, accept: int) -> Priced:
        # A set is that of one holder, or what free space accepts, the default among it.
        hop = accept & DEFAULT or accept
        return first, length, hop, length == self.width and first in self._loose

    def _place(self, node: Node, placed: tuple[Priced, ...]) -> None:
        if placed == node.price:
            return
        for first, length, *_ in node.price or ():
            held = self._routes.get((first, length))
            if held is not None and held[1] is node:
                self._note((first, length))
                del self._routes[first, length]
        for first, length, hop, _ in placed:
            self._note((first, length))
            self._routes[first, length] = self._route(first, length, hop), node
        node.price = placed

    def _note(self, place: Place) -> None:
        """Remember what is announced there, once between two askings."""
        if place not in self._before:
            held = self._routes.get(place)
            self._before[place] = held and held[0]

    def _leave(self, node: Node) -> None:
        self._place(node, ())
