"""The measurement of DNS runs, short and without thresholds."""

import json
import shutil

import pytest

from bench import dns_visible

pytestmark = pytest.mark.whole


def test_a_short_run_gives_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    if not all(map(shutil.which, ("named", "nsupdate"))):
        pytest.skip("needs named and nsupdate")
    dns_visible.main(["--scale", "0.005", "--json"])
    figures = json.loads(capfd.readouterr().out)["figures"]
    assert len(figures) == 4
    assert all(figure["met"] is None and figure["measured"] >= 0 for figure in figures)
