"""When a rack has no space left: its hosts lend to each other what they do not use.

A loan is an aligned piece, so that it is one route however many addresses of it
are used. It grows by its buddy, gives back the half that its lender needs and
the borrower does not use, and ends with its last address. Who has most to
spare lends, and less than half of it, so that lenders do not run short.
"""

from collections.abc import Iterator
from itertools import islice

from tenure.engine.areas import Lenders, Slice
from tenure.engine.cutting import LOOKED_AT, top_piece
from tenure.engine.space import Space
from tenure.engine.strategies import regions
from tenure.engine.strategies.view import Candidate, View, Wish, new_block, value
from tenure.model import events as e

LARGEST = 8
"""The largest piece that is lent at once. (Smaller ones make more loans, of larger ones more lies idle.)"""

_SPARE = 0.4
"""Who lends keeps more than half of what it has free, so that it does not run short itself."""

_ASKED = 8 * LOOKED_AT
"""Of so many hosts at most it is asked whether they may lend."""

_GROWN = 1
"""A loan grows by so many bits beyond that."""


def back(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """The halves of loans out of an own block of which the borrowers use only the others."""
    for block in islice(space.own.get(wish.owner, {}).values(), LOOKED_AT):
        loans = () if block.loans is None else islice(block.loans.between(block.first, block.last), 4 * LOOKED_AT)
        halved = [(loan, kept) for loan in loans if (kept := _used_half(space, loan)) is not None]
        if halved:
            for loan, _ in halved:
                view.look(space, loan, "half of it taken back")
            yield Candidate(space.subnet.id, None, block.text, "own", tuple(_halved(space, *each) for each in halved))


def _halved(space: Space, loan: Slice, kept: int) -> e.BlockResized:
    return e.BlockResized(before=value(space, loan), block=value(space, loan, kept, loan.length + 1))


def _used_half(space: Space, loan: Slice) -> int | None:
    """First address of the half of a loan that is used, if the other is not and a claim could have it."""
    if loan.size == 1:
        return None
    middle = loan.first + loan.size // 2
    for kept, other in ((loan.first, middle), (middle, loan.first)):
        unused = not space.held_between(other, other + loan.size // 2 - 1)
        if unused and space.claimable(other, loan.length + 1):
            return kept
    return None


def lent(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """An address of a loan that the host has: that of who has most to spare, so that others end."""
    roomy = space.borrowed_roomy.get(wish.owner)
    some = () if roomy is None else islice(roomy.values(), 4 * LOOKED_AT)
    loans = [loan for loan in some if _may_be_used(view, loan)]
    if loans:
        loan = min(loans, key=_owed_least)
        view.look(space, loan, "lent to it")
        yield Candidate(space.subnet.id, space.pick(loan), loan.text, "own")


def _may_be_used(view: View, loan: Slice) -> bool:
    """Not if the boundary has become harder since it was lent, or who lent it is elsewhere now."""
    return loan.lender is None or view.near(loan.lender.owner)


def _owed_least(loan: Slice) -> tuple[int, int]:
    return (0 if loan.lender is None else -loan.lender.free), loan.length


def near(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """A piece of a block of a host of the same rack."""
    area = regions.area_of(space, wish)
    if wish.reach != "host":
        yield from _grown(wish, view, space)
    if wish.reach != "host" and area is not None:
        yield from _lent_by(wish, view, space, area.lenders)


def far(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """A piece of a block of another rack's host, as far as the boundary reaches.

    Or of a host that is near, and has a block of another rack's space. Cost: where the boundary is a site's or a
    region's, a look at each rack, until one has something to lend.
    """
    if wish.reach in ("site", "region"):
        for area in (space.root, *space.areas.values()):
            if area.lenders and view.near(area.owner):
                yield from _lent_by(wish, view, space, area.lenders)
    if wish.reach != "host":
        yield from _lent_by(wish, view, space, space.lenders)


def _grown(wish: Wish, view: View, space: Space) -> Iterator[Candidate]:
    """A loan of the host grows into its buddy."""
    for loan in islice(space.borrowed.get(wish.owner, {}).values(), LOOKED_AT):
        if _may_be_used(view, loan) and _may_grow(space, loan):
            after = value(space, loan, loan.first & ~loan.size, loan.length - 1)
            step = e.BlockResized(before=value(space, loan), block=after)
            yield Candidate(space.subnet.id, None, after.cidr, "new", (step,))


def _lent_by(wish: Wish, view: View, space: Space, lenders: Lenders) -> Iterator[Candidate]:
    """A new loan, of who has most to spare."""
    found: tuple[int, int, int, Slice] | None = None
    others = (each for each in lenders.richest(_ASKED) if each.owner != wish.owner and view.near(each.owner))
    for lender in islice(others, 2 * LOOKED_AT):
        if (piece := _piece(space, lender)) is not None:
            length, first = piece
            if found is None or (length, -lender.free) < found[:2]:
                found = length, -lender.free, first, lender
    if found is not None:
        view.look(space, found[3], "lends a part")
        yield new_block(space, found[2], found[0], wish.owner)


def _may_grow(space: Space, loan: Slice) -> bool:
    lender = loan.lender
    if (
        lender is None
        or loan.length <= max(lender.length + 2, _shortest(space) - _GROWN)
        or lender.free * _SPARE < loan.size
    ):
        return False
    return top_piece(space, _buddy(space, loan), loan.length) is not None


def _buddy(space: Space, loan: Slice) -> Slice:
    return Slice(loan.first ^ loan.size, loan.length, space.width, None, "host")


def _shortest(space: Space) -> int:
    return max(space.block_length, space.width - LARGEST.bit_length() + 1)


def _piece(space: Space, lender: Slice) -> tuple[int, int] | None:
    """Length and first address of the largest piece that a host can spare, or of one address."""
    spare = max(int(lender.free * _SPARE), 1)
    shortest = max(_shortest(space), lender.length + 1, space.width - spare.bit_length() + 1)
    for length in range(min(shortest, space.width), space.width + 1):
        first = top_piece(space, lender, length)
        if first is not None:
            return length, first
    number = space.pick(lender)  # of a large block what was lent lies above
    return None if number is None else (space.width, number)
