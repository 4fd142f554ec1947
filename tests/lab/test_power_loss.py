"""The forgetful disk: it keeps what was synced, loses the rest, and tells a careful SQLite from a careless one."""

import os
import random
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.lab.power_loss import Disk
from tests.lab.processes import Process

ROWS = 200

WRITER = f"""
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("PRAGMA synchronous = " + sys.argv[2])
connection.execute("CREATE TABLE kept (n INTEGER PRIMARY KEY)")
for n in range({ROWS}):
    connection.execute("INSERT INTO kept VALUES (?)", (n,))
print("committed", flush=True)
sys.stdin.close()
while True:
    connection.execute("SELECT 1")
"""


def _sync_folder(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _write(path: Path, data: bytes, *, sync: bool) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def _rows(path: Path) -> int:
    """How many rows are there; none if the table itself was lost."""
    connection = sqlite3.connect(path)
    try:
        tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'kept'").fetchone()[0]
        return int(connection.execute("SELECT count(*) FROM kept").fetchone()[0]) if tables else 0
    finally:
        connection.close()


def _rows_after_a_cut(disk: Disk, synchronous: str) -> int:
    database = disk.path / "ledger.db"
    with Process([sys.executable, "-c", WRITER, database, synchronous]) as writer:
        writer.wait_line("committed", 60)
        disk.cut()
    disk.mount()
    return _rows(database)


def test_sqlite_with_synchronous_full_keeps_every_row(power_loss_disk: Disk) -> None:
    assert _rows_after_a_cut(power_loss_disk, "FULL") == ROWS


def test_sqlite_with_synchronous_off_loses_rows(power_loss_disk: Disk) -> None:
    assert _rows_after_a_cut(power_loss_disk, "OFF") < ROWS


def test_bytes_and_names_are_kept_apart(power_loss_disk: Disk) -> None:
    root = power_loss_disk.path
    _write(root / "both", b"both", sync=True)
    _write(root / "name-only", b"lost", sync=False)
    _sync_folder(root)
    _write(root / "bytes-only", b"no name leads here", sync=True)
    power_loss_disk.cut()
    power_loss_disk.mount()
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"both": b"both", "name-only": b""}


def test_a_rename_is_kept_by_the_folder_alone(power_loss_disk: Disk) -> None:
    root = power_loss_disk.path
    _write(root / "old", b"1", sync=True)
    _sync_folder(root)
    (root / "old").rename(root / "new")
    power_loss_disk.cut()
    power_loss_disk.mount()
    assert [path.name for path in root.iterdir()] == ["old"]
    (root / "old").rename(root / "new")
    _sync_folder(root)
    power_loss_disk.cut()
    power_loss_disk.mount()
    assert [path.name for path in root.iterdir()] == ["new"]


def test_folders_and_truncation(power_loss_disk: Disk) -> None:
    folder = power_loss_disk.path / "folder"
    folder.mkdir()
    _write(folder / "file", b"0123456789", sync=True)
    _sync_folder(folder)
    _sync_folder(power_loss_disk.path)
    with (folder / "file").open("r+b") as file:
        file.truncate(4)
        os.fsync(file.fileno())
        file.truncate(2)
    power_loss_disk.cut()
    power_loss_disk.mount()
    assert (folder / "file").read_bytes() == b"0123"


@pytest.mark.parametrize("turn", range(5))
def test_synced_bytes_are_always_the_last_synced(power_loss_disk: Disk, seed: int, turn: int) -> None:
    rng = random.Random(seed + turn)
    file = power_loss_disk.path / "file"
    _write(file, b"", sync=True)
    _sync_folder(power_loss_disk.path)
    model = synced = bytearray()
    with file.open("r+b", buffering=0) as handle:
        for _ in range(60):
            offset, data = rng.randrange(5000), rng.randbytes(rng.randrange(1, 3000))
            match rng.choice(["write", "write", "truncate", "sync"]):
                case "write":
                    model = model.ljust(offset, b"\0")
                    model[offset : offset + len(data)] = data
                    handle.seek(offset)
                    handle.write(data)
                case "truncate":
                    model = model[:offset].ljust(offset, b"\0")
                    handle.truncate(offset)
                case _:
                    os.fsync(handle.fileno())
                    synced = bytearray(model)
        power_loss_disk.cut()
    power_loss_disk.mount()
    assert file.read_bytes() == bytes(synced), f"seed {seed}"
