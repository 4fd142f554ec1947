"""Blocks of every kind: whose they are, what was cut from what, and what is not cut yet.

Blocks nest by kind: a region's hold sites', those racks', those hosts'. Beside
that a block may lie in another of its own kind: that is a loan. While it lasts
it is the borrower's alone; when it goes, its addresses are the lender's again.
"""

from collections import OrderedDict
from datetime import datetime
from typing import Final, NamedTuple

from tenure.engine.areas import Area, Slice
from tenure.engine.buddy import Buddy, Piece
from tenure.engine.host_blocks import HostBlocks
from tenure.engine.pages import Ends
from tenure.engine.spans import Spans
from tenure.engine.spines import Watch
from tenure.model.policy import LEVELS, BlockKind

_KINDS: Final = LEVELS[1:]

RegionKey = tuple[int, int, BlockKind]


class Spent(NamedTuple):
    """A piece of an area that has no address for a claim."""

    first: int
    last: int
    length: int
    area: Area


class Blocks(HostBlocks):
    """Host blocks, and the wider ones that they were cut from.

    Attributes:
        regions: Wider blocks by (first, length, kind).
        root: What of the subnet is in no block. areas: What each owner of wider blocks has.
        open: Areas, the root aside, of which something is not cut.
        idle: Wider blocks that nothing was cut from, and since when, the longest first; it may be now (see `is_idle`).
        watch: Who is told of each change of blocks.
        rack_length: Length of a rack's next block.
    """

    def __init__(self, name: str, first: int, length: int, width: int, ends: Ends) -> None:
        super().__init__(name, first, length, width, ends)
        self.rack_length = length
        self.watch: Watch | None = None

    def _clear(self) -> None:
        super()._clear()
        self.regions: dict[RegionKey, Slice] = {}
        self.root = Area(None, Buddy(self.first, self.length, self.width))
        self.areas: dict[str | None, Area] = {}
        self.open: OrderedDict[str | None, Area] = OrderedDict()
        self.idle: dict[RegionKey, datetime] = {}
        self._spent: Spans[Spent] = Spans()
        self._lengths: dict[int, int] = {}

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

    # Pieces put aside

    def _outside(self, number: int) -> None:
        """See `HostBlocks._outside`."""
        self._unspend(number, number)

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
