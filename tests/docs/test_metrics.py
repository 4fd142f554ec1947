"""Every metric is documented, and every documented one exists."""

import re
from pathlib import Path

import pytest

from tenure.surfaces.dhcp.v4_desk import _NAMES
from tenure.surfaces.dns.server import _OUTCOMES
from tests.house.sources import PACKAGE, ROOT
from tests.whole.serving import Serving, soa, until

PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text()
DOCUMENTED = set(re.findall(r"`(tenure_\w+)`", PAGE))
SENT = {"offer", "ack", "nak"}


def _counted(pattern: str, *files: str) -> set[str]:
    """Names that are counted under literal keys in some files."""
    return {name for file in files for name in re.findall(pattern, (PACKAGE / "surfaces" / file).read_text())}


def _possible() -> set[str]:
    """The metrics of DNS and DHCP that can ever come."""
    dns = _counted(r'counters\["(\w+)"\]', "dns/server.py") | set(_OUTCOMES)
    gauges = _counted(r'"(dns_\w+)": view', "../app/dns.py")
    dropped = _counted(r'dropped\["(\w+)"\]', "dhcp/v4_desk.py", "dhcp/server.py")
    dropped |= _counted(r'(?:return|reason =|\[) ?"([a-z_]+)"', "dhcp/v4_desk.py")
    dropped |= _counted(r'else "([a-z_]+)"', "dhcp/v4_desk.py")
    received = {f"dhcp_received_{name}" for name in (*_NAMES, "other")}
    found = {f"dns_{name}" for name in dns} | {f"dhcp_dropped_{name}" for name in dropped - {"other"}}
    found |= received | {f"dhcp_sent_{name}" for name in SENT} | {"dhcp_from_memory"}
    return {f"tenure_{name}_total" for name in found} | {f"tenure_{name}" for name in gauges}


@pytest.mark.whole
def test_what_a_service_counts_is_documented(tmp_path: Path) -> None:
    with Serving(tmp_path / "data") as serving, serving.client() as client:
        client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
        assert soa(serving.dns, "prod.example.")
        text = until(lambda: _with(client.get("/metrics").text, "tenure_dns_noerror_total"))
    shown = set(re.findall(r"^(tenure_\w+)", text, re.MULTILINE))
    assert shown - DOCUMENTED == set()
    assert {name for name in DOCUMENTED if not name.startswith(("tenure_dns", "tenure_dhcp"))} - shown == set()


def _with(text: str, name: str) -> str:
    return text if name in text else ""


def test_every_counter_of_dns_and_dhcp_is_documented_and_nothing_else() -> None:
    assert {name for name in DOCUMENTED if name.startswith(("tenure_dns", "tenure_dhcp"))} == _possible()
