"""Host blocks over the pages: how much each holds, whose have room, and which address of one comes next.

Nothing here walks hosts or blocks: every index keeps at hand what the next
question needs.
"""

from collections import OrderedDict
from datetime import datetime

from tenure.engine.areas import Index, Key, Lenders, Slice, Slices, drop
from tenure.engine.page import FULL, LOW, PAGE, PAGE_BITS, Page, free, lowest_bit, span
from tenure.engine.pages import Ends, Occupancy
from tenure.engine.spans import Spans


class HostBlocks(Occupancy):
    """Host blocks over the pages, and the indexes of them.

    Attributes:
        blocks: By (first, length), loans included.
        own, roomy: Those of an owner that are no loans; those of them with a free address.
        borrowed, borrowed_roomy: Loans to an owner, likewise.
        lenders: Those that are no loans and have a free address.
        empties: Those that hold nothing, the longest empty first. vacant: Those of them with a free address.
        slack: Those that may have grown too long (see `has_slack`), and since when, the longest first.
        block_length: Length of the next ones.
    """

    def __init__(self, name: str, first: int, length: int, width: int, ends: Ends) -> None:
        super().__init__(name, first, first + (1 << (width - length)) - 1, width, ends)
        self.length = length
        self.block_length = length
        self.slack: dict[Key, datetime] = {}
        self._clear()

    def _clear(self) -> None:
        self.blocks: dict[Key, Slice] = {}
        self.own: Index = {}
        self.roomy: Index = {}
        self.borrowed: Index = {}
        self.borrowed_roomy: Index = {}
        self.lenders = Lenders()
        self.empties: Slices = OrderedDict()
        self.vacant: Slices = OrderedDict()
        self._hosts: Spans[Slice] = Spans()
        self._seen: tuple[int, Slice | None] = (-1, None)

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

    def host_block_at(self, number: int) -> Slice | None:
        """As `block_at`, a lender before its loan."""
        return self._hosts.at(number)

    def has_slack(self, block: Slice) -> bool:
        """Whether a host block is longer than blocks begin, is no loan, lends nothing and is held to a quarter at most.

        Half of it may be given back then, if nothing is held there.
        """
        whole = block.lender is None and block.loans is None
        return whole and block.length < self.block_length and 0 < block.held <= block.size // 4

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
            self._outside(number)
            return
        block.free += 1
        if not block.free & (block.free - 1):
            self._rebucket(block)

    def _outside(self, number: int) -> None:
        """An address that is in no host block is free again."""

    # Indexes

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
        self._drop_empty(block)

    def _recount(self, block: Slice) -> None:
        """Work out what is held and free in a block, loans left out. Cost: linear in its pages and loans."""
        held = busy = 0
        for page in self._over(block):
            held += (page.used & block.mask).bit_count()
            busy += ((page.used | page.resting | page.strange) & ~page.closed & block.mask).bit_count()
        loans = [] if block.loans is None else block.loans.between(block.first, block.last)
        whole = block.size - busy - self.closed.within(block.first, block.last).size
        block.held = held - sum(loan.held for loan in loans)
        block.free = whole - sum(loan.free for loan in loans)

    def _over(self, block: Slice) -> list[Page]:
        """The pages that exist under a block."""
        return [self.pages[n] for n in self.pages_between(block.first, block.last)]

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
            self._drop_vacant(block)
        elif not old:
            roomy.setdefault(block.owner, OrderedDict())[block.key] = block
            if block.key in self.empties:
                self._vacate(block)

    def _fill(self, block: Slice) -> None:
        block.emptied = None
        self._drop_empty(block)

    def _empty(self, block: Slice) -> None:
        self._ends.emptied[self.name] = None
        block.emptied = block.emptied or self._ends.now
        self.empties[block.key] = block
        if block.free:
            self._vacate(block)

    def _vacate(self, block: Slice) -> None:
        self.vacant[block.key] = block
        block.area.vacant[block.key] = block

    def _drop_empty(self, block: Slice) -> None:
        self.empties.pop(block.key, None)
        self._drop_vacant(block)

    def _drop_vacant(self, block: Slice) -> None:
        self.vacant.pop(block.key, None)
        block.area.vacant.pop(block.key, None)

    def _may_slack(self, block: Slice) -> None:
        if block.length < self.block_length and block.key not in self.slack and self.has_slack(block):
            self.slack[block.key] = self._ends.now
            self._ends.emptied[self.name] = None
