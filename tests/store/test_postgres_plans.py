"""How much PostgreSQL reads for a batch of keys: counted by the server, and on tables that nobody analyzed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tenure.engine.facts import Facts
from tenure.model import events as e
from tenure.model.machines import Machine
from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.testing import ledgers as x
from tenure.testing.ledgers import START, Scribe

CLAIMS = 2_000
KEYS = 100
MACHINE = 10_000_000

_READ = """SELECT relname, seq_tup_read, (SELECT coalesce(sum(idx_tup_read), 0)::bigint
 FROM pg_stat_user_indexes i WHERE i.relid = t.relid) FROM pg_stat_user_tables t
 WHERE relname IN ('claims', 'allocations', 'machines')"""


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    """A site with claims, as quickly filled as the server has no statistics of it."""
    opened = open_store(postgres_url, lambda: datetime.now(UTC))
    opened.prepare()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for table in ("claims", "allocations", "machines"):
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    scribe = Scribe(opened)
    scribe.write(*x.SITE)
    machines = [Machine(x.ident(MACHINE + n), f"m{n}", state="deployed" if n % 2 else "ready") for n in range(CLAIMS)]
    scribe.write(*(e.MachineCreated(machine=machine) for machine in machines))
    claims = [x.claim(n, machine=machine.id, kept="life") for n, machine in enumerate(machines)]
    places = [f"10.0.{number // 250}.{number % 250 + 2}" for number in range(CLAIMS)]
    given = [
        x.given(claim, x.allocation(CLAIMS + n, claim, ip))
        for n, (claim, ip) in enumerate(zip(claims, places, strict=True))
    ]
    scribe.write(*given)
    yield opened
    opened.close()


def _read(url: str) -> dict[str, int]:
    with psycopg.connect(url) as connection:
        return {table: seq + idx for table, seq, idx in connection.execute(_READ)}


def _reads(store: Store, url: str, **wanted: Any) -> tuple[Facts, dict[str, int]]:
    """Facts, and how many entries of tables and indexes the server read for them."""
    store.close()  # a backend that ends says what it counted
    before = _read(url)
    again = open_store(url, lambda: datetime.now(UTC))
    facts = Scribe(again).facts(**wanted)
    again.close()
    after = _read(url)
    return facts, {table: after[table] - before[table] for table in after}


def test_the_handles_of_new_claims_are_looked_up_and_the_table_is_not_read_through(
    store: Store, postgres_url: str
) -> None:
    facts, read = _reads(store, postgres_url, handles={("default", f"new-{number}") for number in range(KEYS)})
    assert not facts.claims
    assert read["claims"] <= KEYS


def test_a_harvest_looks_at_those_that_it_takes_and_at_no_others(store: Store, postgres_url: str) -> None:
    harvest = {(x.NETWORK.id, START + timedelta(days=1), True, KEYS)}
    facts, read = _reads(store, postgres_url, harvest=harvest)
    assert len(facts.harvest[x.NETWORK.id]) == len(facts.machines) == len(facts.allocations) == KEYS
    assert max(read.values()) <= 4 * KEYS


def test_machines_and_what_they_hold_are_looked_up(store: Store, postgres_url: str) -> None:
    facts, read = _reads(store, postgres_url, machines={f"m{number}" for number in range(KEYS)})
    assert len(facts.machines) == len(facts.claims) == len(facts.allocations) == KEYS
    assert max(read.values()) <= 4 * KEYS
