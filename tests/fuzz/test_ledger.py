"""Stored events: whatever is in a body, an event or a refusal that names the entry."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tenure.errors import StoreUnavailable
from tenure.service.replay import differences
from tenure.store.interface import Store
from tests.fuzz.mutation import mutated
from tests.fuzz.rounds import Rounds
from tests.service.world import World

pytestmark = pytest.mark.fuzz

DEEP = b'{"kind":"tenure.network.created","network":{"dhcp":{"options":{"1":' + b"[" * 3000


@pytest.fixture
def world(tmp_path: Path, seed: int) -> Iterator[World]:
    """A small ledger."""
    world = World(tmp_path, seed)
    node = world.site()
    node.release(node.claim("vm-1", hostname="vm-1"))
    node.claim("vm-2", mac="52:54:00:0a:0b:0c")
    yield world
    world.close()


def test_ledger_bodies_are_events_or_refused(rounds: Rounds, world: World) -> None:
    store = world.nodes[0].store
    with closing(sqlite3.connect(world.file, isolation_level=None)) as raw:
        whole: list[tuple[int, str]] = raw.execute("SELECT sequence, body FROM ledger").fetchall()
        bodies = mutated([*(body.encode() for _, body in whole), DEEP])
        last, right = whole[-1]

        def put(octets: bytes) -> None:
            raw.execute("UPDATE ledger SET body = CAST(? AS TEXT) WHERE sequence = ?", (octets, last))
            _is_read_or_refused(store, last)
            raw.execute("UPDATE ledger SET body = ? WHERE sequence = ?", (right, last))

        rounds.feed(put, bodies, number=60)
    assert differences(store) == []


def _is_read_or_refused(store: Store, last: int) -> None:
    try:
        found = store.entries(0, last)
    except ValueError as error:
        said = [str(error)]
    except StoreUnavailable:
        return
    else:
        assert len(found) == last
        return
    assert f"entry {last}" in said[0]
    assert differences(store) == said
