"""A machine's network configuration as programs of its image read it: netplan, ifupdown, OpenStack's network data.

Names that a person chose never end up where they could be read as something else: an interface is called by its name
only where that is a plain one, and all text in YAML and JSON is quoted.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Any, Final, NamedTuple

_PLAIN: Final = re.compile(r"(?!(?:all|default|lo|enx[0-9a-f]{12})$)[A-Za-z][A-Za-z0-9_-]{0,14}")
"""Neither what every kernel has already, nor what another port may be called for want of a name."""


class Use(NamedTuple):
    """An address on a port: the primary ones first.

    Attributes:
        ip: With the length of its subnet's prefix.
        gateway: To everywhere; None where another port or address has the way there.
        network: Name of its network.
    """

    ip: IPv4Interface | IPv6Interface
    gateway: str | None
    network: str


class Port(NamedTuple):
    """An interface and what it is configured with.

    Attributes:
        name: Not that of another port; "" for none.
        domains: Without the dot at their ends.
        mtu: Octets, or None for its own.
    """

    name: str
    mac: str
    uses: tuple[Use, ...]
    dns_servers: tuple[str, ...]
    domains: tuple[str, ...]
    mtu: int | None

    @property
    def called(self) -> str:
        """Its name, or that which systemd gives by the MAC."""
        return self.name if _PLAIN.fullmatch(self.name) else "enx" + self.mac.replace(":", "")


def use_of(ip: str, length: int, gateway: str | None, network: str) -> Use:
    """An address as it is configured."""
    return Use(ip_interface(f"{ip}/{length}"), gateway, network)


def netplan(ports: Sequence[Port]) -> str:
    """Netplan's YAML, version 2: interfaces are matched by MAC and get their names."""
    return "\n".join(_netplan(ports)) + "\n"


def _netplan(ports: Sequence[Port]) -> Iterator[str]:
    yield from ("network:", "  version: 2", "  ethernets:")
    for port in ports:
        yield f"    {_quoted(port.called)}:"
        yield f"      match: {{macaddress: {_quoted(port.mac)}}}"
        yield f"      set-name: {_quoted(port.called)}"
        if port.mtu is not None:
            yield f"      mtu: {port.mtu}"
        yield f"      addresses: {_list(str(use.ip) for use in port.uses)}"
        routes = [use for use in port.uses if use.gateway]
        if routes:
            yield "      routes:"
        for use in routes:
            yield f"        - {{to: {_quoted(_everywhere(use))}, via: {_quoted(str(use.gateway))}}}"
        if port.dns_servers:
            yield "      nameservers:"
            yield f"        addresses: {_list(port.dns_servers)}"
            yield f"        search: {_list(port.domains)}"


def eni(ports: Sequence[Port]) -> str:
    """`/etc/network/interfaces` of ifupdown; a further address of a port is a further stanza."""
    stanzas = [["auto lo", "iface lo inet loopback"]]
    for port in ports:
        stanzas.append([f"auto {port.called}"])
        stanzas += [_stanza(port, use, place == 0) for place, use in enumerate(port.uses)]
    return "\n\n".join("\n".join(lines) for lines in stanzas) + "\n"


def _stanza(port: Port, use: Use, first: bool) -> list[str]:
    lines = [f"iface {port.called} {'inet' if use.ip.version == 4 else 'inet6'} static", f"    address {use.ip}"]
    if use.gateway:
        lines.append(f"    gateway {use.gateway}")
    if first and port.mtu is not None:
        lines.append(f"    mtu {port.mtu}")
    if first and port.dns_servers:
        lines.append(f"    dns-nameservers {' '.join(port.dns_servers)}")
    if first and port.dns_servers and port.domains:
        lines.append(f"    dns-search {' '.join(port.domains)}")
    return lines


def network_data(ports: Sequence[Port]) -> str:
    """OpenStack's `network_data.json`, as config drives and metadata services have it."""
    links: list[dict[str, Any]] = []
    networks: list[dict[str, Any]] = []
    for port in ports:
        link = {"id": port.called, "type": "phy", "ethernet_mac_address": port.mac, "mtu": port.mtu}
        links.append(link)
        networks += [_network(port, use, len(networks) + place) for place, use in enumerate(port.uses)]
    servers = dict.fromkeys(server for port in ports for server in port.dns_servers)
    services = [{"type": "dns", "address": server} for server in servers]
    return json.dumps({"links": links, "networks": networks, "services": services}, indent=2) + "\n"


def _network(port: Port, use: Use, number: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": f"network{number}",
        "network_id": use.network,
        "link": port.called,
        "type": f"ipv{use.ip.version}",
        "ip_address": str(use.ip.ip),
        "netmask": str(use.ip.netmask),
        "routes": [],
    }
    if use.gateway:
        any_address = "0.0.0.0" if use.ip.version == 4 else "::"
        found["routes"] = [{"network": any_address, "netmask": any_address, "gateway": use.gateway}]
    return found


def _everywhere(use: Use) -> str:
    return "0.0.0.0/0" if use.ip.version == 4 else "::/0"


def _list(texts: Iterable[str]) -> str:
    return "[" + ", ".join(_quoted(text) for text in texts) + "]"


def _quoted(text: str) -> str:
    """Text as JSON has it, which YAML reads alike."""
    return json.dumps(text)


FORMS: Final[dict[str, Callable[[Sequence[Port]], str]]] = {
    "netplan": netplan,
    "eni": eni,
    "network_data": network_data,
}
MEDIA: Final = {"netplan": "application/yaml", "eni": "text/plain; charset=utf-8", "network_data": "application/json"}
