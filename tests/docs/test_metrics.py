"""Every metric is documented, and every documented one exists."""

import re
from pathlib import Path

import pytest

from tenure.surfaces.dhcp.v4_desk import _NAMES, Desk
from tenure.surfaces.dns.notify import Notifier, Peer
from tenure.surfaces.dns.responder import OUTCOMES, Responder
from tenure.surfaces.dns.server import DnsServer
from tests.house.sources import PACKAGE, ROOT
from tests.whole.serving import Serving, soa, until

PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text()
DOCUMENTED = set(re.findall(r"`(tenure_\w+)`", PAGE))
SENT = {"offer", "ack", "nak"}


def _counted(pattern: str, *files: str) -> set[str]:
    """Names that are counted under literal keys in some files."""
    return {name for file in files for name in re.findall(pattern, (PACKAGE / "surfaces" / file).read_text())}


def _declared(of: type, attribute: str) -> set[str]:
    """The names that a class says it counts, in the part of its docstring about one attribute."""
    said = (
        re.split(rf"\b{attribute}: ", of.__doc__ or "")[1]
        .split("\n        from_memory")[0]
        .split("\n        limit:")[0]
    )
    return set(re.findall(r"`(\w+)`", said))


def _dns() -> set[str]:
    return set().union(*(_declared(each, "counters") for each in (DnsServer, Responder, Peer, Notifier)))


def _possible() -> set[str]:
    """The metrics of DNS and DHCP that can ever come."""
    dns = _dns() | set(OUTCOMES.values())
    dropped = _declared(Desk, "dropped")
    found = {f"dns_{name}" for name in dns} | {f"dhcp_dropped_{name}" for name in dropped}
    found |= {f"dhcp_received_{name}" for name in (*_NAMES, "other")}
    found |= {f"dhcp_sent_{name}" for name in SENT} | {"dhcp_from_memory"}
    gauges = _counted(r'"(dns_\w+)": (?:view|notifier|followers)', "../app/dns.py")
    return {f"tenure_{name}_total" for name in found} | {f"tenure_{name}" for name in gauges}


def test_what_is_counted_under_a_name_is_declared() -> None:
    assert _counted(r'dropped\["(\w+)"\]', "dhcp/v4_desk.py", "dhcp/server.py") - _declared(Desk, "dropped") == set()
    dns = _counted(r'counters\["(\w+)"', "dns/server.py", "dns/responder.py", "dns/notify.py", "dns/bugs.py")
    assert len(dns) > 10
    assert dns - _dns() == set()


@pytest.mark.whole
def test_what_a_service_counts_is_documented(tmp_path: Path) -> None:
    with Serving(tmp_path / "data") as serving, serving.client() as client:
        network = {"name": "prod", "domain": "prod.example.", "route_budget": 500}
        client.post("/v1/networks", json=network).raise_for_status()
        assert soa(serving.dns, "prod.example.")
        text = until(lambda: _with(client.get("/metrics").text, "tenure_dns_noerror_total"))
    shown = set(re.findall(r"^(tenure_\w+)", text, re.MULTILINE))
    assert shown - DOCUMENTED == set()
    assert {name for name in DOCUMENTED if not name.startswith(("tenure_dns", "tenure_dhcp"))} - shown == set()


def _with(text: str, name: str) -> str:
    return text if name in text else ""


def test_every_counter_of_dns_and_dhcp_is_documented_and_nothing_else() -> None:
    assert {name for name in DOCUMENTED if name.startswith(("tenure_dns", "tenure_dhcp"))} == _possible()
