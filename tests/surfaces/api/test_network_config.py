"""Network configurations against what was meant, and against the programs that read them where they are installed."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tenure.surfaces.api.config_forms import FORMS, Port, use_of
from tests.surfaces.api.site import Site, problem

PORTS = [
    Port(
        "eth0",
        "52:54:00:0a:0b:0c",
        (
            use_of("10.0.3.65", 24, "10.0.3.1", "prod"),
            use_of("2001:db8:3::41", 64, "2001:db8:3::1", "prod"),
            use_of("10.0.3.70", 24, None, "prod"),
        ),
        ("10.0.3.2", "2001:db8:3::2"),
        ("prod.example",),
        1400,
    ),
    Port("a port: #1", "52:54:00:0a:0b:0d", (use_of("10.9.0.7", 26, None, "storage"),), (), (), None),
]

NETPLAN = """\
network:
  version: 2
  ethernets:
    "eth0":
      match: {macaddress: "52:54:00:0a:0b:0c"}
      set-name: "eth0"
      mtu: 1400
      addresses: ["10.0.3.65/24", "2001:db8:3::41/64", "10.0.3.70/24"]
      routes:
        - {to: "0.0.0.0/0", via: "10.0.3.1"}
        - {to: "::/0", via: "2001:db8:3::1"}
      nameservers:
        addresses: ["10.0.3.2", "2001:db8:3::2"]
        search: ["prod.example"]
    "enx5254000a0b0d":
      match: {macaddress: "52:54:00:0a:0b:0d"}
      set-name: "enx5254000a0b0d"
      addresses: ["10.9.0.7/26"]
"""

ENI = """\
auto lo
iface lo inet loopback

auto eth0

iface eth0 inet static
    address 10.0.3.65/24
    gateway 10.0.3.1
    mtu 1400
    dns-nameservers 10.0.3.2 2001:db8:3::2
    dns-search prod.example

iface eth0 inet6 static
    address 2001:db8:3::41/64
    gateway 2001:db8:3::1

iface eth0 inet static
    address 10.0.3.70/24

auto enx5254000a0b0d

iface enx5254000a0b0d inet static
    address 10.9.0.7/26
