"""The first start: what is made, once, whoever comes first and wherever it is cut short."""

import asyncio
import hashlib
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenure.app.child import now
from tenure.app.ledger import SystemClock
from tenure.app.seed import seed
from tenure.service.witness import Witness
from tenure.service.writer import Writer
from tenure.store.interface import Store
from tenure.store.sql import open_store


@contextmanager
def node(database: Path, directory: Path) -> Iterator[tuple[Store, Writer]]:
    """A node's store and running writer."""
    directory.mkdir(exist_ok=True)
    store = open_store(database, now)
    store.prepare()
    writer = Writer(store, Witness(directory), SystemClock(), lambda committed: None)
    writer.start()
    try:
        yield store, writer
    finally:
        writer.stop()
        store.close()


def known(store: Store, secret: str) -> bool:
    return store.reads.token_by_digest(hashlib.sha256(secret.encode()).digest()) is not None


def test_of_two_first_starts_one_makes_the_administrator(tmp_path: Path) -> None:
    database = tmp_path / "tenure.sqlite"
    one, other = tmp_path / "one", tmp_path / "other"
    with node(database, one) as (store, first), node(database, other) as (_, second):

        async def both() -> None:
            await asyncio.gather(seed(first.submit, one), seed(second.submit, other))

        asyncio.run(both())
        (token,) = [path for path in (one / "admin-token", other / "admin-token") if path.exists()]
        assert stat.S_IMODE(token.stat().st_mode) == 0o600
        assert known(store, token.read_text().strip())
        assert len(store.reads.vrfs().items) == len(store.reads.tokens().items) == 1


def test_a_start_that_was_cut_short_before_the_ledger_knew_is_taken_up(tmp_path: Path) -> None:
    (tmp_path / "admin-token").write_text("tnr_left-by-a-crash\n")
    with node(tmp_path / "tenure.sqlite", tmp_path) as (store, writer):
        asyncio.run(seed(writer.submit, tmp_path))
        assert known(store, "tnr_left-by-a-crash")
    assert (tmp_path / "admin-token").read_text() == "tnr_left-by-a-crash\n"
