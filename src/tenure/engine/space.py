"""A subnet's addresses as the allocator remembers them.

Bits live in pages of 256 addresses that exist only where something is; blocks
lie over the pages and know how many of their addresses are free. Nothing here
walks addresses, hosts or blocks: every index keeps at hand what the next
question needs (the blocks with room of an owner, of a rack, of the subnet).
"""

import heapq
from datetime import datetime

from tenure.engine.buddy import Buddy
from tenure.model.addressing import Range, Subnet
from tenure.net.addresses import parse_address, parse_prefix, width
from tenure.net.rangeset import RangeSet

PAGE_BITS = 8
PAGE = 1 << PAGE_BITS
FULL = (1 << PAGE) - 1
_WALK = 16


class Page:
    """256 addresses: bit i is the page's i-th address.

    Attributes:
        used: Held by somebody, leases included.
        resting: Released and cooling.
        closed: Never given by a claim (outside the subnet included).
        never: Never given by a lease either: `closed` without the dynamic ranges.
    """

    __slots__ = ("closed", "never", "resting", "used")

    def __init__(self, closed: int, never: int) -> None:
        self.used = 0
        self.resting = 0
        self.closed = closed
        self.never = never


class Slice:
    """A block over the pages.

    Attributes:
        free: Addresses in it that a claim could have now (host blocks only).
        cursor: Where the next search begins, so that an address rests as long as possible.
        region: The rack block it was cut from (host blocks), or None.
        space: What of it is not yet cut into host blocks (rack blocks), else None.
    """

    __slots__ = ("cursor", "first", "free", "length", "owner", "region", "size", "space")

    def __init__(self, first: int, length: int, size: int, owner: str | None) -> None:
        self.first = first
        self.length = length
        self.size = size
        self.owner = owner
        self.free = 0
        self.cursor = 0
        self.region: Slice | None = None
        self.space: Buddy | None = None

    @property
    def key(self) -> tuple[int, int]:
        """First address and length."""
        return (self.first, self.length)


class Pool:
    """A dynamic range: `busy` of its addresses are leased or resting; `usable` could ever be leased."""

    __slots__ = ("busy", "cursor", "first", "last", "usable")

    def __init__(self, first: int, last: int, usable: int) -> None:
        self.first = first
        self.last = last
        self.usable = usable
        self.busy = 0
        self.cursor = first


Slices = dict[tuple[int, int], Slice]


