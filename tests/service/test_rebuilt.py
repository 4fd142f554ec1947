"""The tables are views of the ledger: written again from it, into a store that is empty, they are the same rows."""

import random
import sqlite3
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tenure.engine.images import Image, Key, images, net
from tenure.model import uses as u
from tenure.model.answers import Holding, Made
from tenure.model.events import Entry
from tenure.service.replay import differences
from tenure.store.interface import Batch
from tenure.store.sql.store import open_store
from tests.service.world import Node, World, claim, submission

_OTHERWISE = {
    "zones": ("serial", "body"),  # a serial moves by zone changes, which are computed and not in the ledger
    "tokens": ("digest",),  # secrets are not in the ledger
    "tsig_keys": ("sealed",),
    "blocks": ("number",),
}
_SHARED = ("records", "tsig_keys", "secondaries")
_CHANGED = """UPDATE {} SET body = replace(body, '"revision":', '"revision":1')"""
_ALONE = ("ledger", "zone_changes", "idempotency", "duties", "meta", "alembic_version")


class _Past:
    """The clock of whoever writes the ledger again: it shows when each batch was written."""

    def __init__(self) -> None:
        self.time: datetime

    def now(self) -> datetime:
        return self.time


def _written_again(entries: list[Entry], directory: Path) -> Path:
    """A store that got the ledger's batches one by one, through the engine's images alone."""
    clock = _Past()
    clock.time = entries[0].time
    path = directory / "again.db"
    store = open_store(path, clock.now)
    store.prepare()
    for _, group in groupby(entries, lambda entry: entry.batch):
        batch = list(group)
        clock.time = batch[0].time
        rows: dict[tuple[str, Key], Image] = {}
        for image in (image for entry in batch for image in images(entry.event)):
            net(rows, image)
        secrets = {key[0]: key[0].encode() for _, key in rows}
        with store.turn() as turn:
            turn.apply(Batch(batch[0].batch, batch, list(rows.values()), digests=secrets, sealed=secrets))
            turn.commit()
    store.close()
    return path


def _tables(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables that the ledger says everything of."""
    with sqlite3.connect(path) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = {}
        for name in sorted(set(names) - {*_ALONE}):
            if name.startswith("sqlite_"):
                continue
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            kept = ", ".join(column for column in columns if column not in _OTHERWISE.get(name, ()))
            tables[name] = sorted(connection.execute(f"SELECT {kept} FROM {name}").fetchall(), key=repr)
    connection.close()
    return tables


def _live(node: Node, rng: random.Random, steps: int) -> None:
    """Inventory comes, changes and goes; claims are made, moved and released, several in a turn."""
    held: list[Holding] = []
    for n in range(steps):
        node.world.clock.pause(rng.randrange(120))
        asked = [submission(use) for use in _uses(node, rng, n, held)]
        held += [
            each.answer for each in node.replies(*asked) if isinstance(each.answer, Holding) and each.answer.created
        ]


def _zone_uses(rng: random.Random, n: int, made: list[str]) -> Iterator[u.Use]:
    """Records come, change and go; keys and secondaries, too."""
    yield u.CreateRecord(zone="prod.example.", name=f"r{n}", type="TXT", data=f'"{n}"')
    if made:
        one = made.pop(rng.randrange(len(made)))
        yield rng.choice((u.DeleteRecord(record=one), u.ChangeRecord(record=one, changes={"ttl": n})))
    yield u.CreateRecord(zone="prod.example.", name=f"r{n}", type="MX", data=f"10 r{n // 2}")
    yield u.CreateTsigKey(name=f"k{n}.example.", algorithm="hmac-sha256", sealed=b"sealed")
    fields: dict[str, object] = {"address": f"192.0.2.{n}", "key": f"k{n}.example."}
    yield u.CreateSecondary(name=f"ns{n}", fields=fields)
    match n % 3:
        case 0:
            yield u.DeleteSecondary(secondary=f"ns{n}")
            yield u.DeleteTsigKey(key=f"k{n}.example.")
        case 1:
            yield u.ChangeSecondary(secondary=f"ns{n}", changes={"notify": False})


def _share(node: Node, rng: random.Random, steps: int) -> None:
    """What people make in zones, and who replicates them, comes, changes and goes."""
    made: list[str] = []
    for n in range(steps):
        for use in _zone_uses(rng, n, made):
            answer = node.ok(use)
            if isinstance(answer, Made) and answer.record is not None:
                made.append(answer.record.id)


def _uses(node: Node, rng: random.Random, n: int, held: list[Holding]) -> Iterator[u.Use]:
    for k in range(rng.randrange(1, 6)):
        match rng.randrange(8):
            case 0:
                port = u.NewInterface(mac=f"52:54:00:00:{n:02x}:{k:02x}")
                yield u.CreateMachine(name=f"m-{n}-{k}", interfaces=(port,))
            case 1:
                address = f"10.0.3.{200 + n % 50}"
                yield u.CreateRange(subnet="10.0.3.0/24", start=address, end=address, role="reserved")
            case 2:
                yield u.ChangeNetwork(network="prod", changes={"ttl": n + 1, "cooldown": rng.choice((0, 60, 600))})
            case 3 | 4 if held:
                yield u.ReleaseClaim(claim=held.pop(rng.randrange(len(held))).claim.id)
            case 5:
                yield claim(f"w-{n}-{k}", defer=True)
            case _:
                mac = rng.choice((None, f"52:54:00:00:{rng.randrange(n + 1):02x}:{rng.randrange(3):02x}"))
                yield claim(f"h-{n}-{k}", hostname=rng.choice((None, f"vm-{n}-{k}")), mac=mac)


def test_a_ledger_written_again_into_an_empty_store_gives_the_same_rows(
    tmp_path: Path, rng: random.Random, seed: int
) -> None:
    world = World(tmp_path, seed)
    node = world.site()
    _live(node, rng, 60)
    _share(node, rng, 12)
    entries = node.store.entries(0, 10_000)
    assert entries[-1].sequence == node.sequence
    world.close()
    (tmp_path / "again").mkdir()
    before, after = _tables(Path(world.file)), _tables(_written_again(entries, tmp_path / "again"))
    assert before.keys() == after.keys()
    for name, rows in before.items():
        assert rows == after[name], name
    for name in ("claims", "allocations", "blocks", "machines", "attachments", "ranges", "zones", *_SHARED):
        assert before[name], f"nothing in {name}"


@pytest.mark.parametrize("table", _SHARED)
@pytest.mark.parametrize("damage", ["DELETE FROM {}", "UPDATE {} SET until = 0", _CHANGED])
def test_what_the_ledger_does_not_say_is_told(
    tmp_path: Path, rng: random.Random, seed: int, table: str, damage: str
) -> None:
    world = World(tmp_path, seed)
    node = world.site()
    _share(node, rng, 3)
    node.check()
    with sqlite3.connect(world.file) as file:
        file.execute(damage.format(table))
    file.close()
    assert any(sentence.startswith(table) for sentence in differences(node.store))
    world.close()
