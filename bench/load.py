"""A load generator in a process of its own, lean enough to leave the cores to what is measured.

It reads one `Errand` as JSON from standard input and writes one `Load` as JSON to standard output.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from typing import cast

import msgspec
import uvloop

from bench import site


class Errand(msgspec.Struct, frozen=True):
    """What to send.

    Attributes:
        port: On loopback.
        run: Part of every handle, so that no two runs share one.
        size: Claims of one request; 1 is `POST /v1/claims`, more is `POST /v1/claims/batch`.
        requests: How many in all.
        clients: Connections, each with one request at a time.
        rate: Requests offered a second, whether or not earlier ones are answered; 0: each client waits for its answer.
    """

    port: int
    token: str
    run: str
    size: int
    requests: int
    clients: int
    rate: float = 0.0


class Load(msgspec.Struct, frozen=True):
    """What came back: seconds of the whole, seconds of each request from the moment it was due, and what failed."""

    seconds: float
    took: list[float]
    failed: int
    first: str = ""


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._answer: asyncio.Future[tuple[bytes, bytes]]
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        at = head.index(b"content-length:") + 15
        length = int(head[at:].split(b"\r", 1)[0])
        if len(self._buffer) >= end + 4 + length:
            body = bytes(self._buffer[end + 4 :])
            self._buffer.clear()
            self._answer.set_result((head[9:12], body))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._answer.done():
            self._answer.set_exception(ConnectionResetError())

    async def ask(self, request: bytes) -> tuple[bytes, bytes]:
        """Send one request; status and body of its answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer


def load(errand: Errand) -> Load:
    """Run the generator beside us, and wait for it.

    Raises:
        AssertionError: A request was refused.
    """
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"], input=msgspec.json.encode(errand), stdout=subprocess.PIPE, check=True
    )
    result = msgspec.json.decode(done.stdout, type=Load)
    assert not result.failed, f"{result.failed} requests failed, the first with {result.first}"
    return result


class _Generator:
    def __init__(self, errand: Errand) -> None:
        self._errand = errand
        self._requests = deque(_requests(errand))
        self._took: list[float] = []
        self._failed = 0
        self._first = ""

    async def run(self) -> Load:
        """Connect, send everything, and say how it went."""
        loop = asyncio.get_running_loop()
        connections = []
        for _ in range(self._errand.clients):
            _, connection = await loop.create_connection(Connection, "127.0.0.1", self._errand.port)
            connections.append(connection)
        began = time.perf_counter()
        await asyncio.gather(*(self._client(connection, began) for connection in connections))
        return Load(time.perf_counter() - began, self._took, self._failed, self._first)

    async def _client(self, connection: Connection, began: float) -> None:
        while self._requests:
            number, request = self._requests.popleft()
            due = time.perf_counter()
            if self._errand.rate:
                due = began + number / self._errand.rate
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
            status, body = await connection.ask(request)
            self._took.append(time.perf_counter() - due)
            self._check(status, body)

    def _check(self, status: bytes, body: bytes) -> None:
        one = self._errand.size == 1
        if (status == b"201") if one else (status == b"200" and body.count(b'"status":201') == self._errand.size):
            return
        self._failed += 1
        self._first = self._first or (status + b" " + body[:300]).decode()


def _requests(errand: Errand) -> Iterator[tuple[int, bytes]]:
    for number in range(errand.requests):
        items = [_claim(errand.run, number * errand.size + n) for n in range(errand.size)]
        path, body = ("/v1/claims", items[0]) if errand.size == 1 else ("/v1/claims/batch", {"claims": items})
        yield number, _request(errand, path, json.dumps(body, separators=(",", ":")).encode())


def _claim(run: str, number: int) -> dict[str, str]:
    return {"network": site.NETWORK, "handle": f"{run}:{number:012x}/port-1", "host": site.host(number)}


def _request(errand: Errand, path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {errand.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


if __name__ == "__main__":
    asked = msgspec.json.decode(sys.stdin.buffer.read(), type=Errand)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(_Generator(asked).run())))
