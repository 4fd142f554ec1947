"""The API: the random requests of its own tests, round after round; each answer is checked against the document."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import strategies as st

from tests.fuzz.rounds import Rounds, explore
from tests.surfaces.api import test_fuzz
from tests.surfaces.api.site import Site

pytestmark = [pytest.mark.fuzz, pytest.mark.long]

CHECKS = {"bodies": test_fuzz.test_no_body_meets_a_bug, "queries": test_fuzz.test_no_query_meets_a_bug}


@pytest.mark.parametrize("what", CHECKS)
def test_api_answers_are_documented(rounds: Rounds, tmp_path: Path, what: str) -> None:
    check = CHECKS[what].hypothesis.inner_test  # type: ignore[attr-defined]

    def one_round(start: int) -> None:
        with TemporaryDirectory(dir=tmp_path) as directory:
            site = Site(Path(directory))
            site.furnish()
            explore(lambda data: check(site, data), st.data(), start=start, number=40)
            site.close()

    rounds.each(one_round)
