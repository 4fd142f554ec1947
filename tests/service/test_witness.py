"""What a node remembers beside the ledger."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure.service.witness import Witness
from tenure.store.interface import Head

TIME = datetime(2026, 1, 1, tzinfo=UTC)


def head(sequence: int, epoch: str = "e") -> Head:
    return Head(epoch, sequence, f"batch-{sequence}", TIME)


def reopened(directory: Path) -> Witness:
    """As the next start reads it, whether or not this one was closed."""
    return Witness(directory)


def test_new_directory_has_none(tmp_path: Path) -> None:
    with Witness(tmp_path) as witness:
        assert (witness.head, witness.serials) == (None, {})


def test_head_is_there_without_close(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    for sequence in range(1, 6):
        witness.note(head(sequence))
        assert reopened(tmp_path).head == head(sequence)


def test_latest_wins_though_its_sequence_is_lower(tmp_path: Path) -> None:
    with Witness(tmp_path) as witness:
        witness.note(head(500))
        witness.note(head(20, "next"))
    with reopened(tmp_path) as witness:
        assert witness.head == head(20, "next")
        witness.note(head(21, "next"))
    assert reopened(tmp_path).head == head(21, "next")


@pytest.mark.parametrize("torn_at", [0, 3, 5, 6, 40, 90])
def test_torn_slot_leaves_the_one_before(tmp_path: Path, torn_at: int) -> None:
    with Witness(tmp_path) as witness:
        witness.note(head(1))
        before = (tmp_path / "witness").read_bytes()
        witness.note(head(2))
    after = bytearray((tmp_path / "witness").read_bytes())
    changed = [at for at, (old, new) in enumerate(zip(before.ljust(512, b"\0"), after, strict=False)) if old != new]
    after[changed[0] - changed[0] % 256 + torn_at] ^= 0xFF
    (tmp_path / "witness").write_bytes(after)
    assert reopened(tmp_path).head == head(1)


def test_rubbish_is_none(tmp_path: Path) -> None:
    (tmp_path / "witness").write_bytes(bytes(range(256)) * 2)
    (tmp_path / "witness.serials").write_bytes(b"\0\1\2")
    with Witness(tmp_path) as witness:
        assert (witness.head, witness.serials) == (None, {})


def test_serials_only_grow_on_their_circle(tmp_path: Path) -> None:
    with Witness(tmp_path) as witness:
        for serial in (5, 3, 7, 2**32 - 1):
            witness.saw("v/a.", serial)
        assert witness.serials == {"v/a.": 7}
        witness.saw("v/a.", 2**31 + 6)
        witness.saw("v/a.", 3)
        assert witness.serials == {"v/a.": 3}
    assert reopened(tmp_path).serials == {"v/a.": 3}


def test_serials_are_saved_once_a_second(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    for now, serial in ((10.0, 1), (10.5, 2), (10.9, 3)):
        witness.saw("v/a.", serial)
        witness.save(now)
    assert reopened(tmp_path).serials == {"v/a.": 1}
    witness.save(11.0)
    assert reopened(tmp_path).serials == {"v/a.": 3}


def test_a_directory_that_takes_nothing_stops_nobody(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    (tmp_path / "witness.new").mkdir()
    witness.saw("v/a.", 1)
    witness.save(10.0)
    assert "takes nothing" in witness.trouble
    (tmp_path / "witness.new").rmdir()
    witness.save(12.0)
    assert (witness.trouble, reopened(tmp_path).serials) == ("", {"v/a.": 1})
