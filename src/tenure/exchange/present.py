"""What the service has already, as far as an import has to know it."""

from dataclasses import dataclass, field
from ipaddress import ip_address
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
    _known: list[int] = field(default_factory=list, init=False)
    _counted: int = field(default=0, init=False)

    def add_subnet(self, fields: Fields) -> None:
        """Take a subnet in."""
        self.subnets[fields["cidr"]] = fields

    def subnet_around(self, ip: str) -> Fields | None:
        """The innermost subnet that holds an address. Cost: one look for each prefix length in use."""
        address = ip_address(ip)
        number, kind = int(address), type(address)
        for length in self._lengths():
            kept = address.max_prefixlen - length
            found = self.subnets.get(f"{kind(number >> kept << kept)}/{length}") if kept >= 0 else None
            if found is not None:
                return found
        return None

    def _lengths(self) -> list[int]:
        """Prefix lengths in use, the longest first."""
        if self._counted != len(self.subnets):
            self._counted = len(self.subnets)
            said = {prefix.rpartition("/")[2] for prefix in self.subnets}
            self._known = sorted((int(length) for length in said if length.isdecimal()), reverse=True)
        return self._known


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
