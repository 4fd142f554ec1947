"""One connection: answers that wait for something, readers that are slow, and what is cut."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import uvloop

from tenure.surfaces.dns.connection import Answers, Connection, Connections, Cut

CLOSED = (ConnectionError, asyncio.IncompleteReadError)


class Line:
    """A connection on loopback, and its other end."""

    def __init__(self, answers: Answers, idle: float = 30) -> None:
        self._answers, self._idle = answers, idle
        self.others = Connections(8)
        self.made: list[Connection] = []

    async def __aenter__(self) -> "Line":
        loop = asyncio.get_running_loop()

        def connection() -> Connection:
            self.made.append(Connection(loop, self._answers, self._idle, self.others))
            return self.made[-1]

        self._server = await loop.create_server(connection, "127.0.0.1", 0)
        self.reader, self.writer = await asyncio.open_connection(*self._server.sockets[0].getsockname()[:2])
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()
        self.others.abort()
        self._server.close()
        await self._server.wait_closed()

    def ask(self, *queries: bytes) -> None:
        self.writer.write(b"".join(len(query).to_bytes(2) + query for query in queries))

    async def message(self) -> bytes:
        return await self.reader.readexactly(int.from_bytes(await self.reader.readexactly(2)))


def played(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    for run in (asyncio.run, uvloop.run):
        run(asyncio.wait_for(body(), 30))


def test_an_answer_may_wait_and_those_after_it_wait_for_their_turn() -> None:
    async def body() -> None:
        pages: list[asyncio.Future[bytes]] = [asyncio.get_running_loop().create_future() for _ in range(2)]

        def answers(query: bytes, peer: str) -> Iterator[Any]:
            if query != b"slow":
                yield query
                return
            yield b"begun"
            for page in pages:
                yield page
                yield page.result()

        async with Line(answers) as line:
            line.ask(b"first", b"slow", b"last")
            assert [await line.message() for _ in range(2)] == [b"first", b"begun"]
            pages[0].set_result(b"middle")
            assert await line.message() == b"middle"
            line.ask(b"later")
            pages[1].set_result(b"end")
            assert [await line.message() for _ in range(3)] == [b"end", b"last", b"later"]
            line.writer.write_eof()
            assert await line.reader.read() == b""

    played(body)


def test_what_cannot_be_finished_is_cut_and_nothing_after_it_is_answered() -> None:
    async def body() -> None:
        asked: list[bytes] = []

        def answers(query: bytes, peer: str) -> Iterator[Any]:
            asked.append(query)
            yield b"x" * 10
            raise Cut

        async with Line(answers) as line:
            line.ask(b"one", b"two")
            with pytest.raises(CLOSED):
                for _ in range(3):
                    await line.message()
            assert asked == [b"one"]
            assert len(line.others) == 0

    played(body)


def test_who_leaves_while_something_is_awaited_leaves_nothing() -> None:
    async def body() -> None:
        page: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        ended = []

        def answers(query: bytes, peer: str) -> Iterator[Any]:
            try:
                yield b"begun"
                yield page
                while True:
                    yield bytes(16_000)
            finally:
                ended.append(query)

        async with Line(answers) as line:
            line.ask(b"slow")
            assert await line.message() == b"begun"
            line.writer.transport.abort()
            page.set_result(b"")
            while not ended:
                await asyncio.sleep(0)
            assert len(line.others) == 0

    played(body)


def test_whoever_waits_too_long_is_let_go() -> None:
    async def body() -> None:
        never: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def answers(query: bytes, peer: str) -> Iterator[Any]:
            return iter([b"begun", never])

        async with Line(answers, idle=0.05) as line:
            line.ask(b"slow")
            assert await line.message() == b"begun"
            with pytest.raises(CLOSED):
                await line.message()
            assert never.cancelled()

    played(body)


def test_of_what_a_slow_reader_does_not_take_nothing_more_is_made() -> None:
    async def body() -> None:
        made = 0

        def answers(query: bytes, peer: str) -> Iterator[bytes]:
            nonlocal made
            for made in range(1, 20_001):  # noqa: B007
                yield bytes(16_000)

        async with Line(answers) as line:
            line.reader._transport.pause_reading()  # type: ignore[attr-defined]
            line.ask(b"all")
            before = -1
            while made != before or not made:
                before = made
                for _ in range(1000):
                    await asyncio.sleep(0)
            assert 0 < made < 2000
            line.reader._transport.resume_reading()  # type: ignore[attr-defined]
            assert {len(await line.message()) for _ in range(made + 10)} == {16_000}

    played(body)
