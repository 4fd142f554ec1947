"""Real clients report what they were given, release it, come back after a reboot, and pass through a real relay."""

import shutil
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Interface
from pathlib import Path

import pytest

from tests.lab import dhcp_peer
from tests.lab.dhcp_clients import Client, Dhclient, Relay, Udhcpc
from tests.lab.namespaces import Namespace, Topology
from tests.lab.processes import Process

CLIENTS = {"udhcpc": Udhcpc, "dhclient": Dhclient}


def _serve(namespace: Namespace, first: str, router: str) -> Process:
    peer = namespace.popen([sys.executable, dhcp_peer.__file__, "eth0", "192.0.2.1", first, router])
    peer.wait_line("serving")
    return peer


@pytest.fixture
def link(topology: Topology) -> tuple[Namespace, Process]:
    """A client's namespace on one link with a server."""
    host, server = topology.namespace("host"), topology.namespace("server")
    topology.link(host, "eth0", server, "eth0")
    server.up("eth0", "192.0.2.1/24")
    return host, _serve(server, "192.0.2.50", "192.0.2.1")


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, link: tuple[Namespace, Process], tmp_path: Path) -> Iterator[Client]:
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    with CLIENTS[request.param](link[0], "eth0", tmp_path / "client", hostname="asked-name") as made:
        yield made


def test_a_client_tells_what_it_got(client: Client) -> None:
    lease = client.acquire()
    assert lease.address == IPv4Interface("192.0.2.50/24")
    assert lease.routers == lease.dns == (IPv4Address("192.0.2.1"),)
    assert (lease.domain, lease.hostname) == ("example.org", "given-name")
    assert (lease.server, lease.lease_seconds) == (IPv4Address("192.0.2.1"), 600)
    assert "192.0.2.50/24" in client.namespace.ip("address", "show", "eth0")
    assert "default via 192.0.2.1" in client.namespace.ip("route")


def test_a_release_reaches_the_server(client: Client, link: tuple[Namespace, Process]) -> None:
    client.acquire()
    client.release()
    link[1].wait_line("RELEASE via direct asking 192.0.2.50")
    assert "192.0.2.50" not in client.namespace.ip("address", "show", "eth0")


def test_a_rebooted_client_asks_again(client: Client, link: tuple[Namespace, Process]) -> None:
    first = client.acquire()
    heard = len(link[1].output.splitlines())
    again = client.reboot()
    assert again.address == first.address
    expected = "DISCOVER" if isinstance(client, Udhcpc) else "REQUEST via direct asking 192.0.2.50"
    assert expected in link[1].output.splitlines()[heard]


def test_silence_is_a_refusal(topology: Topology, tmp_path: Path) -> None:
    alone, other = topology.namespace("alone"), topology.namespace("other")
    topology.link(alone, "eth0", other, "eth0")
    with Udhcpc(alone, "eth0", tmp_path / "client") as client:
        assert client.refused(1.5)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_behind_the_relay(topology: Topology, tmp_path: Path, kind: str) -> None:
    host, router, server = (topology.namespace(name) for name in ("host", "router", "server"))
    topology.link(host, "eth0", router, "eth0")
    topology.link(router, "eth1", server, "eth0")
    router.up("eth0", "198.51.100.1/24")
    router.up("eth1", "192.0.2.2/24")
    router.forward()
    server.up("eth0", "192.0.2.1/24")
    server.ip("route", "add", "198.51.100.0/24", "via", "192.0.2.2")
    peer = _serve(server, "198.51.100.50", "198.51.100.1")
    with Relay(router, "eth0", "eth1", "192.0.2.1"), CLIENTS[kind](host, "eth0", tmp_path / "client") as client:
        assert client.acquire().address == IPv4Interface("198.51.100.50/24")
    peer.wait_line("DISCOVER via 198.51.100.1")
