"""DHCP as a process of its own: a real client on a link made for it, through kills of server and ledger."""

import os
import signal
from ipaddress import IPv4Interface
from pathlib import Path

import httpx
import pytest

from tests.lab.dhcp_clients import Udhcpc
from tests.lab.namespaces import Topology
from tests.whole.serving import SERVE, owner_of, roles_of, until

pytestmark = [pytest.mark.whole, pytest.mark.root]

MAC = "52:54:00:0a:0b:0c"


class Rack:
    """A server with an API on a Unix socket, and a client's namespace, on one link."""

    def __init__(self, topology: Topology, directory: Path) -> None:
        self.server = topology.namespace("server")
        self.host = topology.namespace("host")
        topology.link(self.server, "eth0", self.host, "eth0")
        self.server.up("eth0", "10.7.0.1/24")
        self.host.ip("link", "set", "eth0", "address", MAC)
        self.data = directory / "data"
        self.socket = directory / "api.sock"
        options = ["--api-socket", str(self.socket), "--dhcp4", "eth0", "--dns", "127.0.0.1:0", "--api", "127.0.0.1:0"]
        self.serving = self.server.popen([*SERVE, "--data", str(self.data), *options])
        self.serving.wait_line("^dhcp eth0$")
        self.serving.wait_line("^ready$")

    def client(self) -> httpx.Client:
        token = (self.data / "admin-token").read_text().strip()
        return httpx.Client(
            transport=httpx.HTTPTransport(uds=str(self.socket)),
            base_url="http://tenure",
            headers={"Authorization": f"Bearer {token}"},
        )

    @property
    def roles(self) -> dict[str, int]:
        """Process id of each child by role."""
        return roles_of(self.serving.pid)

    def kill(self, role: str) -> None:
        """Kill the process of a role, and wait for the next one."""
        before = self.roles[role]
        os.kill(before, signal.SIGKILL)
        until(lambda: self.roles.get(role) not in (None, before))


@pytest.fixture
def rack(topology: Topology, tmp_path: Path) -> Rack:
    made = Rack(topology, tmp_path)
    with made.client() as client:
        client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
        subnet = {"cidr": "10.7.0.0/24", "gateway": "10.7.0.1", "dns_servers": ["10.7.0.1"]}
        client.post("/v1/networks/prod/subnets", json=subnet).raise_for_status()
        machine = {"name": "m1", "interfaces": [{"mac": MAC}]}
        client.post("/v1/machines", json=machine).raise_for_status()
        claim = {"network": "prod", "machine": "m1", "mac": MAC, "hostname": "m1", "address": "10.7.0.77"}
        client.post("/v1/claims", json=claim).raise_for_status()
    return made


def test_a_client_gets_the_address_of_its_claim_whichever_process_was_killed(rack: Rack, tmp_path: Path) -> None:
    with Udhcpc(rack.host, "eth0", tmp_path / "client", hostname="m1") as client:
        assert client.acquire().address == IPv4Interface("10.7.0.77/24")
        for role in ("dhcp", "ledger"):
            rack.kill(role)
            assert client.reboot().address == IPv4Interface("10.7.0.77/24")


def test_dhcp_has_a_process_of_its_own(rack: Rack) -> None:
    roles = rack.roles
    assert len(set(roles.values())) == len({"ledger", "api", "dns", "dhcp"}) == len(roles)
    assert owner_of(67, "udp", roles["dhcp"]) == {roles["dhcp"]}
