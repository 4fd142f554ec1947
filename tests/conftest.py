"""What every test may use: the lab's fixtures, the seed, and no skips where everything is installed."""

import os
import random

import pytest

pytest_plugins = ["tests.lab.fixtures", "tests.lab.no_skips", "pytester"]

SEED = int(os.environ.get("TENURE_SEED") or random.SystemRandom().randrange(2**32))


def pytest_report_header() -> str:
    """Say how to have the same random numbers again."""
    return f"seed: TENURE_SEED={SEED}"


@pytest.fixture
def seed() -> int:
    """The run's seed; a random test makes its own generator of it."""
    return SEED


@pytest.fixture
def rng(seed: int) -> random.Random:
    """A generator that starts the same in each test of a run."""
    return random.Random(seed)
