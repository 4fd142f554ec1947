"""The measurement of the past runs, short and without thresholds."""

import json

import pytest

from bench import history


def test_a_short_run_gives_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    history.main(["--events", "4400", "--questions", "30", "--json"])
    figures = json.loads(capfd.readouterr().out)["figures"]
    assert len(figures) == 3
    assert all(figure["met"] is None and figure["measured"] > 0 for figure in figures)
    assert figures[0]["ratio"] > 0
