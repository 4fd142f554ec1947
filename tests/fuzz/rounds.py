"""Random examples in rounds: one round in `make test`, round after round for FUZZ_MINUTES in `make fuzz`.

A round is a number of examples that all follow from its seed. So a round that
failed among many is the one round of a run that starts with its seed.
"""

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis.strategies import SearchStrategy

from tests.fuzz.seeded import BACKEND

T = TypeVar("T")

_QUIET = settings(
    backend=BACKEND,
    deadline=None,
    database=None,  # an example that is remembered would come before those of the seed
    print_blob=True,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


class Rounds:
    """The rounds of one target.

    Args:
        start: Seed of the first round; each further one has the next number.
        seconds: How long to begin another round; None: there is one, and no clock is read.
    """

    def __init__(self, start: int, seconds: float | None) -> None:
        self._start = start
        self._seconds = seconds

    def __iter__(self) -> Iterator[int]:
        number = self._start
        yield number
        if self._seconds is None:
            return
        end = time.monotonic() + self._seconds
        while time.monotonic() < end:
            number += 1
            yield number

    def each(self, one_round: Callable[[int], None]) -> None:
        """Have each round done, given its seed; the first that fails says how to have it again."""
        for number in self:
            print(f"round of TENURE_SEED={number}")
            try:
                one_round(number)
            except BaseException as error:
                error.add_note(f"This round again: TENURE_SEED={number} .venv/bin/pytest -m fuzz tests -k TARGET")
                raise

    def feed(self, check: Callable[[T], None], examples_of: SearchStrategy[T], *, number: int) -> None:
        """Call `check` with that number of random examples a round."""
        self.each(lambda start: explore(check, examples_of, start=start, number=number))


def explore(check: Callable[[T], None], examples_of: SearchStrategy[T], *, start: int, number: int) -> None:
    """Call `check` with random examples that follow from the seed `start`; one that fails is made small."""

    @seed(start)
    @settings(_QUIET, max_examples=number)
    @given(examples_of)
    def one(example: T) -> None:
        note(f"the example: {example!r}")
        check(example)

    one()
