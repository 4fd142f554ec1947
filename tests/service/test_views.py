"""Views: pushed to, let go, caught up; real sockets, and a ledger that is a list of numbers."""

import asyncio
import os
import resource
import select
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from tenure.model.dnsdata import ZoneChange
from tenure.service.feed import Committed
from tenure.service.frames import Follow, Following, Push, pack
from tenure.service.views import RING_COMMITS, Publisher, Subscriber


def run(test: Callable[[], Coroutine[None, None, None]]) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(test(), 20))


class Screen:
    """A view that shows the numbers of the zone changes it took in."""

    def __init__(self, ledger: "Ledger") -> None:
        self.ledger = ledger
        self.shown: list[int] = []
        self.ready = asyncio.Event()
        self.settled: list[bool] = []
        self.stuck: asyncio.Event | None = None
        self.news = asyncio.Event()

    async def load(self) -> str:
        self.shown = list(self.ledger.all)
        return f"{self.ledger.epoch}:{len(self.shown)}"

    async def apply(self, committed: Committed) -> None:
        if self.stuck:
            await self.stuck.wait()
        self.shown += [change.serial for change in committed.zone_changes]
        self.news.set()

    def settle(self, ready: bool) -> None:
        self.settled.append(ready)
        (self.ready.set if ready else self.ready.clear)()
        self.news.set()


class Ledger:
    """What was committed, and the publisher that tells of it."""

    def __init__(self, path: Path) -> None:
        self.all: list[int] = []
        self.epoch = "e"
        self.late: list[str] = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.publisher = self.restart()

    def restart(self) -> Publisher:
        self.publisher = Publisher(self.listener, self.late.append)
        self.publisher.start(self.epoch, len(self.all))
        return self.publisher

    def start_over(self) -> None:
        self.publisher.publish(Committed(epoch=self.epoch, sequence=len(self.all), start_over=True))

    async def commit(self, count: int = 1) -> None:
        await asyncio.to_thread(self._commit, count)

    def _commit(self, count: int) -> None:
        for _ in range(count):
            self.all.append(len(self.all) + 1)
            self.publisher.publish(self.committed(len(self.all)))

    def committed(self, number: int) -> Committed:
        change = ZoneChange("z", number, number)
        return Committed(epoch=self.epoch, sequence=number, since=number - 1, zone_changes=(change,))

    def close(self) -> None:
        self.publisher.close()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@asynccontextmanager
async def following(path: Path) -> AsyncIterator[tuple[Ledger, Screen, Subscriber]]:
    ledger = Ledger(path)
    screen = Screen(ledger)
    subscriber = Subscriber(path, "screen", screen)
    task = asyncio.create_task(subscriber.run())
    try:
        await screen.ready.wait()
        yield ledger, screen, subscriber
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        ledger.close()


def test_when_a_commit_returns_the_view_shows_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, _):
            for _ in range(50):
                await ledger.commit()
                assert screen.shown == ledger.all
            assert ledger.late == []

    run(test)


def test_a_view_that_is_too_slow_is_let_go_and_answers_nothing_until_it_has_caught_up(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, subscriber):
            screen.stuck = asyncio.Event()
            await ledger.commit()
            assert ledger.late == ["screen"] and screen.shown == []
            await ledger.commit(3)
            screen.settled.clear()
            screen.stuck.set()
            while screen.settled != [False, True]:
                screen.news.clear()
                await screen.news.wait()
            assert screen.shown == ledger.all == [1, 2, 3, 4]
            assert subscriber.loads == 1

    run(test)


def test_a_view_that_was_let_go_is_not_current_though_it_has_not_heard_of_it(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, subscriber):
            assert subscriber.current()
            screen.settled.clear()
            ledger.publisher.close()  # and the loop has not turned since
            assert not subscriber.current() and screen.settled == []
            while screen.settled != [False, True]:
                assert not subscriber.current()
                screen.news.clear()
                await screen.news.wait()
            assert subscriber.current()

    run(test)


def test_a_view_whose_ledger_died_is_current_until_another_one_has_it_catch_up(tmp_path: Path) -> None:
    async def test() -> None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(tmp_path / "v"))
        listener.listen()
        child = subprocess.Popen(["tail", "-f", "/dev/null"])
        subscriber = Subscriber(tmp_path / "v", "screen", Standing())
        task = asyncio.create_task(subscriber.run())
        try:
            first = await asyncio.to_thread(lambda: listener.accept()[0])
            first.send(pack(Following("e:1", child.pid)))
            await _until(subscriber.current)
            child.kill()
            child.wait()
            first.close()
            assert not subscriber.current()
            await _until(subscriber.current)
            second = await asyncio.to_thread(lambda: listener.accept()[0])
            second.send(pack(Following("e:2", os.getpid())))
            await _until(lambda: not subscriber.current())
            change = Committed(epoch="e", sequence=2, since=1)
            second.send(pack(Push(change)))
            await _until(subscriber.current)
            second.close()
        finally:
            child.kill()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            listener.close()

    run(test)


