"""Sets of next hops as integers, one bit a hop.

Bit 0 is the default: no route. A region accepts the hops of its location, those
to come included, because bits are set aside for them: when a host appears, the
sets that are stored already speak of it.
"""

from tenure.engine.routes.levels import Level

DEFAULT = 1
_FEWEST = 4


class Hops:
    """The hops of one level, by bit.

    Attributes:
        live: The hops that some fact names, as a set.
        grown: Locations whose regions accept more than before; whoever has noted it clears it.
    """

    __slots__ = (
        "_around", "_bits", "_count", "_level", "_names", "_regions", "_sizes", "_spare", "_uses", "grown", "live",
    )  # fmt: skip

    def __init__(self, level: Level) -> None:
        self._level = level
        self._count = 1
        self._bits: dict[str, int] = {}
        self._names: dict[int, str] = {}  # by length of the bit, which is quicker to hash than a long bit
        self._uses: dict[str, int] = {}
        self._around: dict[int, tuple[str, ...]] = {}  # by length of the bit: where its hop was when it came
        self._regions: dict[str, int] = {}
        self._spare: dict[tuple[str, ...], list[int]] = {}
        self._sizes: dict[tuple[str, ...], int] = {}
        self.live = 0
        self.grown: set[str] = set()

    def region(self, owner: str) -> int:
        """What unowned space in this location's regions accepts."""
        return self._regions.get(owner, DEFAULT)

    def name(self, hops: int) -> str | None:
        """The hop of a set of one."""
        return self._level.default if hops == DEFAULT else self._names[hops.bit_length()]

    def take(self, owner: str | None) -> int:
        """The next hop of a location as a set of one, or 0 if it has none; each take wants a `give`."""
        hop = None if owner is None else self._level.hop(owner)
        if hop is None:
            return 0
        if hop == self._level.default:
            return DEFAULT
        self._uses[hop] = self._uses.get(hop, 0) + 1
        return self._bits.get(hop) or self._enter(hop)

    def give(self, hops: int) -> None:
        """A fact that took this is gone."""
        if hops <= DEFAULT:
            return
        hop = self._names[hops.bit_length()]
        self._uses[hop] -= 1
        if not self._uses[hop]:
            self._leave(hop, hops)

    def _enter(self, hop: str) -> int:
        around = self._level.within(hop)
        spare = self._spare.setdefault(around, [])
        if not spare:
            self._grow(around, spare)
        bit = spare.pop()
        self._bits[hop] = bit
        self._names[bit.bit_length()] = hop
        self._around[bit.bit_length()] = around
        self.live |= bit
        return bit

    def _leave(self, hop: str, bit: int) -> None:
        del self._uses[hop], self._bits[hop], self._names[bit.bit_length()]
        self._spare[self._around.pop(bit.bit_length())].append(bit)
        self.live ^= bit

    def _grow(self, around: tuple[str, ...], spare: list[int]) -> None:
        """Set bits aside, half as many again as there are, so that growing stays rare."""
        more = max(_FEWEST, self._sizes.get(around, 0) // 2)
        self._sizes[around] = self._sizes.get(around, 0) + more
        spare.extend(1 << at for at in range(self._count + more - 1, self._count - 1, -1))
        bits = ((1 << more) - 1) << self._count
        self._count += more
        for owner in around:
            self._regions[owner] = self.region(owner) | bits
            self.grown.add(owner)
