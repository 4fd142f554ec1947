"""Which zones are new as a whole after a draft: their contents changed otherwise than record by record.

    a zone comes, goes, or has other servers, glue or TTL   the zone around it: it delegates
    a network's, subnet's or zone's template or domain      its zone, and the reverse zones under the addresses
    a subnet, a nested one or a reserved range comes, goes
    or has other bounds, where names are computed           the same, under what changed hands
    `reverse` is turned off or on                           the reverse zones under the subnet's addresses
    a record on a name that is computed                     its zone
    a network's TTL, where it is said                       its zones, which have that TTL from now on
    a vrf's name servers                                    its zones that name none, and those around them

A claim or a lease never does any of that. (Which zones there are: `service.zoning`.)
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, NamedTuple

import msgspec

from tenure.engine.draft import Draft
from tenure.engine.names import template_of, zone_around
from tenure.engine.pointing import wanted_by
from tenure.engine.serving import served_by
from tenure.engine.space import Space
from tenure.model import events as e
from tenure.model import uses as u
from tenure.model.addressing import Network, Subnet
from tenure.model.dnsdata import Zone, ZoneRecord
from tenure.naming.authority import glued, own_server
from tenure.naming.reverse import classless_span, owner_number, zone_span
from tenure.naming.templates import Template, readings, template_for
from tenure.net.addresses import parse_prefix
from tenure.net.rangeset import RangeSet
from tenure.service.links import reserved, span_of

_LONGEST_V4: Final = 32
_TIMES: Final = frozenset(("ttl", "negative_ttl"))


def reshape(draft: Draft) -> None:
    """Record, once each, which zones are new as a whole; those that came or were changed as a whole are already.

    The zones must be those that there are after the draft. Cost: the zones found, and the subnets that cross what
    changed; a vrf's name servers look at all its zones.
    """
    shapes = _Shapes(draft)
    for event in list(draft.events):
        shaped = SHAPING.get(type(event))
        if shaped is not None:
            shaped(shapes, event)
    shapes.record()


class _Voice(NamedTuple):
    """How the addresses of a subnet are called.

    Attributes:
        domain: In which zone. template: By which template, if any. pointing: Whether pointers say so too.
    """

    domain: str
    template: Template | None
    pointing: bool


class _View(NamedTuple):
    """Where addresses are numbers: a vrf and a version."""

    vrf: str
    version: int


class _Shapes:
    """Gathers which zones change as a whole."""

    def __init__(self, draft: Draft) -> None:
        self._draft, self._state, self._was = draft, draft.state, draft.was
        self._touched: dict[str, dict[str, int]] = {}
        self._spaces: dict[str, None] = {}

    def record(self) -> None:
        """Record what was gathered."""
        for subnet in self._spaces:
            self._respoken(subnet)
        whole = {each.zone.id for each in self._draft.events if isinstance(each, e.ZoneCreated | e.ZoneReshaped)}
        for id_, changes in self._touched.items():
            zone = self._state.zones[id_]
            if changes or id_ not in whole:
                new = msgspec.structs.replace(zone, revision=zone.revision + 1, **changes)
                self._draft.record(e.ZoneReshaped(zone=new))

    def _touch(self, zone: Zone | None) -> None:
        if zone is not None:
            self._touched.setdefault(zone.id, {})

    # Zones and who serves them

    def vrf(self, event: e.VrfChanged) -> None:
        """Zones that name no servers have the vrf's."""
        old = self._was[event.vrf.id]
        if old is None or old.name_servers == event.vrf.name_servers:
            return
        for zone in [zone for zone in self._state.zones.values() if zone.vrf == event.vrf.id]:
            if not zone.name_servers and not zone.catalog:
                self._touch(zone)
                self._around(zone)
                self._glue(zone, (own_server(zone.name),))

    def zone_there(self, event: e.ZoneCreated | e.ZoneDeleted) -> None:
        """Names and pointers are in the innermost zone: one that came or went changes what the one around it holds."""
        self._around(event.zone)
        self._glue(event.zone, (own_server(event.zone.name),))

    def zone(self, event: e.ZoneReshaped) -> None:
        """What a person says of a zone."""
        old, zone = self._was[event.zone.id], self._state.zones.get(event.zone.id)
        if old is None or zone is None:
            return
        if (old.ttl, old.name_servers) != (zone.ttl, zone.name_servers):
            self._around(zone)
            self._spoken_for(zone)
        if old.name_template != zone.name_template:
            for network in self._state.networks.values():
                if (network.vrf, network.domain) == (zone.vrf, zone.name):
                    self._spaces.update(dict.fromkeys(self._state.of_network.get(network.id, ())))

    def _around(self, zone: Zone) -> None:
        if zone.catalog:
            return
        self._touch(zone_around(self._state, zone.vrf, zone.name.partition(".")[2]))
        span = classless_span(zone.name)
        if span is not None:
            length = _LONGEST_V4 - (span[1] - span[0]).bit_length()
            wider = self._state.reverse_zones.innermost(zone.vrf, 4, span[0], length)
            self._touch(None if wider is None else self._state.zones[wider])

    def _glue(self, zone: Zone, owners: Iterable[str]) -> None:
        """Addresses that servers have in a zone are said by the zones that delegate what they serve."""
        for served in chain.from_iterable(served_by(self._state, zone.vrf, owner) for owner in owners):
            above = zone_around(self._state, served.vrf, served.name.partition(".")[2])
            if above is not None and glued(zone.name, above.name):
                self._touch(above)

    def _spoken_for(self, zone: Zone) -> None:
        """All that servers have in a zone: what people made, and this server's own addresses."""
        self._glue(zone, (own_server(zone.name), *self._state.made.get(zone.id, ())))

    # Records that people made

    def record_there(self, event: e.RecordCreated | e.RecordDeleted) -> None:
        """The first record at a computed name hides it, the last one to go shows it."""
        zone = self._state.zones.get(event.record.zone)
        if zone is None:
            return
        self._addressed(zone, event.record)
        if self._first_or_last(event.record) and self._computed(zone, event.record.owner):
            self._touch(zone)

    def record_changed(self, event: e.RecordChanged) -> None:
        """Glue may be other than it was."""
        self._addressed(self._state.zones[event.record.zone], event.record)

    def _addressed(self, zone: Zone, record: ZoneRecord) -> None:
        if record.type in ("A", "AAAA"):
            self._glue(zone, (record.owner,))

    def _first_or_last(self, record: ZoneRecord) -> bool:
        """Whether there are records at its owner now and were none before the draft, or the other way round."""
        now = self._state.made.get(record.zone, {}).get(record.owner, {})
        before = set(now)
        for event in reversed(self._draft.events):
            if isinstance(event, e.RecordCreated):
                before.discard(event.record.id)
            elif isinstance(event, e.RecordDeleted) and _place(event.record) == _place(record):
                before.add(event.record.id)
        return bool(now) != bool(before)

    def _computed(self, zone: Zone, owner: str) -> bool:
        """Whether an address is called so, or its pointer is there, unless somebody named it."""
        if zone_span(zone.name) is not None:
            found = owner_number(zone.name, owner)
            if found is None or self._state.reverse_zones.innermost(zone.vrf, *found) != zone.id:
                return False
            voice = self._voice_at(zone.vrf, *found)
            return voice is not None and voice.pointing
        for version, number in readings(owner):
            space = self._state.space_at(zone.vrf, version, number)
            voice = self._voice_at(zone.vrf, version, number)
            if space is not None and voice is not None and voice.domain == zone.name:
                template = template_of(self._state, space.subnet)
                if template is not None and f"{template.name(version, number)}.{zone.name}" == owner:
                    return True
        return False

    def _voice_at(self, vrf: str, version: int, number: int) -> _Voice | None:
        """How an address is called by a template, if it is."""
        space = self._state.space_at(vrf, version, number)
        if space is None or number in reserved(space.ranges.values()):
            return None
        return _computing(self._voice(space.subnet))

    # Addresses and how they are called

    def network(self, event: e.NetworkCreated | e.NetworkChanged) -> None:
        """Times that are said of it are those of its zones; its template and its domain call its addresses."""
        old, network = self._was[event.network.id], self._state.networks.get(event.network.id)
        if network is None:
            return
        names = {network.id, network.name, event.network.name} | ({old.name} if old is not None else set())
        said = _times_said(self._draft.asked.use, names)
        if said:
            self._retime(network, {name: getattr(network, name) for name in said})
        if old is None:
            return
        if (old.domain, old.name_template) != (network.domain, network.name_template):
            self._spaces.update(dict.fromkeys(self._state.of_network.get(network.id, ())))
            for domain in {old.domain, network.domain} if old.domain != network.domain else ():
                self._named(network.vrf, domain)

    def _retime(self, network: Network, times: dict[str, int]) -> None:
        for zone in _zones_of(self._draft, network):
            changes = {name: value for name, value in times.items() if getattr(zone, name) != value}
            if changes:
                self._touched.setdefault(zone.id, {}).update(changes)
            if "ttl" in changes:
                self._around(zone)
                self._spoken_for(zone)

    def subnet(self, event: e.SubnetCreated | e.SubnetChanged | e.SubnetDeleted) -> None:
        """Where it lies, and how its addresses are called."""
        self._spaces[event.subnet.id] = None

    def range(self, event: e.RangeCreated | e.RangeChanged | e.RangeDeleted) -> None:
        """Nothing is computed in a reserved one."""
        old, new = self._was[event.range.id], self._state.ranges.get(event.range.id)
        subnet = self._state.known("subnet", event.range.subnet)
        if subnet is None:  # it went along: whoever is around it calls these addresses now
            subnet = self._was[event.range.subnet]
            voice = None if subnet is None else self._around_subnet(subnet, past=False)
        else:
            voice = self._voice(subnet)
        if subnet is not None and _computing(voice) is not None:
            before, after = (reserved([each] if each is not None else []) for each in (old, new))
            view = _View(subnet.vrf, 6 if ":" in subnet.cidr else 4)
            self._spoken(view, (before | after) - (before & after), (voice, None), moved=True)

    def _respoken(self, subnet: str) -> None:
        """Compare how addresses are called by a subnet, and by the one around it, before and after."""
        old, new = self._was.get(subnet, self._state.known("subnet", subnet)), self._state.known("subnet", subnet)
        either = new if new is not None else old
        if either is None:
            return
        before, after = self._voice(old, past=True), self._voice(new)
        view = _View(either.vrf, 6 if ":" in either.cidr else 4)
        if old is not None and new is not None and old.cidr == new.cidr:
            space = self._state.subnets[subnet]
            self._spoken(view, _area(space, before, after), (before, after))
            return
        held, holds = _span(old), _span(new)
        self._spoken(view, held & holds, (before, after))
        for lost in held - holds:
            outer = _computing(self._around_subnet(old, past=False))
            self._spoken(view, self._own(view, lost, old), (_computing(before), outer), moved=True)
        for gained in holds - held:
            outer = _computing(self._around_subnet(new, past=True))
            self._spoken(view, self._own(view, gained, new), (outer, _computing(after)), moved=True)

    def _own(self, view: _View, piece: tuple[int, int], subnet: Subnet) -> RangeSet:
        """A piece of a subnet without the subnets in it."""
        prefix = parse_prefix(subnet.cidr)
        crossing = self._state.crossing(view.vrf, view.version, int(prefix.network_address), prefix.prefixlen)
        inside = RangeSet((other.first, other.last) for other in crossing if other.prefix_length > prefix.prefixlen)
        return RangeSet.of(piece) - inside

    def _around_subnet(self, subnet: Subnet, past: bool) -> _Voice | None:
        """The voice of the subnet around one: of those that there are, or of those that there were already."""
        prefix = parse_prefix(subnet.cidr)
        first, length = int(prefix.network_address), prefix.prefixlen
        found: Space | None = None
        for other in self._state.crossing(subnet.vrf, prefix.version, first, length):
            if other.prefix_length > length or other.subnet.id == subnet.id:
                continue
            if not past or self._was.get(other.subnet.id, other) is not None:
                found = other  # the longest comes last
        if found is None:
            return None
        return self._voice(self._was.get(found.subnet.id, found.subnet) if past else found.subnet, past=past)

    def _spoken(
        self, view: _View, region: RangeSet, voices: tuple[_Voice | None, _Voice | None], moved: bool = False
    ) -> None:
        """Addresses are called otherwise.

        Args:
            moved: Another subnet calls them, or none: even if it is by the same template, the pieces of a large IPv6
                subnet beside them that were answered only may be listed now (`Stretch.listed`), or the other way round.
        """
        split = moved and view.version == 6
        if (voices[0] == voices[1] and not split) or voices == (None, None):
            return
        for domain, _ in _differing([(v.domain, v.template) if v else None for v in voices], split) if region else ():
            self._named(view.vrf, domain)
        if _differing([v if v and v.pointing else None for v in voices], split):
            for first, last in region:
                for _, _, id_ in self._state.reverse_zones.over(*view, first, last):
                    self._touch(self._state.zones[id_])

    def _named(self, vrf: str, domain: str | None) -> None:
        self._touch(None if domain is None else self._state.zone_named(vrf, domain))

    def _voice(self, subnet: Subnet | None, past: bool = False) -> _Voice | None:
        """How a subnet's addresses are called now, or were called before the draft; None without a domain."""
        network = None if subnet is None else self._thing("network", subnet.network, past)
        if subnet is None or network is None or network.domain is None:
            return None
        zone = self._state.zone_named(network.vrf, network.domain)
        zone = None if zone is None else self._thing("zone", zone.id, past)
        return _Voice(network.domain, template_for(subnet, network, zone), subnet.reverse != "off")

    def _thing(self, kind: str, id_: str, past: bool) -> Any:
        return self._was[id_] if past and id_ in self._was else self._state.known(kind, id_)


