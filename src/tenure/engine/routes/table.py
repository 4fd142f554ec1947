"""The smallest table: how many routes it has, always; and which, on request."""

from collections.abc import Iterable, Iterator

from tenure.engine.routes.hops import DEFAULT
from tenure.engine.routes.levels import Level
from tenure.engine.routes.places import Fact, Route
from tenure.engine.routes.trie import Node, Trie

ANY = -1
Places = tuple[tuple[int, int, int], ...]
"""First address, length, and the set of hops that a route there may have; the widest first."""


class RouteTable(Trie):
    """The smallest table by which one router delivers every address that somebody holds to its holder.

    Longest-prefix match gives each address the hop of the narrowest fact around it. Space without an owner
    goes to hops of the location whose region it is, or where what has no route goes (nowhere, or up); outside
    of every region only the latter.

    Args:
        width: Bits of an address, 32 or 128.
        level: Whose table it is.

    Cost: as for `Trie`.
    """

    def __init__(self, width: int, level: Level) -> None:
        self._changes = 0
        super().__init__(width, level)

    @property
    def size(self) -> int:
        """The number of routes in the smallest table; what goes to the default anyway is none. Cost: O(1)."""
        return self._changes + (not self._root.accept & DEFAULT)

    def routes(self) -> list[Route]:
        """The smallest table, in address order, wider first.

        Among tables of this size one that leaves out "unreachable" where it can, and in which a route is as wide
        as free space in its region allows.

        Cost: O(facts).
        """
        return sorted(self._route(*chosen) for chosen in self._chosen())

    def saving(self, facts: Iterable[Fact]) -> int:
        """How many routes fewer there would be without these facts. Cost: that of a drop and a put of each."""
        before = self.size
        taken = [(fact, self._clear(fact.kind, fact.first, fact.length)) for fact in facts]
        after = self.size
        for fact, value in reversed(taken):
            self._set(fact.kind, fact.first, fact.length, value)
        return before - after

    def _weigh(self, node: Node) -> bool:
        """One step of Fitch's first pass."""
        allow = node.allow
        left, price = _lifted(node.left, node)
        right, more = _lifted(node.right, node)
        price += more
        accept = left & right
        if not accept:
            accept = left | right
            price += 1
        if price != node.price:
            self._changes += price - (node.price or 0)
            node.price = price
        if accept == node.accept:
            return False
        node.accept = allow if accept == allow else accept  # one object for what is equal: sets may be long
        return True

    def _leave(self, node: Node) -> None:
        self._changes -= node.price

    def _chosen(self) -> Iterator[tuple[int, int, int]]:
        """Fitch's second pass: a node that accepts the hop it inherits needs no route."""
        waiting: list[tuple[Node, int, Places]] = [(self._root, DEFAULT, ())]
        while waiting:
            node, hop, wider = waiting.pop()
            left, right = _lifted(node.left, node)[0], _lifted(node.right, node)[0]
            wider += ((node.first, node.length, ANY),)
            # Where one half accepts it, or they accept nothing in common, routes further down cost no more.
            if not hop & (left | right) and left & right:
                hop = self._pick(left & right)
                yield _widest(wider, hop)
                wider = ()
            middle = node.first | 1 << (self.width - node.length) >> 1
            for child, other, half in (node.left, node.right, node.first), (node.right, node.left, middle):
                if hop & node.allow or (child is not None and child.length == node.length + 1):
                    if child is not None:
                        waiting.append((child, hop, _wider(node, child, half, hop, wider if other is None else ())))
                elif child is not None:
                    at, chosen, passed = self._between(node, child, half, hop)
                    yield *at, chosen
                    waiting.append((child, passed, ()))
                elif node.length < self.width:
                    yield half, node.length + 1, self._pick(node.allow)

    def _between(self, node: Node, child: Node, half: int, hop: int) -> tuple[tuple[int, int], int, int]:
        """Space between a node and its child does not accept the hop: where its route is, its hop, and the child's."""
        if child.length == node.length + 2 and (hop & child.accept or not child.accept & node.allow):
            return (child.first ^ 1 << (self.width - child.length), child.length), self._pick(node.allow), hop
        chosen = self._pick(child.accept & node.allow or node.allow)
        return (half, node.length + 1), chosen, chosen

    def _pick(self, accepted: int) -> int:
        """One hop of a set: one that holds something, rather than none at all."""
        real = accepted & self._hops.live
        return real & -real if real else DEFAULT


def _wider(node: Node, child: Node, half: int, hop: int, above: Places) -> Places:
    """Where else a route for all of a child may lie, if the space that it then covers accepts its hop."""
    if not hop & node.allow:
        return ()
    places = tuple((first, length, accept & node.allow) for first, length, accept in above)
    return places if child.length == node.length + 1 else (*places, (half, node.length + 1, node.allow))


def _widest(places: Places, hop: int) -> tuple[int, int, int]:
    return next((first, length, hop) for first, length, accept in places if accept & hop)


def _lifted(child: Node | None, node: Node) -> tuple[int, int]:
    """What a half of a node accepts, and how many routes its space above the child costs.

    Between the two lie only nodes with one child each; what they accept together settles after two of them.
    """
    if child is None:
        return node.allow, 0
    between = child.length - node.length - 1
    if not between:
        return child.accept, 0
    both = child.accept & node.allow
    if both:
        return both, 0
    return (child.accept | node.allow if between == 1 else node.allow), 1
