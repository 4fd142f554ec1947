"""What a whole run leaves around it: logs without secrets, files for its owner alone, no growth under requests."""

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import dns.message
import httpx
import psycopg
import pytest

from tests.lab.postgres import Cluster
from tests.whole.serving import Serving, until

pytestmark = pytest.mark.whole

REQUESTS = 10_000
POOLED = 8
"""Descriptors that a process may yet open for good: connections of its pool, three each on SQLite."""


@pytest.fixture(scope="module")
def database() -> Iterator[tuple[Cluster, str]]:
    """A server that asks for a password, and its URL with it."""
    cluster = Cluster()
    try:
        (cluster.directory / "data" / "pg_hba.conf").write_text(
            "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        )
        cluster.start()
        with psycopg.connect(host=str(cluster.directory), port=cluster.port, user="postgres", autocommit=True) as admin:
            admin.execute("CREATE ROLE tenure LOGIN PASSWORD 'Zq7-hush-hush'")
            admin.execute("CREATE DATABASE tenure OWNER tenure")
        yield cluster, f"postgresql://tenure:Zq7-hush-hush@127.0.0.1:{cluster.port}/tenure"
    finally:
        cluster.remove()


def test_no_line_of_a_log_has_a_secret(tmp_path: Path, database: tuple[Cluster, str]) -> None:
    """At level debug, with refusals, wrong tokens, broken requests, dead processes and a database that goes away."""
    cluster, url = database
    secrets = ["Zq7-hush-hush", "not-a-token-but-secret"]
    data = tmp_path / "data"
    with Serving(data, "--log-level", "debug", env={"TENURE_DATABASE": url}) as serving:
        with serving.client() as client:
            secrets.append((data / "admin-token").read_text().strip())
            for pid in serving.roles.values():
                assert b"TENURE_" not in Path(f"/proc/{pid}/environ").read_bytes()
            for role in ("viewer", "admin"):
                made = client.post(
                    "/v1/tokens", json={"name": role + "-2", "role": role}, headers={"Idempotency-Key": role}
                )
                secrets.append(made.raise_for_status().json()["token"])
            client.post("/v1/tokens", json={"name": "admin-2", "role": "admin"}).read()
            client.post("/v1/networks", content=b'{"name": "prod", ').read()
            for headers in (
                {"Authorization": "Bearer not-a-token-but-secret"},
                {"Authorization": "x not-a-token-but-secret"},
            ):
                assert client.get("/v1/networks", headers=headers).status_code == 401
            with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as broken:
                broken.sendall(f"GET / HTTP/1.1\r\nAuthorization: Bearer {secrets[2]}\r\n\0\r\n\r\n".encode())
                broken.recv(4096)
            for role in ("ledger", "api", "dns"):
                before = serving.roles[role]
                os.kill(before, signal.SIGKILL)
                until(lambda role=role, before=before: serving.roles.get(role) not in (None, before))  # type: ignore[misc]
            until(lambda: _asked(client) == 201)
            cluster.kill9()
            until(lambda: _asked(client) in (503, 504))
            cluster.start()
            until(lambda: _asked(client) == 201)
        assert serving.terminate() == 0
    assert len(serving.output.splitlines()) > 10
    for secret in secrets:
        assert secret not in serving.output
    for file in data.rglob("*"):
        if file.is_file() and file.name != "admin-token":
            assert not any(secret.encode() in file.read_bytes() for secret in secrets), file


def _asked(client: httpx.Client) -> int:
    try:
        return client.post("/v1/vrfs", json={"name": f"v-{os.urandom(4).hex()}"}).status_code
    except httpx.TransportError:
        return 0


def test_what_it_writes_is_its_owners_alone(tmp_path: Path) -> None:
    """Even in a directory that was there, open to all, and under a umask that says nothing."""
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        with Serving(data, "--api-socket", str(tmp_path / "api.sock")) as serving:
            with serving.client() as client:
                client.post("/v1/networks", json={"name": "prod"}).raise_for_status()
            modes = {each.name: stat.S_IMODE(each.lstat().st_mode) for each in data.iterdir()}
            assert {"tenure.sqlite", "admin-token", "lock", "witness", "ledger.sock", "views.sock"} <= modes.keys()
            assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}
            assert stat.S_IMODE((tmp_path / "api.sock").stat().st_mode) == 0o660
            assert serving.terminate() == 0
    finally:
        os.umask(before)