SHAPING: Final[dict[type, Callable[[_Shapes, Any], None]]] = {
    e.VrfChanged: _Shapes.vrf,
    e.NetworkCreated: _Shapes.network,
    e.NetworkChanged: _Shapes.network,
    e.SubnetCreated: _Shapes.subnet,
    e.SubnetChanged: _Shapes.subnet,
    e.SubnetDeleted: _Shapes.subnet,
    e.RangeCreated: _Shapes.range,
    e.RangeChanged: _Shapes.range,
    e.RangeDeleted: _Shapes.range,
    e.ZoneCreated: _Shapes.zone_there,
    e.ZoneReshaped: _Shapes.zone,
    e.ZoneDeleted: _Shapes.zone_there,
    e.RecordCreated: _Shapes.record_there,
    e.RecordChanged: _Shapes.record_changed,
    e.RecordDeleted: _Shapes.record_there,
}
"""What each event may change as a whole."""


def _computing(voice: _Voice | None) -> _Voice | None:
    """A voice, if it calls addresses that nobody holds."""
    return voice if voice is not None and voice.template is not None else None


def _differing(sides: list[Any], split: bool) -> list[Any]:
    return [side for side in sides if side is not None] if split or sides[0] != sides[1] else []


def _place(record: ZoneRecord) -> tuple[str, str]:
    return record.zone, record.owner


