"""Processes, the database and the line to it die under eight clients: what was answered is there, once."""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.lab.postgres import Cluster
from tests.lab.processes import free_port
from tests.lab.proxy import COMMIT, Cut, Proxy
from tests.whole.claimants import Claimants
from tests.whole.serving import Serving, soa, until
from tests.whole.site import DOMAIN, LONG, Asker, Json, build, faults_of, made, open_claims

pytestmark = [pytest.mark.whole, pytest.mark.timeout(900)]

CLIENTS = 8
BETWEEN = 60
"""Calls that are answered before each kill, and after it before anybody looks."""


class House:
    """A `tenure serve` that may be killed and started again under the same addresses.

    Args:
        options: Of `tenure serve`.
        where: Its store, for looking at.
    """

    def __init__(self, data: Path, where: str | Path, *options: str) -> None:
        self._options = (*options, "--api", f"127.0.0.1:{free_port()}")
        self._data, self.where = data, where
        self.serving = Serving(data, *self._options)
        with self.serving.client() as client:
            build(client, cidrs=("10.0.0.0/22",), cooldown=0, ttl=1)  # addresses are given again and again

    def client(self, _number: int = 0) -> httpx.Client:
        return self.serving.client()

    def kill(self, role: str) -> None:
        """Kill one process without a word; the supervisor is started again, the others it starts itself."""
        if role != "supervisor":
            os.kill(self.serving.roles[role], signal.SIGKILL)
            return
        children = list(self.serving.roles.values())
        os.kill(self.serving.pid, signal.SIGKILL)
        self.serving.wait()
        until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in children))
        self.serving = Serving(self._data, *self._options)

    def check(self, held: dict[str, Json]) -> None:
        """Everything answered is there, nothing twice, names are right, and the ledger replays to the same state."""
        with self.client() as client, Asker(self.serving.dns) as ask:
            stored = until(lambda: _read(client))
            assert set(stored) == set(held)
            for handle, claim in held.items():
                assert stored[handle]["addresses"] == claim["addresses"]
            until(lambda: client.get("/readyz").status_code == 200)
            until(lambda: soa(self.serving.dns, DOMAIN))
            for claim in list(held.values())[-25:]:
                (address,) = claim["addresses"]
                assert ask.addresses(address["name"]) == {address["ip"]}
                assert ask.names(address["ip"]) == {address["name"]}
        assert faults_of(self.where) == []

    def __enter__(self) -> "House":
        return self

    def __exit__(self, *ended: object) -> None:
        self.serving.kill9()


def _read(client: httpx.Client) -> dict[str, Json] | None:
    try:
        return open_claims(client)
    except httpx.TransportError:
        return None


def _survives(house: House, seed: int, blows: list[Callable[[], None]]) -> Claimants:
    with Claimants(house.client, CLIENTS, seed, releases=45) as clients:
        for blow in blows:
            clients.work(BETWEEN)
            blow()
            clients.work(BETWEEN)
            house.check(clients.rest())
            clients.go_on()
    return clients


def _blows(house: House, seed: int, each: int) -> list[Callable[[], None]]:
    roles = ["ledger", "api", "dns", "supervisor"] * each
    random.Random(seed).shuffle(roles)
    return [lambda role=role: house.kill(role) for role in roles]  # type: ignore[misc]


@pytest.mark.parametrize("each", [12, pytest.param(50, marks=LONG)])
def test_each_process_is_killed(tmp_path: Path, seed: int, each: int) -> None:
    data = tmp_path / "data"
    with House(data, data / "tenure.sqlite") as house:
        _survives(house, seed, _blows(house, seed, each))


@pytest.mark.parametrize("blows", [12, pytest.param(50, marks=LONG)])
def test_postgresql_is_killed(tmp_path: Path, seed: int, postgres_cluster: Cluster, blows: int) -> None:
    def blow() -> None:
        postgres_cluster.kill9()
        postgres_cluster.start()

    url = postgres_cluster.create_database()
    with House(tmp_path / "data", url, "--database", url) as house:
        assert _survives(house, seed, [blow] * blows).retried


@pytest.mark.parametrize("when", Cut)
@pytest.mark.parametrize("blows", [12, pytest.param(50, marks=LONG)])
def test_the_line_is_cut_in_commit_under_clients(
    tmp_path: Path, seed: int, postgres_url: str, when: Cut, blows: int
) -> None:
    with Proxy(postgres_url) as proxy, House(tmp_path / "data", postgres_url, "--database", proxy.url) as house:

        def blow() -> None:
            before = proxy.cuts
            proxy.cut_at(COMMIT, when)
            until(lambda: proxy.cuts > before)

        _survives(house, seed, [blow] * blows)
        assert proxy.cuts == blows


@pytest.mark.parametrize("when", Cut)
def test_an_unknown_outcome_is_resolved_by_the_batch(tmp_path: Path, postgres_url: str, when: Cut) -> None:
    """Heard, it is a success at the first call; unheard, nothing happened and the caller is told so.

    Of ten cuts a few may have met a commit of upkeep instead.
    """
    with Proxy(postgres_url) as proxy, House(tmp_path / "data", postgres_url, "--database", proxy.url) as house:
        with house.client() as client:
            said = [_cut_once(client, proxy, when, number) for number in range(10)]
            assert set(said) <= {201, 503}
            assert said.count(201 if when is Cut.AFTER else 503) >= 7, said
            assert set(open_claims(client)) == {f"cut-{number}" for number in range(10)}
        assert faults_of(postgres_url) == []


def _cut_once(client: httpx.Client, proxy: Proxy, when: Cut, number: int) -> int:
    before = proxy.cuts
    body = {"network": "prod", "handle": f"cut-{number}", "host": "r1-a"}
    proxy.cut_at(COMMIT, when)
    answer = client.post("/v1/claims", json=body)
    assert proxy.cuts == before + 1
    if answer.status_code == 503:
        assert answer.json()["code"] == "store_unavailable"
        assert f"cut-{number}" not in open_claims(client)
    made(client, "/v1/claims", **body)
    return answer.status_code
