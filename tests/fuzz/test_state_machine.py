"""The service beside a plain dictionary, as in `make test`, for as long as there is."""

from pathlib import Path

import pytest

from tests.fuzz.rounds import Rounds
from tests.service.test_state_machine import OnSqlite, walk

pytestmark = [pytest.mark.fuzz, pytest.mark.long]

EXAMPLES = 1


def test_state_machine_on_sqlite(rounds: Rounds, tmp_path: Path) -> None:
    def one_round(start: int) -> None:
        OnSqlite.directory, OnSqlite.number = tmp_path, start
        walk(OnSqlite, start, least=1, examples=EXAMPLES)

    rounds.each(one_round)
