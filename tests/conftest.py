"""What every test may use: the lab's fixtures, the seed, and no skips where everything is installed."""

import os
import random

import pytest
from hypothesis import settings

pytest_plugins = ["tests.lab.fixtures", "tests.lab.no_skips", "pytester"]

SEED = int(os.environ.get("TENURE_SEED") or random.SystemRandom().randrange(2**32))

os.environ["TENURE_SEED"] = str(SEED)  # the processes that share a run have one seed

# Tests count, they do not time: how long an example takes says how busy the machine is.
settings.register_profile("tenure", deadline=None)
settings.load_profile("tenure")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how to have the same random numbers again."""
    terminalreporter.write_line(f"seed: TENURE_SEED={SEED}")


@pytest.fixture
def seed() -> int:
    """The run's seed; a random test makes its own generator of it."""
    return SEED


@pytest.fixture
def rng(seed: int) -> random.Random:
    """A generator that starts the same in each test of a run."""
    return random.Random(seed)
