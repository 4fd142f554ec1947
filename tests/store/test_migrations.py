"""Databases that earlier releases made, on both databases: each is brought to this release's format."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, text

import tenure.store.sql.migrations
from tenure.model import events as e
from tenure.model.placement import Block
from tenure.store.interface import DataRefused, Store
from tenure.store.sql import open_store
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe
from tests.lab.postgres import Cluster

_SUBNET: Final = x.SUBNET.id
_RACK: Final = (_SUBNET, "10.0.0.0/24", "r" * 20, True)
_HOST: Final = (_SUBNET, "10.0.0.0/28", "h" * 20, False)
_LOST: Final = (_SUBNET, "10.0.0.16/28", None, False)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str | Path:
    """Where the store will be: a file, or a database of its own."""
    if request.param == "sqlite":
        return tmp_path / "ledger.db"
    cluster: Cluster = request.getfixturevalue("postgres_cluster")
    return cluster.create_database()


@pytest.fixture
def engine(place: str | Path) -> Iterator[Engine]:
    """The place, without a store."""
    url = f"sqlite:///{place}" if isinstance(place, Path) else place.replace("postgresql:", "postgresql+psycopg:", 1)
    made = create_engine(url)
    yield made
    made.dispose()


@pytest.fixture
def first(place: str | Path, engine: Engine) -> Iterator[Store]:
    """A store in the first format, with blocks in it, that this release opens."""
    with engine.begin() as connection:
        _made_by_the_first_release(connection)
    store = open_store(place, lambda: START)
    yield store
    store.close()


def _made_by_the_first_release(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(tenure.store.sql.migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, "0001")
    _insert(connection, "meta", name="format", value="1")
    _insert(connection, "meta", name="epoch", value="e1")
    blocks = (_RACK, _HOST, _LOST)
    for n, (subnet, cidr, owner, rack) in enumerate(blocks, 1):
        place = "null" if owner is None else f'"{owner}"'
        body = f'{{"subnet":"{subnet}","cidr":"{cidr}","owner":{place},"rack":{str(rack).lower()}}}'
        first, _, length = cidr.partition("/")
        prefix = bytes([*map(int, first.split(".")), int(length)])
        _insert(connection, "blocks", subnet=subnet, prefix=prefix, rack=rack, owner=owner, body=body, since=0)
        _insert(
            connection, "ledger", sequence=n, batch="b1", change=f"b1.{n}", time=0, actor="token:ci", source="",
            request_id="", kind="tenure.block.owned", body=f'{{"kind":"tenure.block.owned","block":{body}}}',
        )  # fmt: skip


def _insert(connection: Connection, table: str, **row: Any) -> None:
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"), row)


def test_blocks_of_the_first_release_have_a_kind(first: Store) -> None:
    rack, host, lost = (
        Block(block[0], block[1], block[2], "rack" if block[3] else "host") for block in (_RACK, _HOST, _LOST)
    )
    first.prepare()
    with first.snapshot() as now:
        assert list(now.blocks()) == [rack, host, lost]
        assert now.head.epoch == "e1"
    assert [entry.event for entry in first.entries(0, 10)] == [e.BlockOwned(block=b) for b in (rack, host, lost)]
    scribe = Scribe(first)
    with pytest.raises(DataRefused):
        scribe.write(e.BlockOwned(block=rack))
    scribe.write(e.BlockSurrendered(block=lost), e.BlockResized(before=host, block=Block(_SUBNET, "10.0.0.0/27", "h")))
    with first.snapshot() as now:
        assert [block.cidr for block in now.blocks()] == ["10.0.0.0/24", "10.0.0.0/27"]


def test_preparing_twice_migrates_once(first: Store) -> None:
    first.prepare()
    head = first.head()
    first.prepare()
    assert first.head() == head
