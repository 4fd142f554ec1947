"""A month of a site: in virtual time, and on a running server with real DHCP clients."""

import shutil
from pathlib import Path

import pytest

from tests.lab.namespaces import Topology
from tests.whole.month_stages import InProcess, Running, played


def test_a_month_in_virtual_time(tmp_path: Path) -> None:
    played(InProcess(tmp_path))


@pytest.mark.whole
@pytest.mark.root
def test_the_same_month_on_a_running_server_with_real_clients(topology: Topology, tmp_path: Path) -> None:
    if not all(map(shutil.which, ("dhclient", "dig"))):
        pytest.skip("needs dhclient and dig")
    played(Running(topology, tmp_path))
