"""A site to each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.api.site import Site


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Site]:
    """An API over an empty store: two tokens, nothing else."""
    site = Site(tmp_path)
    yield site
    site.close()


@pytest.fixture
def site(bare: Site) -> Site:
    """An API with a rack, two hosts, a network and a subnet."""
    bare.furnish()
    return bare
