"""Blocks over the pages: whose they are, which have room, and what is not cut into blocks yet.

Nothing here walks hosts or blocks: every index keeps at hand what the next
question needs (the blocks with room of an owner, of a rack, of the subnet).
"""

from collections import OrderedDict
from collections.abc import Iterator

from tenure.engine.buddy import Buddy
from tenure.engine.pages import FULL, LOW, PAGE, PAGE_BITS, Ends, Occupancy, Page
from tenure.net.addresses import prefix_text

Key = tuple[int, int]


class Slice:
    """A block over the pages.

    Attributes:
        free: Addresses in it that a claim could have now (host blocks only).
        cursor: Where the next search begins, so that an address rests as long as possible.
        region: The rack block it was cut from (host blocks), or None.
        space: What of it is not yet cut into host blocks (rack blocks), else None.
        text: `10.0.3.64/28`.
    """

    __slots__ = ("cursor", "first", "free", "key", "length", "owner", "region", "size", "space", "text")

    def __init__(self, first: int, length: int, width: int, owner: str | None) -> None:
        self.first = first
        self.length = length
        self.key: Key = (first, length)
        self.size = 1 << (width - length)
        self.owner = owner
        self.text = prefix_text(4 if width == 32 else 6, first, length)
        self.free = 0
        self.cursor = 0
        self.region: Slice | None = None
        self.space: Buddy | None = None


Slices = OrderedDict[Key, Slice]
"""Ordered by when they came in; unlike a dict's, its first is found at once, however many went before."""

Index = dict[str | None, Slices]


