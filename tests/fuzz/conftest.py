"""How long each target is fed."""

import os
import time

import pytest

from tests.fuzz.rounds import Rounds


@pytest.fixture
def rounds(request: pytest.FixtureRequest, seed: int) -> Rounds:
    """The rounds of this target: one, or as many as fit into its share of what is left of FUZZ_MINUTES."""
    minutes = os.environ.get("FUZZ_MINUTES")
    return Rounds(seed, _share(request, 60 * float(minutes)) if minutes else None)


def _share(request: pytest.FixtureRequest, whole: float) -> float:
    targets = [item for item in request.session.items if item.get_closest_marker("fuzz")]
    begun = request.config.stash.setdefault(_BEGUN, time.monotonic())
    left = begun + whole - time.monotonic()
    return left / (len(targets) - targets.index(request.node))


_BEGUN = pytest.StashKey[float]()
