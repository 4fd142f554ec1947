"""What the service has already, as far as an import has to know it."""

from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

from tenure.client import Client

Fields = dict[str, Any]


@dataclass
class Present:
    """Things by what they are known by, in one vrf.

    Attributes:
        subnets: By prefix. ranges: by prefix of the subnet, start and end.
    """

    vrfs: dict[str, Fields] = field(default_factory=dict)
    locations: dict[str, Fields] = field(default_factory=dict)
    networks: dict[str, Fields] = field(default_factory=dict)
    subnets: dict[str, Fields] = field(default_factory=dict)
    ranges: dict[tuple[str, str, str], Fields] = field(default_factory=dict)
    machines: dict[str, Fields] = field(default_factory=dict)

    def add_subnet(self, fields: Fields) -> None:
        """Take a subnet in."""
        self.subnets[fields["cidr"]] = fields

    def subnet_around(self, ip: str) -> Fields | None:
        """The innermost subnet that holds an address. Cost: one look for each prefix length."""
        address = ip_address(ip)
        for length in range(address.max_prefixlen, -1, -1):
            found = self.subnets.get(str(ip_network(f"{ip}/{length}", strict=False)))
            if found is not None:
                return found
        return None


def present(client: Client, vrf: str) -> Present:
    """Read what is there; nothing of a vrf that is not."""
    found = Present(vrfs={each["name"]: each for each in client.vrfs.list()})
    found.locations = {each["name"]: each for each in client.locations.list()}
    found.machines = {each["name"]: each for each in client.machines.list()}
    found.networks = {each["name"]: each for each in client.networks.list()}
    if vrf not in found.vrfs:
        return found
    for each in client.subnets.list(vrf=vrf):
        found.add_subnet(each)
    prefixes = {each["id"]: each["cidr"] for each in found.subnets.values()}
    for each in client.ranges.list():
        if each["subnet"] in prefixes:
            found.ranges[prefixes[each["subnet"]], each["start"], each["end"]] = each
    return found
