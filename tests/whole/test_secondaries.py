"""BIND, Knot, NSD and PowerDNS replicate a site through ten thousand changes, and go on without Tenure."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dns.exception
import dns.rcode
import httpx
import pytest

from tenure.store.sql import open_store
from tests.lab.processes import free_port
from tests.lab.secondaries import ALL, At, Bind, Feed, Key, Knot, Secondary, available, transfer
from tests.whole.replicated import DOMAIN, Site
from tests.whole.serving import Serving, until

pytestmark = pytest.mark.whole

CHANGES = 10_000
CATALOG = "catalog.tenure.invalid."
KEY = "replicas."
_HERE = "127.0.0.1"  # BIND listens only where an interface has the address


class Replicas:
    """The four of them, behind one primary.

    Args:
        serving: The primary; everybody on 127.0.0.1 may read its zones unsigned.
    """

    def __init__(self, serving: Serving, site: Site, directory: Path, held: ExitStack) -> None:
        self._serving, self._site = serving, site
        self._primary = At(*serving.dns)
        made = site.ask("POST", "/v1/tsig-keys", {"name": KEY, "algorithm": "hmac-sha512"})
        key = Key(KEY, "hmac-sha512", made["secret"])
        self.all: dict[type[Secondary], Secondary] = {}
        for kind in ALL:
            at = At(_HERE, free_port())
            body = {"name": kind.__name__.lower(), "address": at.address, "port": at.port, "key": KEY}
            site.ask("POST", "/v1/secondaries", body)
            follows = {"catalog": CATALOG} if kind.catalogs else {"zones": tuple(self.zones())}
            feed = Feed(self._primary, key, **follows)
            self.all[kind] = held.enter_context(kind(directory / kind.__name__, at, feed))
            self.all[kind].start()

    def zones(self) -> list[str]:
        """Every zone but the catalog."""
        zones = self._site.ask("GET", "/v1/zones?limit=1000")["items"]
        return [zone["name"] for zone in zones if zone["name"] != CATALOG]

    def truth(self) -> dict[str, frozenset[str]]:
        """What a whole transfer from the primary gives of each zone."""
        return {zone: transfer(self._primary, zone) for zone in self.zones()}

    def agree(self, *kinds: type[Secondary]) -> None:
        """Each of these ends with exactly the records of a whole transfer."""
        truth = self.truth()
        for kind in kinds or ALL:
            for zone, records in truth.items():
                self.all[kind].wait(zone, _serial_of(records))
                held = self.all[kind].records(zone)
                assert held == records, (kind.__name__, zone, sorted(held ^ records)[:10])


@pytest.mark.timeout(900)
def test_four_servers_hold_what_tenure_holds_and_go_on_alone(tmp_path: Path, rng: random.Random) -> None:
    if not available():
        pytest.skip("needs named, knotd, nsd and pdns_server")
    with ExitStack() as held:
        serving = held.enter_context(Serving(tmp_path / "data", "--transfer-from", "127.0.0.1/32"))
        client = held.enter_context(serving.client())
        site = Site(client, rng)
        site.build()
        replicas = Replicas(serving, site, tmp_path, held)
        _everything_happens(site, replicas)
        _one_that_was_away_catches_up_by_steps(site, replicas, client)
        _one_that_missed_the_journal_takes_whole_zones(site, replicas, client, serving)
        assert site.happened >= CHANGES
        truth = replicas.truth()
        assert serving.terminate() == 0
        assert not serving.running
        for kind, replica in replicas.all.items():
            assert _unanswered(replica, truth) == {}, kind.__name__


def _everything_happens(site: Site, replicas: Replicas) -> None:
    site.happen(CHANGES // 2, templates=True)
    replicas.agree()


def _one_that_was_away_catches_up_by_steps(site: Site, replicas: Replicas, client: httpx.Client) -> None:
    bind = replicas.all[Bind]
    bind.stop()
    site.happen(CHANGES // 4, templates=False)
    replicas.agree(*(kind for kind in ALL if kind is not Bind))
    before = _transfers(client)
    bind.start()
    replicas.agree(Bind)
    after = _transfers(client)
    assert after["incremental"] > before["incremental"]
    zones = len(replicas.zones())
    assert after["whole"] - before["whole"] == zones, "only the truth that this test took"


def _one_that_missed_the_journal_takes_whole_zones(
    site: Site, replicas: Replicas, client: httpx.Client, serving: Serving
) -> None:
    knot = replicas.all[Knot]
    knot.stop()
    site.happen(CHANGES - site.happened, templates=False)
    _forget_the_journal(serving)
    before = _transfers(client)
    knot.start()
    replicas.agree(Knot)
    assert _transfers(client)["whole"] - before["whole"] > len(replicas.zones()), "more than the truth of this test"
    replicas.agree()


def _forget_the_journal(serving: Serving) -> None:
    """Two weeks later, and the DNS process was started again: neither the store nor its memory has the steps."""

    def now() -> datetime:
        return datetime.now(UTC)

    store = open_store(serving.data / "tenure.sqlite", now)
    while store.prune_journal(now() + timedelta(days=1), 0, 10_000):
        pass
    store.close()
    old = serving.roles["dns"]
    os.kill(old, signal.SIGKILL)
    until(lambda: serving.roles.get("dns", old) != old)
    until(lambda: _answers(serving))


def _answers(serving: Serving) -> bool:
    try:
        return bool(transfer(At(*serving.dns), DOMAIN, timeout=5))
    except (OSError, EOFError, dns.exception.DNSException):
        return False


def _transfers(client: httpx.Client) -> dict[str, float]:
    """What transfers gave so far; figures come once a second, and are read when they have come."""
    told, pause = None, threading.Event()
    while told != (told := _told(client)):
        pause.wait(2)
    return told


def _told(client: httpx.Client) -> dict[str, float]:
    found = {"incremental": 0.0, "whole": 0.0}
    for line in client.get("/metrics").text.splitlines():
        for kind, name in (("incremental", "tenure_dns_ixfr_total"), ("whole", "tenure_dns_axfr_total")):
            if line.startswith(name):
                found[kind] = float(line.split()[-1])
    return found


def _serial_of(records: frozenset[str]) -> int:
    (serial,) = {int(line.split()[6]) for line in records if line.split()[3] == "soa"}
    return serial


def _unanswered(replica: Secondary, truth: dict[str, frozenset[str]]) -> dict[str, str]:
    """Names of the zones that a server does not answer, or not with their data."""
    wrong = {}
    for owner, kind, data in _asked(truth):
        answer = replica.ask(owner, kind)
        held = {row.to_text().lower() for found in answer.answer for row in found}
        referred = {row.to_text().lower() for found in answer.authority for row in found}
        if answer.rcode() != dns.rcode.NOERROR or data not in held | referred:
            wrong[f"{owner} {kind}"] = answer.to_text()
    return wrong


def _asked(truth: dict[str, frozenset[str]]) -> Iterator[tuple[str, str, str]]:
    """Each record; those below a cut are the child's to answer."""
    for zone, records in truth.items():
        split = [line.split(None, 4) for line in records]
        cuts = {owner for owner, _, _, kind, _ in split if kind == "ns" and owner != zone}
        for owner, _, _, kind, data in split:
            if not any(owner.endswith("." + cut) or (owner == cut and kind != "ns") for cut in cuts):
                yield owner, kind.upper(), data