class Blocks(Occupancy):
    """Blocks over the pages, and the indexes of them.

    A free piece of `uncut` or of a rack block, cut at `block_length`, always holds an
    address that a claim could have: pieces that hold none are spent, and taken out.

    Attributes:
        blocks, regions: Host blocks and rack blocks by (first, length).
        own, roomy: Host blocks of an owner; those of them with a free address.
        rack_roomy, all_roomy: Host blocks with a free address, by owner of their rack block; of the subnet.
        rack_open, all_open: Rack blocks with uncut space, by owner; of the subnet.
        uncut: What of the subnet is in no rack block.
        block_length, rack_length: Lengths of the next blocks.
    """

    def __init__(self, name: str, first: int, length: int, width: int, ends: Ends) -> None:
        super().__init__(name, first, first + (1 << (width - length)) - 1, width, ends)
        self.length = length
        self.block_length = self.rack_length = length
        self.blocks: dict[Key, Slice] = {}
        self.regions: dict[Key, Slice] = {}
        self._lengths: dict[int, int] = {}
        self._region_lengths: dict[int, int] = {}
        self.own: Index = {}
        self.uncut = Buddy(first, length, width)
        self._clear()

    def _clear(self) -> None:
        self.uncut = Buddy(self.first, self.length, self.width)
        self.roomy: Index = {}
        self.rack_roomy: Index = {}
        self.all_roomy: Slices = OrderedDict()
        self.rack_open: Index = {}
        self.all_open: Slices = OrderedDict()
        self._spent: dict[Key, Buddy] = {}
        self._spent_lengths: dict[int, int] = {}

    def adopt_blocks(self, old: "Blocks") -> None:
        """Take over the blocks of `old`, the same subnet under another prefix; `rebuild` must follow."""
        self.blocks, self.regions, self.own = old.blocks, old.regions, old.own
        self._lengths, self._region_lengths = old._lengths, old._region_lengths

    def rebuild(self) -> None:
        """Work out what is not cut, and who has room, from the blocks there are. Cost: linear in blocks and pages."""
        self._clear()
        for region in self.regions.values():
            self.uncut.shut(region.first, region.length)
            region.space = Buddy(region.first, region.length, self.width)
        for block in self.blocks.values():
            block.region = self.region_at(block.first)
            self._uncut(block).shut(block.first, block.length)
            block.free = self._count(block)
        self._spend(self.uncut, self.first, self.last)
        for region in self.regions.values():
            self._spend(space_of(region), region.first, region.first + region.size - 1)
            self._index_region(region)
        for block in self.blocks.values():
            if block.free > 0:
                self._index_room(block)

    # Questions

    def block_at(self, number: int) -> Slice | None:
        """The host block that an address lies in. Cost: one look-up for each length in use."""
        return self.blocks.get(_at(self.blocks, self._lengths, number, self.width))

    def region_at(self, number: int) -> Slice | None:
        """The rack block that an address lies in."""
        return self.regions.get(_at(self.regions, self._region_lengths, number, self.width))

    def pick(self, block: Slice) -> int | None:
        """The next free address of a block, from its cursor on. Cost: see `Tower`."""
        start = block.first + block.cursor
        found = self.next_free(start, block.first + block.size - 1)
        return self.next_free(block.first, start - 1) if found is None and block.cursor else found

    def held_in(self, block: Slice) -> int:
        """How many addresses of a block are held."""
        return sum((page.used >> low & mask).bit_count() for page, low, mask in self._over(block))

    def counts(self, block: Slice) -> tuple[int, int, int]:
        """Held, resting and closed addresses of a block; with the free ones they are all of it."""
        held = resting = 0
        for page, low, mask in self._over(block):
            open_ = ~page.closed >> low & mask
            held += (page.used >> low & open_).bit_count()
            resting += (page.resting >> low & open_).bit_count()
        return held, resting, self.closed.within(block.first, block.first + block.size - 1).size

    # Change

    def own_block(self, first: int, length: int, owner: str | None) -> None:
        """A location owns a host block from now on."""
        if self.block_at(first) is not None:
            raise AssertionError(f"the block at {first} of subnet {self.name} is owned already")
        block = Slice(first, length, self.width, owner)
        block.region = self.region_at(first)
        block.free = self._count(block)
        given = self._unspend(block)
        self._uncut(block).shut(first, length)
        self.blocks[block.key] = block
        self._lengths[length] = self._lengths.get(length, 0) + 1
        for piece, bits in given:
            self._spend(self._uncut(block), piece, piece + (1 << (self.width - bits)) - 1)
        self.own.setdefault(owner, OrderedDict())[block.key] = block
        if block.free > 0:
            self._index_room(block)
        self._reindex(block.region)

    def lose_block(self, first: int, length: int) -> None:
        """A host block goes back to where it was cut from."""
        block = self.blocks.pop((first, length))
        _less(self._lengths, length)
        _drop(self.own, block.owner, block.key)
        self._forget_room(block)
        self._uncut(block).give(first, length)
        self._spend(self._uncut(block), first, first + block.size - 1)
        self._reindex(block.region)

    def own_region(self, first: int, length: int, owner: str | None) -> None:
        """A location owns a rack block from now on."""
        if self.region_at(first) is not None:
            raise AssertionError(f"the rack block at {first} of subnet {self.name} is owned already")
        region = Slice(first, length, self.width, owner)
        self._unspend(region)
        self.uncut.shut(first, length)
        region.space = Buddy(first, length, self.width)
        self.regions[region.key] = region
        self._region_lengths[length] = self._region_lengths.get(length, 0) + 1
        self._spend(region.space, first, first + region.size - 1)
        self._index_region(region)

    def lose_region(self, first: int, length: int) -> None:
        """A rack block goes back; host blocks in it stay. Cost: as `rebuild`, it is rare."""
        self.regions.pop((first, length))
        _less(self._region_lengths, length)
        self.rebuild()

    def _lost(self, number: int, page: Page) -> None:
        super()._lost(number, page)
        block = self.block_at(number)
        if block is None:
            self._spend_one(number)
            return
        block.free -= 1
        block.cursor = (number - block.first + 1) & (block.size - 1)
        if block.free == 0:
            self._forget_room(block)

    def _gained(self, number: int, page: Page) -> None:
        super()._gained(number, page)
        block = self.block_at(number)
        if block is None:
            self._unspend_one(number)
            return
        block.free += 1
        if block.free == 1:
            self._index_room(block)

    # What is spent

    def _spend(self, uncut: Buddy, first: int, last: int) -> None:
        """Take what no claim could have out of `uncut`, from `first` to `last`: nobody should own it."""
        for low, high in self.closed.within(first, last):
            for piece, length in uncut.aligned(low, high, self.block_length):
                uncut.shut(piece, length)
        for at in self._units(first, last, self.block_length):
            self._spend_one(at)

    def _units(self, first: int, last: int, length: int) -> Iterator[int]:
        """An address of each piece of this length, from `first` to `last`, that lies on a page that is there."""
        step = 1 << min(self.width - length, PAGE_BITS)
        for number in self.pages_between(first, last):
            base = number << PAGE_BITS
            yield from range(max(base, first), min(base + LOW, last) + 1, step)

    def _spend_one(self, number: int) -> None:
        """Take the uncut piece around an address out, if no claim could have any of it."""
        length = self.block_length
        if all(n <= length for n in self._lengths) and self._has_room(number, length):
            return
        region = self.region_at(number)
        uncut = self.uncut if region is None else space_of(region)
        around = uncut.around(number, self.width)
        if around is None:
            return
        length = max(around[1], length)
        if not self._has_room(number, length):
            piece = number >> (self.width - length) << (self.width - length)
            uncut.carve(piece, length)
            self._spent[piece, length] = uncut
            self._spent_lengths[length] = self._spent_lengths.get(length, 0) + 1
            self._reindex(region)

    def _has_room(self, number: int, length: int) -> bool:
        size = 1 << (self.width - length)
        piece = number & -size
        return self.next_free(piece, piece + size - 1) is not None

    def _unspend_one(self, number: int) -> None:
        """A claim could have this address again."""
        key = _at(self._spent, self._spent_lengths, number, self.width)
        if key in self._spent:
            self._spent.pop(key).give(*key)
            _less(self._spent_lengths, key[1])
            self._reindex(self.region_at(number))

    def _unspend(self, block: Slice) -> list[Key]:
        """Give spent pieces under or around a block back, because it becomes one. Cost: linear in its pages."""
        given: list[Key] = []
        longest = max(self._spent_lengths, default=None)
        if longest is None:
            return given
        for at in list(self._units(block.first, block.first + block.size - 1, longest)):
            key = _at(self._spent, self._spent_lengths, at, self.width)
            if key in self._spent:
                self._spent.pop(key).give(*key)
                _less(self._spent_lengths, key[1])
                given.append(key)
        return given

    # Indexes

    def _uncut(self, block: Slice) -> Buddy:
        return self.uncut if block.region is None else space_of(block.region)

    def _over(self, block: Slice) -> list[tuple[Page, int, int]]:
        """The pages that exist under a block, with the shift and mask of its part of each."""
        low, mask = (block.first & LOW, (1 << block.size) - 1) if block.size <= PAGE else (0, FULL)
        found = self.pages_between(block.first, block.first + block.size - 1)
        return [(self.pages[n], low, mask) for n in found]

    def _count(self, block: Slice) -> int:
        busy = sum(
            (((page.used | page.resting) & ~page.closed) >> low & mask).bit_count()
            for page, low, mask in self._over(block)
        )
        return block.size - busy - self.closed.within(block.first, block.first + block.size - 1).size

    def _reindex(self, region: Slice | None) -> None:
        """A rack block's uncut space changed."""
        if region is not None and space_of(region).empty == (region.key in self.all_open):
            if region.key in self.all_open:
                _drop(self.rack_open, region.owner, region.key)
                del self.all_open[region.key]
            else:
                self._index_region(region)

    def _index_region(self, region: Slice) -> None:
        if not space_of(region).empty:
            self.rack_open.setdefault(region.owner, OrderedDict())[region.key] = region
            self.all_open[region.key] = region

    def _index_room(self, block: Slice) -> None:
        self.roomy.setdefault(block.owner, OrderedDict())[block.key] = block
        self.all_roomy[block.key] = block
        if block.region is not None:
            self.rack_roomy.setdefault(block.region.owner, OrderedDict())[block.key] = block

    def _forget_room(self, block: Slice) -> None:
        _drop(self.roomy, block.owner, block.key)
        self.all_roomy.pop(block.key, None)
        if block.region is not None:
            _drop(self.rack_roomy, block.region.owner, block.key)


def space_of(region: Slice) -> Buddy:
    """What of a rack block is not cut."""
    if region.space is None:
        raise AssertionError("a host block has no space to cut")
    return region.space


def _at(things: "dict[Key, Slice] | dict[Key, Buddy]", lengths: dict[int, int], number: int, width: int) -> Key:
    """The key of the thing that an address lies in; one that is in no index, where there is none."""
    for length in lengths:
        key = (number >> (width - length) << (width - length), length)
        if key in things:
            return key
    return (-1, 0)


def _less(lengths: dict[int, int], length: int) -> None:
    lengths[length] -= 1
    if not lengths[length]:
        del lengths[length]


def _drop(index: Index, owner: str | None, key: Key) -> None:
    slices = index.get(owner)
    if slices is not None:
        slices.pop(key, None)
        if not slices:
            del index[owner]
