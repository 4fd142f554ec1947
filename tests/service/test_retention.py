"""Retention: promises of addresses that were given back go, and all else stays as it was, for whoever reads it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.service.feed import Follower
from tenure.service.replay import Rebuilt, differences
from tenure.service.retention import PAUSE, STRETCH, Retention
from tenure.store.interface import Head, Store
from tenure.store.sql import open_store
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tenure.testing.past_contract import Story, at
from tests.service.world import StillClock

DAY = timedelta(days=1)
LATER = START + 30 * DAY


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A fresh one."""
    opened = open_store(tmp_path / "ledger.db", lambda: LATER)
    opened.prepare()
    yield opened
    opened.close()


@pytest.fixture
def story(store: Store) -> Story:
    """The life of one address, and another that is still held and was promised long ago."""
    scribe = Scribe(store)
    scribe.write(*x.SITE)
    story = Story(scribe)
    story.tell()
    one = x.claim(7, since=at(12))
    held = x.allocation(77, one, "10.0.0.7", since=at(12))
    scribe.write(x.given(one, held), time=at(12))
    for hour in (13, 14):
        held = replace(held, held_until=at(hour + 1))
        scribe.write(e.LeasePromised(claim=one, allocation=held), time=at(hour))
    return story


def kinds(store: Store) -> list[str]:
    return [entry.event.kind for entry in store.entries(0, 1000)]


def test_promises_of_what_was_given_back_leave_a_mark_and_nothing_else_moves(store: Store, story: Story) -> None:
    before, lines = store.entries(0, 1000), story.lines()
    held = [story.reads.addresses(now=LATER, at=at(hour)).items for hour in range(15)]
    assert differences(store) == []
    assert store.compact(0, 1000, at(100)) is None
    after = store.entries(0, 1000)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    ((old, new),) = changed
    assert isinstance(old.event, e.LeasePromised) and old.event.allocation.ip == "10.0.0.5"
    assert new == replace(old, event=e.LeaseCompacted())
    assert differences(store) == []
    without = [line for line in lines if line.entry != old]
    assert [line.entry for line in story.lines()] == [line.entry for line in without]
    for hour in range(15):
        then = story.reads.addresses(now=LATER, at=at(hour)).items
        names = [(each.claim, each.interfaces, each.machines, each.allocation.id) for each in then]
        assert names == [(each.claim, each.interfaces, each.machines, each.allocation.id) for each in held[hour]]


def test_what_is_young_or_held_stays(store: Store, story: Story) -> None:
    before = kinds(store)
    assert store.compact(0, 1000, at(7)) is None
    assert kinds(store) == before
    assert store.compact(0, 1000, at(100)) is None
    assert kinds(store).count("tenure.lease.promised") == 2


def test_a_follower_at_any_place_reads_on_without_a_gap(store: Store, story: Story) -> None:
    known = store.entries(0, 1000)
    epoch = store.head().epoch
    followers = [Follower(store, Head(epoch, each.sequence, each.batch, each.time)) for each in known]
    store.compact(0, 1000, at(100))
    now = store.entries(0, 1000)
    for place, follower in enumerate(followers):
        assert follower.read() == now[place + 1 :]
    rebuilt = Rebuilt()
    for entry in now:
        rebuilt.take(entry)
    with store.turn() as turn:
        assert all(turn.batch_at(each.sequence) == each.batch for each in known)


def test_a_walk_goes_stretch_by_stretch_and_rests_at_its_end(store: Store, story: Story) -> None:
    end = store.head().sequence
    assert store.compact(0, 5, at(100)) == 5
    assert store.compact(5, 5, at(100)) == 10
    assert store.compact(10, end, at(100)) is None
    for limit in (0, 100_001):
        with pytest.raises(InvalidValue):
            store.compact(0, limit, at(100))


def test_upkeep_walks_again_when_a_day_has_passed(store: Store, story: Story) -> None:
    clock = StillClock()
    clock.wall = LATER
    keeps, never = Retention(store, clock, 29 * DAY), Retention(store, clock, None)
    never.step()
    assert "tenure.lease.compacted" not in kinds(store)
    keeps.step()
    assert kinds(store).count("tenure.lease.compacted") == 1
    one = x.claim(8, since=at(15))
    held = x.allocation(78, one, "10.0.0.8", since=at(15))
    promised = replace(held, held_until=at(17))
    events = (x.given(one, held), e.LeasePromised(claim=one, allocation=promised))
    over = replace(x.taken(x.released(one, at(16)), promised, at(16)), closes=True)
    story.scribe.write(*events, over, time=at(16))
    keeps.step()
    assert kinds(store).count("tenure.lease.compacted") == 1
    clock.pause(PAUSE)
    keeps.step()
    assert kinds(store).count("tenure.lease.compacted") == 2
    assert store.head().sequence < STRETCH
    assert differences(store) == []