def _span(subnet: Subnet | None) -> RangeSet:
    return RangeSet() if subnet is None else RangeSet.of(span_of(subnet)[1:])


def _area(space: Space, before: _Voice | None, after: _Voice | None) -> RangeSet:
    """The addresses of a subnet that are not those of one in it; those that are reserved matter if they may be held."""
    area = RangeSet.of((space.first, space.last)) - RangeSet(space.nested.values())
    templates_only = (
        before is not None and after is not None and before._replace(template=None) == after._replace(template=None)
    )
    return area - reserved(space.ranges.values()) if templates_only else area


def _times_said(use: u.Use, names: set[str]) -> set[str]:
    """The times that a use says of a network which it calls by one of these names.

    A network that joins a zone leaves it its times, unless somebody says others: they may be another network's.
    """
    if isinstance(use, u.Together):
        return {time for each in use.uses for time in _times_said(each, names)}
    if isinstance(use, u.CreateNetwork) and use.name in names:
        return use.fields.keys() & _TIMES
    if isinstance(use, u.ChangeNetwork) and use.network in names:
        return use.changes.keys() & _TIMES
    return set()


def _zones_of(draft: Draft, network: Network) -> Iterator[Zone]:
    """The forward zone of a network, and the reverse zones that its subnets want."""
    names = [network.domain] if network.domain is not None else []
    for space in draft.state.spaces(network.id):
        names.extend(wanted_by(draft.state, space))
    found = (draft.state.zone_named(network.vrf, name) for name in dict.fromkeys(names))
    return (zone for zone in found if zone is not None)
