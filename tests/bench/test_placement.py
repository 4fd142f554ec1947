"""The measurement of decisions runs, short and without thresholds."""

import json
from typing import get_args

import pytest

from bench import placement
from tenure.model.policy import StrategyName


def test_a_short_run_gives_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    placement.main(["--scale", "0.01", "--json"])
    figures = {figure["name"]: figure for figure in json.loads(capfd.readouterr().out)["figures"]}
    plans = [f"{strategy}, {hosts:,} hosts: plans" for strategy in get_args(StrategyName) for hosts in placement.HOSTS]
    assert set(plans) <= figures.keys()
    assert {"topology: events, strategies and blocks alone", "topology: events, whole plans"} <= figures.keys()
    assert all(figure["met"] is None for figure in figures.values())
    assert all(figure["measured"] > 0 for figure in figures.values())
    assert [name for name in plans if figures[name].get("ratio") is None] == [name for name in plans if ", 10 " in name]
