"""The measurement of machines runs, short and without thresholds."""

import json

import pytest

from bench import machines


def test_a_short_run_gives_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    machines.main(["--scale", "0.005", "--json"])
    figures = json.loads(capfd.readouterr().out)["figures"]
    assert len(figures) == 3
    assert all(figure["met"] is None and figure["measured"] > 0 for figure in figures)
