"""The store on SQLite: the contract, and what is its own."""

import multiprocessing
import resource
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event

from tenure.engine.facts import Wanted
from tenure.errors import OutcomeUnknown, StoreUnavailable
from tenure.model import events as e
from tenure.model.machines import Machine
from tenure.model.placement import Block
from tenure.model.topology import Location
from tenure.store.interface import DataRefused, Store
from tenure.store.sql import open_store as open_sql
from tenure.store.sql.connect import Sqlite
from tenure.store.sql.facts import Reading
from tenure.store.sql.rows import micros, time_of
from tenure.store.sql.store import SqlStore
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the embedded store will be."""
    return tmp_path / "ledger.db"


@pytest.fixture
def open_store(path: Path) -> Iterator[OpenStore]:
    """Open it once more; all are closed afterwards."""
    opened: list[Store] = []

    def open_(clock: Callable[[], datetime] = lambda: START, bound: float = 5.0) -> Store:
        opened.append(open_sql(path, clock, bound))
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


def test_a_migrated_schema_is_the_one_that_the_tables_say(open_store: OpenStore, path: Path) -> None:
    open_store().prepare()
    made = create_engine("sqlite://")
    metadata.create_all(made)
    statement = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'alembic%' AND sql IS NOT NULL"
    with made.connect() as connection, sqlite3.connect(path) as file:
        expected = {row[1]: _plain(row[3]) for row in connection.exec_driver_sql(statement)}
        found = {row[1]: _plain(row[3]) for row in file.execute(statement) if "alembic" not in row[2]}
    file.close()
    assert found == expected


def _plain(statement: str) -> str | list[str]:
    """A statement without its spelling; of a table, the parts in any order: a migration appends columns."""
    plain = " ".join(statement.replace('"', "").replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split())
    if not plain.startswith("CREATE TABLE"):
        return plain
    head, _, parts = plain.removesuffix(" )").partition(" ( ")
    return [head, *sorted(parts.split(" , "))]


def test_every_commit_is_synced(open_store: OpenStore, path: Path) -> None:
    open_store().prepare()
    with Sqlite(path, lambda: START).engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_the_clock_is_the_nodes(open_store: OpenStore) -> None:
    store = open_store(lambda: START)
    store.prepare()
    with store.turn() as turn:
        assert turn.now == START


def test_a_newer_schema_is_refused_and_left_alone(open_store: OpenStore, path: Path) -> None:
    open_store().prepare()
    _set_format(path, FORMAT + 1)
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="newer release"):
        open_store().prepare()
    assert path.read_bytes() == before


def test_a_node_of_an_older_release_stops_writing(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    store.prepare()
    _set_format(path, FORMAT + 1)
    with pytest.raises(StoreUnavailable, match=f"format {FORMAT + 1}"), store.turn():
        pass


def _set_format(path: Path, number: int) -> None:
    file = sqlite3.connect(path)
    with file:
        file.execute("UPDATE meta SET value = ? WHERE name = 'format'", [str(number)])
    file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file.close()


def test_a_directory_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no directory"):
        open_sql(tmp_path / "no" / "ledger.db", lambda: START).prepare()


def test_a_file_that_is_no_database_is_said(open_store: OpenStore, path: Path) -> None:
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreUnavailable, match=r"ledger\.db"):
        open_store().prepare()


def test_another_kind_of_database_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="mysql"):
        open_sql("mysql://here/tenure", lambda: START)


def test_a_lock_held_too_long_is_unavailable(open_store: OpenStore) -> None:
    store, other = open_store(), open_store(bound=0.05)
    store.prepare()
    with store.turn(), pytest.raises(StoreUnavailable, match="locked"), other.turn():
        pass


@contextmanager
def no_file_grows_beyond(size: int) -> Iterator[None]:
    """The kernel refuses to write past it, as a full disk does (Python ignores the signal)."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_commit_that_cannot_be_written_has_an_unknown_outcome(open_store: OpenStore, path: Path) -> None:
    scribe = Scribe(open_store())
    scribe.store.prepare()
    scribe.write(*x.SITE)
    place = e.LocationCreated(location=Location(x.ident(9), "r1", "rack"))
    with pytest.raises(OutcomeUnknown), scribe.store.turn() as turn:
        batch = scribe.batch(3, [place])
        turn.apply(batch)
        with no_file_grows_beyond(path.with_name("ledger.db-wal").stat().st_size):
            turn.commit()
    assert not scribe.store.committed(batch.id, batch.entries[0].sequence)
    assert scribe.write(place).entries[0].sequence == 4


