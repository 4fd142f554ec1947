"""Prefixes with what they say about hops, in a binary trie without its single children (Morrison's PATRICIA, 1968).

A node is the root, has a fact, or has two children: so there are at most two a
fact, and a path has about as many nodes as the logarithm of the number of facts,
128 at most, for IPv6 too. What lies between a node and its child accepts what
the node's uncovered space accepts.
"""

from collections.abc import Iterator
from typing import Any

from tenure.engine.routes.hops import DEFAULT, Hops
from tenure.engine.routes.levels import Level
from tenure.engine.routes.places import Fact, Kind, Route

KINDS: tuple[Kind, ...] = ("region", "block", "loose")


class Node:
    """A prefix.

    Attributes:
        region: The location that owns it, if a region begins here.
        block, loose: The hop that holds it, as a set of one (0: nobody), if such a fact is here.
        wild: What space without an owner accepts below: the default, and the hops of the region around.
        allow: What space below that no narrower fact covers accepts.
        held: Whether that is a holder's, by a fact here or wider.
        accept: What the whole accepts at the least price; a table's own.
        price: Routes that are needed here; a table's own.
    """

    __slots__ = (
        "accept", "allow", "block", "first", "held", "left", "length", "loose", "price", "region", "right", "wild",
    )  # fmt: skip

    def __init__(self, first: int, length: int) -> None:
        self.first = first
        self.length = length
        self.left: Node | None = None
        self.right: Node | None = None
        self.region: str | None = None
        self.block: int | None = None
        self.loose: int | None = None
        self.wild = self.allow = 0
        self.held = False
        self.accept = 0
        self.price: Any = None

    @property
    def bare(self) -> bool:
        """Whether no fact is here."""
        return self.region is None and self.block is None and self.loose is None

    @property
    def children(self) -> Iterator["Node"]:
        """Its children, from the left."""
        return (child for child in (self.left, self.right) if child is not None)


