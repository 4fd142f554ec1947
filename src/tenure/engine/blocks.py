"""Blocks over the pages: whose they are, what was cut from what, who has room, and what is not cut yet.

Blocks nest by kind: a region's hold sites', those racks', those hosts'. Beside
that a block may lie in another of its own kind: that is a loan. While it lasts
it is the borrower's alone; when it goes, its addresses are the lender's again.

Nothing here walks hosts or blocks: every index keeps at hand what the next
question needs.
"""

from collections import OrderedDict
from datetime import datetime
from typing import Final, NamedTuple

from tenure.engine.areas import Area, Index, Key, Lenders, Slice, Slices, drop
from tenure.engine.buddy import Buddy, Piece
from tenure.engine.pages import FULL, LOW, PAGE, PAGE_BITS, Ends, Occupancy, Page, free, lowest_bit, span
from tenure.engine.spans import Spans
from tenure.engine.spines import Watch
from tenure.model.policy import BlockKind

_KINDS: Final[tuple[BlockKind, ...]] = ("rack", "site", "region")

RegionKey = tuple[int, int, BlockKind]


class Spent(NamedTuple):
    """A piece of an area that has no address for a claim."""

    first: int
    last: int
    length: int
    area: Area


class Blocks(Occupancy):
    """Blocks over the pages, and the indexes of them.

    Attributes:
        blocks: Host blocks by (first, length), loans included. regions: Wider ones, by kind too.
        root: What of the subnet is in no block. areas: What each owner of wider blocks has.
        open: Areas, the root aside, of which something is not cut.
        own, roomy: Host blocks of an owner that are no loans; those of them with a free address.
        borrowed, borrowed_roomy: Loans to an owner, likewise.
        lenders: Host blocks, no loans, with a free address.
        empties: Host blocks that hold nothing, the longest empty first.
        idle: Wider blocks that nothing was cut from, and since when, the longest first; it may be now (see `is_idle`).
        slack: Host blocks that may have grown too long (see `has_slack`), and since when, the longest first.
        watch: Who is told of each change of blocks.
        block_length, rack_length: Lengths of the next blocks.
    """

    def __init__(self, name: str, first: int, length: int, width: int, ends: Ends) -> None:
        super().__init__(name, first, first + (1 << (width - length)) - 1, width, ends)
        self.length = length
        self.block_length = self.rack_length = length
        self.watch: Watch | None = None
        self.slack: dict[Key, datetime] = {}
        self._clear()

    def _clear(self) -> None:
        self.blocks: dict[Key, Slice] = {}
        self.regions: dict[RegionKey, Slice] = {}
        self.root = Area(None, Buddy(self.first, self.length, self.width))
        self.areas: dict[str | None, Area] = {}
        self.open: OrderedDict[str | None, Area] = OrderedDict()
        self.own: Index = {}
        self.roomy: Index = {}
        self.borrowed: Index = {}
        self.borrowed_roomy: Index = {}
        self.lenders = Lenders()
        self.empties: Slices = OrderedDict()
        self.idle: dict[RegionKey, datetime] = {}
        self._hosts: Spans[Slice] = Spans()
        self._spent: Spans[Spent] = Spans()
        self._lengths: dict[int, int] = {}
        self._seen: tuple[int, Slice | None] = (-1, None)

    @property
    def uncut(self) -> Buddy:
        """What of the subnet is in no block of any kind."""
        return self.root.free

    def adopt_blocks(self, old: "Blocks") -> None:
        """Take over the blocks of `old`, the same subnet under another prefix; `rebuild` must follow."""
        self.blocks, self.regions = old.blocks, old.regions

    def rebuild(self) -> None:
        """Work out anew what is cut from what and who has room, from the blocks there are. Cost: linear in them."""
        blocks = sorted(self.blocks.values(), key=lambda block: block.length)
        regions = sorted(self.regions.values(), key=lambda block: (-_KINDS.index(block.kind), block.length))
        idle = self.idle
        watch, self.watch = self.watch, None  # they are the same blocks as before
        self._clear()
        for region in regions:
            self.own_region(region.first, region.length, region.owner, region.kind)
        for block in blocks:
            self.own_block(block.first, block.length, block.owner)
        for block in blocks:
            if block.emptied is not None and (now := self.blocks[block.key]).emptied is not None:
                now.emptied = block.emptied
        self.idle.update((key, since) for key, since in idle.items() if key in self.regions)
        self.watch = watch

    # Questions

    def block_at(self, number: int) -> Slice | None:
        """The host block that an address lies in, a loan before its lender. Cost: logarithmic in the blocks."""
        if self._seen[0] == number:
            return self._seen[1]
        block = self._hosts.at(number)
        if block is not None and block.loans is not None:
            block = block.loans.at(number) or block
        self._seen = number, block
        return block

    def region_at(self, number: int, length: int = 128, least: int = 0) -> Slice | None:
        """The narrowest wider block around an address and all of its piece of this length. Cost: the lengths in use.

        `least`: 0 for a rack's or wider, 1 for a site's or wider, 2 for a region's.
        """
        for have in sorted(self._lengths, reverse=True):
            if have <= length:
                first = number >> (self.width - have) << (self.width - have)
                for kind in _KINDS[least:]:
                    if (found := self.regions.get((first, have, kind))) is not None:
                        return found
        return None

    def area_of(self, region: Slice | None) -> Area:
        """What the owner of a wider block has; the root for None."""
        return self.root if region is None else self.areas[region.owner]

    def around(self, region: Slice) -> Slice | None:
        """The wider block that a wider block was cut from, at its first address: it may span several of one owner.

        One inside another of its own kind is a loan, if nothing wider lies between.
        """
        level = _KINDS.index(region.kind)
        wide = self.region_at(region.first, least=level + 1)
        lender = self.region_at(region.first, region.length - 1, level)
        if lender is None or lender.kind != region.kind:
            return wide
        return lender if wide is None or lender.length >= wide.length else wide

    def pick(self, block: Slice) -> int | None:
        """The next free address of a block: in its lowest part that has one, the longest rested.

        A part is as long as blocks usually are, so that a block that has grown can shrink again. Cost: a look at the
        block's page; at each loan before the address, and see `Tower`, where it has several.
        """
        page = self.pages.get(block.first >> PAGE_BITS)
        if page is None or block.size > PAGE or block.loans is not None:
            return self._pick_ahead(block)
        mask = free(page) & block.mask
        if not mask:
            return None
        number = (block.first & ~LOW) + self._longest_rested(page, mask, block)
        self._seen = number, block  # what is picked is taken next
        return number

    def _pick_ahead(self, block: Slice) -> int | None:
        at = block.first
        while (number := self.next_free(at, block.last)) is not None:
            loan = None if block.loans is None else block.loans.at(number)
            if loan is None:
                base, page = number & ~LOW, self.page(number)
                mask = free(page) & block.mask & FULL << (number & LOW)
                for lent in () if block.loans is None else block.loans.between(number, base | LOW):
                    mask &= ~span(base >> PAGE_BITS, lent.first, lent.last)
                return base + self._longest_rested(page, mask, block)
            at = loan.last + 1
        return None

    def _longest_rested(self, page: Page, mask: int, block: Slice) -> int:
        """Of some free addresses of a block's page, those in the lowest part: that which comes next."""
        if block.length < self.block_length and (size := 1 << self.width - self.block_length) < PAGE:
            mask &= (1 << size) - 1 << (lowest_bit(mask) & -size)
        return page.longest_rested(mask)

    def claimable(self, first: int, length: int) -> bool:
        """Whether a claim could have an address of this piece."""
        return self.next_free(first, first + (1 << (self.width - length)) - 1) is not None

    def spend(self, area: Area, first: int, length: int) -> None:
        """A free piece of an area has no address for a claim: nobody is given it until it has one."""
        area.free.carve(first, length)
        self._note(area)
        self._spent.add(Spent(first, first + (1 << (self.width - length)) - 1, length, area))

    # Host blocks

    def own_block(self, first: int, length: int, owner: str | None) -> None:
        """A location owns a host block from now on: cut from its area, or a loan of the host block around it.

        Host blocks that lie in it already become loans of it.
        """
        block = Slice(first, length, self.width, owner, "host")
        if block.key in self.blocks:
            raise AssertionError(f"the block {block.text} of subnet {self.name} is owned already")
        self._seen = -1, None
        self.blocks[block.key] = block
        lender = self._hosts.at(first)
        if lender is not None and lender.length < length:
            block.area = lender.area
            self._recount(block)
            self._lend(lender, block)
        else:
            self._cut(block)
            self._recount(block)
        self._index(block)
        if self.watch is not None:
            self.watch.put("block", first, length, owner)

    def _cut(self, block: Slice) -> None:
        block.area = self.area_of(self.region_at(block.first))
        for piece in self._within(block.area, block):
            block.area.free.carve(*piece)
        self._note(block.area)
        for inner in self._hosts.between(block.first, block.last):
            self._hosts.drop(inner)
            self._unindex(inner)
            block.lend(inner)
            self._index(inner)
        self._hosts.add(block)

    def lose_block(self, first: int, length: int) -> None:
        """A host block goes back to whom it was cut from; loans in it stay, and lie in no other's block then."""
        block = self.blocks.pop((first, length))
        self._seen = -1, None
        self._unindex(block)
        if block.lender is None:
            self._uncut(block)
        else:
            self._end_loan(block.lender, block)
        if self.watch is not None:
            self.watch.drop("block", first, length)

    def _uncut(self, block: Slice) -> None:
        self._hosts.drop(block)
        left = Buddy(block.first, block.length, self.width)
        for loan in [] if block.loans is None else block.loans.between(block.first, block.last):
            left.carve(loan.first, loan.length)
            self._unindex(loan)
            loan.lender = None
            self._hosts.add(loan)
            self._index(loan)
        for piece in left.pieces():
            block.area.free.give(*piece)
        self._note(block.area)
        self._may_idle(block)

    def resize_block(self, before: Piece, after: Piece) -> None:
        """A host block has another length from now on. Cost: as two changes of owner."""
        old = self.blocks[before]
        self.lose_block(*before)
        self.own_block(*after, old.owner)
        if old.emptied is not None and self.blocks[after].emptied is not None:
            self.blocks[after].emptied = old.emptied
        self._may_slack(self.blocks[after])

    def _lend(self, lender: Slice, loan: Slice) -> None:
        self._unindex(lender)
        lender.lend(loan)
        self._again(lender)

    def _end_loan(self, lender: Slice, loan: Slice) -> None:
        self._unindex(lender)
        lender.end_loan(loan)
        self._again(lender)

    def _again(self, lender: Slice) -> None:
        """Count a block anew whose loans have changed."""
        self._recount(lender)
        self._index(lender)

    # Wider blocks

    def own_region(self, first: int, length: int, owner: str | None, kind: BlockKind) -> None:
        """A rack, site or region owns a block from now on: what is free of it, and the host blocks in it, are its."""
        region = Slice(first, length, self.width, owner, kind)
        if (first, length, kind) in self.regions:
            raise AssertionError(f"the {kind} block {region.text} of subnet {self.name} is owned already")
        source = self.area_of(self.around(region))
        area = self.areas.get(owner)
        if area is None:
            area = self.areas[owner] = Area(owner, Buddy(self.first, self.length, self.width, empty=True))
        area.pieces[region.key] = region
        self._move(source, area, region)
        self.regions[first, length, kind] = region
        self._lengths[length] = self._lengths.get(length, 0) + 1
        self._may_idle(region)
        self._tell_region(first, length)

    def lose_region(self, first: int, length: int, kind: BlockKind) -> None:
        """A wider block goes back to whom it was cut from, with what is free of it and the host blocks in it."""
        region = self.regions.pop((first, length, kind))
        self.idle.pop((first, length, kind), None)
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]
        area = self.areas[region.owner]
        del area.pieces[region.key]
        self._move(area, self.area_of(self.around(region)), region)
        if not area.pieces:
            del self.areas[region.owner]
        self._may_idle(region)
        self._tell_region(first, length)

    def _tell_region(self, first: int, length: int) -> None:
        """Where several wider blocks begin at one prefix, the narrowest location's counts."""
        if self.watch is not None:
            region = self.region_at(first, length)
            owner = region.owner if region is not None and region.length == length else None
            self.watch.put("region", first, length, owner)

    def resize_region(self, before: Piece, after: Piece, kind: BlockKind) -> None:
        """A wider block has another length from now on. Cost: linear in the host blocks in it."""
        owner = self.regions[*before, kind].owner
        self.lose_region(*before, kind)
        self.own_region(*after, owner, kind)

    def _move(self, source: Area, to: Area, region: Slice) -> None:
        """What is free of a piece of one area, and the host blocks cut from it, are another's from now on."""
        for piece in self._within(source, region):
            source.free.carve(*piece)
            to.free.give(*piece)
        self._note(source)
        self._note(to)
        for block in self._hosts.between(region.first, region.last):
            if block.area is source:
                loans = () if block.loans is None else block.loans.between(block.first, block.last)
                for each in (block, *loans):
                    self._unindex(each)
                    each.area = to
                    self._index(each)

    def _note(self, area: Area) -> None:
        """What of an area is not cut has changed."""
        if area.free.empty or not area.pieces:
            self.open.pop(area.owner, None)
        elif area is not self.root:
            self.open[area.owner] = area

    def _may_idle(self, block: Slice) -> None:
        """Something here went back, or is new: the wider blocks that it lies in may be idle now."""
        at = block.first
        while at <= block.last:
            region = self.region_at(at)
            if region is None:
                return
            if self.is_idle(region):
                key = (*region.key, region.kind)
                self.idle.pop(key, None)
                self.idle[key] = self._ends.now
                self._ends.emptied[self.name] = None
            at = region.last + 1

    def _may_slack(self, block: Slice) -> None:
        if block.length < self.block_length and block.key not in self.slack and self.has_slack(block):
            self.slack[block.key] = self._ends.now
            self._ends.emptied[self.name] = None

    def has_slack(self, block: Slice) -> bool:
        """Whether a host block is longer than blocks begin, is no loan, lends nothing and is held to a quarter at most.

        Half of it may be given back then, if nothing is held there.
        """
        whole = block.lender is None and block.loans is None
        return whole and block.length < self.block_length and 0 < block.held <= block.size // 4

    def is_idle(self, region: Slice) -> bool:
        """Whether nothing is cut from a wider block. Cost: where some of it was put aside, the pieces of it."""
        area = self.areas[region.owner]
        if area.free.around(*region.key) is not None:
            return True
        if not self._spent or self._hosts.at(region.first) is not None or self._hosts.any(region.first, region.last):
            return False
        aside = self._spent_over(region.first, region.last)
        uncut = [*area.free.within(*region.key), *((s.first, s.length) for s in aside if s.area is area)]
        return bool(aside) and sum(min(1 << (self.width - length), region.size) for _, length in uncut) == region.size

    # What changes at an address

    def take(self, number: int, woken: datetime | None = None) -> datetime | None:
        """See `Occupancy.take`."""
        rest = super().take(number, woken)
        block = self.block_at(number)
        if block is not None:
            block.held += 1
            if block.emptied is not None:
                self._fill(block)
        return rest

    def untake(self, number: int) -> datetime | None:
        """See `Occupancy.untake`."""
        woken = super().untake(number)
        block = self.block_at(number)
        if block is not None:
            block.held -= 1
            if block.is_empty:
                self._empty(block)
            else:
                self._may_slack(block)
        return woken

    def _lost(self, number: int, page: Page) -> None:
        super()._lost(number, page)
        block = self.block_at(number)
        if block is not None:
            block.free -= 1
            if not block.free & (block.free + 1):
                self._rebucket(block)

    def _gained(self, number: int, page: Page) -> None:
        super()._gained(number, page)
        block = self.block_at(number)
        if block is None:
            self._unspend(number, number)
            return
        block.free += 1
        if not block.free & (block.free - 1):
            self._rebucket(block)

    def _unspend(self, first: int, last: int) -> None:
        """Give spent pieces back: a claim could have an address of theirs, or they become part of a block."""
        for spent in self._spent_over(first, last):
            self._spent.drop(spent)
            spent.area.free.give(spent.first, spent.length)
            self._note(spent.area)

    def _spent_over(self, first: int, last: int) -> set[Spent]:
        around = self._spent.at(first)
        return {*self._spent.between(first, last), *(() if around is None else (around,))}

    def _within(self, area: Area, piece: Slice) -> list[Piece]:
        """What of a piece is free in an area."""
        self._unspend(piece.first, piece.last)
        return area.free.within(piece.first, piece.length)

    # Indexes

    def _over(self, block: Slice) -> list[Page]:
        """The pages that exist under a block."""
        return [self.pages[n] for n in self.pages_between(block.first, block.last)]

    def _recount(self, block: Slice) -> None:
        """Work out what is held and free in a block, loans left out. Cost: linear in its pages and loans."""
        held = busy = 0
        for page in self._over(block):
            held += (page.used & block.mask).bit_count()
            busy += ((page.used | page.resting) & ~page.closed & block.mask).bit_count()
        loans = [] if block.loans is None else block.loans.between(block.first, block.last)
        whole = block.size - busy - self.closed.within(block.first, block.last).size
        block.held = held - sum(loan.held for loan in loans)
        block.free = whole - sum(loan.free for loan in loans)

    def _index(self, block: Slice) -> None:
        loan = block.lender is not None
        (self.borrowed if loan else self.own).setdefault(block.owner, OrderedDict())[block.key] = block
        block.bucket = 0
        self._rebucket(block)
        if block.is_empty:
            self._empty(block)
        else:
            block.emptied = None

    def _unindex(self, block: Slice) -> None:
        drop(self.own if block.lender is None else self.borrowed, block)
        free_, block.free = block.free, 0
        self._rebucket(block)
        block.free = free_
        self.empties.pop(block.key, None)
        block.area.empties.pop(block.key, None)

    def _rebucket(self, block: Slice) -> None:
        """The free addresses of a block passed a power of two."""
        old, new = block.bucket, block.free.bit_length()
        if old == new:
            return
        if block.lender is None:
            for lenders in (self.lenders, block.area.lenders):
                lenders.move(block, new)
        block.bucket = new
        roomy = self.roomy if block.lender is None else self.borrowed_roomy
        if not new:
            drop(roomy, block)
        elif not old:
            roomy.setdefault(block.owner, OrderedDict())[block.key] = block

    def _fill(self, block: Slice) -> None:
        block.emptied = None
        self.empties.pop(block.key, None)
        block.area.empties.pop(block.key, None)

    def _empty(self, block: Slice) -> None:
        self._ends.emptied[self.name] = None
        block.emptied = block.emptied or self._ends.now
        self.empties[block.key] = block
        block.area.empties[block.key] = block