def test_closed_rows_stay(open_store: OpenStore, path: Path) -> None:
    store = open_store()
    store.prepare()
    scribe, one = Scribe(store), x.claim(1)
    held = x.allocation(11, one, "10.0.0.5")
    scribe.write(*x.SITE, *x.machine(10, "vm", "52:54:00:00:00:01"), x.given(one, held, x.ident(11)))
    block = Block(x.SUBNET.id, "10.0.0.0/28", "host")
    scribe.write(e.BlockOwned(block=block))
    scribe.write(
        x.taken(x.released(one), held, port=x.ident(11)),
        e.BlockSurrendered(block=block),
        e.SubnetDeleted(subnet=x.SUBNET),
        e.NetworkDeleted(network=x.NETWORK),
        e.VrfDeleted(vrf=x.VRF),
        e.MachineDeleted(machine=Machine(x.ident(10), "vm")),
    )
    tables = ("vrfs", "networks", "subnets", "machines", "blocks", "claims", "allocations", "attachments")
    file = sqlite3.connect(path)
    counts = {name: file.execute(f"SELECT count(*), count(until) FROM {name}").fetchone() for name in tables}
    file.close()
    assert set(counts.values()) == {(1, 1)}


@pytest.mark.parametrize("many", [1, 400])
def test_facts_take_a_bounded_number_of_statements(path: Path, open_store: OpenStore, many: int) -> None:
    scribe = Scribe(open_store())
    scribe.store.prepare()
    events: list[e.Event] = []
    for n in range(many):
        one = x.claim(n)
        events += x.machine(10_000 + 2 * n, f"m{n}", f"52:54:00:00:{n // 256:02x}:{n % 256:02x}")
        events.append(x.given(one, x.allocation(n, one, f"10.0.{n // 200}.{n % 200}"), x.ident(10_001 + 2 * n)))
    scribe.write(*events)
    wanted = Wanted(
        handles={("default", f"h-{n}") for n in range(many)},
        machines={f"m{n}" for n in range(many)},
        addresses={(x.VRF.id, f"10.0.{n // 200}.{n % 200}") for n in range(many)},
    )
    file = sqlite3.connect(path)
    file.create_function("unhex", 1, bytes.fromhex)
    statements: list[str] = []
    file.set_trace_callback(statements.append)
    facts = Reading(Sqlite(path, lambda: START), file, START).read(wanted)
    file.close()
    assert len(facts.claims) == len(facts.attached) == many
    assert len(statements) <= 16


