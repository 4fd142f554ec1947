"""The API in process over a real writer and an embedded store: what its tests stand on."""

import asyncio
import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from tenure.model.answers import Failure, Made, Reply
from tenure.model.uses import CreateToken, Submission
from tenure.service.sealing import seal_among
from tenure.service.witness import Witness
from tenure.service.writer import Writer
from tenure.settings import Endpoint
from tenure.store.interface import Store
from tenure.store.sql.store import open_store
from tenure.surfaces.api.application import create_api
from tests.service.world import StillClock
from tests.surfaces.api.documented import check_documented

SECRET = "tenure_admin"
VIEWER = "tenure_viewer"


class Inline:
    """The writer asked directly: it takes its turns while the caller waits."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.open = True

    async def submit(self, submissions: Sequence[Submission]) -> list[Reply]:
        """Have them decided."""
        future = self.writer.submit(submissions)
        while not future.done():
            self.writer.step()
        return future.result(0)


class Site:
    """One application with its store; `close` it."""

    def __init__(self, directory: Path) -> None:
        self.clock = StillClock()
        self.store: Store = open_store(directory / "tenure.db", self.clock.now)
        self.store.prepare()
        self.writer = Writer(self.store, Witness(directory), self.clock, lambda told: None, seed=7)
        self.writer.open()
        self.doors = Inline(self.writer)
        self.runner = asyncio.Runner()
        self.runner.get_loop()
        for name, role, secret in (("admin", "admin", SECRET), ("eyes", "viewer", VIEWER)):
            self.submit(CreateToken(name=name, role=role, digest=hashlib.sha256(secret.encode()).digest()))  # type: ignore[arg-type]
        self.directory = directory
        self.primaries = [Endpoint("192.0.2.53", 53), Endpoint("2001:db8::53", 53)]
        self.app = create_api(
            self.doors,
            self.store,
            clock=self.clock.now,
            seal=partial(seal_among, directory, self.store),
            primaries=lambda vrf: self.primaries,
        )
        self.client = self.client_with(SECRET)

    def client_with(self, secret: str | None, host: str = "127.0.0.1") -> httpx.AsyncClient:
        """A client with a token of its own."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(host, 40000))
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        return httpx.AsyncClient(transport=transport, base_url="http://tenure.test", headers=headers)

    def submit(self, use: Any) -> Any:
        """Have a use decided beside the API."""
        (reply,) = self.runner.run(self.doors.submit([Submission(use=use, actor="test")]))
        assert not isinstance(reply.answer, Failure), reply.answer
        return reply.answer.token if isinstance(reply.answer, Made) else reply.answer

    def ask(self, method: str, path: str, json: Any = None, **rest: Any) -> httpx.Response:
        """One request as the admin."""
        client: httpx.AsyncClient = rest.pop("client", self.client)
        if json is not None:
            rest["json"] = json
        answer = self.runner.run(client.request(method, path, **rest))
        check_documented(answer)
        return answer

    def get(self, path: str, **rest: Any) -> Any:
        """The value of a read that must succeed."""
        answer = self.ask("GET", path, **rest)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, json: Any = None, **rest: Any) -> Any:
        """The value of a change that must succeed."""
        answer = self.ask("POST", path, json, **rest)
        assert answer.status_code in (200, 201, 202), answer.text
        return answer.json()

    @property
    def sequence(self) -> int:
        """The end of the ledger, as its file says."""
        return self.store.head().sequence

    def furnish(self) -> None:
        """A rack with two hosts, and a network with one subnet."""
        self.post("/v1/vrfs", {"name": "default"})
        self.post("/v1/locations", {"name": "rack-3", "kind": "rack"})
        for host in ("compute-7", "compute-8"):
            self.post("/v1/locations", {"name": host, "kind": "host", "parent": "rack-3"})
        self.post("/v1/networks", {"name": "prod", "domain": "prod.example."})
        subnet = {"cidr": "10.0.3.0/24", "gateway": "10.0.3.1", "dns_servers": ["10.0.3.2"]}
        self.subnet = self.post("/v1/networks/prod/subnets", subnet)["id"]

    def close(self) -> None:
        """Let go of everything."""
        self.runner.run(self.client.aclose())
        self.app.state.backing.close()
        self.writer.stop()
        self.store.close()
        self.runner.close()


def problem(answer: httpx.Response, status: int, code: str) -> Any:
    """The problem that an answer must be."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (body["status"], body["code"]) == (status, code), body
    assert body["type"].startswith("urn:tenure:problem:")
    assert body["title"]
    assert body["detail"]
    return body
