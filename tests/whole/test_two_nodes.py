"""Two nodes on one PostgreSQL: one ledger, whoever writes; a frozen node; a database restored to an earlier state."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.lab.postgres import Cluster
from tests.whole.claimants import Claimants
from tests.whole.serving import Serving, soa, until
from tests.whole.site import DOMAIN, HOSTS, LONG, Asker, Json, build, events, faults_of, made, open_claims

pytestmark = [pytest.mark.whole, pytest.mark.timeout(900)]

CLIENTS = 16
FREED = 30.0
"""Seconds after which a frozen node keeps nobody any longer: twice the bound of the store, and time to be busy."""


class Nodes:
    """Two `tenure serve` on one database; the first made the schema and has the token."""

    def __init__(self, directory: Path, url: str) -> None:
        self.url, self._directory = url, directory
        self.both: list[Serving] = []
        self.start()

    def start(self) -> None:
        """Start both."""
        for name in ("a", "b"):
            url = f"{self.url}?application_name=node-{name}"
            self.both.append(Serving(self._directory / name, "--database", url))

    def stop(self) -> None:
        """Stop both in order."""
        while self.both:
            assert self.both.pop().terminate() == 0

    def client(self, number: int, timeout: float = 20) -> httpx.Client:
        """A client of one node; numbers are dealt out to both."""
        token = (self._directory / "a" / "admin-token").read_text().strip()
        return httpx.Client(
            base_url=self.both[number % 2].url,
            headers={"Authorization": f"Bearer {token}"},
            trust_env=False,
            timeout=timeout,
        )


@pytest.fixture
def nodes(tmp_path: Path, postgres_url: str) -> Iterator[Nodes]:
    made_nodes = Nodes(tmp_path, postgres_url)
    yield made_nodes
    for each in made_nodes.both:
        each.kill9()


class Follower(threading.Thread):
    """Reads the events of one node as they come, from the beginning until told to end at a sequence."""

    def __init__(self, client: httpx.Client) -> None:
        super().__init__(daemon=True)
        self.seen: list[Json] = []
        self.fault = ""
        self._client = client
        self._end: int | None = None

    def run(self) -> None:
        try:
            with self._client:
                self._follow()
        except (httpx.TransportError, AssertionError) as error:
            self.fault = repr(error)

    def _follow(self) -> None:
        after: str | None = None
        while self._end is None or self._at() < self._end:
            place = {"after": after} if after else {}
            page = self._client.get("/v1/events", params={"limit": "1000", "wait": "1s", **place})
            assert page.is_success, page.text
            self.seen += page.json()["items"]
            after = page.json()["position"]

    def _at(self) -> int:
        return int(self.seen[-1]["sequence"]) if self.seen else 0

    def until(self, end: int) -> list[Json]:
        """All it saw, once it has seen the event number `end`."""
        self._end = end
        self.join(60)
        assert not self.is_alive() and not self.fault, self.fault or "it never saw the end"
        return self.seen


@pytest.mark.parametrize("calls", [10_000, pytest.param(50_000, marks=LONG)])
def test_sixteen_clients_of_two_nodes_write_one_ledger(nodes: Nodes, seed: int, calls: int) -> None:
    with nodes.client(0) as a, nodes.client(1) as b:
        build(a, cidrs=("10.0.0.0/22",), cooldown=0, ttl=1)  # so that addresses are given again and again
        followers = [Follower(nodes.client(number)) for number in range(2)]
        for follower in followers:
            follower.start()
        with Claimants(nodes.client, CLIENTS, seed, releases=50) as clients:
            clients.work(calls, timeout=100 + calls / 15)
            held = clients.rest()
            assert set(open_claims(a)) == set(open_claims(b)) == set(held)
            written, _ = events(a)
            end = len(written)
            seen = [follower.until(end) for follower in followers]
        assert [event["sequence"] for event in written] == list(range(1, end + 1))
        assert seen[0] == seen[1] == written
        assert end >= calls
        for node in nodes.both:
            with Asker(node.dns) as ask:
                for claim in list(held.values())[-25:]:
                    (address,) = claim["addresses"]
                    assert ask.addresses(address["name"]) == {address["ip"]}
                    assert ask.names(address["ip"]) == {address["name"]}
        assert faults_of(nodes.url) == []


_HOLDER = """SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
 WHERE l.locktype = 'advisory' AND l.granted AND a.datname = current_database()"""


def test_a_node_frozen_with_the_lock_stops_the_other_for_a_bounded_time(nodes: Nodes) -> None:
    with nodes.client(0, timeout=60) as a, nodes.client(1, timeout=120) as b, psycopg.connect(nodes.url) as watch:
        watch.autocommit = True
        build(a, cidrs=("10.0.0.0/16",), cooldown=0)
        ledger = nodes.both[1].roles["ledger"]
        busy = Busy(b)
        busy.start()
        try:
            _freeze_with_the_lock(watch, ledger)
            began = time.monotonic()
            until(lambda: _claimed(a, "from-a"), FREED)
            stopped = time.monotonic() - began
            assert watch.execute(_HOLDER).fetchone() != ("node-b",)
        finally:
            os.kill(ledger, signal.SIGCONT)
        assert stopped < FREED
        busy.end()
        until(lambda: _claimed(b, "from-b"), FREED)
        assert {"from-a", "from-b", *busy.answered} <= set(open_claims(a))
        written, _ = events(b)
        assert [event["sequence"] for event in written] == list(range(1, len(written) + 1))
        assert faults_of(nodes.url) == []


class Busy(threading.Thread):
    """Keeps a node writing, in large batches.

    Attributes:
        answered: Handles that were given an address.
    """

    def __init__(self, client: httpx.Client) -> None:
        super().__init__(daemon=True)
        self.answered: set[str] = set()
        self._client = client
        self._ending = False

    def run(self) -> None:
        batch = 0
        while not self._ending:
            batch += 1
            claims = [{"network": "prod", "handle": f"busy-{batch}-{n}", "host": HOSTS[n % 4]} for n in range(1000)]
            answer = self._client.post("/v1/claims/batch", json={"claims": claims})
            if answer.is_success:
                items = zip(claims, answer.json()["items"], strict=True)
                self.answered |= {str(claim["handle"]) for claim, item in items if "claim" in item}

    def end(self) -> None:
        """Let it finish what it does."""
        self._ending = True
        self.join(60)
        assert not self.is_alive()


def _freeze_with_the_lock(watch: psycopg.Connection[Any], ledger: int) -> None:
    """Stop a ledger's process, again and again, until it stands still with the lock in its hand."""

    def frozen() -> bool:
        until(lambda: watch.execute(_HOLDER).fetchone() == ("node-b",))
        os.kill(ledger, signal.SIGSTOP)
        until(lambda: _stands_still(ledger))
        if _keeps(watch):
            return True
        os.kill(ledger, signal.SIGCONT)
        return False

    until(frozen)