def test_every_read_by_key_uses_an_index(path: Path, open_store: OpenStore) -> None:
    open_store().prepare()
    db = Planner(path, lambda: START)
    with db.engine.connect() as connection:
        wanted = Wanted(
            handles={("default", "h")}, claims={"c"}, hostnames={"n"}, addresses={(x.VRF.id, "10.0.0.1")},
            macs={"52:54:00:00:00:01"}, machines={"m"}, tokens={"t"}, expired=5, settling=5, expiring=5, naming=5,
            interfaces={"i"}, hosts={"h"}, last={("dhcp", "h")}, observed={(x.VRF.id, "10.0.0.2")}, queued={("n", 0)},
            harvest={("n", START, True, 5)}, renumbering={("s", False, START, 5)},
            holders={("network", "n", "", ""), ("machine", "m", "", ""), ("location", "l", "", ""),
                     ("subnet", "s", "", ""), ("below", "v", "prod.example.", "lab")},
        )  # fmt: skip
        Reading(db, connection.connection.driver_connection, START).read(wanted)
    assert len(db.steps) > 20
    whole = {f"SCAN {alias}" for alias in ("c", "a", "x", "i", "m", "t", "o", "l", "n")}
    assert whole.isdisjoint(db.steps)
    assert "SEARCH c USING INDEX claims_idle (network=? AND idle>? AND idle<?)" in db.steps
    assert "SEARCH a USING INDEX allocations_dotted (hostname>?)" in db.steps, "few host names have dots"


def test_names_like_a_templates_are_looked_for_through_an_index(path: Path, open_store: OpenStore) -> None:
    store = open_store()
    store.prepare()
    Scribe(store).write(*x.SITE)
    db = Planner(path, lambda: START)
    with db.engine.connect() as connection:
        raw = connection.connection.driver_connection
        for before in ("ip-", ""):
            Reading(db, raw, START).read(Wanted(alike={(x.VRF.id, "prod.example.", before, ".dyn")}))
    begins, anything = (step for step in db.steps if step.startswith(("SEARCH a ", "SCAN a")))
    assert begins == "SEARCH a USING INDEX allocations_hostname (hostname>? AND hostname<?)"
    assert anything == "SEARCH a USING INDEX allocations_subnet (subnet=?)"


def test_a_serial_is_looked_for_through_an_index(path: Path, open_store: OpenStore) -> None:
    store = open_store()
    store.prepare()
    asked: list[tuple[str, Any]] = []
    db = Sqlite(path, lambda: START)
    event.listen(db.engine, "before_cursor_execute", lambda *said: asked.append((said[2], said[3])))
    SqlStore(db).reads.changes_since("z", 7)
    db.close()
    statement, parameters = next(each for each in asked if "zone_changes" in each[0])
    with sqlite3.connect(path) as file:
        steps = [row[3] for row in file.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    file.close()
    assert "SEARCH zone_changes USING COVERING INDEX zone_changes_serial (zone=? AND serial=?)" in steps
    assert not any(step.startswith("SCAN zone_changes") for step in steps)


class Planner(Sqlite):
    """Asks for the plan of each statement, beside its rows."""

    def __init__(self, path: Path, clock: Callable[[], datetime]) -> None:
        super().__init__(path, clock)
        self.steps: list[str] = []

    def fetch(self, raw: sqlite3.Connection, text: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows; the plan goes into `steps`."""
        self.steps += [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
        return super().fetch(raw, text, parameters)

    def stream(self, raw: sqlite3.Connection, text: str, parameters: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The same for those that may be many."""
        self.steps += [row[3] for row in raw.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
        return super().stream(raw, text, parameters)


def test_writers_in_processes_of_their_own_leave_no_gap(path: Path, open_store: OpenStore) -> None:
    store = open_store()
    store.prepare()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_places, args=(path, n, 20)) for n in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert [entry.sequence for entry in store.entries(0, 1000)] == list(range(1, 41))


def write_places(path: Path, n: int, many: int) -> None:
    """What each of the processes does."""
    scribe = Scribe(open_sql(path, lambda: START), f"w{n}-")
    for i in range(many):
        scribe.write(e.LocationCreated(location=Location(f"{n:010x}{i:010x}", f"p-{n}-{i}", "rack")))
    scribe.store.close()


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-23:00", "0001-01-01T00:00:00+23:00"])
def test_a_time_that_could_not_be_read_again_is_not_written(text: str) -> None:
    time = datetime.fromisoformat(text)
    with pytest.raises(DataRefused):
        micros(time)
    inner = time.replace(tzinfo=UTC)
    assert time_of(micros(inner)) == inner
