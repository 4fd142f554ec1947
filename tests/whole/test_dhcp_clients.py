"""Real DHCP clients, on the link and behind a relay, get the addresses of their claims from `tenure serve`."""

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface, ip_address
from pathlib import Path

import httpx
import pytest

from tests.lab import dhcp_crowd
from tests.lab.dhcp_clients import Client, Dhclient, Lease, Relay, Udhcpc
from tests.lab.namespaces import Namespace, Topology
from tests.lab.processes import Process
from tests.whole.serving import SERVE, Serving
from tests.whole.site import DOMAIN, Json, made

pytestmark = [pytest.mark.whole, pytest.mark.root]

SERVER, ROUTER = "192.0.2.1", "198.51.100.1"
CROWD = 200
DYNAMIC = (IPv4Address("192.0.2.32"), IPv4Address("192.0.2.233"))
"""Room for the crowd and for two more."""
CIRCUIT = "eth0"
"""What the relay says of the port that it heard a client on: there is a host."""


class Site:
    """One server on the link of rack r1, a relay on the link of rack r2, and clients on both."""

    def __init__(self, topology: Topology, directory: Path) -> None:
        self._topology, self._directory = topology, directory
        self.links = {rack: topology.bridge(f"link-{rack}") for rack in ("r1", "r2")}
        self.server, self.router = topology.namespace("server"), topology.namespace("router")
        topology.plug(self.server, "eth0", self.links["r1"])
        topology.plug(self.router, "eth0", self.links["r2"])
        topology.link(self.router, "eth1", self.server, "eth1")
        self.server.up("eth0", f"{SERVER}/24")
        self.server.up("eth1", "203.0.113.1/24")
        self.router.up("eth0", f"{ROUTER}/24")
        self.router.up("eth1", "203.0.113.2/24")
        self.router.ip("route", "add", "192.0.2.0/24", "via", "203.0.113.1")
        self.router.forward()
        self.server.ip("route", "add", "198.51.100.0/24", "via", "203.0.113.2")
        self.serving = Serving(
            directory / "data",
            *("--dns", f"{SERVER}:53", "--dhcp4", "eth0,eth1", "--api-socket", str(directory / "api.sock")),
            command=["ip", "netns", "exec", self.server.name, *SERVE],
        )
        self.relay = Relay(self.router, "eth0", "eth1", "203.0.113.1")

    def api(self) -> httpx.Client:
        """A client of the API; over its Unix socket, because the namespace has a loopback of its own."""
        token = (self.serving.data / "admin-token").read_text().strip()
        return httpx.Client(
            transport=httpx.HTTPTransport(uds=str(self._directory / "api.sock")),
            base_url="http://tenure",
            headers={"Authorization": f"Bearer {token}"},
            timeout=20,
        )

    def client(self, kind: type[Client], name: str, rack: str, mac: str) -> Client:
        """A machine with one interface on a rack's link."""
        host = self._topology.namespace(name)
        self._topology.plug(host, "eth0", self.links[rack], mac=mac)
        return kind(host, "eth0", self._directory / name, hostname=name)

    def crowd(self) -> Process:
        """Two hundred strangers on the link of rack r1."""
        namespace = self._topology.namespace("crowd")
        self._topology.plug(namespace, "eth0", self.links["r1"])
        return namespace.popen([sys.executable, dhcp_crowd.__file__, "eth0", str(CROWD)])

    def close(self) -> None:
        self.serving.kill9()


def _furnish(api: httpx.Client) -> None:
    made(api, "/v1/locations", name="r1", kind="rack")
    made(api, "/v1/locations", name="r2", kind="rack")
    for host in ("r1-a", "r1-b", "r2-a", "r2-b"):
        relay = {"circuit_id": CIRCUIT.encode().hex()} if host == "r2-b" else None
        made(api, "/v1/locations", name=host, kind="host", parent=host[:2], relay=relay)
    made(api, "/v1/networks", name="prod", domain=DOMAIN, model="clustered", cooldown=0)
    for rack, cidr, gateway in (("r1", "192.0.2.0/24", "192.0.2.254"), ("r2", "198.51.100.0/24", ROUTER)):
        subnet = made(
            api, "/v1/networks/prod/subnets", cidr=cidr, gateway=gateway, dns_servers=[SERVER], locations=[rack]
        )
        if rack == "r1":
            made(
                api,
                f"/v1/subnets/{subnet['id']}/ranges",
                start=str(DYNAMIC[0]),
                end=str(DYNAMIC[1]),
                role="dynamic",
            )


@pytest.fixture
def site(topology: Topology, tmp_path: Path) -> Iterator[Site]:
    if not all(map(shutil.which, ("udhcpc", "dhclient", "dhcrelay", "dig"))):
        pytest.skip("needs udhcpc, dhclient, dhcrelay and dig")
    made_site = Site(topology, tmp_path)
    with made_site.api() as api:
        _furnish(api)
    yield made_site
    made_site.close()


