"""The measurement of routing tables runs, short and without thresholds."""

import json

import pytest

from bench import routes


def test_a_short_run_gives_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    routes.main(["--scale", "0.001", "--worlds", "2", "--json"])
    figures = json.loads(capfd.readouterr().out)["figures"]
    assert len(figures) == 2 * 2 * 4
    assert all(figure["met"] is None for figure in figures)
    assert all(figure["measured"] > 0 for figure in figures if "more than" not in figure["name"])
