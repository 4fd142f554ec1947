"""What waits for the writer."""

from concurrent.futures import Future

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.errors import StoreUnavailable
from tenure.model import uses as u
from tenure.model.answers import Failure, Nothing, Reply
from tenure.service.queue import Queue, Waiting
from tests.service.world import StillClock, submission

DONE = Reply(Nothing(), "e:1")


def queue(bound: int = 100, chunk: int = 4) -> Queue:
    return Queue(bound, chunk, StillClock().monotonic)


def asked(name: str, count: int = 1, *, urgent: bool = False, key: str = "") -> list[u.Submission]:
    return [submission(u.RevokeToken(token=f"{name}{at}"), urgent=urgent, key=key, item=at) for at in range(count)]


def names(waiting: list[Waiting]) -> list[str]:
    return [item.asked.use.token for item in waiting if isinstance(item.asked.use, u.RevokeToken)]


def answer_all(queue: Queue, bound: int = 1000) -> None:
    for item in queue.gather(bound):
        queue.answer(item, DONE)


def test_nothing_asked_is_answered_at_once() -> None:
    assert queue().put([]).result(0) == []


def test_order_of_a_line_is_kept_and_lines_take_turns() -> None:
    waiting = queue(chunk=2)
    waiting.put(asked("a", 5))
    waiting.put(asked("b", 1))
    waiting.put(asked("c", 3))
    assert names(waiting.gather(100)) == ["a0", "a1", "b0", "c0", "c1", "a2", "a3", "c2", "a4"]
    assert waiting.gather(100) == []
    assert waiting.length == 0


def test_together_is_never_cut_and_counts_as_what_it_holds() -> None:
    waiting = queue(bound=1000, chunk=2)
    together = submission(u.Together(uses=tuple(each.use for each in asked("t", 50))))
    waiting.put([together])
    waiting.put(asked("a", 1))
    assert waiting.length == 51
    assert len(waiting.gather(10)) == 1
    assert names(waiting.gather(10)) == ["a0"]


def test_replies_come_in_the_order_of_the_asking() -> None:
    waiting = queue(chunk=1)
    future = waiting.put(asked("a", 3))
    taken = waiting.gather(10)
    for item in reversed(taken):
        assert not future.done()
        waiting.answer(item, Reply(Nothing(), names([item])[0]))
    assert [reply.sequence for reply in future.result(0)] == ["a0", "a1", "a2"]


def test_a_batch_beyond_the_bound_is_taken_only_when_nothing_waits() -> None:
    waiting = queue(bound=10)
    waiting.put(asked("a", 25))
    with pytest.raises(StoreUnavailable):
        waiting.put(asked("b"))
    answer_all(waiting)
    waiting.put(asked("b"))
    with pytest.raises(StoreUnavailable):
        waiting.put(asked("a", 25))
    assert waiting.length == 1


def test_a_refused_batch_leaves_no_keys() -> None:
    waiting = queue(bound=2)
    waiting.put(asked("a", 2))
    with pytest.raises(StoreUnavailable):
        waiting.put(asked("b", 1, key="k"))
    answer_all(waiting)
    assert not waiting.put(asked("b", 1, key="k")).done()


def test_one_key_twice_in_a_batch_is_refused_alone() -> None:
    waiting = queue()
    twice = [submission(u.RevokeToken(token=name), key="k", item=0) for name in ("a", "b")]
    future = waiting.put(twice)
    answer_all(waiting)
    first, second = (reply.answer for reply in future.result(0))
    assert first == Nothing()
    assert isinstance(second, Failure) and second.code == "conflict"


def test_a_key_is_free_again_after_its_answer() -> None:
    waiting = queue()
    for _ in range(2):
        future = waiting.put(asked("a", 1, key="k"))
        answer_all(waiting)
        assert future.result(0) == [DONE]


def test_a_cancelled_caller_troubles_nobody() -> None:
    waiting = queue()
    future: Future[list[Reply]] = waiting.put(asked("a"))
    assert future.cancel()
    answer_all(waiting)
    assert waiting.length == 0


def test_closed_takes_nothing_and_gives_back_what_waits() -> None:
    waiting = queue()
    waiting.put(asked("a", 2))
    waiting.put(asked("b", 1, urgent=True))
    assert sorted(names(waiting.close())) == ["a0", "a1", "b0"]
    with pytest.raises(StoreUnavailable):
        waiting.put(asked("c"))


@settings(deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=12),
    bound=st.integers(1, 9),
    chunk=st.integers(1, 5),
)
def test_everything_is_gathered_once_in_the_order_of_its_line(
    sizes: list[tuple[int, bool]], bound: int, chunk: int
) -> None:
    waiting = queue(bound=1000, chunk=chunk)
    futures = [waiting.put(asked(f"{at}-", size, urgent=urgent)) for at, (size, urgent) in enumerate(sizes)]
    seen: list[str] = []
    while taken := waiting.gather(bound):
        assert len(taken) <= bound
        seen += names(taken)
        for item in taken:
            waiting.answer(item, DONE)
    assert sorted(seen) == sorted(f"{at}-{item}" for at, (size, _) in enumerate(sizes) for item in range(size))
    for at, (size, _) in enumerate(sizes):
        assert [name for name in seen if name.startswith(f"{at}-")] == [f"{at}-{item}" for item in range(size)]
    assert all(future.done() for future in futures)


def test_while_urgent_uses_come_turns_are_short() -> None:
    """A client that asks by DHCP waits for what is being written; nothing else shall be in its way for long."""
    time = [0.0]
    waiting = Queue(10_000, 256, lambda: time[0])
    waiting.put(asked("bulk", 1000))
    waiting.put([submission(u.RevokeToken(token="dhcp"), urgent=True)])
    first = names(waiting.gather(1024))
    assert first[0] == "dhcp" and len(first) == 41
    time[0] = 0.9
    assert len(waiting.gather(1024)) == 40
    time[0] = 1.1
    assert len(waiting.gather(1024)) == 1000 - 80