class Space:
    """One subnet's addresses, blocks and counts.

    Attributes:
        subnet: Its value. version: 4 or 6. first, last: As numbers.
        closed: Addresses that no claim is given: edges, gateway, DNS servers, ranges, nested subnets.
        held: Addresses that somebody holds. in_use, cooling: Held and resting ones that are not closed, so that
            in_use + cooling + reserved + available is the capacity.
        blocks, regions: Host blocks and rack blocks by (first, length).
        own, roomy: Host blocks of an owner; those of them with a free address.
        rack_roomy, all_roomy: Host blocks with a free address, by owner of their rack block; of the subnet.
        rack_open, all_open: Rack blocks with uncut space, by owner; of the subnet.
        free: What of the subnet is in no rack block.
        block_length, rack_length: Lengths of the next blocks.
    """

    def __init__(
        self, subnet: Subnet, block_length: int, rack_length: int, ends: list[tuple[datetime, int, str]]
    ) -> None:
        prefix = parse_prefix(subnet.cidr)
        self.version: int = prefix.version
        self.width = width(prefix.version)
        self.prefix_length: int = prefix.prefixlen
        self.first = int(prefix.network_address)
        self.last = int(prefix.broadcast_address)
        self.subnet = subnet
        self.ranges: dict[str, Range] = {}
        self.nested: dict[str, tuple[int, int]] = {}
        self.pages: dict[int, Page] = {}
        self.resting: dict[int, datetime] = {}
        self._ends = ends
        self.held = self.in_use = self.cooling = 0
        self.blocks: Slices = {}
        self.regions: Slices = {}
        self.own: dict[str | None, Slices] = {}
        self.roomy: dict[str | None, Slices] = {}
        self.rack_roomy: dict[str | None, Slices] = {}
        self.all_roomy: Slices = {}
        self.rack_open: dict[str | None, Slices] = {}
        self.all_open: Slices = {}
        self._lengths: dict[int, int] = {}
        self._region_lengths: dict[int, int] = {}
        self.pools: list[Pool] = []
        self._low: list[int] = []
        self._in_low: set[int] = set()
        self._next_page = self.first >> PAGE_BITS
        self.block_length, self.rack_length = block_length, rack_length
        self.closed = self.never = self.edges = RangeSet.of()
        self.free = Buddy(self.first, self.prefix_length, self.width)
        self.reshape()

    def adopt(self, old: "Space") -> None:
        """Take over what `old`, the same subnet under another prefix, remembers."""
        self.pages, self.resting = old.pages, old.resting
        self.held = old.held
        self.blocks, self.regions = old.blocks, old.regions
        self.own, self._lengths, self._region_lengths = old.own, old._lengths, old._region_lengths
        self.ranges = old.ranges

    # What is never given

    @property
    def size(self) -> int:
        """All addresses of the prefix."""
        return self.last - self.first + 1

    @property
    def capacity(self) -> int:
        """Addresses that could ever be used: the prefix without its edges."""
        return self.size - self.edges.size

    @property
    def reserved(self) -> int:
        """Addresses kept for something: gateway, DNS servers, ranges, nested subnets."""
        return self.closed.size - self.edges.size

    @property
    def available(self) -> int:
        """Addresses that a claim could have now."""
        return self.size - self.closed.size - self.in_use - self.cooling

    def edges_of(self) -> RangeSet:
        """Network and broadcast address (IPv6: subnet-router anycast), unless they may be given out."""
        if self.subnet.use_all_addresses or self.prefix_length >= self.width - 1:
            return RangeSet.of()
        if self.version == 6:
            return RangeSet.of((self.first, self.first))
        return RangeSet.of((self.first, self.first), (self.last, self.last))

    def reshape(self) -> None:
        """Work out anew what is never given, after the subnet, its ranges or its nested subnets changed.

        Cost: proportional to the pages and blocks there are; a change of the inventory, not of a claim.
        """
        inside = [n for n in map(int, map(parse_address, self._fixed())) if self.first <= n <= self.last]
        reserved = [(r.start, r.end) for r in self.ranges.values() if r.role == "reserved"]
        dynamic = [(r.start, r.end) for r in self.ranges.values() if r.role == "dynamic"]
        self.edges = self.edges_of()
        self.never = RangeSet.of(
            *self.edges, *((n, n) for n in inside), *self.nested.values(), *map(_numbers, reserved)
        )
        self.closed = self.never | RangeSet.of(*map(_numbers, dynamic))
        self.pools = [self._pool(*_numbers(pair)) for pair in sorted(dynamic, key=_numbers)]
        for number, page in self.pages.items():
            page.closed, page.never = self._masks(number)
        self._recount()
        self._rebuild()

    def _fixed(self) -> list[str]:
        gateway = [self.subnet.gateway] if self.subnet.gateway else []
        return [a for a in (*gateway, *self.subnet.dns_servers) if (":" in a) == (self.version == 6)]

    def _pool(self, first: int, last: int) -> Pool:
        return Pool(first, last, last - first + 1 - self.never.within(first, last).size)

    def _masks(self, number: int) -> tuple[int, int]:
        base = number << PAGE_BITS
        outside = 0
        if base < self.first:
            outside |= (1 << (self.first - base)) - 1
        if base + PAGE - 1 > self.last:
            outside |= FULL & ~((1 << (self.last - base + 1)) - 1)
        return self.closed.mask(base, PAGE) | outside, self.never.mask(base, PAGE) | outside

    def _recount(self) -> None:
        self.cooling = sum(1 for n in self.resting if n not in self.closed)
        self.in_use = sum((page.used & ~page.closed).bit_count() for page in self.pages.values())
        for pool in self.pools:
            pool.busy = sum(
                (self._busy(page) & _span(number, pool.first, pool.last)).bit_count()
                for number, page in self.pages.items()
                if pool.first >> PAGE_BITS <= number <= pool.last >> PAGE_BITS
            )
        self._low = [number for number, page in self.pages.items() if _free(page)]
        heapq.heapify(self._low)
        self._in_low = set(self._low)
        self._next_page = self.first >> PAGE_BITS

    @staticmethod
    def _busy(page: Page) -> int:
        return (page.used | page.resting) & ~page.never

    def _rebuild(self) -> None:
        """What is not cut, and who has room, from the blocks there are."""
        self.free = Buddy(self.first, self.prefix_length, self.width)
        self.roomy, self.rack_roomy, self.all_roomy = {}, {}, {}
        self.rack_open, self.all_open = {}, {}
        for region in self.regions.values():
            self.free.shut(region.first, region.length)
            region.space = Buddy(region.first, region.length, self.width)
        for block in self.blocks.values():
            block.region = self.region_at(block.first)
            self._uncut(block).shut(block.first, block.length)
            block.free = self._count(block)
        self._shut(self.free, self.first, self.last)
        for region in self.regions.values():
            self._shut(_space_of(region), region.first, region.first + region.size - 1)
            self._index_region(region)
        for block in self.blocks.values():
            self._index_block(block)

    def _shut(self, space: Buddy, first: int, last: int) -> None:
        """Take whole blocks of closed addresses out of `space`: nobody should own them."""
        for low, high in self.closed.within(first, last):
            for piece, length in space.aligned(low, high, self.block_length):
                space.shut(piece, length)

    def _uncut(self, block: Slice) -> Buddy:
        return self.free if block.region is None else _space_of(block.region)

    # Pages

    def page(self, number: int) -> Page:
        """The page of an address, made if it is not there yet."""
        at = number >> PAGE_BITS
        page = self.pages.get(at)
        if page is None:
            page = self.pages[at] = Page(*self._masks(at))
        return page

    def is_free(self, number: int) -> bool:
        """Whether a claim could have this address now."""
        if not self.first <= number <= self.last:
            return False
        page = self.pages.get(number >> PAGE_BITS)
        if page is None:
            return number not in self.closed
        return bool(_free(page) >> (number & (PAGE - 1)) & 1)

    def is_used(self, number: int) -> bool:
        """Whether somebody holds this address."""
        page = self.pages.get(number >> PAGE_BITS)
        return page is not None and bool(page.used >> (number & (PAGE - 1)) & 1)

    def take(self, number: int) -> datetime | None:
        """An address is held from now on; returns the end of its rest, if it was resting."""
        rest = self.unrest(number)
        page = self.page(number)
        bit = 1 << (number & (PAGE - 1))
        if page.used & bit:
            raise AssertionError(f"{number} of {self.subnet.cidr} is held twice")
        if _free(page) & bit:
            self._lose(number)
        page.used |= bit
        self._count_held(number, 1, closed=bool(page.closed & bit))
        return rest

    def untake(self, number: int) -> None:
        """An address is held no longer, and rests not at all."""
        page = self.pages[number >> PAGE_BITS]
        bit = 1 << (number & (PAGE - 1))
        if not page.used & bit:
            raise AssertionError(f"{number} of {self.subnet.cidr} is not held")
        page.used &= ~bit
        self._count_held(number, -1, closed=bool(page.closed & bit))
        if _free(page) & bit:
            self._gain(number)

    def rest(self, number: int, until: datetime) -> None:
        """A free address rests until `until`."""
        page = self.page(number)
        bit = 1 << (number & (PAGE - 1))
        if _free(page) & bit:
            self._lose(number)
        page.resting |= bit
        self.resting[number] = until
        heapq.heappush(self._ends, (until, number, self.subnet.id))
        self.cooling += 0 if page.closed & bit else 1
        self._pool_one(number, 1)

    def unrest(self, number: int) -> datetime | None:
        """End an address's rest; returns when it would have ended, or None if it was not resting."""
        until = self.resting.pop(number, None)
        if until is not None:
            page = self.pages[number >> PAGE_BITS]
            bit = 1 << (number & (PAGE - 1))
            page.resting &= ~bit
            self.cooling -= 0 if page.closed & bit else 1
            self._pool_one(number, -1)
            if _free(page) & bit:
                self._gain(number)
        return until

    def _count_held(self, number: int, step: int, *, closed: bool) -> None:
        self.held += step
        if not closed:
            self.in_use += step
        self._pool_one(number, step)

    def _pool_one(self, number: int, step: int) -> None:
        for pool in self.pools:
            if pool.first <= number <= pool.last:
                pool.busy += step

    # Blocks

    def block_at(self, number: int) -> Slice | None:
        """The host block that an address lies in. Cost: one look-up for each length in use."""
        return _at(self.blocks, self._lengths, number, self.width)

    def region_at(self, number: int) -> Slice | None:
        """The rack block that an address lies in."""
        return _at(self.regions, self._region_lengths, number, self.width)

    def own_block(self, first: int, length: int, owner: str | None) -> None:
        """A location owns a host block from now on."""
        if self.block_at(first) is not None:
            raise AssertionError(f"the block at {first} of {self.subnet.cidr} is owned already")
        block = Slice(first, length, 1 << (self.width - length), owner)
        block.region = self.region_at(first)
        block.free = self._count(block)
        self._uncut(block).shut(first, length)
        self.blocks[block.key] = block
        self._lengths[length] = self._lengths.get(length, 0) + 1
        self._index_block(block)
        self._reindex(block.region)

    def lose_block(self, first: int, length: int) -> None:
        """A host block goes back to where it was cut from."""
        block = self.blocks.pop((first, length))
        _less(self._lengths, length)
        _drop(self.own, block.owner, block.key)
        self._forget_room(block)
        self._uncut(block).give(first, length)
        self._shut(self._uncut(block), first, first + block.size - 1)
        self._reindex(block.region)

    def own_region(self, first: int, length: int, owner: str | None) -> None:
        """A location owns a rack block from now on."""
        if self.region_at(first) is not None:
            raise AssertionError(f"the rack block at {first} of {self.subnet.cidr} is owned already")
        region = Slice(first, length, 1 << (self.width - length), owner)
        self.free.shut(first, length)
        region.space = Buddy(first, length, self.width)
        self._shut(region.space, first, first + region.size - 1)
        self.regions[region.key] = region
        self._region_lengths[length] = self._region_lengths.get(length, 0) + 1
        self._index_region(region)

    def lose_region(self, first: int, length: int) -> None:
        """A rack block goes back; host blocks in it stay. Cost: as `reshape`, it is rare."""
        self.regions.pop((first, length))
        _less(self._region_lengths, length)
        self._rebuild()

    def held_in(self, block: Slice) -> int:
        """How many addresses of a block are held."""
        return sum((page.used >> low & mask).bit_count() for page, low, mask in self._over(block))

    def held_between(self, first: int, last: int) -> int:
        """How many addresses from `first` to `last` are held. Cost: linear in the pages there are."""
        low, high = first >> PAGE_BITS, last >> PAGE_BITS
        pages = ((n, page) for n, page in self.pages.items() if low <= n <= high)
        return sum((page.used & _span(n, first, last)).bit_count() for n, page in pages)

    def counts(self, block: Slice) -> tuple[int, int, int]:
        """Held, resting and closed addresses of a block; with the free ones they are all of it."""
        held = resting = closed = 0
        seen = 0
        for page, low, mask in self._over(block):
            shut = page.closed >> low & mask
            closed += shut.bit_count()
            held += (page.used >> low & mask & ~shut).bit_count()
            resting += (page.resting >> low & mask & ~shut & ~(page.used >> low)).bit_count()
            seen += mask.bit_count()
        if seen < block.size:
            closed = self.closed.within(block.first, block.first + block.size - 1).size
        return held, resting, closed

    def pick(self, block: Slice) -> int | None:
        """The next free address of a block, from its cursor on. Cost: one look for each page of the block."""
        for start, end in (
            (block.first + block.cursor, block.first + block.size),
            (block.first, block.first + block.cursor),
        ):
            number = self._lowest(start, end - 1)
            if number is not None:
                return number
        return None

    def _lowest(self, first: int, last: int) -> int | None:
        at = first
        while at <= last:
            base = at >> PAGE_BITS << PAGE_BITS
            page = self.page(at)
            mask = _free(page) & _span(at >> PAGE_BITS, at, last)
            if mask:
                return base + (mask & -mask).bit_length() - 1
            at = base + PAGE
        return None

    def lowest_free(self) -> int | None:
        """The lowest free address of the subnet. Amortized O(log n): full pages are passed once."""
        while self._low:
            page = self.pages[self._low[0]]
            if _free(page):
                break
            self._in_low.discard(heapq.heappop(self._low))
        ahead = self._ahead()
        at = min(self._low[0], ahead) if self._low and ahead is not None else (self._low[0] if self._low else ahead)
        if at is None:
            return None
        mask = _free(self.page(at << PAGE_BITS))
        return (at << PAGE_BITS) + (mask & -mask).bit_length() - 1

    def _ahead(self) -> int | None:
        """The first page from the cursor on that has a free address."""
        last = self.last >> PAGE_BITS
        while self._next_page <= last:
            base = max(self._next_page << PAGE_BITS, self.first)
            shut = self.closed.containing(base)
            if shut is not None and shut[1] >> PAGE_BITS > self._next_page:
                self._next_page = shut[1] + 1 >> PAGE_BITS
                continue
            page = self.pages.get(self._next_page)
            if page is None:
                page = self.page(base)
            if _free(page):
                return self._next_page
            self._next_page += 1
        return None

    def free_dynamic(self, start: int) -> int | None:
        """A free address of the dynamic ranges, sought from the `start`-th one on (any number will do).

        Cost: a few pages from there, then on from where the last such search ended.
        """
        open_pools = [pool for pool in self.pools if pool.busy < pool.usable]
        if not open_pools:
            return None
        pool = open_pools[start % len(open_pools)]
        begin = pool.first + start % (pool.last - pool.first + 1)
        number = self._dynamic_from(pool, begin, _WALK)
        if number is None:
            number = self._dynamic_from(pool, pool.cursor, None)
            pool.cursor = number if number is not None else pool.first
        return number

    def is_dynamic(self, number: int) -> bool:
        """Whether an address lies in a dynamic range."""
        return any(pool.first <= number <= pool.last for pool in self.pools)

    def is_free_dynamic(self, number: int) -> bool:
        """Whether a lease could have this address now."""
        if not self.is_dynamic(number):
            return False
        page = self.page(number)
        return not (page.used | page.resting | page.never) >> (number & (PAGE - 1)) & 1

    def _dynamic_from(self, pool: Pool, begin: int, pages: int | None) -> int | None:
        for first, last in ((begin, pool.last), (pool.first, begin - 1)):
            at = first
            while at <= last and pages != 0:
                base = at >> PAGE_BITS << PAGE_BITS
                page = self.page(at)
                mask = ~(page.used | page.resting | page.never) & _span(at >> PAGE_BITS, at, last)
                if mask:
                    return base + (mask & -mask).bit_length() - 1
                at = base + PAGE
                pages = None if pages is None else pages - 1
        return None

    # Indexes

    def _over(self, block: Slice) -> list[tuple[Page, int, int]]:
        """The pages that exist under a block, with the shift and mask of its part of each."""
        if block.size <= PAGE:
            page = self.pages.get(block.first >> PAGE_BITS)
            low = block.first & (PAGE - 1)
            return [] if page is None else [(page, low, (1 << block.size) - 1)]
        first, last = block.first >> PAGE_BITS, block.first + block.size - 1 >> PAGE_BITS
        if last - first < len(self.pages):
            found = (self.pages.get(n) for n in range(first, last + 1))
        else:
            found = (page for n, page in self.pages.items() if first <= n <= last)
        return [(page, 0, FULL) for page in found if page is not None]

    def _count(self, block: Slice) -> int:
        busy = sum(
            (((page.used | page.resting) & ~page.closed) >> low & mask).bit_count()
            for page, low, mask in self._over(block)
        )
        return block.size - busy - self.closed.within(block.first, block.first + block.size - 1).size

    def _lose(self, number: int) -> None:
        block = self.block_at(number)
        if block is not None:
            block.free -= 1
            block.cursor = (number - block.first + 1) % block.size
            if block.free == 0:
                self._forget_room(block)

    def _gain(self, number: int) -> None:
        if number >> PAGE_BITS not in self._in_low:
            self._in_low.add(number >> PAGE_BITS)
            heapq.heappush(self._low, number >> PAGE_BITS)
        block = self.block_at(number)
        if block is not None:
            block.free += 1
            if block.free == 1:
                self._index_room(block)

    def _reindex(self, region: Slice | None) -> None:
        """A rack block's uncut space changed."""
        if region is not None and _space_of(region).empty == (region.key in self.all_open):
            self._forget_region(region)
            self._index_region(region)

    def _index_block(self, block: Slice) -> None:
        self.own.setdefault(block.owner, {})[block.key] = block
        if block.free > 0:
            self._index_room(block)

    def _index_room(self, block: Slice) -> None:
        self.roomy.setdefault(block.owner, {})[block.key] = block
        self.all_roomy[block.key] = block
        if block.region is not None:
            self.rack_roomy.setdefault(block.region.owner, {})[block.key] = block

    def _forget_room(self, block: Slice) -> None:
        _drop(self.roomy, block.owner, block.key)
        self.all_roomy.pop(block.key, None)
        if block.region is not None:
            _drop(self.rack_roomy, block.region.owner, block.key)

    def _index_region(self, region: Slice) -> None:
        if not _space_of(region).empty:
            self.rack_open.setdefault(region.owner, {})[region.key] = region
            self.all_open[region.key] = region

    def _forget_region(self, region: Slice) -> None:
        _drop(self.rack_open, region.owner, region.key)
        self.all_open.pop(region.key, None)