@dataclass(frozen=True)
class Case:
    kind: type[Client]
    name: str
    rack: str
    mac: str
    gateway: str


CASES = (
    Case(Udhcpc, "db-1", "r1", "52:54:00:00:00:01", "192.0.2.254"),
    Case(Dhclient, "db-2", "r1", "52:54:00:00:00:02", "192.0.2.254"),
    Case(Dhclient, "db-3", "r2", "52:54:00:00:00:03", ROUTER),
    Case(Udhcpc, "db-4", "r2", "52:54:00:00:00:04", ROUTER),
)


def _claim(api: httpx.Client, case: Case, **more: str) -> Json:
    return made(api, "/v1/claims", network="prod", handle=case.name, mac=case.mac, hostname=case.name, **more)


def _address(claim: Json) -> IPv4Interface:
    (address,) = claim["addresses"]
    return IPv4Interface(f"{address['ip']}/{address['prefix_length']}")


def _is_right(case: Case, claim: Json, lease: Lease) -> None:
    assert lease.address == _address(claim)
    assert lease.routers == (IPv4Address(case.gateway),)
    assert lease.dns == (IPv4Address(SERVER),)
    assert lease.domain.rstrip(".") == DOMAIN.rstrip(".")
    assert lease.hostname == case.name


def _dig(namespace: Namespace, *words: str) -> str:
    return namespace.run(["dig", "+short", "+tries=1", "+timeout=5", f"@{SERVER}", *words]).strip()


def test_each_client_gets_the_address_of_its_claim_with_router_dns_and_name(site: Site) -> None:
    with site.api() as api:
        claims = {case.name: _claim(api, case, host=f"{case.rack}-a") for case in CASES}
        for case in CASES:
            claim = claims[case.name]
            with site.client(case.kind, case.name, case.rack, case.mac) as client:
                _is_right(case, claim, client.acquire())
                ip = str(_address(claim).ip)
                name = f"{case.name}.{DOMAIN}"
                assert (_dig(client.namespace, name, "A"), _dig(client.namespace, "-x", ip)) == (ip, name)


def test_a_pending_claim_is_bound_by_the_discover_to_the_rack_it_came_from(site: Site) -> None:
    with site.api() as api:
        for case, place in ((CASES[0], "r1"), (CASES[3], "r2-b")):  # what the subnet says, and what the relay says
            pending = _claim(api, case)
            assert (pending["state"], pending["addresses"]) == ("pending", [])
            with site.client(case.kind, case.name, case.rack, case.mac) as client:
                lease = client.acquire()
            bound = api.get(f"/v1/claims/{pending['id']}").json()
            assert (bound["state"], bound["host"]) == ("bound", place)
            _is_right(case, bound, lease)


def test_a_reboot_and_a_release_change_nothing_while_two_hundred_fill_the_range(site: Site) -> None:
    """The crowd takes every address that is left for strangers; those who have theirs keep them."""
    reboots, releases = CASES[1], CASES[0]
    with (
        site.api() as api,
        site.client(Udhcpc, "stranger", "r1", "52:54:00:00:00:11") as stranger,
        site.client(Dhclient, "visitor", "r1", "52:54:00:00:00:12") as visitor,
        site.client(Udhcpc, "late", "r1", "52:54:00:00:00:13") as late,
        site.client(reboots.kind, reboots.name, "r1", reboots.mac) as rebooting,
        site.client(releases.kind, releases.name, "r1", releases.mac) as releasing,
    ):
        claims = [_claim(api, case, host="r1-b") for case in (reboots, releases)]
        first = [client.acquire() for client in (rebooting, releasing, stranger, visitor)]
        assert [lease.address for lease in first[:2]] == [_address(claim) for claim in claims]
        assert all(_is_dynamic(lease.address.ip) for lease in first[2:])
        crowd = site.crowd()
        crowd.wait_line("^02:00:")
        assert rebooting.reboot().address == first[0].address
        releasing.release()
        assert releasing.acquire().address == first[1].address
        crowd.wait_line(rf"^done {CROWD}$", 60)
        given = [ip_address(found) for found in re.findall(r"^02:\S+ (\S+)$", crowd.output, re.MULTILINE)]
        assert len(set(given)) == CROWD
        assert {*given, *(lease.address.ip for lease in first[2:])} == _range()
        assert late.refused(2)
        for client, lease in zip((rebooting, releasing, stranger, visitor), first, strict=True):
            assert client.reboot().address == lease.address
        for claim in claims:
            assert _address(api.get(f"/v1/claims/{claim['id']}").json()) == _address(claim)


def _is_dynamic(address: IPv4Address) -> bool:
    return DYNAMIC[0] <= address <= DYNAMIC[1]


def _range() -> set[IPv4Address]:
    return {IPv4Address(number) for number in range(int(DYNAMIC[0]), int(DYNAMIC[1]) + 1)}
