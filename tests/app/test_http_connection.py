"""Callers that keep a connection waiting, or send without end, are let go; others are served meanwhile."""

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from tenure.app.http_connection import LONGEST_HEAD, HttpConnection, settings_of


class Hasty(HttpConnection):
    """Waits for a moment only."""

    patience = 0.2
    whole = 0.6


HEARD: list[str] = []


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body and says how long it was."""
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            HEARD.append("gone")
            return
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"8")]})
    await send({"type": "http.response.body", "body": f"{length:08d}".encode()})


def served(test: Callable[[int, uvicorn.Server], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            sock.listen()
            config = uvicorn.Config(app, loop="none", lifespan="off", log_config=None, **settings_of(Hasty))
            server = uvicorn.Server(config)
            running = asyncio.create_task(server._serve([sock]))
            try:
                await asyncio.wait_for(test(sock.getsockname()[1], server), 30)
            finally:
                server.should_exit = True
                await running

    HEARD.clear()
    asyncio.run(whole())


async def ask(port: int, *pieces: bytes) -> bytes:
    """Send pieces with half the server's patience between them, then read until it closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = asyncio.create_task(reader.read())
    try:
        for place, piece in enumerate(pieces):
            if place:
                await asyncio.wait([answer], timeout=Hasty.patience / 2)
            writer.write(piece)
        return await answer
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


GET = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"


def test_a_head_that_does_not_come_is_not_waited_for() -> None:
    async def test(port: int, server: uvicorn.Server) -> None:
        silent, half, other = await asyncio.gather(ask(port), ask(port, b"GET / HTTP/1.1\r\nhos"), ask(port, GET))
        assert silent.startswith(b"HTTP/1.1 408 ") and half.startswith(b"HTTP/1.1 408 ")
        head, _, body = half.partition(b"\r\n\r\n")
        assert json.loads(body)["status"] == 408 and f"content-length: {len(body)}".encode() in head
        assert other.endswith(b"00000000")
        assert not server.server_state.connections

    served(test)


def test_a_head_without_end_is_refused() -> None:
    async def test(port: int, server: uvicorn.Server) -> None:
        for line in (b"x-%d: " + b"a" * 1000 + b"\r\n", b"x-%d: b\r\n"):
            lines = b"".join(line.replace(b"%d", b"%d" % n) for n in range(LONGEST_HEAD // (len(line) - 2) + 2))
            assert (await ask(port, b"GET / HTTP/1.1\r\nhost: x\r\n" + lines)).startswith(b"HTTP/1.1 431 ")
        assert (await ask(port, b"GET /" + b"a" * LONGEST_HEAD)).startswith(b"HTTP/1.1 431 ")
        body = b"a" * (4 * LONGEST_HEAD)
        posted = b"POST / HTTP/1.1\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        assert (await ask(port, posted + body)).endswith(b"%08d" % len(body))

    served(test)


def test_a_body_that_stops_or_trickles_is_let_go_and_its_reader_told() -> None:
    async def test(port: int, server: uvicorn.Server) -> None:
        head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n"
        assert await ask(port, head + b"half") == b""
        assert await ask(port, head, *[b"a"] * 20) == b""
        assert HEARD == ["gone", "gone"]

    served(test)


def test_a_connection_that_is_kept_is_used_again() -> None:
    async def test(port: int, server: uvicorn.Server) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(5):
            writer.write(GET.replace(b"connection: close\r\n", b""))
            assert (await reader.readuntil(b"00000000")).startswith(b"HTTP/1.1 200 ")
        writer.write(GET.replace(b"connection: close\r\n", b"") * 3 + GET)
        assert (await reader.read()).count(b"HTTP/1.1 200 ") == 4
        writer.close()

    served(test)
