"""The door and the views: real sockets, a writer that answers at once, late or never."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from tenure.errors import InvalidValue, OutcomeUnknown, StoreUnavailable
from tenure.model.answers import Number, Reply
from tenure.model.uses import ExpireLeases, ReadCapacity, Submission
from tenure.service.door import MOST_ASKED, Answered, Door, DoorServer
from tenure.service.frames import Hello, pack


def ask(number: int, patience: float = 30.0) -> Submission:
    return Submission(use=ExpireLeases(limit=number), actor="upkeep", patience=patience)


def numbers(replies: Sequence[Reply]) -> list[int]:
    return [reply.answer.value for reply in replies if isinstance(reply.answer, Number)]


class Desk:
    """Stands where the writer stands: answers each use with its number, when it is told to."""

    def __init__(self) -> None:
        self.held: list[tuple[Sequence[Submission], Answered]] = []
        self.holding = False
        self.asked = asyncio.Event()
        self.refuse = False

    def submit(self, asked: Sequence[Submission]) -> Answered:
        if self.refuse:
            raise StoreUnavailable("Full.", retry_after=1)
        answered: Answered = Future()
        self.held.append((asked, answered))
        self.asked.set()
        if not self.holding:
            self.answer()
        return answered

    def answer(self) -> None:
        """Answer all that is held, from another thread as the writer does."""
        held, self.held = self.held, []
        threading.Thread(target=_answer_all, args=(held,)).start()


def _answer_all(held: list[tuple[Sequence[Submission], Answered]]) -> None:
    for asked, answered in held:
        answered.set_result(_replies(asked))


def _replies(asked: Sequence[Submission]) -> list[Reply]:
    return [Reply(Number(each.use.limit), "e:1") for each in asked if isinstance(each.use, ExpireLeases)]


@asynccontextmanager
async def serving(path: Path, desk: Desk) -> AsyncIterator[DoorServer]:
    path.unlink(missing_ok=True)
    server = DoorServer(desk.submit, lambda: ["the store is away"], lambda: {"turns": 3.0})
    listening = await asyncio.get_running_loop().create_unix_server(server.caller, str(path))
    try:
        yield server
    finally:
        listening.close()
        for caller in tuple(server.callers):
            caller.abort()


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(test(), 20))


def test_answers_come_to_whoever_asked(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", Desk()):
            door = Door(tmp_path / "s")
            batches = [[ask(n + i) for i in range(n % 5)] for n in range(200)]
            answers = await asyncio.gather(*map(door.submit, batches))
            assert [numbers(each) for each in answers] == [[n + i for i in range(n % 5)] for n in range(200)]
            await door.close()

    run(test)


def test_a_refusal_of_the_writer_is_the_callers_error(tmp_path: Path) -> None:
    async def test() -> None:
        desk = Desk()
        async with serving(tmp_path / "s", desk):
            door = Door(tmp_path / "s")
            desk.refuse = True
            with pytest.raises(StoreUnavailable, match="Full") as refused:
                await door.submit([ask(1)])
            assert refused.value.facts == {"retry_after": 1}
            desk.refuse = False
            assert numbers(await door.submit([ask(1)])) == [1]
            await door.close()

    run(test)


def test_an_answer_that_cannot_be_told_is_unknown_and_the_line_stays(tmp_path: Path) -> None:
    async def test() -> None:
        desk = Desk()
        desk.holding = True
        async with serving(tmp_path / "s", desk):
            door = Door(tmp_path / "s")
            untold: list[Reply | Exception] = [Reply(Number(1 << 80), "e:1"), ZeroDivisionError()]
            for answer in untold:
                asking = [asyncio.ensure_future(door.submit([ask(n)])) for n in (1, 2)]
                while len(desk.held) < 2:
                    desk.asked.clear()
                    await desk.asked.wait()
                (_, first), (_, second) = desk.held
                desk.held = []
                if isinstance(answer, Reply):
                    first.set_result([answer])
                else:
                    first.set_exception(answer)
                second.set_result([Reply(Number(2), "e:1")])
                with pytest.raises(OutcomeUnknown, match="cannot be told"):
                    await asking[0]
                assert numbers(await asking[1]) == [2]
            await door.close()

    run(test)


def test_whoever_asks_again_at_once_waits_for_the_next_line(tmp_path: Path) -> None:
    """In the turn of the loop in which the line is lost, before anybody else knows."""

    async def test() -> None:
        desk = Desk()
        desk.holding = True
        async with serving(tmp_path / "s", desk) as server:
            door = Door(tmp_path / "s")
            asking = asyncio.create_task(_insist(door))
            for _ in range(3):
                await desk.asked.wait()
                desk.asked.clear()
                for caller in tuple(server.callers):
                    caller.abort()
            await desk.asked.wait()
            desk.answer()
            assert await asking == ([7], 3)
            await door.close()

    run(test)


async def _insist(door: Door) -> tuple[list[int], int]:
    """The answer, and how many times it was lost."""
    lost = 0
    while True:
        try:
            return numbers(await door.submit([ask(7)])), lost
        except OutcomeUnknown:
            lost += 1


def test_without_a_ledger_nothing_was_changed(tmp_path: Path) -> None:
    async def test() -> None:
        door = Door(tmp_path / "s")
        with pytest.raises(StoreUnavailable):
            await door.submit([ask(1, patience=0.05)])
        assert not door.open
        await door.close()

    run(test)


def test_a_ledger_lost_after_it_was_asked_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    async def test() -> None:
        desk = Desk()
        desk.holding = True
        door = Door(tmp_path / "s")
        read = Submission(use=ReadCapacity(network="n"), actor="token:t")
        async with serving(tmp_path / "s", desk):
            change, dry = asyncio.create_task(door.submit([ask(1)])), asyncio.create_task(door.submit([read]))
            while len(desk.held) < 2:
                desk.asked.clear()
                await desk.asked.wait()
        with pytest.raises(OutcomeUnknown):
            await change
        with pytest.raises(StoreUnavailable):
            await dry
        desk.holding = False
        async with serving(tmp_path / "s", desk):
            assert numbers(await door.submit([ask(2)])) == [2]
        await door.close()

    run(test)


def test_an_answer_that_does_not_come_in_time_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.service.door._GRACE", 0.0)

    async def test() -> None:
        desk = Desk()
        desk.holding = True
        async with serving(tmp_path / "s", desk):
            door = Door(tmp_path / "s")
            with pytest.raises(OutcomeUnknown):
                await door.submit([ask(1, patience=0.05)])
            desk.holding = False
            desk.answer()  # late: nobody waits for it, and nobody else gets it
            assert numbers(await door.submit([ask(2)])) == [2]
            await door.close()

    run(test)


def test_a_caller_who_leaves_disturbs_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        desk = Desk()
        desk.holding = True
        async with serving(tmp_path / "s", desk):
            door = Door(tmp_path / "s")
            leaver, stayer = asyncio.create_task(door.submit([ask(1)])), asyncio.create_task(door.submit([ask(2)]))
            while len(desk.held) < 2:
                desk.asked.clear()
                await desk.asked.wait()
            leaver.cancel()
            desk.answer()
            assert numbers(await stayer) == [2]
            await door.close()

    run(test)


def test_more_than_may_wait_is_not_read(tmp_path: Path) -> None:
    async def test() -> None:
        desk = Desk()
        desk.holding = True
        async with serving(tmp_path / "s", desk) as server:
            door = Door(tmp_path / "s")
            tasks = [asyncio.create_task(door.submit([ask(n)])) for n in range(MOST_ASKED + 500)]
            while len(desk.held) < MOST_ASKED:
                desk.asked.clear()
                await desk.asked.wait()
            assert [caller.reading for caller in server.callers] == [False]
            desk.holding = False
            desk.answer()
            assert [numbers(each)[0] for each in await asyncio.gather(*tasks)] == list(range(MOST_ASKED + 500))
            assert [caller.reading for caller in server.callers] == [True]
            await door.close()

    run(test)


def test_what_cannot_be_sent_is_refused_and_the_line_stays(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", Desk()):
            door = Door(tmp_path / "s")
            with pytest.raises(InvalidValue):
                await door.submit([Submission(use=ReadCapacity(network="\ud800"), actor="x")])
            assert numbers(await door.submit([ask(2)])) == [2]
            await door.close()

    run(test)


@pytest.mark.parametrize("sent", [b"\xff" * 8, pack(Hello()), b"GET / HTTP/1.1\r\n\r\n"])
def test_who_speaks_nonsense_is_let_go(tmp_path: Path, sent: bytes) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", Desk()):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
            writer.write(sent)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(10_000)
            writer.close()

    run(test)


def test_how_the_node_is_and_the_counters_of_all_processes_are_in_one_place(tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path / "s", Desk()):
            dns, api = Door(tmp_path / "s"), Door(tmp_path / "s")
            await dns.submit([])
            dns.tell_figures("dns", {"queries": 17.0})
            await dns.submit([])
            health = await api.health()
            assert health.figures == {"dns": {"queries": 17.0}, "ledger": {"turns": 3.0}}
            assert health.reasons == ("the store is away",)
            await dns.close()
            await api.close()

    run(test)
