"""The store on PostgreSQL: the contract, and what is its own."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import make_url

from tenure.errors import OutcomeUnknown, StoreUnavailable
from tenure.model import events as e
from tenure.model.topology import Location
from tenure.store.interface import DataRefused, Store
from tenure.store.sql import open_store as open_sql
from tenure.store.sql.postgres import LOCK, Postgres
from tenure.store.sql.tables import FORMAT, metadata
from tenure.testing import ledgers as x
from tenure.testing.blocks_contract import BlocksContract
from tenure.testing.ledgers import START, Scribe
from tenure.testing.lives_contract import (
    ClosureContract,
    DueContract,
    HarvestContract,
    LabelsContract,
    RowsOfLivesContract,
)
from tenure.testing.moves_contract import MovesContract
from tenure.testing.past_contract import FiltersContract, PastContract, SeenContract
from tenure.testing.reads_contract import FactsContract, ReadsContract, ReplayContract
from tenure.testing.store_contract import LedgerContract, LoudContract, OpenStore, RowsContract
from tenure.testing.zones_contract import AlikeContract, BelowContract, JournalContract, ZonesContract
from tests.lab.postgres import Cluster
from tests.store.cut_proxy import CutProxy


@pytest.fixture(scope="module")
def one_database(postgres_cluster: Cluster) -> str:
    """One database for all tests of this file: making one takes longer than most of them."""
    return postgres_cluster.create_database()


@pytest.fixture
def postgres_url(one_database: str) -> str:
    """The database, empty again."""
    with psycopg.connect(one_database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return one_database


@pytest.fixture
def open_store(postgres_url: str) -> Iterator[OpenStore]:
    """Open it once more; all are closed afterwards. A test whose machine is busy may idle for a minute."""
    opened: list[Store] = []

    def open_(clock: Callable[[], datetime] = lambda: START, bound: float = 60.0) -> Store:
        opened.append(open_sql(postgres_url, clock, bound))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


class TestLedger(LedgerContract):
    """The contract."""


class TestLoud(LoudContract):
    """The contract."""


class TestRows(RowsContract):
    """The contract."""


class TestBlocks(BlocksContract):
    """The contract."""


class TestMoves(MovesContract):
    """The contract."""


class TestRowsOfLives(RowsOfLivesContract):
    """The contract."""


class TestClosure(ClosureContract):
    """The contract."""


class TestDue(DueContract):
    """The contract."""


class TestHarvest(HarvestContract):
    """The contract."""


class TestLabels(LabelsContract):
    """The contract."""


class TestFacts(FactsContract):
    """The contract."""


class TestReads(ReadsContract):
    """The contract."""


class TestPast(PastContract):
    """Who held what, and when."""


class TestSeen(SeenContract):
    """What was seen, and what is shelved."""


class TestZones(ZonesContract):
    """The contract."""


class TestAlike(AlikeContract):
    """The contract."""


class TestBelow(BelowContract):
    """The contract."""


class TestJournal(JournalContract):
    """The contract."""


class TestFilters(FiltersContract):
    """Lists by label."""


class TestReplay(ReplayContract):
    """The contract."""


@pytest.fixture
def scribe(open_store: OpenStore) -> Scribe:
    """Writes into a prepared store, behind one subnet."""
    store = open_store()
    store.prepare()
    made = Scribe(store)
    made.write(*x.SITE)
    return made


@pytest.fixture
def admin(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of the database's administrator."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


_BACKENDS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> %s"


def _end_backends(admin: psycopg.Connection[Any]) -> None:
    admin.execute(_BACKENDS, [admin.info.backend_pid])


def _event() -> e.Event:
    return e.LocationCreated(location=Location(x.ident(9), "r1", "rack"))


def test_the_servers_clock_decides(scribe: Scribe) -> None:
    with scribe.store.turn() as first:
        before = first.now
    with scribe.store.turn() as second:
        assert second.now > before
        assert second.now.tzinfo is UTC


def test_a_backend_lost_before_the_rows_means_nothing_was_written(
    scribe: Scribe, admin: psycopg.Connection[Any]
) -> None:
    with pytest.raises(StoreUnavailable), scribe.store.turn() as turn:
        batch = scribe.batch(3, [_event()])
        _end_backends(admin)
        turn.apply(batch)
    assert not scribe.store.committed(batch.id, 4)
    assert scribe.write(_event()).entries[0].sequence == 4


def test_a_backend_lost_at_commit_leaves_the_outcome_to_be_asked(
    scribe: Scribe, admin: psycopg.Connection[Any]
) -> None:
    with pytest.raises(OutcomeUnknown), scribe.store.turn() as turn:
        batch = scribe.batch(3, [_event()])
        turn.apply(batch)
        _end_backends(admin)
        turn.commit()
    assert not scribe.store.committed(batch.id, 4)
    assert scribe.store.committed(scribe.write(_event()).id, 4)


def test_the_outcome_of_a_commit_whose_answer_was_lost_is_found(scribe: Scribe, postgres_url: str) -> None:
    with CutProxy(postgres_url) as proxy:
        store = open_sql(proxy.url, lambda: START)
        with pytest.raises(OutcomeUnknown), store.turn() as turn:
            batch = scribe.batch(3, [_event()])
            turn.apply(batch)
            proxy.lose_answers()
            turn.commit()
        store.close()
    assert scribe.store.committed(batch.id, 4)
    assert scribe.store.head().sequence == 4


def test_a_server_that_went_away_is_unavailable(scribe: Scribe, postgres_url: str) -> None:
    with CutProxy(postgres_url) as proxy:
        store = open_sql(proxy.url, lambda: START)
        assert store.head().sequence == 3
    for ask in (store.head, lambda: store.committed("b", 4), lambda: Scribe(store).write(_event()), store.prepare):
        with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1"):
            ask()
    store.close()
    assert scribe.store.head().sequence == 3


def test_a_writer_that_idles_with_the_lock_is_stopped_by_the_server(scribe: Scribe, open_store: OpenStore) -> None:
    frozen = open_store(bound=0.2)
    with pytest.raises(StoreUnavailable), frozen.turn() as turn:
        scribe_of_other = Scribe(open_store(bound=5.0), "other")
        scribe_of_other.write(_event())
        turn.apply(scribe.batch(3, [_event()]))
    assert scribe.store.head().sequence == 4


def test_who_loads_a_snapshot_may_compute_for_longer_than_a_writer_may_idle(
    scribe: Scribe, open_store: OpenStore, admin: psycopg.Connection[Any]
) -> None:
    with open_store(bound=0.05).snapshot() as now:
        admin.execute("SELECT pg_sleep(0.2)")
        assert list(now.held(START)) == []


def test_a_writer_frozen_in_the_middle_of_a_copy_is_ended_by_the_next(
    scribe: Scribe, open_store: OpenStore, postgres_url: str
) -> None:
    """The server waits for its rows, is not idle, and times nothing out."""
    next_ = Scribe(open_store(bound=5.0), "next")
    with psycopg.connect(postgres_url) as frozen:
        frozen.execute("SET idle_in_transaction_session_timeout = 200")
        frozen.execute(f"SELECT pg_advisory_xact_lock({LOCK})")
        frozen.pgconn.send_query(b"COPY ledger FROM STDIN")
        with pytest.raises(StoreUnavailable, match="Another node has held the lock"):
            next_.write(_event())
        assert next_.write(_event()).entries[0].sequence == 4
        frozen.close()


def test_a_database_that_is_not_there_is_named_without_its_password(postgres_url: str) -> None:
    url = postgres_url.replace("postgres@", "postgres:secret@").rpartition("/")[0] + "/nowhere"
    with pytest.raises(StoreUnavailable, match=r"There is no database nowhere on 127\.0\.0\.1") as refused:
        open_sql(url, lambda: START).prepare()
    assert "secret" not in refused.value.message


def test_a_server_that_is_not_there_is_named_without_its_password() -> None:
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1, database d") as refused:
        open_sql("postgresql://u:secret@127.0.0.1:1/d", lambda: START).prepare()
    assert "secret" not in refused.value.message


def test_a_database_that_does_not_sync_is_refused(
    postgres_url: str, open_store: OpenStore, admin: psycopg.Connection[Any]
) -> None:
    name = postgres_url.rpartition("/")[2]
    admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    try:
        with pytest.raises(StoreUnavailable, match="synchronous_commit = off"):
            open_store().prepare()
    finally:
        admin.execute(f"ALTER DATABASE {name} RESET synchronous_commit")
    assert admin.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_a_newer_schema_is_refused_and_an_older_node_stops(scribe: Scribe, admin: psycopg.Connection[Any]) -> None:
    admin.execute("UPDATE meta SET value = %s WHERE name = 'format'", [str(FORMAT + 1)])
    with pytest.raises(StoreUnavailable, match="newer release"):
        scribe.store.prepare()
    with pytest.raises(StoreUnavailable, match=f"format {FORMAT + 1}"), scribe.store.turn():
        pass


def test_a_migrated_schema_is_the_one_that_the_tables_say(scribe: Scribe, postgres_url: str) -> None:
    db = Postgres(make_url(postgres_url))
    with db.engine.connect() as connection:
        context = MigrationContext.configure(connection)
        differences = [d for d in compare_metadata(context, metadata) if "alembic_version" not in str(d)]
    db.close()
    assert differences == []


def test_a_lone_surrogate_or_nul_is_refused_as_data(scribe: Scribe) -> None:
    bad = x.claim(1, handle="a\x00b")
    with pytest.raises(DataRefused):
        scribe.write(x.given(bad, x.allocation(2, bad, "10.0.0.5")))
    assert scribe.store.head().sequence == 3


def test_a_server_that_does_not_sync_its_files_is_refused() -> None:
    cluster = Cluster()
    try:
        cluster.start(fsync="off")
        url = cluster.create_database()
        store = open_sql(url, lambda: START)
        with pytest.raises(StoreUnavailable, match="fsync = off"):
            store.prepare()
        store.close()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)
    finally:
        cluster.remove()


def test_nothing_is_compiled(postgres_url: str) -> None:
    """A read of ten thousand keys looks costly to the server; to compile it takes longer than to run it."""
    db = Postgres(make_url(postgres_url))
    try:
        with db.writing() as connection:
            assert connection.exec_driver_sql("SHOW jit").scalar() == "off"
    finally:
        db.close()