def _keeps(watch: psycopg.Connection[Any]) -> bool:
    """Whether the lock is still node b's when the server has done all that the node had asked for.

    In the middle of a COPY the server is active and waits for its client.
    """
    busy = """SELECT count(*) FROM pg_stat_activity WHERE application_name = 'node-b' AND state = 'active'
     AND wait_event_type IS DISTINCT FROM 'Client'"""
    until(lambda: watch.execute(busy).fetchone() == (0,))
    return watch.execute(_HOLDER).fetchone() == ("node-b",)


def _stands_still(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"


def _claimed(client: httpx.Client, handle: str) -> bool:
    answer = client.post("/v1/claims", json={"network": "prod", "handle": handle, "host": "r1-a"})
    assert answer.is_success or answer.status_code in (503, 504), answer.text
    return answer.is_success


@pytest.mark.parametrize("running", [True, False], ids=["nodes running", "every node stopped"])
def test_a_database_restored_to_an_earlier_state_starts_a_new_epoch(
    nodes: Nodes, postgres_cluster: Cluster, running: bool
) -> None:
    with nodes.client(0) as a:
        build(a, cidrs=("10.0.0.0/16",), cooldown=0)
        kept = _claims(a, "kept", 20)
    backup = postgres_cluster.backup(nodes.url)
    epochs = set()
    for turn in ("one", "two"):
        with nodes.client(0) as a:
            until(partial(_claimed, a, f"{turn}-0"))
            lost = _claims(a, turn, 20)
            before, serials = _position(a), [_serial(node) for node in nodes.both]
        epochs.add(before.split(":")[0])
        if not running:
            nodes.stop()
        postgres_cluster.restore(nodes.url, backup)
        if not running:
            nodes.start()
        _starts_over(nodes, before, kept, lost)
        for node, serial in zip(nodes.both, serials, strict=True):
            assert _serial(node) > max(serials), (serial, serials)
    with nodes.client(1) as b:
        epochs.add(_position(b).split(":")[0])
        until(lambda: _claimed(b, "after"))
    assert len(epochs) == 3, "two restores of one backup share an epoch"
    assert faults_of(nodes.url) == []


def _starts_over(nodes: Nodes, cursor: str, kept: dict[str, Json], lost: dict[str, Json]) -> None:
    """Both nodes refuse the old cursor, and say what the restored database says, in one epoch.

    Each may begin an epoch when it notices, so that they agree once the last has noticed.
    """
    for number, node in enumerate(nodes.both):
        with nodes.client(number) as client, Asker(node.dns) as ask:
            until(partial(_refuses, client, "/v1/events", after=cursor))
            assert _refuses(client, "/v1/claims", at_least=cursor)
            until(partial(_ready, client))
            assert set(open_claims(client)) == set(kept)
            for claim in lost.values():
                until(partial(_gone, node, claim["addresses"][0]["name"]))
            for claim in kept.values():
                assert ask.addresses(claim["addresses"][0]["name"]) == {claim["addresses"][0]["ip"]}
    until(lambda: len(_epochs(nodes)) == 1)
    assert cursor.split(":", maxsplit=1)[0] not in _epochs(nodes)


def _epochs(nodes: Nodes) -> set[str]:
    """The epochs that the nodes are in."""
    with nodes.client(0) as a, nodes.client(1) as b:
        return {_position(client).split(":")[0] for client in (a, b)}


def _ready(client: httpx.Client) -> bool:
    return client.get("/readyz").status_code == 200


def _gone(node: Serving, name: str) -> bool:
    """Whether a node says that there is no such name; silence, while it loads, says nothing."""
    with Asker(node.dns, patience=0.5) as ask:
        try:
            return not ask.exists(name)
        except TimeoutError:
            return False


def _refuses(client: httpx.Client, path: str, **query: str) -> bool:
    answer = client.get(path, params=query)
    return answer.status_code == 410 and answer.json()["code"] == "epoch_changed"


def _claims(client: httpx.Client, prefix: str, number: int) -> dict[str, Json]:
    names = [f"{prefix}-{n}" for n in range(1, number + 1)]
    return {name: made(client, "/v1/claims", network="prod", handle=name, hostname=name) for name in names}


def _position(client: httpx.Client) -> str:
    return events(client)[1]


def _serial(node: Serving) -> int:
    with Asker(node.dns) as ask:
        until(lambda: soa(node.dns, DOMAIN))
        return ask.serial(DOMAIN)


def test_an_embedded_store_put_back_from_a_copy_starts_a_new_epoch(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    with Serving(data) as serving, serving.client() as client:
        build(client, cooldown=0)
        kept = _claims(client, "kept", 20)
        assert serving.terminate() == 0
    shutil.copytree(data, copy, ignore=lambda _, names: [name for name in names if "sqlite" not in name])
    with Serving(data) as serving, serving.client() as client:
        _claims(client, "lost", 20)
        cursor, serial = _position(client), _serial(serving)
        assert serving.terminate() == 0
    for file in data.glob("tenure.sqlite*"):
        file.unlink()
    shutil.copytree(copy, data, dirs_exist_ok=True)
    with Serving(data) as serving, serving.client() as client:
        assert _refuses(client, "/v1/events", after=cursor)
        assert set(open_claims(client)) == set(kept)
        assert _serial(serving) > serial
        _claims(client, "new", 20)
    assert faults_of(data / "tenure.sqlite") == []
