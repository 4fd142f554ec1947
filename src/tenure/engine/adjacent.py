"""Addresses side by side: where so many are free without one between them that is not."""

from collections.abc import Callable, Iterator

from tenure.engine.draft import Draft
from tenure.engine.page import FULL, PAGE_BITS, free, runs
from tenure.engine.placing import Serving, Why, placed, wanted_subnet, wish_of
from tenure.engine.reach import near
from tenure.engine.space import Space
from tenure.errors import Exhausted
from tenure.model.addressing import Network
from tenure.model.holding import Claim
from tenure.net.rangeset import Pair, RangeSet

Owned = Callable[[str | None], bool]


def side_by_side(draft: Draft, claim: Claim, version: int) -> list[tuple[Space, int, Why]]:
    """The lowest free addresses side by side, as many as a claim asks for, and how each lies to the blocks.

    Those in no host's block but the claim's own come first; then, as far as the boundary reaches, all others.

    Raises:
        Exhausted: Nowhere are so many: fact `longest` says how many are, at most.

    Cost: linear in the blocks and the pages (of 256 addresses) that are in use, of the subnets that may serve it.
        What was never used costs nothing, however large.
    """
    network, count = draft.state.networks[claim.network], claim.request.count
    wish = wish_of(draft, claim.host, network)
    spaces = list(Serving(draft, network, version, wish, wanted_subnet(draft, claim.request, wish)))
    longest = 0
    for may_use in (_own(wish.owner), near(draft.state, wish.owner, wish.reach)):
        for space in spaces:
            for first, last in stretches(space, may_use):
                if last - first + 1 >= count:
                    return [(space, n, placed(claim, space, n, "contiguous")) for n in range(first, first + count)]
                longest = max(longest, last - first + 1)
    raise _too_short(network, version, count, longest)


def _own(owner: str) -> Owned:
    """Addresses in a block of one's own; those in no block are nobody's, and not asked about."""
    return lambda other: other == owner


def stretches(space: Space, may_use: Owned) -> Iterator[Pair]:
    """The stretches of free addresses, ascending, without the blocks of those whose addresses may not be used."""
    closed = space.closed | _shut(space, may_use)
    busy: list[Pair] = []
    for number in space.pages_between(space.first, space.last):
        base = number << PAGE_BITS
        page = space.pages[number]
        busy += [(base + low, base + high) for low, high in runs(FULL & ~free(page) & ~page.closed)]
    yield from RangeSet.of((space.first, space.last)) - (closed | RangeSet(busy))


def _shut(space: Space, may_use: Owned) -> RangeSet:
    """The blocks of those whose addresses may not be used; a loan is the borrower's, not the lender's."""
    whole = RangeSet((b.first, b.last) for b in space.blocks.values() if b.lender is None and not may_use(b.owner))
    lent = [b for b in space.blocks.values() if b.lender is not None]
    mine = RangeSet((b.first, b.last) for b in lent if may_use(b.owner))
    return (whole - mine) | RangeSet((b.first, b.last) for b in lent if not may_use(b.owner))


def _too_short(network: Network, version: int, count: int, longest: int) -> Exhausted:
    return Exhausted(
        f"network {network.name} has {longest} free IPv{version} addresses side by side at most, not {count}",
        network=network.name,
        family=f"v{version}",
        longest=longest,
    )
