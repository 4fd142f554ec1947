"""Each secondary follows a BIND primary, signed, by catalog where it can, and goes on where it stopped."""

import base64
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import dns.query
import dns.rcode
import dns.update
import pytest

from tests.lab import secondaries
from tests.lab.bind_primary import BindPrimary
from tests.lab.processes import free_port
from tests.lab.secondaries import ALL, At, Bind, Feed, Key, Nsd, Secondary, transfer

pytestmark = pytest.mark.skipif(
    not secondaries.available(), reason="needs bind9, knot, nsd, pdns-server and pdns-backend-sqlite3"
)

KEY = Key("lab-key", "hmac-sha256", base64.b64encode(bytes(range(32))).decode())
SOA = "$TTL 60\n@ SOA ns.{0}. admin.{0}. 1 60 1 600 60\n@ NS ns.{0}.\nns A 192.0.2.53\n"
ZONE = SOA.format("lab.example") + "host A 192.0.2.1\n"
CATALOG = """$TTL 0
@ SOA invalid. invalid. 1 60 1 600 0
@ NS invalid.
version TXT "2"
one.zones PTR lab.example.
"""


class Site:
    """A primary and one secondary of each kind, each on a port of its own."""

    def __init__(self, directory: Path) -> None:
        primary, *places = [At("127.0.0.1", free_port()) for _ in range(1 + len(ALL))]
        files = {"lab.example": ZONE, "catalog.example": CATALOG}
        self.primary = BindPrimary(directory / "primary", primary, files, KEY, tuple(places))
        self.secondaries = [
            kind(directory / kind.__name__, at, _feed(kind, primary)) for kind, at in zip(ALL, places, strict=True)
        ]

    def add(self, name: str, address: str) -> None:
        """Change the zone."""
        update = dns.update.UpdateMessage("lab.example", keyring=KEY.ring())
        update.add(name, 60, "A", address)
        reply = dns.query.tcp(update, self.primary.at.address, 10, self.primary.at.port)
        assert reply.rcode() == dns.rcode.NOERROR

    def agree(self) -> None:
        """Wait until all have what the primary has."""
        serial = self.primary.serial("lab.example")
        assert serial
        expected = transfer(self.primary.at, "lab.example", KEY)
        for each in self.secondaries:
            each.wait("lab.example", serial)
            assert each.records("lab.example") == expected


def _feed(kind: type[Secondary], primary: At) -> Feed:
    if kind.catalogs:
        return Feed(primary, KEY, catalog="catalog.example")
    return Feed(primary, KEY, ("lab.example",))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    with ExitStack() as running:
        for each in (made.primary, *made.secondaries):
            running.enter_context(each).start()
        yield made


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_all_follow_and_go_on_where_they_ended(site: Site, how: str) -> None:
    site.agree()
    site.add("second", "192.0.2.2")
    site.agree()
    serial = site.primary.serial("lab.example")
    assert serial
    for each in site.secondaries:
        if how == "killed":
            if isinstance(each, Nsd):
                each.written("lab.example", "192.0.2.2")
            each.kill()
        else:
            each.stop()
    site.primary.stop()
    for each in site.secondaries:
        each.start().wait("lab.example", serial)
        assert [str(row) for row in each.ask("second.lab.example", "A").answer[0]] == ["192.0.2.2"]
    site.primary.start()
    site.add("third", "192.0.2.3")
    site.agree()
    steps = re.findall(r"lab\.example/IN': IXFR started: TSIG lab-key \(serial 2 -> 3\)", site.primary.log)
    assert len(steps) == len(ALL)


def test_nsd_is_told_of_zones_while_it_runs(tmp_path: Path) -> None:
    at, own = At("127.0.0.1", free_port()), At("127.0.0.1", free_port())
    with BindPrimary(tmp_path / "bind", at, {"lab.example": ZONE}) as bind, Nsd(tmp_path / "nsd", own, Feed(at)) as nsd:
        bind.start()
        nsd.start()
        assert nsd.serial("lab.example") is None
        nsd.add(["lab.example"])
        nsd.wait("lab.example", 1)
        nsd.remove(["lab.example"])
        assert nsd.serial("lab.example") is None


def test_a_zone_that_never_comes_is_complained_about(tmp_path: Path) -> None:
    primary, own = At("127.0.0.1", free_port()), At("127.0.0.1", free_port())
    with (
        Bind(tmp_path, own, Feed(primary, zones=("lab.example",))).start() as bind,
        pytest.raises(AssertionError, match="Bind never has serial 1 of lab.example"),
    ):
        bind.wait("lab.example", 1, timeout=0.1)
