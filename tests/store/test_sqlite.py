"""The store on SQLite: the contract, and what is its own."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from tenure.store.interface import Store
from tenure.store.sql import open_store as open_sql
from tenure.testing.ledgers import START
from tenure.testing.store_contract import LedgerContract, OpenStore, RowsContract


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the embedded store will be."""
    return tmp_path / "ledger.db"


@pytest.fixture
def open_store(path: Path) -> Iterator[OpenStore]:
    """Open it once more; all are closed afterwards."""
    opened: list[Store] = []

    def open_(clock: Callable[[], datetime] = lambda: START) -> Store:
        opened.append(open_sql(path, clock))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


class TestLedger(LedgerContract):
    """The contract."""


class TestRows(RowsContract):
    """The contract."""
