"""Zones worked out from scratch: which there must be, and what changes one as a whole. Slow, and plain to read."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, NamedTuple

from tenure.engine.facts import Facts
from tenure.engine.plan import Draft, Moment, Plan
from tenure.engine.state import State
from tenure.model import uses as u
from tenure.model.addressing import Subnet
from tenure.model.dnsdata import Zone
from tenure.naming.templates import LARGEST, parse_template
from tenure.net.rangeset import RangeSet
from tenure.service import zoning
from tests.engine.world import World

Net = IPv4Network | IPv6Network
PRIVATE = ("10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16")


class ZonedWorld(World):
    """A world whose zones follow its inventory."""

    def decide(self, asked: u.Submission, facts: Facts, moment: Moment) -> Plan:
        made = super().decide(asked, facts, moment)
        try:
            self.follow(made.draft)
        except BaseException:
            made.draft.unwind()
            raise
        return Plan(made.answer, made.draft.events, made.draft)

    def follow(self, draft: Draft) -> None:
        """What the service adds to what the engine decides."""
        zoning.follow(draft)

    def zones(self, vrf: str = "default") -> set[str]:
        """The names of a vrf's zones."""
        found = self.state.find("vrf", vrf)
        names = [zone.name for zone in self.state.zones.values() if zone.vrf == found]
        assert len(names) == len(set(names)), "a zone is declared twice"
        return set(names)


def net_of(subnet: Subnet) -> Net:
    return ip_network(subnet.cidr)


