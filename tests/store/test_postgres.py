"""The store on PostgreSQL: the contract, and what is its own."""

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from tenure.store.interface import Store
from tenure.store.sql import open_store as open_sql
from tenure.testing.ledgers import START
from tenure.testing.store_contract import LedgerContract, OpenStore, RowsContract


@pytest.fixture
def open_store(postgres_url: str) -> Iterator[OpenStore]:
    """Open it once more; all are closed afterwards."""
    opened: list[Store] = []

    def open_(clock: Callable[[], datetime] = lambda: START, bound: float = 5.0) -> Store:
        opened.append(open_sql(postgres_url, clock, bound))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


class TestLedger(LedgerContract):
    """The contract."""


class TestRows(RowsContract):
    """The contract."""
