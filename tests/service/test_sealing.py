"""Sealed secrets: who has the file can open them, nobody else."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenure.errors import NotPermitted
from tenure.service.sealing import SECRET_KEY, Sealer


def test_what_is_sealed_is_opened_by_the_next_process(tmp_path: Path) -> None:
    sealed = Sealer.open_or_make(tmp_path).seal(b"secret")
    assert b"secret" not in sealed
    assert Sealer.open_or_make(tmp_path).open(sealed) == b"secret"
    assert stat.S_IMODE((tmp_path / SECRET_KEY).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [SECRET_KEY]


def test_another_nodes_secret_says_which_file_to_copy(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    sealed = Sealer.open_or_make(tmp_path / "a").seal(b"secret")
    other = Sealer.open_or_make(tmp_path / "b")
    for wrong in (sealed, sealed[:-1], b"", b"\xff"):
        with pytest.raises(NotPermitted, match="copy that file from the node that made the secret"):
            other.open(wrong)
    (tmp_path / "b" / SECRET_KEY).write_bytes((tmp_path / "a" / SECRET_KEY).read_bytes())
    assert Sealer.open_or_make(tmp_path / "b").open(sealed) == b"secret"


def test_processes_that_come_at_once_have_one_key(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(Sealer.open_or_make, [tmp_path] * 64))
    assert {made[0].open(each.seal(b"x")) for each in made} == {b"x"}
    assert len(list(tmp_path.iterdir())) == 1


def test_others_lose_their_rights_on_the_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sealed = Sealer.open_or_make(tmp_path).seal(b"secret")
    for before, after, logged in ((0o644, 0o600, 1), (0o400, 0o400, 1), (0o640, 0o600, 2)):
        (tmp_path / SECRET_KEY).chmod(before)
        assert Sealer.existing(tmp_path).open(sealed) == b"secret"
        assert stat.S_IMODE((tmp_path / SECRET_KEY).stat().st_mode) == after
        assert len(caplog.records) == logged


def test_a_file_that_is_missing_is_not_made_for_what_is_sealed(tmp_path: Path) -> None:
    with pytest.raises(NotPermitted, match="is missing: put the file back, or delete the TSIG keys"):
        Sealer.existing(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / SECRET_KEY).write_text("no key")
    with pytest.raises(NotPermitted, match="is no key"):
        Sealer.open_or_make(tmp_path)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotPermitted, match="cannot be used"):
        Sealer.open_or_make(tmp_path / "none")
