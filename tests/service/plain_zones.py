"""What zones must hold, worked out address by address from what people can read: slow, and obviously right."""

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from tenure.model.addressing import Network, Subnet
from tenure.model.dnsdata import CATALOG, Record, Zone
from tenure.naming import records
from tenure.naming.authority import Delegated as Cut
from tenure.naming.authority import authority, member, servers_of
from tenure.naming.reverse import zone_span
from tenure.naming.templates import parse_template
from tenure.net.addresses import Address
from tenure.store.interface import Reads
from tests.service.world import Node
from tests.service.zone_lives import HERE

LISTED = 2**16


class _Plain:
    def __init__(self, node: Node) -> None:
        self.reads: Reads = node.store.reads
        self.now = node.world.clock.now()
        (self.vrf,) = self.reads.vrfs().items
        self.zones = {zone.name: zone for zone in self.reads.zones(limit=1000).items}
        self.subnets = {subnet.id: subnet for subnet in self.reads.subnets(limit=1000).items}
        self.networks: dict[str, Network] = {each.id: each for each in self.reads.networks(limit=1000).items}
        self.said: dict[str, set[Record]] = {zone.id: set() for zone in self.zones.values()}
        self.made: dict[str, set[Record]] = {zone.id: set() for zone in self.zones.values()}
        self.named: set[tuple[int, int]] = set()

    def pointing(self, version: int, number: int) -> Zone | None:
        """The reverse zone with the fewest addresses around this one."""
        spans = {name: span for name in self.zones if (span := zone_span(name)) is not None}
        around = [n for n, (v, first, last) in spans.items() if v == version and first <= number <= last]
        return self.zones[min(around, key=lambda n: spans[n][2] - spans[n][1])] if around else None

    def both(self, subnet: Subnet, number: int, name: str) -> Iterator[tuple[str, Record]]:
        """The records of an address of a subnet that is called so, and the zones that they are in."""
        version = ip_network(subnet.cidr).version
        forward = self.zones[str(self.networks[subnet.network].domain)]
        yield forward.id, records.forward(name, version, number, forward.ttl)
        zone = self.pointing(version, number) if subnet.reverse != "off" else None
        if zone is not None:
            yield zone.id, records.pointer(zone.name, version, number, name, zone.ttl)

    def allocations(self) -> None:
        """Each address that is held under a name."""
        for known in self.reads.addresses(limit=1000, now=self.now).items:
            allocation, subnet = known.allocation, self.subnets[known.allocation.subnet]
            domain = self.networks[subnet.network].domain
            if allocation.hostname is None or allocation.standing == "shelved" or domain is None:
                continue
            address = ip_address(allocation.ip)
            self.named.add((address.version, int(address)))
            for zone, record in self.both(subnet, int(address), f"{allocation.hostname}.{domain}"):
                self.said[zone].add(record)

    def people(self) -> None:
        """What people made, and the members of the catalog."""
        by_id = {zone.id: zone for zone in self.zones.values()}
        for made in self.reads.records(limit=1000).items:
            self.made[made.zone].add(made.record(by_id[made.zone]))
            self.said[made.zone].add(made.record(by_id[made.zone]))
        catalog = self.zones.get(CATALOG)
        if catalog is not None:
            self.said[catalog.id].update(member(catalog, zone) for zone in by_id.values() if zone.name != CATALOG)

    def ahead(self) -> None:
        """Each address that has a template, is not named, and whose owners have no record."""
        owners = {zone: {record.owner for record in said} for zone, said in self.said.items()}
        for subnet in self.subnets.values():
            network = self.networks[subnet.network]
            if network.domain is None:
                continue
            text = subnet.name_template or network.name_template or self.zones[network.domain].name_template
            prefix = ip_network(subnet.cidr)
            if text is None or (prefix.version == 6 and prefix.num_addresses > LISTED):
                continue
            template = parse_template(text)
            for address in self._open(subnet):
                number = int(address)
                name = f"{template.name(prefix.version, number)}.{network.domain}"
                for zone, record in self.both(subnet, number, name):
                    if (prefix.version, number) not in self.named and record.owner not in owners[zone]:
                        self.said[zone].add(record)

    def _open(self, subnet: Subnet) -> Iterator[Address]:
        """The addresses of a subnet that are in no smaller one, and not reserved."""
        prefix = ip_network(subnet.cidr)
        others = [ip_network(each.cidr) for each in self.subnets.values() if each.id != subnet.id]
        inner = [each for each in others if each.version == prefix.version and each.prefixlen > prefix.prefixlen]
        ranges = self.reads.ranges(limit=1000, subnet=subnet.id).items
        kept = [(int(ip_address(each.start)), int(ip_address(each.end))) for each in ranges if each.role == "reserved"]
        for address in prefix:
            inside = any(address in each for each in inner) or any(a <= int(address) <= b for a, b in kept)
            if not inside:
                yield address

    def authorities(self) -> None:
        """What each zone says of itself, and of those of which it is the longest one around."""
        cuts: dict[str, list[Cut]] = {}
        for zone in self.zones.values():
            around = [other for other in self.zones.values() if zone.name.endswith("." + other.name)]
            if around:
                above = max(around, key=lambda z: len(z.name))
                cuts.setdefault(above.id, []).append(self._cut(zone, above))
        for zone in self.zones.values():
            self.said[zone.id].update(authority(zone, self._servers(zone), cuts.get(zone.id, ()), HERE))

    def _cut(self, zone: Zone, above: Zone) -> Cut:
        """Servers below the zone above, but not in it, have their addresses from it too."""
        glue: set[Record] = set()
        own: list[Zone] = []
        for home in self.zones.values():
            inner = {name for name in self._servers(zone) if self._home(name) is home}
            if home.name.endswith("." + above.name):
                glue.update(r for r in self.made[home.id] if r.owner in inner and r.type in (records.A, records.AAAA))
                own += [home] if home is not zone and {f"ns.{home.name}"} & inner & {*self._servers(home)} else []
        return Cut(zone, self._servers(zone), tuple(glue), tuple(own))

    def _home(self, name: str) -> Zone | None:
        around = [zone for zone in self.zones.values() if ("." + name).endswith("." + zone.name)]
        return max(around, key=lambda zone: len(zone.name), default=None)

    def _servers(self, zone: Zone) -> tuple[str, ...]:
        return servers_of(zone, self.vrf.name_servers)


def plainly(node: Node) -> dict[str, set[Record]]:
    """The records of each zone by id, as `zone_lives.everything` has them."""
    plain = _Plain(node)
    plain.allocations()
    plain.people()
    plain.ahead()
    plain.authorities()
    return plain.said