class Trie:
    """Facts of placement in one address family of one vrf, as one router sees them; a table decides in `_weigh`.

    The narrowest block or loose address around an address counts, for a block may span several regions of its rack;
    without one the narrowest region. A block without a host is like space without an owner.
    To change what a prefix is, put the new fact, and then drop the old one: space whose owner stays is
    then not looked at twice. When a location moves in the tree, drop every fact of the hops that move with it
    before any is put again.

    Args:
        width: Bits of an address, 32 or 128.
        level: Whose table it is.

    Cost: a fact that covers no other changes one path to the root, and stops where nothing changes. One that does
        (a region put around blocks) looks besides at the facts in it that no narrower fact shields. The first
        hop of a location beyond those that bits were set aside for looks at the location's regions; rare, because
        half as many again are set aside each time.
    """

    def __init__(self, width: int, level: Level) -> None:
        self.width = width
        self._hops = Hops(level)
        self._loose: set[int] = set()
        self._regions: dict[str, set[tuple[int, int]]] = {}
        self._root = Node(0, 0)
        self._inherit(self._root, None)

    def put(self, kind: Kind, first: int, length: int, owner: str | None) -> None:
        """Note a fact, in place of one of the same kind at the same prefix.

        Args:
            first: Its first address, a multiple of its size. length: 0 to `width`; `width` if loose.
            owner: A location's id; None for a block without an owner.
        """
        value: str | int | None = owner if kind == "region" else self._hops.take(owner)
        if self._hops.grown:
            self._spread()
        before = self._set(kind, first, length, value)
        self._part(first, length, before)
        if isinstance(value, str):
            self._regions.setdefault(value, set()).add((first, length))

    def drop(self, kind: Kind, first: int, length: int) -> None:
        """Forget a fact.

        Raises:
            KeyError: It is not here.
        """
        self._part(first, length, self._clear(kind, first, length))

    def facts(self) -> Iterator[Fact]:
        """Everything noted, in address order, wider first."""
        for node in self._nodes():
            for kind in KINDS:
                value = getattr(node, kind)
                if value is not None:
                    yield Fact(kind, node.first, node.length, self._owner(value))

    def _route(self, first: int, length: int, hop: int) -> Route:
        return Route(first, length, self._hops.name(hop), length == self.width and first in self._loose)

    def _owner(self, value: str | int) -> str | None:
        if isinstance(value, str):
            return value
        return self._hops.name(value) if value else None

    def _nodes(self) -> Iterator[Node]:
        waiting = [self._root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(tuple(node.children))

    def _part(self, first: int, length: int, value: str | int | None) -> None:
        """What was said here is said no longer."""
        if isinstance(value, int):
            self._hops.give(value)
        elif value is not None:
            places = self._regions[value]
            places.discard((first, length))

    def _spread(self) -> None:
        """Look again at the regions that accept more hops than before."""
        for owner in sorted(self._hops.grown):
            for first, length in sorted(self._regions.get(owner, ())):
                self._settle(self._reach(first, length))
        self._hops.grown.clear()

    def _set(self, kind: Kind, first: int, length: int, value: str | int | None) -> Any:
        path = self._reach(first, length)
        before = getattr(path[-1], kind)
        setattr(path[-1], kind, value)
        if kind == "loose":
            self._loose.add(first)
        self._settle(path)
        return before

    def _clear(self, kind: Kind, first: int, length: int) -> Any:
        path = self._find(first, length)
        node = path[-1]
        before = getattr(node, kind)
        if before is None:
            raise KeyError((kind, first, length))
        setattr(node, kind, None)
        if kind == "loose":
            self._loose.discard(first)
        self._prune(path)
        return before

    def _settle(self, path: list[Node]) -> None:
        """The last node of the path says something else than before."""
        self._inherit(path[-1], path[-2] if len(path) > 1 else None)
        self._rise(path, len(path) - 2)

    def _prune(self, path: list[Node]) -> None:
        """As `_settle`, and nodes without a reason go."""
        node = path[-1]
        if len(path) == 1 or not node.bare or (node.left and node.right):
            self._settle(path)
            return
        path.pop()
        child = self._remove(node, path[-1])
        if child is not None:
            self._inherit(child, path[-1])
        elif len(path) > 1 and path[-1].bare:
            self._remove(path.pop(), path[-1])
        self._rise(path, len(path) - 1)

    def _remove(self, node: Node, parent: Node) -> Node | None:
        """Take out a node with at most one child, which takes its place."""
        child = node.left or node.right
        if parent.left is node:
            parent.left = child
        else:
            parent.right = child
        self._leave(node)
        return child

    def _inherit(self, node: Node, around: Node | None) -> None:
        """Work out what a node and those below accept, as far down as anything differs."""
        wild, allow, held = (around.wild, around.allow, around.held) if around else (DEFAULT, DEFAULT, False)
        if node.region is not None:
            wild = self._hops.region(node.region)
            allow = allow if held else wild
        if node.block is not None:
            allow, held = node.block or wild, node.block > 0
        if node.loose is not None:
            allow, held = node.loose or wild, node.loose > 0
        if wild == node.wild and allow == node.allow and held == node.held:
            return
        node.wild, node.allow, node.held = wild, allow, held
        for child in node.children:
            self._inherit(child, node)
        self._weigh(node)

    def _rise(self, path: list[Node], at: int) -> None:
        """Weigh the nodes of a path from `at` up, as far as anything changes."""
        while at >= 0 and self._weigh(path[at]):
            at -= 1

    def _weigh(self, node: Node) -> bool:
        """Work out a node's `accept` and `price` from its children's; whether `accept` changed."""
        raise NotImplementedError

    def _leave(self, node: Node) -> None:
        """A node is taken out."""
        raise NotImplementedError

    def _find(self, first: int, length: int) -> list[Node]:
        node, path = self._root, [self._root]
        while node.length < length:
            child = node.right if first >> (self.width - node.length - 1) & 1 else node.left
            if child is None or child.length > length:
                raise KeyError((first, length))
            node = child
            path.append(node)
        if node.first != first:
            raise KeyError((first, length))
        return path

    def _reach(self, first: int, length: int) -> list[Node]:
        """The nodes from the root to a prefix, which is made if need be."""
        width, node, path = self.width, self._root, [self._root]
        while node.length < length:
            child = node.right if first >> (width - node.length - 1) & 1 else node.left
            if child is None:
                child = Node(first, length)
                self._hang(node, child)
                path.append(child)
                return path
            shared = min(length, child.length, width - (first ^ child.first).bit_length())
            if shared < child.length:
                child = self._split(node, child, shared)
                if shared < length:  # else it is what is reached, and has yet to work out what it accepts
                    child.wild, child.allow, child.held = node.wild, node.allow, node.held
            path.append(child)
            node = child
        return path

    def _split(self, node: Node, child: Node, length: int) -> Node:
        """Put a prefix between a node and its child."""
        shift = self.width - length
        between = Node(child.first >> shift << shift, length)
        self._hang(node, between)
        self._hang(between, child)
        return between

    def _hang(self, node: Node, child: Node) -> None:
        if child.first >> (self.width - node.length - 1) & 1:
            node.right = child
        else:
            node.left = child
