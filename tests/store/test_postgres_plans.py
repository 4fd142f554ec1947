"""How much PostgreSQL reads for a batch of keys: counted by the server, and on tables that nobody analyzed."""

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest

from tenure.store.interface import Store
from tenure.store.sql import open_store
from tenure.testing import ledgers as x
from tenure.testing.ledgers import Scribe

CLAIMS = 2_000
KEYS = 100

_READ = """SELECT relname, seq_tup_read, (SELECT coalesce(sum(idx_tup_read), 0)::bigint
 FROM pg_stat_user_indexes i WHERE i.relid = t.relid) FROM pg_stat_user_tables t
 WHERE relname IN ('claims', 'allocations')"""


@pytest.fixture
def store(postgres_url: str) -> Iterator[Store]:
    """A site with claims, as quickly filled as the server has no statistics of it."""
    opened = open_store(postgres_url, lambda: datetime.now(UTC))
    opened.prepare()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for table in ("claims", "allocations"):
            connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    scribe = Scribe(opened)
    scribe.write(*x.SITE)
    claims = [x.claim(number) for number in range(CLAIMS)]
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


def test_the_handles_of_new_claims_are_looked_up_and_the_table_is_not_read_through(
    store: Store, postgres_url: str
) -> None:
    store.close()  # a backend that ends says what it counted
    before = _read(postgres_url)
    again = open_store(postgres_url, lambda: datetime.now(UTC))
    facts = Scribe(again).facts(handles={("default", f"new-{number}") for number in range(KEYS)})
    again.close()
    assert not facts.claims
    after = _read(postgres_url)
    assert after["claims"] - before["claims"] <= KEYS
