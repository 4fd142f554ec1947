"""Where a block is cut: of what an area has not cut yet, and of another host's block."""

from typing import Final

from tenure.engine.areas import Area, Slice
from tenure.engine.blocks import Blocks
from tenure.engine.buddy import Piece
from tenure.engine.page import FULL, LOW, PAGE_BITS, free, span

LOOKED_AT: Final = 8
"""How many pieces, blocks or pages are looked at for one decision."""


def place(space: Blocks, area: Area, length: int) -> Piece | None:
    """Where a new block of this length, or the longest that can be had, does least harm in an area.

    At the start of a largest free piece, so that its buddies stay free longest (RFC 3531), and of some of them
    that whose own buddy is least used, because what lies there will want it last.

    Cost: a look at eight pieces; one that has no address for a claim is put aside until it has one.
    """
    while (largest := area.free.largest()) is not None:
        best, least = None, 2.0
        for first in list(area.free.some(largest, LOOKED_AT)):
            if not space.claimable(first, largest):
                space.spend(area, first, largest)
            elif (use := _use_of_buddy(space, first, largest)) < least:
                best, least = first, use
        if best is not None:
            return part(space, best, largest, length)
    return None


def part(space: Blocks, first: int, length: int, wanted: int) -> Piece:
    """A part of a piece, of the length wanted if the piece is that large, that has an address for a claim.

    The lowest; but where others hold addresses in the piece, by name and without a block, the least used half of it,
    of that half the least used half, and so on. Cost: linear in the pages of the piece.
    """
    last = first + (1 << (space.width - length)) - 1
    if not space.held_between(first, last):
        number = space.next_free(first, last)
        shift = space.width - max(length, wanted)
        return (first if number is None else number >> shift << shift), max(length, wanted)
    while length < wanted:
        length += 1
        size = 1 << (space.width - length)
        lower, upper = (space.held_between(at, at + size - 1) for at in (first, first + size))
        if upper < lower or not space.claimable(first, length):
            first += size * space.claimable(first + size, length)
    return first, length


def _use_of_buddy(space: Blocks, first: int, length: int) -> float:
    """Which share of a piece's buddy is held."""
    if length == space.length:
        return 0.0
    size = 1 << (space.width - length)
    buddy = first ^ size
    return space.held_between(buddy, buddy + size - 1) / size


def top_piece(space: Blocks, block: Slice, length: int) -> int | None:
    """The highest piece of a block, of this length and a page at most, that could be lent whole. Cost: eight pages."""
    size = 1 << (space.width - length)
    lowest, highest = block.first >> PAGE_BITS, block.last >> PAGE_BITS
    for at in range(highest, max(lowest, highest - LOOKED_AT + 1) - 1, -1):
        mask = _lendable(space, block, at)
        run = 1
        while run < size:
            mask &= mask >> run
            run *= 2
        mask &= FULL // ((1 << size) - 1)
        if mask:
            return (at << PAGE_BITS) + mask.bit_length() - 1
    return None


def _lendable(space: Blocks, block: Slice, at: int) -> int:
    """The addresses of a block on a page that a claim could have, and that are not lent."""
    page = space.pages.get(at)
    mask = span(at, block.first, block.last)
    mask &= FULL & ~space.closed.mask(at << PAGE_BITS, FULL.bit_length()) if page is None else free(page)
    for loan in () if block.loans is None else block.loans.between(at << PAGE_BITS, at << PAGE_BITS | LOW):
        mask &= ~span(at, loan.first, loan.last)
    return mask