def cuts(net: Net) -> set[str]:
    """The names of the zones on whole labels that hold a prefix."""
    step = 8 if net.version == 4 else 4
    cut = min(-(-net.prefixlen // step) * step, net.max_prefixlen - step)
    if net.prefixlen > cut:
        return {_cut_name(net.supernet(new_prefix=cut), step)}
    return {_cut_name(part, step) for part in net.subnets(new_prefix=cut)}


def _cut_name(net: Net, step: int) -> str:
    labels = net.network_address.reverse_pointer.split(".")
    return ".".join(labels[(net.max_prefixlen - net.prefixlen) // step :]) + "."


def wanted(state: State, vrf: str) -> set[str]:
    """The names of the zones that a vrf needs."""
    zones = [zone for zone in state.zones.values() if zone.vrf == vrf]
    found = {zone.name for zone in zones if zone.kept or any(r.zone == zone.id for r in state.records.values())}
    found |= {network.domain for network in state.networks.values() if network.vrf == vrf and network.domain}
    if any(secondary.vrf == vrf for secondary in state.secondaries.values()):
        found.add("catalog.tenure.invalid.")
    kept = {zone.name for zone in zones if zone.kept}
    pointed = [s.subnet for s in state.subnets.values() if s.subnet.vrf == vrf and s.subnet.reverse != "off"]
    for subnet in pointed:
        net = net_of(subnet)
        (octet, *more) = cuts(net)
        if net.version == 6 or net.prefixlen <= 24:
            found |= {octet, *more}
            continue
        around = [o for other in pointed if (o := net_of(other)) != net and o.version == 4 and net.subnet_of(o)]
        private = any(net.network_address in ip_network(each) for each in PRIVATE)
        served = private or octet in kept or any(other.prefixlen <= 24 for other in around)
        if subnet.reverse == "rfc2317" or (subnet.reverse == "auto" and not served):
            found.add(f"{int(net.network_address) & 255}-{net.prefixlen}.{octet}")
        elif not around:
            found.add(octet)
    return found


def span(name: str) -> tuple[int, int, int] | None:
    """Version, first and last address of a reverse zone."""
    version = 4 if name.endswith("in-addr.arpa.") else 6 if name.endswith("ip6.arpa.") else None
    if version is None:
        return None
    labels = name.removesuffix("in-addr.arpa." if version == 4 else "ip6.arpa.").split(".")[:-1][::-1]
    if labels and "-" in labels[-1]:
        start, length = labels.pop().split("-")
        net = ip_network(f"{'.'.join([*labels, start])}/{length}")
        return 4, int(net[0]), int(net[-1])
    step, width = (8, 32) if version == 4 else (4, 128)
    number = sum(int(label, 10 if version == 4 else 16) << (width - step * (at + 1)) for at, label in enumerate(labels))
    return version, number, number + (1 << (width - step * len(labels))) - 1


class Piece(NamedTuple):
    """Addresses side by side that one template calls."""

    subnet: Subnet
    first: int
    last: int
    domain: str
    template: str


def pieces(state: State, vrf: str) -> Iterator[Piece]:
    """What is computed, subnet by subnet."""
    for space in state.subnets.values():
        subnet, network = space.subnet, state.networks[space.subnet.network]
        if subnet.vrf != vrf or network.domain is None:
            continue
        zone = state.zone_named(vrf, network.domain)
        template = subnet.name_template or network.name_template or (zone and zone.name_template)
        if not template:
            continue
        net = net_of(subnet)
        inside = [
            net_of(o.subnet)
            for o in state.subnets.values()
            if o.subnet.vrf == vrf and o is not space and o.version == net.version and net_of(o.subnet).subnet_of(net)  # type: ignore[arg-type]
        ]
        out = [(int(o[0]), int(o[-1])) for o in inside]
        out += [
            (int(ip_address(r.start)), int(ip_address(r.end)))
            for r in state.ranges.values()
            if r.subnet == subnet.id and r.role == "reserved"
        ]
        for first, last in RangeSet.of((int(net[0]), int(net[-1]))) - RangeSet(out):
            yield Piece(subnet, first, last, network.domain, template)


def homes(zones: list[Zone], version: int, first: int, last: int) -> Iterator[tuple[int, int, Zone]]:
    """The innermost reverse zones of addresses side by side."""
    spans = [(*found[1:], zone) for zone in zones if (found := span(zone.name)) is not None and found[0] == version]
    spans = [(low, high, zone) for low, high, zone in spans if low <= last and first <= high]
    left = RangeSet.of((first, last))
    for low, high, zone in sorted(spans, key=lambda each: each[1] - each[0]):
        for part in left.within(low, high):
            yield *part, zone
        left -= RangeSet.of((low, high))


def described(state: State, vrf: str) -> dict[str, Any]:
    """By name of each zone, all that is in it but for what changes record by record."""
    zones = [zone for zone in state.zones.values() if zone.vrf == vrf]
    named = {zone.name: zone for zone in zones}
    said: dict[str, dict[str, Any]] = {}
    for zone in zones:
        said[zone.name] = {
            "times": (zone.ttl, zone.negative_ttl),
            "servers": _servers(state, zone),
            "below": {},
            "computed": {},
        }
    for zone in zones:
        above = zone.name.partition(".")[2]
        while above and above not in named:
            above = above.partition(".")[2]
        if above and not zone.catalog:
            own = _own(state, zone, above, named)
            said[above]["below"][zone.name] = (zone.ttl, _servers(state, zone), _glue(state, zone, above, named), own)
    for piece in pieces(state, vrf):
        _compute(said[piece.domain], piece, piece.first, piece.last)
        if piece.subnet.reverse != "off":
            for low, high, home in homes(zones, net_of(piece.subnet).version, piece.first, piece.last):
                _compute(said[home.name], piece, low, high)
    for zone in zones:
        said[zone.name]["hidden"] = set(_hidden(state, zone, said[zone.name]["computed"]))
    return said


def _servers(state: State, zone: Zone) -> tuple[str, ...]:
    return zone.name_servers or ("own",) if zone.catalog else zone.name_servers or state.vrfs[zone.vrf].name_servers


def _own(state: State, zone: Zone, above: str, named: dict[str, Zone]) -> set[tuple[str, int]]:
    """The names of this server in other zones, by which it serves this one, and the TTL there."""
    return {
        (name, home.ttl)
        for home in named.values()
        if (name := f"ns.{home.name}") in _servers(state, zone) and home is not zone
        if name in (_servers(state, home) or (name,)) and home.name.endswith("." + above)
    }


def _glue(state: State, zone: Zone, above: str, named: dict[str, Zone]) -> set[tuple[str, int, bytes]]:
    servers = _servers(state, zone) or (f"ns.{zone.name}",)
    return {
        (record.owner, record.ttl if record.ttl is not None else home.ttl, record.rdata)
        for home in named.values()
        for record in state.records.values()
        if record.zone == home.id and record.owner in servers and record.type in ("A", "AAAA")
        if home.name.endswith("." + above)
    }


def _compute(said: dict[str, Any], piece: Piece, first: int, last: int) -> None:
    version = net_of(piece.subnet).version
    listed = version == 4 or last - first < LARGEST
    key = version, piece.domain, piece.template
    answered, transferred = said["computed"].get(key, (RangeSet(), RangeSet()))
    more = RangeSet.of((first, last))
    said["computed"][key] = answered | more, transferred | (more if listed else RangeSet())


def _hidden(state: State, zone: Zone, computed: dict[Any, Any]) -> Iterator[str]:
    """Names on which people made records, and that would be computed."""
    for owner in {record.owner for record in state.records.values() if record.zone == zone.id}:
        for (version, domain, text), (answered, _) in computed.items():
            found = (
                parse_template(text).number(owner.removesuffix("." + domain))
                if span(zone.name) is None
                else _pointing(zone.name, owner)
            )
            if found is not None and found[0] == version and found[1] in answered:
                yield owner


def is_classless(zone: str) -> bool:
    """Whether a zone is named as RFC 2317 has it."""
    return "-" in zone.partition(".")[0]


def _pointing(zone: str, owner: str) -> tuple[int, int] | None:
    whole = span(zone)
    assert whole is not None
    if is_classless(zone):
        label = owner.removesuffix("." + zone)
        number = whole[1] & ~255 | int(label) if label.isdigit() else -1
        return (4, number) if whole[1] <= number <= whole[2] else None
    try:
        found = span(owner)
    except ValueError:
        return None
    return found[:2] if found is not None and found[1] == found[2] else None
