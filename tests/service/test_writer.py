"""The writer with a thread of its own, as `serve` runs it, and what the rules do not say."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.engine.facts import Facts, Wanted
from tenure.errors import StoreUnavailable
from tenure.model import uses as u
from tenure.model.answers import Capacity, Failure, Holding, Made, Reply
from tenure.model.policy import Role
from tenure.service.planning import INTERNAL
from tenure.service.writer import Limits
from tenure.store.interface import Head, Turn
from tests.service.world import World, addresses, claim, submission

ADMIN: Role = "admin"


@pytest.fixture
def world(tmp_path: Path, seed: int) -> Iterator[World]:
    """A fresh ledger."""
    world = World(tmp_path, seed)
    yield world
    world.close()


def test_sixteen_threads_get_different_addresses(world: World) -> None:
    node = world.site()
    node.writer.start()
    futures: list[Future[list[Reply]]] = []

    def ask(thread: int) -> None:
        for at in range(12):
            futures.append(node.submit(submission(claim(f"{thread}-{at}", hostname=f"h{thread}-{at}"))))

    threads = [threading.Thread(target=ask, args=(at,)) for at in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = addresses([reply.answer for future in futures for reply in future.result(60)])
    assert len(held) == len(set(held)) == 192
    node.writer.stop()
    node.check()


def test_stop_answers_what_still_waits_and_takes_no_more(world: World) -> None:
    node = world.site()
    waiting = node.submit(submission(claim("a")))
    node.writer.stop()
    (reply,) = waiting.result(0)
    assert isinstance(reply.answer, Failure) and reply.answer.code == "store_unavailable"
    with pytest.raises(StoreUnavailable):
        node.submit(submission(claim("b")))


def test_a_restart_finds_everything(world: World) -> None:
    node = world.site()
    held = [node.claim(f"c{at}", hostname=f"c{at}") for at in range(20)]
    node.release(held[3])
    head = node.writer.memory.head
    node.stop()
    again = world.node()
    assert again.head == head
    assert addresses([again.claim(f"c{at}", hostname=f"c{at}") for at in range(20) if at != 3]) == [
        each.addresses[0].ip for at, each in enumerate(held) if at != 3
    ]
    again.check()


def test_reads_commit_nothing(world: World) -> None:
    node = world.site()
    node.claim("a")
    before = node.sequence
    counted = node.reply(u.ReadCapacity(network="prod"))
    assert isinstance(counted.answer, Capacity)
    assert (counted.answer.v4.in_use, node.sequence) == (1, before)
    assert counted.sequence == f"{node.head.epoch}:{before}"


def test_a_read_in_a_batch_sees_what_came_before_it(world: World) -> None:
    node = world.site()
    replies = node.replies(submission(claim("a")), submission(u.ReadCapacity(network="prod")))
    assert isinstance(replies[1].answer, Capacity) and replies[1].answer.v4.in_use == 1


def test_a_token_s_digest_is_in_no_entry(world: World) -> None:
    node = world.site()
    digest = random.Random(1).randbytes(32)
    made = node.ok(u.CreateToken(name="t", role=ADMIN, digest=digest))
    assert isinstance(made, Made) and made.token is not None
    found = node.store.reads.token_by_digest(digest)
    assert found == made.token
    bodies = repr(node.store.entries(0, 1000))
    assert digest.hex() not in bodies and repr(digest)[2:-1] not in bodies
    node.check()


def test_two_tokens_together_keep_their_own_digests(world: World) -> None:
    node = world.site()
    uses = tuple(u.CreateToken(name=name, role=ADMIN, digest=name.encode() * 32) for name in "ab")
    node.ok(u.Together(uses=(uses[0], claim("a"), uses[1])))
    for name in "ab":
        token = node.store.reads.token_by_digest(name.encode() * 32)
        assert token is not None and token.name == name


def test_a_view_that_fails_does_not_undo_what_is_recorded(world: World) -> None:
    node = world.site()
    told = node.names.told

    class Full(list[object]):
        def append(self, committed: object) -> None:
            raise RuntimeError("full")

    node.names.told = Full()  # type: ignore[assignment]
    assert node.claim("a", hostname="a").created
    node.names.told = told
    assert not node.claim("a", hostname="a").created


def test_a_store_that_is_away_is_said_and_is_nothing_to_load_again(world: World) -> None:
    away = [False]

    class Store:
        def __init__(self, store: object) -> None:
            self._store = store

        def __getattr__(self, name: str) -> object:
            if away[0] and name in ("turn", "head"):
                raise StoreUnavailable("the database is away")
            return getattr(self._store, name)

    node = world.site(wrap=Store)  # type: ignore[arg-type]
    away[0] = True
    answer = node.answer(claim("a"))
    assert isinstance(answer, Failure) and answer.code == "store_unavailable"
    assert node.writer.readiness() == ["the database is away"]
    away[0] = False
    assert node.claim("a").created
    assert node.writer.readiness() == []
    assert not any(committed.start_over for committed in node.told)
    node.check()


def test_what_cannot_be_read_stops_only_who_wants_it(world: World) -> None:
    class Turned:
        def __init__(self, turn: Turn) -> None:
            self._turn = turn

        def __getattr__(self, name: str) -> Any:
            return getattr(self._turn, name)

        def facts(self, wanted: Wanted) -> Facts:
            if ("default", "poison") in wanted.handles:
                raise OverflowError("date value out of range")
            return self._turn.facts(wanted)

    class Store:
        def __init__(self, store: Any) -> None:
            self._store = store

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        @contextmanager
        def turn(self) -> Iterator[Turned]:
            with self._store.turn() as turn:
                yield Turned(turn)

    node = world.site(wrap=Store)
    names = [f"c{at}" for at in range(9)]
    names[4] = "poison"
    answers = [reply.answer for reply in node.replies(*(submission(claim(name)) for name in names))]
    codes = [answer.code if isinstance(answer, Failure) else "" for answer in answers]
    assert codes == ["", "", "", "", INTERNAL, "", "", "", ""]
    assert node.writer.readiness() == []
    node.check()


def test_a_batch_of_another_node_is_followed_whole_however_long(world: World) -> None:
    world.limits = Limits(page=50)
    one, two = world.node("one"), world.node("two")
    world.furnish(one)
    uses = tuple(claim(f"c{at}", hostname=f"c{at}") for at in range(200))
    one.ok(u.Together(uses=uses))
    two.writer.poke()
    two.writer.step()
    two.check()


def test_idle_nodes_follow_and_tell(world: World) -> None:
    one, two = world.node("one"), world.node("two")
    world.furnish(one)
    held = one.claim("a", hostname="a")
    two.writer.step()
    assert two.told[-1].sequence == one.sequence
    two.release(held)
    one.writer.step()
    assert isinstance(one.claim("b"), Holding)
    one.check()


def test_an_epoch_of_another_node_is_adopted(world: World) -> None:
    """One node notices a restore; the other, which had followed less far, goes on in the new epoch."""
    one, two = world.node("one"), world.node("two")
    world.furnish(one)
    two.writer.step()
    one.witness.note(Head(one.head.epoch, 999, "lost", None))
    one.claim("a")
    assert one.writer.memory.head is not None
    assert one.writer.memory.head.epoch != one.head.epoch
    two.writer.step()
    assert two.writer.memory.head == one.writer.memory.head
    assert any(committed.start_over for committed in two.told)
    two.claim("b", hostname="b")
    one.writer.step()
    for node in (one, two):
        node.check()
