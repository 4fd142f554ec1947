"""The measurement of queries runs, short and without thresholds."""

import json
import shutil

import pytest

from bench import dns_queries

pytestmark = pytest.mark.whole


def test_a_short_run_gives_every_figure(capfd: pytest.CaptureFixture[str]) -> None:
    if not all(map(shutil.which, ("named", "nsd", "dnsperf"))):
        pytest.skip("needs named, nsd and dnsperf")
    dns_queries.main(["--scale", "0.002", "--json"])
    there, absent = json.loads(capfd.readouterr().out)["figures"]
    assert there["met"] is None and there["measured"] > 0 and there["raw"] > 0
    for figure, code in ((there, "NOERROR"), (absent, "NXDOMAIN")):
        for codes in (figure["facts"]["codes"], figure["facts"]["nsd_codes"]):
            assert codes.startswith(code) and "(100.00%)" in codes
