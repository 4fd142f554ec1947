"""A secondary that signs what it replicates (BIND, inline-signing), and a validator that believes it."""

import random
import re
import shutil
import subprocess
from pathlib import Path

import dns.exception
import dns.query
import pytest

from tests.lab.processes import free_port
from tests.lab.secondaries import At, Bind, Feed
from tests.whole.replicated import DOMAIN, Site
from tests.whole.serving import Serving, until

pytestmark = pytest.mark.whole

_SIGNER = "127.0.0.1"
_SIGNED = "inline-signing yes; dnssec-policy default;"


def test_names_validate_through_a_secondary_that_signs(tmp_path: Path, rng: random.Random) -> None:
    if not all(map(shutil.which, ("named", "delv"))):
        pytest.skip("needs named and delv")
    with Serving(tmp_path / "data") as serving, serving.client() as client:
        site = Site(client, rng)
        site.build()
        site.happen(200, templates=False)
        at = At(_SIGNER, free_port())
        site.ask(
            "POST", "/v1/secondaries", {"name": "signer", "address": at.address, "port": at.port, "unsigned": True}
        )
        feed = Feed(At(*serving.dns), zones=(DOMAIN,))
        with Bind(tmp_path / "bind", at, feed, each=_SIGNED) as signer:
            signer.start()
            until(lambda: _signed(at, DOMAIN), 60)
            anchors = _anchors(at, tmp_path)
            _validated(at, anchors, "ns." + DOMAIN, "A")
            site.happen(200, templates=False)
            claim = {"network": "prod", "handle": "late", "hostname": "late-one", "family": "v4"}
            made = site.ask("POST", "/v1/claims", claim)
            until(lambda: made["addresses"][0]["ip"] in _delv(at, anchors, "late-one." + DOMAIN, "A"), 60)
            _validated(at, anchors, "late-one." + DOMAIN, "A")
            denied = _delv(at, anchors, "nobody." + DOMAIN, "A")
            assert re.search(r"negative response, fully validated", denied), denied


def _signed(at: At, zone: str) -> bool:
    query = dns.message.make_query(zone, "DNSKEY", want_dnssec=True)
    try:
        answer = dns.query.tcp(query, at.address, 5, at.port)
    except (OSError, dns.exception.DNSException):
        return False
    return len(answer.answer) == 2  # the keys, and their signature


def _anchors(at: At, directory: Path) -> Path:
    """The signer's key as a trust anchor."""
    answer = dns.query.tcp(dns.message.make_query(DOMAIN, "DNSKEY"), at.address, 5, at.port)
    lines = []
    for key in answer.answer[0]:
        flags, protocol, algorithm, *data = key.to_text().split()
        lines.append(f'"{DOMAIN}" static-key {flags} {protocol} {algorithm} "{"".join(data)}";')
    file = directory / "anchors"
    file.write_text("trust-anchors { " + " ".join(lines) + " };\n")
    return file


def _validated(at: At, anchors: Path, name: str, kind: str) -> None:
    said = _delv(at, anchors, name, kind)
    assert "; fully validated" in said, said


def _delv(at: At, anchors: Path, name: str, kind: str) -> str:
    argv = ["delv", f"@{at.address}", "-p", str(at.port), "-a", str(anchors), f"+root={DOMAIN}", name, kind]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    return done.stdout + done.stderr
