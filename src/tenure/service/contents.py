"""Whole zones, to load: what follows from allocations, what people made, and what is computed.

Nothing of a zone is stored but what people made; the rest follows from a snapshot here exactly as
`tenure.service.zones` follows it from event to event.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from tenure.model.addressing import Network, Range, Subnet
from tenure.model.dnsdata import Record, Zone, ZoneRecord
from tenure.naming import records
from tenure.naming.authority import Delegated, glued, member, own_server, servers_of
from tenure.naming.reverse import zone_span
from tenure.naming.reverse_zones import ReverseZones
from tenure.naming.templates import Stretch
from tenure.net.rangeset import Pair, RangeSet
from tenure.service.links import Ahead, Link, PointerZones, link, span_of, stretches
from tenure.store.interface import Named, Snapshot, Span

_ADDRESSES: Final = ("A", "AAAA")


class Computed(NamedTuple):
    """Names ahead of time, and which of them are not there: `taken` holds the addresses that somebody named.

    Of a stretch that is not listed none are taken: there what is real goes before what is computed.
    """

    stretch: Stretch
    taken: set[int]


class Contents(NamedTuple):
    """A zone as it was at the snapshot.

    Attributes:
        servers: Who serves it.
        below: The zones cut out of it.
        stretches: What is computed in it, where no record is at the same owner.
        records: Automatic ones, those that people made, and members if it is a catalog; each once.
    """

    zone: Zone
    servers: tuple[str, ...]
    below: tuple[Delegated, ...]
    stretches: tuple[Computed, ...]
    records: Iterator[Record]


def zone_contents(snapshot: Snapshot, wanted: Collection[str] | None = None) -> Iterator[Contents]:
    """Zones as of the snapshot: every one, or those with the `wanted` ids.

    The records of each zone must be read before the next zone is asked for. Cost: about 5 µs a name
    of these zones, and while it runs some 100 bytes a name; some µs for each zone, subnet and hand-made record.
    """
    shown = [zone for zone in snapshot.zones if wanted is None or zone.id in wanted]
    made: dict[str, list[ZoneRecord]] = {}
    for each in snapshot.records:
        made.setdefault(each.zone, []).append(each)
    cuts, calling = _Cuts(snapshot, made), _Calling(snapshot, shown)
    calling.read(snapshot, calling.feeding() if wanted is not None else None)
    below = cuts.below({zone.id for zone in shown})
    for zone in shown:
        said = dict.fromkeys(each.record(zone) for each in made.get(zone.id, ()))
        if zone.catalog:
            said.update((member(zone, other), None) for other in snapshot.zones if _is_member(other, zone))
        stretched, cut = tuple(calling.computed.get(zone.id, ())), tuple(below.get(zone.id, ()))
        automatic = calling.records(zone)
        yield Contents(zone, cuts.servers(zone), cut, stretched, _with(said, automatic) if said else automatic)


def _is_member(zone: Zone, catalog: Zone) -> bool:
    return zone.vrf == catalog.vrf and not zone.catalog


def _with(said: dict[Record, None], automatic: Iterator[Record]) -> Iterator[Record]:
    yield from said
    yield from (record for record in automatic if record not in said)


class _Cuts:
    """Who serves each zone, and which zones are cut out of which."""

    def __init__(self, snapshot: Snapshot, made: Mapping[str, Sequence[ZoneRecord]]) -> None:
        self._zones = {(zone.vrf, zone.name): zone for zone in snapshot.zones}
        self._vrfs = {vrf.id: vrf.name_servers for vrf in snapshot.vrfs}
        self._addressed: dict[tuple[str, str], list[ZoneRecord]] = {}
        for each in chain.from_iterable(made.values()):
            if each.type in _ADDRESSES:
                self._addressed.setdefault((each.zone, each.owner), []).append(each)

    def servers(self, zone: Zone) -> tuple[str, ...]:
        return servers_of(zone, self._vrfs[zone.vrf])

    def below(self, ids: Collection[str]) -> dict[str, list[Delegated]]:
        """By the id of each of these zones, those of which it is the innermost one around."""
        found: dict[str, list[Delegated]] = {}
        for zone in self._zones.values():
            around = self._innermost(zone.vrf, zone.name.partition(".")[2])
            if around is not None and around.id in ids:
                found.setdefault(around.id, []).append(self._cut(zone, around))
        return found

    def _innermost(self, vrf: str, name: str) -> Zone | None:
        """The zone that a name is in."""
        while name:
            found = self._zones.get((vrf, name))
            if found is not None:
                return found
            name = name.partition(".")[2]
        return None

    def _cut(self, zone: Zone, around: Zone) -> Delegated:
        """What the zone around one says of it: with the addresses that people gave to servers below the cut."""
        servers = self.servers(zone)
        homes = [(server, self._innermost(zone.vrf, server)) for server in servers]
        inside = [(server, home) for server, home in homes if home is not None and glued(home.name, around.name)]
        glue = [each.record(home) for server, home in inside for each in self._addressed.get((home.id, server), ())]
        return Delegated(zone, servers, tuple(glue), tuple(self._own(zone, inside)))

    def _own(self, zone: Zone, inside: Iterable[tuple[str, Zone]]) -> Iterator[Zone]:
        """The other zones in which a server is this one, by its own name."""
        for server, home in inside:
            if home is not zone and server == own_server(home.name) and server in self.servers(home):
                yield home


class _Called(NamedTuple):
    """The named addresses of one subnet, side by side: a million values would cost twice the memory."""

    link: Link
    numbers: list[int]
    hostnames: list[str]


class _Calling:
    """What the addresses are called in the zones that are shown.

    Attributes:
        computed: What is computed, by zone id.
    """

    def __init__(self, snapshot: Snapshot, shown: Sequence[Zone]) -> None:
        self._shown = {zone.id: zone for zone in shown}
        self._zones = {(zone.vrf, zone.name): zone for zone in snapshot.zones}
        self._networks = {network.id: network for network in snapshot.networks}
        self._subnets = snapshot.subnets
        self._links = {each.id: self._link(each) for each in snapshot.subnets}
        where = ReverseZones()
        for zone in snapshot.zones:
            where.put(zone)
        self._pointers = PointerZones(where, {zone.id: zone for zone in snapshot.zones})
        self._spans = {each.id: span_of(each) for each in snapshot.subnets if self._links[each.id] is not None}
        self._homes: dict[str, tuple[list[int], list[tuple[int, int, Zone]]]] = {}
        self._forward: dict[str, dict[str, _Called]] = {}
        self._reverse: dict[str, dict[str, _Called]] = {}
        self.computed: dict[str, list[Computed]] = {}
        self._ahead: dict[tuple[str, int], _Taking] = {}
        self._crossed: dict[str, list[Pair]] = {}
        if _templates(snapshot):
            self._compute(snapshot)

    def read(self, snapshot: Snapshot, spans: Iterable[Span] | None) -> None:
        """Take in the names of these spans, or all."""
        for name in snapshot.named(spans):
            found = self._links[name.subnet]
            if found is not None:
                self._call(found, name)

    def records(self, zone: Zone) -> Iterator[Record]:
        """The automatic records of a zone, once."""
        for found, numbers, hostnames in self._forward.pop(zone.id, {}).values():
            for number, hostname in zip(numbers, hostnames, strict=True):
                yield records.forward(found.name(hostname), found.version, number, zone.ttl)
        for found, numbers, hostnames in self._reverse.pop(zone.id, {}).values():
            for number, hostname in zip(numbers, hostnames, strict=True):
                yield records.pointer(zone.name, found.version, number, found.name(hostname), zone.ttl)

    def feeding(self) -> Iterator[Span]:
        """Where the names of these zones are held: whole subnets for forward zones, crossings for the others."""
        pointed = self._pointed()
        for subnet in self._subnets:
            found = self._links[subnet.id]
            if found is None:
                continue
            version, first, last = self._spans[subnet.id]
            pairs = [*self._crossed.get(subnet.id, ())]
            if found.reverse:
                pairs += pointed.get((found.vrf, version), RangeSet()).within(first, last)
            if found.forward is not None and found.forward.id in self._shown:
                pairs = [(first, last)]
            for low, high in RangeSet(pairs):
                yield Span(subnet.id, version, low, high)

    def _pointed(self) -> dict[tuple[str, int], RangeSet]:
        """The addresses whose pointers may be in these zones, by vrf and version."""
        pairs: dict[tuple[str, int], list[Pair]] = {}
        for zone in self._shown.values():
            span = zone_span(zone.name)
            if span is not None:
                pairs.setdefault((zone.vrf, span[0]), []).append(span[1:])
        return {view: RangeSet(spans) for view, spans in pairs.items()}

    def _link(self, subnet: Subnet) -> Link | None:
        return link(subnet, self._networks[subnet.network], self._named)

    def _named(self, vrf: str, name: str) -> Zone | None:
        return self._zones.get((vrf, name))

    def _call(self, found: Link, name: Named) -> None:
        if found.forward is not None and found.forward.id in self._shown:
            _note(self._forward, found.forward.id, found, name)
        if found.reverse:
            zone = self._home(found, name)
            if zone is not None and zone.id in self._shown:
                _note(self._reverse, zone.id, found, name)
        taking = self._ahead.get((found.vrf, found.version))
        if taking is not None:
            taking.take(name.number)

    def _home(self, found: Link, name: Named) -> Zone | None:
        """The zone of a pointer; those of a subnet are looked up once."""
        known = self._homes.get(name.subnet)
        if known is None:
            pieces = list(self._pointers.within(found.vrf, *self._spans[name.subnet]))
            known = self._homes[name.subnet] = [piece[0] for piece in pieces], pieces
        at = bisect_right(known[0], name.number) - 1
        return known[1][at][2] if at >= 0 and name.number <= known[1][at][1] else None

    def _compute(self, snapshot: Snapshot) -> None:
        """Find what is computed in the zones that are shown, and who may hold addresses of it."""
        ranges: dict[str, list[Range]] = {}
        for each in snapshot.ranges:
            ranges.setdefault(each.subnet, []).append(each)
        listed: dict[tuple[str, int], list[Computed]] = {}
        for nest in _nested(snapshot.subnets):
            for stretch in self._stretches(nest, ranges.get(nest.subnet.id, ())):
                zone = self._zones[nest.subnet.vrf, stretch.zone]
                if zone.id not in self._shown:
                    continue
                computed = Computed(stretch, set())
                self.computed.setdefault(zone.id, []).append(computed)
                if stretch.listed:
                    listed.setdefault((zone.vrf, stretch.version), []).append(computed)
                    for holder in (*nest.around, nest.subnet.id):
                        self._crossed.setdefault(holder, []).append((stretch.first, stretch.last))
        self._ahead = {key: _Taking(found) for key, found in listed.items()}

    def _stretches(self, nest: "_Nest", ranges: Iterable[Range]) -> Iterator[Stretch]:
        subnet, network = nest.subnet, self._networks[nest.subnet.network]
        zone = None if network.domain is None else self._named(subnet.vrf, network.domain)
        return stretches(subnet, network, zone, nested=nest.inside, ranges=ranges, pointers=self._pointers)


def _templates(snapshot: Snapshot) -> bool:
    named = chain[Zone | Network | Subnet](snapshot.zones, snapshot.networks, snapshot.subnets)
    return any(each.name_template is not None for each in named)


def _note(zones: dict[str, dict[str, _Called]], zone_id: str, found: Link, name: Named) -> None:
    subnets = zones.setdefault(zone_id, {})
    called = subnets.get(name.subnet)
    if called is None:
        called = subnets[name.subnet] = _Called(found, [], [])
    called.numbers.append(name.number)
    called.hostnames.append(name.hostname)


class _Taking:
    """Notes which addresses of some stretches, of one vrf and version, are named."""

    def __init__(self, computed: Iterable[Computed]) -> None:
        self._taken = dict(computed)
        self._ahead = Ahead(self._taken)

    def take(self, number: int) -> None:
        for stretch in self._ahead.at(number):
            self._taken[stretch].add(number)


class _Nest(NamedTuple):
    """A subnet, the ids of those around it, and the first and last addresses of those in it."""

    subnet: Subnet
    around: tuple[str, ...]
    inside: list[Pair]


def _nested(subnets: Iterable[Subnet]) -> list[_Nest]:
    """How subnets lie in each other, of whatever networks. Cost: some µs each, and those around it."""
    found, open_ = list[_Nest](), list[tuple[tuple[str, int], int, _Nest]]()
    spans = ((subnet.vrf, *span_of(subnet), subnet) for subnet in subnets)
    for vrf, version, first, last, subnet in sorted(spans, key=lambda each: (*each[:3], -each[3])):
        while open_ and (open_[-1][0] != (vrf, version) or open_[-1][1] < first):
            open_.pop()
        nest = _Nest(subnet, tuple(around.subnet.id for _, _, around in open_), [])
        for _, _, around in open_:
            around.inside.append((first, last))
        open_.append(((vrf, version), last, nest))
        found.append(nest)
    return found
