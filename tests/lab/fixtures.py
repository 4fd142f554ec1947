"""The lab as pytest fixtures; each leaves nothing behind, also when its test fails."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab import postgres
from tests.lab.namespaces import Topology
from tests.lab.power_loss import Disk


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[postgres.Cluster]:
    """A running private PostgreSQL, one for the whole run; a test that kills it starts it again."""
    if not postgres.available():
        pytest.skip("PostgreSQL is not installed (Debian package postgresql)")
    cluster = postgres.Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


@pytest.fixture
def postgres_url(postgres_cluster: postgres.Cluster) -> str:
    """The URL of a fresh, empty PostgreSQL database."""
    return postgres_cluster.create_database()


@pytest.fixture
def topology() -> Iterator[Topology]:
    """An empty set of network namespaces; removed afterwards with everything in it."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and iproute2")
    with Topology() as made:
        yield made


@pytest.fixture
def power_loss_disk(tmp_path: Path) -> Iterator[Disk]:
    """A mounted disk whose power can be cut."""
    if not shutil.which("fusermount3") or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("a disk that loses power needs fuse3 and /dev/fuse")
    with Disk(tmp_path / "disk") as disk:
        disk.mount()
        yield disk