"""


def _network(number: int, link: str, ip: str, mask: str, *, gateway: str = "", network: str = "prod") -> dict[str, Any]:
    version, anywhere = ("ipv6", "::") if ":" in ip else ("ipv4", "0.0.0.0")
    routes = [{"network": anywhere, "netmask": anywhere, "gateway": gateway}] if gateway else []
    shape = {"id": f"network{number}", "network_id": network, "link": link, "type": version}
    return {**shape, "ip_address": ip, "netmask": mask, "routes": routes}


NETWORK_DATA = {
    "links": [
        {"id": "eth0", "type": "phy", "ethernet_mac_address": "52:54:00:0a:0b:0c", "mtu": 1400},
        {"id": "enx5254000a0b0d", "type": "phy", "ethernet_mac_address": "52:54:00:0a:0b:0d", "mtu": None},
    ],
    "networks": [
        _network(0, "eth0", "10.0.3.65", "255.255.255.0", gateway="10.0.3.1"),
        _network(1, "eth0", "2001:db8:3::41", "ffff:ffff:ffff:ffff::", gateway="2001:db8:3::1"),
        _network(2, "eth0", "10.0.3.70", "255.255.255.0"),
        _network(3, "enx5254000a0b0d", "10.9.0.7", "255.255.255.192", network="storage"),
    ],
    "services": [{"type": "dns", "address": "10.0.3.2"}, {"type": "dns", "address": "2001:db8:3::2"}],
}


def test_each_form_is_as_its_program_wants_it() -> None:
    assert FORMS["netplan"](PORTS) == NETPLAN
    assert FORMS["eni"](PORTS) == ENI
    assert json.loads(FORMS["network_data"](PORTS)) == NETWORK_DATA


@pytest.mark.parametrize("name", ["", "all", "default", "a b", "eth0\u2028evil:", "x" * 16, "0", "-", 'a"b', "eth0.5"])
def test_a_name_that_is_not_plain_is_not_written(name: str) -> None:
    port = Port(name, "52:54:00:0a:0b:0d", PORTS[1].uses, (), (), None)
    assert port.called == "enx5254000a0b0d"


@pytest.mark.parametrize("form", ["netplan", "eni"])
def test_the_program_itself_reads_it_so(form: str, tmp_path: Path) -> None:
    """Read by rules of ours, which hold anywhere, and by the program where it is installed."""
    text = FORMS[form](PORTS)
    assert READERS[form](text) == USED
    if form == "eni" and shutil.which("ifquery"):
        assert _told_by_ifquery(text, tmp_path) == [each.partition("/")[0] for each in USED["eth0"]]
    if form == "netplan" and GENERATOR.exists():
        assert _generated(text, tmp_path) == sorted(USED["eth0"])


def _told_by_ifquery(text: str, directory: Path) -> list[str]:
    (directory / "interfaces").write_text(text)
    asked = ["ifquery", "-i", str(directory / "interfaces"), "eth0"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=30).stdout
    return [line.removeprefix("address: ") for line in told.splitlines() if line.startswith("address: ")]


def _generated(text: str, directory: Path) -> list[str]:
    file = directory / "etc" / "netplan" / "50-tenure.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    subprocess.run([str(GENERATOR), "--root-dir", str(directory)], check=True, timeout=30)
    made = (directory / "run/systemd/network/10-netplan-eth0.network").read_text().splitlines()
    return sorted(line.removeprefix("Address=") for line in made if line.startswith("Address="))


GENERATOR = Path("/usr/libexec/netplan/generate")
USED = {"eth0": ["10.0.3.65/24", "2001:db8:3::41/64", "10.0.3.70/24"], "enx5254000a0b0d": ["10.9.0.7/26"]}


def _used_by_netplan(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith('    "'):
            port = json.loads(line.strip().removesuffix(":"))
        if line.strip().startswith("addresses: ") and port not in found:
            found[port] = json.loads(line.partition(": ")[2])
    return found


def _used_by_eni(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for stanza in text.split("\n\n"):
        words = stanza.split()
        if words[0] == "iface" and "address" in words:
            assert words[2] == ("inet6" if ":" in words[words.index("address") + 1] else "inet")
            found.setdefault(words[1], []).append(words[words.index("address") + 1])
    return found


READERS = {"netplan": _used_by_netplan, "eni": _used_by_eni}


@pytest.fixture
def node(site: Site) -> str:
    """A ready machine with an address of each family, an alias, and a port on a network without a gateway."""
    site.post("/v1/networks/prod/subnets", {"cidr": "2001:db8:3::/64", "gateway": "2001:db8:3::1"})
    site.ask("PATCH", "/v1/networks/prod", {"dhcp": {"options": {"mtu": "1400"}}})
    site.post("/v1/networks", {"name": "storage", "interfaces": "all"})
    site.post("/v1/networks/storage/subnets", {"cidr": "10.9.0.0/26", "dhcp": {"options": {"26": "hex:2328"}}})
    ports = [
        {"mac": "52:54:00:0a:0b:0d", "name": "eth1", "network": "storage"},
        {"mac": "52:54:00:0a:0b:0c", "name": "eth0", "network": "prod", "boot": True},
    ]
    site.post("/v1/machines", {"name": "node-17", "interfaces": ports})
    site.post("/v1/machines/node-17/ready")
    return "node-17"


def test_a_configuration_is_what_the_machine_holds(site: Site, node: str) -> None:
    body = {"network": "prod", "mac": "52:54:00:0a:0b:0c", "hostname": "www", "alias": True, "family": "v4"}
    alias = site.post("/v1/claims", body)["addresses"][0]["ip"]
    held = {each["ip"]: each for each in site.get(f"/v1/machines/{node}")["addresses"]}
    told = site.get(f"/v1/machines/{node}/network-config?format=network_data")
    assert {each["ip_address"] for each in told["networks"]} == held.keys()
    assert [(link["id"], link["mtu"]) for link in told["links"]] == [("eth0", 1400), ("eth1", 9000)]
    ways = {each["ip_address"]: [route["gateway"] for route in each["routes"]] for each in told["networks"]}
    assert sorted(way for found in ways.values() for way in found) == ["10.0.3.1", "2001:db8:3::1"]
    assert ways[alias] == []
    for form, media in (("netplan", "application/yaml"), ("eni", "text/plain; charset=utf-8")):
        answer = site.ask("GET", f"/v1/machines/{node}/network-config?format={form}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, media)
        used = READERS[form](answer.text)
        assert {ip.partition("/")[0] for found in used.values() for ip in found} == held.keys()


def test_no_two_ports_are_called_alike_nor_as_the_loopback(site: Site, node: str) -> None:
    ports = [
        {"mac": "52:54:00:0a:0b:0c", "name": "lo"},
        {"mac": "52:54:00:0a:0b:0d", "name": "enx5254000a0b0c"},
    ]
    assert site.ask("PATCH", f"/v1/machines/{node}", {"interfaces": ports}).status_code == 200
    told = site.get(f"/v1/machines/{node}/network-config?format=network_data")
    assert [link["id"] for link in told["links"]] == ["enx5254000a0b0c", "enx5254000a0b0d"]
    for new in ports:
        new["name"] = "eth0"
    refused = problem(site.ask("PATCH", f"/v1/machines/{node}", {"interfaces": ports}), 422, "invalid_value")
    assert refused["pointer"] == "/interfaces"


def test_an_mtu_is_read_as_dhcp_sends_it(site: Site, node: str) -> None:
    site.ask("PATCH", "/v1/networks/prod", {"dhcp": {"options": {"26": "hex:05 78"}}})
    told = site.get(f"/v1/machines/{node}/network-config?format=network_data")
    assert [link["mtu"] for link in told["links"]] == [1400, 9000]


def test_what_is_shelved_is_not_configured(site: Site, node: str) -> None:
    (own,) = [a["ip"] for a in site.get(f"/v1/machines/{node}")["addresses"] if a["ip"].startswith("10.0.3.")]
    other = site.post("/v1/claims", {"network": "prod", "mac": "52:54:00:0a:0b:0c", "family": "v4"})
    told = site.ask("GET", f"/v1/machines/{node}/network-config?format=eni").text
    assert f"address {own}/24" not in told
    assert f"address {other['addresses'][0]['ip']}/24" in told


def test_a_machine_without_an_address_has_no_configuration(site: Site) -> None:
    site.post("/v1/machines", {"name": "bare"})
    problem(site.ask("GET", "/v1/machines/bare/network-config?format=eni"), 409, "conflict")
    problem(site.ask("GET", "/v1/machines/nobody/network-config?format=eni"), 404, "not_found")
    problem(site.ask("GET", "/v1/machines/bare/network-config"), 422, "invalid_value")
    problem(site.ask("GET", "/v1/machines/bare/network-config?format=ifcfg"), 422, "invalid_value")