def _free(page: Page) -> int:
    return FULL & ~(page.used | page.resting | page.closed)


def _span(page: int, first: int, last: int) -> int:
    """Mask of the addresses of a page from `first` to `last`."""
    base = page << PAGE_BITS
    low = max(first - base, 0)
    high = min(last - base, PAGE - 1)
    return ((1 << (high + 1)) - 1) & ~((1 << low) - 1) if high >= low else 0


def _numbers(pair: tuple[str, str]) -> tuple[int, int]:
    return int(parse_address(pair[0])), int(parse_address(pair[1]))


def _space_of(region: Slice) -> Buddy:
    if region.space is None:
        raise AssertionError("a host block has no space to cut")
    return region.space


def _at(slices: Slices, lengths: dict[int, int], number: int, width_: int) -> Slice | None:
    for length in lengths:
        found = slices.get((number >> (width_ - length) << (width_ - length), length))
        if found is not None:
            return found
    return None


def _less(lengths: dict[int, int], length: int) -> None:
    lengths[length] -= 1
    if not lengths[length]:
        del lengths[length]


def _drop(index: dict[str | None, Slices], owner: str | None, key: tuple[int, int]) -> None:
    slices = index.get(owner)
    if slices is not None:
        slices.pop(key, None)
        if not slices:
            del index[owner]
