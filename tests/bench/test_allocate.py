"""The measurement runs, at a hundredth of its size and without thresholds."""

import json
from pathlib import Path

import pytest

from bench import allocate
from bench.figures import Figure


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_short_run_gives_every_figure(database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["--scale", "0.01", "--database", database, "--levels", "100000", "--directory", str(tmp_path), "--json"]
    allocate.main(words)
    told = json.loads(capfd.readouterr().out)
    figures = {figure["name"].partition(": ")[2]: figure for figure in told["figures"]}
    assert {f"writer, batches of {size:,}" for size in allocate.SIZES} <= figures.keys()
    assert {"HTTP, one by one, 32 clients", "HTTP, 1,000/s offered, p99", "HTTP, batches of 1,000"} <= figures.keys()
    assert {"start, until /readyz says 200", "start, memory of all processes"} <= figures.keys()
    assert figures["differences after replay of the ledger"]["measured"] == 0
    assert all(figure["met"] is None for figure in told["figures"])
    assert all(figure["measured"] > 0 for name, figure in figures.items() if "differences" not in name)


def test_a_figure_knows_whether_its_targets_are_met() -> None:
    assert Figure(name="rate", unit="/s", measured=11.0, least=10.0).met
    assert Figure(name="rate", unit="/s", measured=11.0, least=10.0, ratio=0.3, ratio_least=0.35).met is False
    assert Figure(name="time", unit="s", measured=11.0, most=10.0).met is False
    assert Figure(name="time", unit="s", measured=11.0).met is None
