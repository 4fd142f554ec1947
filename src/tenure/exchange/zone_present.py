"""What the service has already, as far as the import of a zone has to know it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import dns.name
import dns.rdata

from tenure.client import Client
from tenure.exchange.present import Fields, Present
from tenure.exchange.zone_source import Key, key_of


@dataclass
class ZonePresent:
    """What there is in one vrf.

    Attributes:
        zones: Zones by name.
        said: What those zones say, of the owners that were asked for: records of people, of addresses, and computed.
        networks: Networks of the vrf that have a domain, by name.
        held: Addresses that those have given, by address.
        subnets: The vrf's subnets, by prefix.
    """

    vrf: str
    zones: dict[str, Fields] = field(default_factory=dict)
    said: set[Key] = field(default_factory=set)
    networks: dict[str, Fields] = field(default_factory=dict)
    held: dict[str, Fields] = field(default_factory=dict)
    subnets: Present = field(default_factory=Present)

    def zone_around(self, owner: str) -> str | None:
        """The name of the innermost zone that a name is in."""
        return next((each for each in upwards(owner) if each in self.zones), None)


def upwards(name: str) -> Iterator[str]:
    """A name and those above it, without the root."""
    while name and name != ".":
        yield name
        name = name.partition(".")[2]


def within(name: str, zone: str) -> bool:
    """Whether a name is a zone's own or below it."""
    return name == zone or name.endswith("." + zone)


def zone_present(client: Client, vrf: str, zone: str, owners: Collection[str]) -> ZonePresent:
    """Read what there is.

    Args:
        zone: The name of the zone that is imported; those below it are read too.
        owners: The names of interest.

    Raises:
        NotFound: There is no such vrf.
    """
    found = ZonePresent(vrf, {each["name"]: each for each in client.zones.list(vrf=vrf)})
    for name in sorted({found.zone_around(owner) or "" for owner in owners} - {""}):
        if within(name, zone):
            found.said.update(_said(client.zones.file(found.zones[name]["id"]), owners))
    for network in client.networks.list():
        domain = network.get("domain")
        if network["vrf"] == vrf and domain and within(domain, zone):
            found.networks[network["name"]] = network
            found.held.update((each["ip"], each) for each in client.addresses.list(network=network["id"]))
    if found.networks:
        for each in client.subnets.list(vrf=vrf):
            found.subnets.add_subnet(each)
    return found


def _said(text: str, owners: Collection[str]) -> Iterator[Key]:
    """What a zone's file says of some owners; a line a record, names absolute."""
    for line in text.splitlines():
        owner, *rest = line.split("\t")
        if owner in owners and len(rest) == 4:
            yield _key(owner, rest[2], rest[3])


def _key(owner: str, type_: str, data: str) -> Key:
    return key_of(owner, dns.rdata.from_text("IN", type_, data, dns.name.root, relativize=False))