def test_ten_thousand_requests_leave_no_handle_and_no_thread_behind(tmp_path: Path) -> None:
    """Counted before and after, in every process: over HTTP kept and new, refused and lost, over DNS by UDP and TCP."""
    with Serving(tmp_path / "data") as serving, serving.client() as client:
        client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
        client.post("/v1/networks/prod/subnets", json={"cidr": "10.0.0.0/16"}).raise_for_status()
        _ask(serving, client, REQUESTS // 10)
        before = _held(serving)
        _ask(serving, client, REQUESTS)
        until(lambda: _grown(before, _held(serving)) == {})


def _grown(before: dict[str, tuple[int, int]], now: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Who holds more than before, beyond a few connections of its pool to the store."""
    return {
        role: now[role]
        for role, (fds, threads) in before.items()
        if now[role][0] > fds + POOLED or now[role][1] > threads + 2
    }


def _held(serving: Serving) -> dict[str, tuple[int, int]]:
    """Open descriptors and threads, by process."""
    pids = {"supervisor": serving.pid, **serving.roles}
    return {
        role: (len(list(Path(f"/proc/{pid}/fd").iterdir())), len(list(Path(f"/proc/{pid}/task").iterdir())))
        for role, pid in sorted(pids.items())
    }


def _ask(serving: Serving, client: httpx.Client, requests: int) -> None:
    query = dns.message.make_query("vm-1.prod.example.", "A").to_wire()
    framed = len(query).to_bytes(2) + query
    where = (str(client.base_url.host), client.base_url.port or 0)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.connect(serving.dns)
        asker.settimeout(5)
        for n in range(requests // 10):
            made = client.post("/v1/claims", json={"network": "prod", "hostname": f"vm-{n}" if n < 3 else None})
            assert made.status_code in (201, 409)
            assert client.get(f"/v1/claims?limit=1&handle=h-{n}").status_code == 200
            assert client.get("/v1/networks/none").status_code == 404
            for _ in range(4):
                asker.send(query)
                asker.recv(4096)
            with socket.create_connection(serving.dns) as stream:
                stream.sendall(framed)
                stream.recv(4096)
            with socket.create_connection(where) as fresh:
                fresh.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
                fresh.recv(4096)
            with socket.create_connection(where) as lost:
                lost.sendall(b"POST /v1/claims HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")


def test_the_page_needs_nobody_else(tmp_path: Path) -> None:
    with Serving(tmp_path / "data") as serving, serving.client() as client:
        page = client.get("/docs").raise_for_status().text
        assert "<script" not in page and "<link" not in page and "src=" not in page
        assert not [word for word in page.split('"') + page.split("'") if word.startswith(("http:", "https:", "//"))]
        assert json.loads(client.get("/openapi.json").text)["openapi"].startswith("3.1")


def test_zones_that_nobody_can_ask_for_are_noted_where_readiness_is_asked(tmp_path: Path) -> None:
    with Serving(tmp_path / "data") as serving, serving.client() as client:

        def notes() -> list[str]:
            found: list[str] = client.get("/readyz").json()["notes"]
            return found

        client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
        assert notes() == []
        client.post("/v1/vrfs", json={"name": "blue"}).raise_for_status()
        client.post("/v1/networks", json={"name": "b", "vrf": "blue", "domain": "prod.example."}).raise_for_status()
        (note,) = until(notes)
        assert "zones" in note and note.endswith(": blue")
        client.post("/v1/tsig-keys", json={"name": "blue-key", "vrf": "blue"}).raise_for_status()
        until(lambda: not notes())
