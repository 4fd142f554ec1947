"""Which of a strategy's candidates it is: the first that holds."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

from tenure.engine.space import Space
from tenure.engine.strategies.view import MOST_CANDIDATES, Candidate, Step, View
from tenure.net.addresses import first_and_length

Choice = tuple[Space, int, Candidate]


def choose(
    candidates: Iterable[Candidate], view: View, spaces: Mapping[str, Space], take: Callable[[Step], object]
) -> Choice | None:
    """The first candidate whose address is free, after its steps were taken. At most 64 are looked at.

    Args:
        candidates: Asked for one by one; each sees what the steps of those before it did.
        take: Makes a step happen, at once.

    Returns:
        The subnet, the address and the candidate; None where none holds.
    """
    for candidate in islice(candidates, MOST_CANDIDATES):
        for step in candidate.steps:
            view.did(step)
            take(step)
        space, number = spaces[candidate.subnet], candidate.number
        if number is None and candidate.block is not None:
            number = space.pick(space.blocks[first_and_length(candidate.block)])
        if number is not None and space.is_free(number):
            return space, number, candidate
    return None
