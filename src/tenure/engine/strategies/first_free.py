"""The lowest free address, wherever the host is: what NetBox and go-ipam do."""

from collections.abc import Iterator

from tenure.engine.strategies.view import Candidate, View, Wish


def candidates(wish: Wish, view: View) -> Iterator[Candidate]:
    """The lowest free address of each subnet, in the order of the subnets."""
    for space in view.spaces:
        number = space.lowest_free()
        if number is not None:
            yield Candidate(space.subnet.id, number, None, None)
