"""The lowest address of the smallest free gap, so that large ones stay whole: what MAAS does.

Blocks play no part. MAAS looks at all gaps each time; here they are kept in
order of size, from the first address on that a subnet is asked for.
"""

from collections.abc import Iterator

from tenure.engine.strategies.view import Candidate, View, Wish


def candidates(wish: Wish, view: View) -> Iterator[Candidate]:
    """The first address of each subnet's smallest gap (the lowest among equals), in the order of the subnets.

    Cost: logarithmic in the gaps of a subnet.
    """
    for space in view.spaces:
        number = space.smallest_gap()
        if number is not None:
            yield Candidate(space.subnet.id, number, None, None)
