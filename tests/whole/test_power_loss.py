"""The power is cut under claiming clients: what was answered is there; a store that does not sync is found out."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.lab.power_loss import Disk
from tests.whole.claimants import Claimants
from tests.whole.serving import Serving
from tests.whole.site import LONG, Json, build, faults_of, listed, open_claims

pytestmark = pytest.mark.whole

CLIENTS: Final = 8
CALLS: Final = 100
UNSYNCED: Final = """
import sqlite3

class Careless(sqlite3.Connection):
    def execute(self, statement, *parameters):
        return super().execute(statement.replace("synchronous=FULL", "synchronous=OFF"), *parameters)

def careless(*words, connect=sqlite3.connect, **named):
    return connect(*words, **{**named, "factory": Careless})

sqlite3.connect = sqlite3.dbapi2.connect = careless
"""
"""The fault, planted in every process of `tenure serve` by Python's own `sitecustomize`."""


@pytest.mark.parametrize("cuts", [4, pytest.param(12, marks=LONG)])
def test_nothing_that_was_answered_is_lost(power_loss_disk: Disk, seed: int, cuts: int) -> None:
    data = power_loss_disk.path / "data"
    answered: dict[str, Json] = {}
    for cut in range(cuts):
        answered |= _cut_under_clients(power_loss_disk, f"cut-{cut}", seed + cut)
        assert _lost(data, answered) == set()
        assert faults_of(data / "tenure.sqlite") == []


def test_a_store_that_does_not_sync_is_found_out(power_loss_disk: Disk, seed: int, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(UNSYNCED)
    env = {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)}
    answered = _cut_under_clients(power_loss_disk, "planted", seed, env)
    assert _lost(power_loss_disk.path / "data", answered)


def _cut_under_clients(disk: Disk, name: str, seed: int, env: Mapping[str, str] | None = None) -> dict[str, Json]:
    """Let eight clients claim, cut the power and turn it on again; what they were answered, by handle."""
    with Serving(disk.path / "data", env=env) as serving:
        with serving.client() as client:
            if not list(listed(client, "/v1/networks")):
                build(client, cooldown=0)
        with Claimants(lambda _: serving.client(), CLIENTS, seed, releases=0, name=name) as clients:
            clients.work(CALLS)
            disk.cut()
            serving.kill9()
    disk.mount()
    return clients.held


def _lost(data: Path, answered: Mapping[str, Json]) -> set[str]:
    """The handles that were answered and whose addresses are not there."""
    with Serving(data) as serving, serving.client() as client:
        stored = open_claims(client)
        assert serving.terminate() == 0
    return {handle for handle, claim in answered.items() if _addresses(stored.get(handle)) != _addresses(claim)}


def _addresses(claim: Json | None) -> set[str]:
    return {address["ip"] for address in claim["addresses"]} if claim else set()