class Standing:
    """A view that is at the first entry and takes in what comes."""

    async def load(self) -> str:
        return "e:1"

    async def apply(self, committed: Committed) -> None:
        """Nothing is shown."""

    def settle(self, ready: bool) -> None:
        """Nobody asks."""


async def _until(what: Callable[[], bool]) -> None:
    while not what():
        await asyncio.sleep(0)


def test_a_view_that_lacks_more_than_is_kept_loads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.service.views.RING_COMMITS", 10)
    assert RING_COMMITS > 10

    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, subscriber):
            screen.stuck = asyncio.Event()
            await ledger.commit(30)
            screen.stuck.set()
            screen.ready.clear()
            await screen.ready.wait()
            assert screen.shown == ledger.all and subscriber.loads == 2

    run(test)


@pytest.mark.parametrize("epoch", ["e", "f"])
def test_a_ledger_that_was_loaded_anew_makes_the_view_load_again(tmp_path: Path, epoch: str) -> None:
    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, subscriber):
            await ledger.commit(5)
            ledger.epoch, ledger.all = epoch, [1, 2]
            screen.ready.clear()
            await asyncio.to_thread(ledger.start_over)
            await screen.ready.wait()
            await ledger.commit()
            assert screen.shown == [1, 2, 3] and subscriber.position == f"{epoch}:3" and subscriber.loads == 2

    run(test)


def test_what_the_loaded_state_had_already_is_not_taken_in_twice(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, subscriber):
            await ledger.commit(3)
            await asyncio.to_thread(ledger.publisher.publish, ledger.committed(2))
            assert screen.shown == [1, 2, 3] and subscriber.position == "e:3"

    run(test)


def test_a_view_that_missed_something_loads_again(tmp_path: Path) -> None:
    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, subscriber):
            ledger.all = [1, 2, 3]
            screen.ready.clear()
            await asyncio.to_thread(ledger.publisher.publish, ledger.committed(3))
            await screen.ready.wait()
            assert screen.shown == [1, 2, 3] and subscriber.loads == 2

    run(test)


def test_a_view_whose_ledger_died_stays_as_good_as_it_was(tmp_path: Path) -> None:
    """The ledger's process is played by `tail`, whose death is what the view looks at."""

    async def test() -> None:
        async with following(tmp_path / "v") as (ledger, screen, _):
            child = subprocess.Popen(["tail", "-f", "/dev/null"])
            try:
                watched = os.pidfd_open(child.pid)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr("tenure.service.views.os.getpid", lambda: child.pid)
                    ledger.publisher.close()
                    screen.settled.clear()
                    while screen.settled[-1:] != [True]:  # let go by a living process, and back
                        screen.news.clear()
                        await screen.news.wait()
                screen.settled.clear()
                child.kill()
                ended = select.poll()
                ended.register(watched, select.POLLIN)
                ended.poll()
                os.close(watched)
            finally:
                child.kill()
                child.wait()
            ledger.publisher.close()
            while not screen.settled:
                screen.news.clear()
                await screen.news.wait()
            assert screen.settled == [True]

    run(test)


def test_a_ledger_that_had_no_descriptors_left_admits_views_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "v")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket(socket.AF_UNIX) as dns, socket.socket(socket.AF_UNIX) as dhcp:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (1, limits[1]))  # those that are open stay so
            _knock(dns, tmp_path / "v", "dns")  # there may be one descriptor that was set aside for it
            _knock(dhcp, tmp_path / "v", "dhcp")
            dhcp.settimeout(0.1)
            with pytest.raises(TimeoutError):
                dhcp.recv(4096)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        dhcp.settimeout(10)
        assert dns.recv(4096) and dhcp.recv(4096)
        assert ledger.publisher.names == ["dhcp", "dns"]
    ledger.close()


def _knock(view: socket.socket, path: Path, name: str) -> None:
    view.settimeout(10)
    view.connect(str(path))
    view.send(pack(Follow(name, "e:0")))


def test_a_ledger_that_starts_again_has_its_views_before_its_first_commit(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "v")
    ledger.all = [1, 2]
    with socket.socket(socket.AF_UNIX) as waiting:
        ledger.listener.close()
        ledger.listener = socket.socket(socket.AF_UNIX)
        ledger.listener.bind(str(tmp_path / "w"))
        ledger.listener.listen()
        waiting.connect(str(tmp_path / "w"))
        waiting.sendall(pack(Follow("dns", "e:2")))
        assert ledger.restart().names == ["dns"]
    ledger.close()
