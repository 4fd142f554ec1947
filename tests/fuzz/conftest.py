"""How long each target is fed."""

import os
import time

import pytest

from tests.fuzz.rounds import Rounds

_MINUTES = os.environ.get("FUZZ_MINUTES")
_END = time.monotonic() + 60 * float(_MINUTES) if _MINUTES else None
"""Counted from when tests are collected, so that the whole run takes as long as was said."""


@pytest.fixture
def rounds(request: pytest.FixtureRequest, seed: int) -> Rounds:
    """The rounds of this target: one, or as many as fit into its share of what is left of FUZZ_MINUTES."""
    return Rounds(seed, None if _END is None else _share(request, _END - time.monotonic()))


def _share(request: pytest.FixtureRequest, left: float) -> float:
    targets = [item for item in request.session.items if item.get_closest_marker("fuzz")]
    return left / (len(targets) - targets.index(request.node))
