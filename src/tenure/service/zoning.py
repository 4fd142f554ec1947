"""Which zones there are: those that networks, subnets, people and secondaries need, and no others.

    forward    each network's domain
    reverse    what the subnets want (`engine.pointing`)
    catalog    of each vrf that has secondaries
    any        that a person made or keeps, or that holds a record which a person made

The zones' events are recorded in the same change as the network's or subnet's. What the zones hold
that stay, and whether all of it is new, is the matter of `service.reshaping`.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec

from tenure.engine.cuts import unhidden, unshadowed
from tenure.engine.draft import Draft
from tenure.engine.pointing import LAST_CUT, is_classless, octet_zone, wanted_by, wanting
from tenure.engine.serving import not_own
from tenure.engine.space import Space
from tenure.engine.state import State
from tenure.errors import Conflict, InvalidValue
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet
from tenure.model.dnsdata import CATALOG, Zone
from tenure.naming.authority import CONTACT
from tenure.naming.hostnames import LONGEST_NAME, parse_domain
from tenure.naming.reverse import classless_span, classless_zone, zone_at, zone_span, zones_for
from tenure.naming.templates import parse_template
from tenure.net.addresses import parse_prefix
from tenure.service import reshaping

_LONGEST_DOMAIN: Final = LONGEST_NAME - len(CONTACT) - 1
"""The longest name that every zone has in itself is its contact. (The other is its server.)"""

_HIGHEST: Final = (6, 2**128 - 1)
"""The address whose computed name is the longest."""


def follow(draft: Draft) -> None:
    """Record what a draft's events mean for zones: those that come, those that go, and those that are new as a whole.

    After it the zones are exactly those that are needed, and each one whose contents changed otherwise than record
    by record is reshaped once.

    Raises:
        InvalidValue: A network's domain is not the canonical name of a zone, or a template makes names too long.
        InUse: Others are served by the name that this server has in a zone that goes.
        Conflict: A zone that is needed would hide what is said, or one that is there what a template computes.

    Cost: nothing for a draft without events about the inventory; else a look at the crossing subnets, and at the
    zones that change.
    """
    if _FOLLOWED.isdisjoint(map(type, draft.events)):
        return
    _settle(draft)
    reshaping.reshape(draft)


class _Census:
    """What a draft may have made necessary or needless.

    Attributes:
        networks, spaces: Ids of what may need zones. names: Vrf and name of zones that may not be needed.
        catalogs: Ids of vrfs. called: Ids of networks, subnets and zones that have other templates, or elsewhere.
    """

    def __init__(self, draft: Draft) -> None:
        self.state, self.was = draft.state, draft.was
        self.networks: dict[str, None] = {}
        self.spaces: dict[str, None] = {}
        self.names: dict[tuple[str, str], None] = {}
        self.catalogs: dict[str, None] = {}
        self.called: dict[str, None] = {}

    def network(self, event: e.NetworkCreated | e.NetworkChanged) -> None:
        """Its domain, and the one that it had."""
        old, network = self.was[event.network.id], event.network
        if old is None or old.domain != network.domain:
            self.networks[network.id] = None
            self.network_gone(event)
        if old is None or (old.domain, old.name_template) != (network.domain, network.name_template):
            self.called[network.id] = None

    def network_gone(self, event: e.NetworkCreated | e.NetworkChanged | e.NetworkDeleted) -> None:
        """The domain that it had."""
        old = self.was[event.network.id]
        if old is not None and old.domain is not None:
            self.names[old.vrf, old.domain] = None

    def subnet(self, event: e.SubnetCreated | e.SubnetChanged | e.SubnetDeleted) -> None:
        """Its zones, those that it had, and those of the subnets in it that have other zones without it."""
        old, new = self.was[event.subnet.id], self.state.known("subnet", event.subnet.id)
        if new is not None and (old is None or old.name_template != new.name_template):
            self.called[new.id] = None
        if old is not None and new is not None and (old.cidr, old.reverse) == (new.cidr, new.reverse):
            return
        for subnet in (old, new):
            if subnet is not None:
                self.spaces[subnet.id] = None
                self._names_of(subnet)

    def _names_of(self, subnet: Subnet) -> None:
        prefix = parse_prefix(subnet.cidr)
        first, length = int(prefix.network_address), prefix.prefixlen
        self.names.update(dict.fromkeys((subnet.vrf, name) for name, _, _ in zones_for(prefix)))
        if prefix.version == 4:
            if length > LAST_CUT[4]:
                self.names[subnet.vrf, classless_zone(first, length)] = None
            self._inside(subnet.vrf, first, length)

    def _inside(self, vrf: str, first: int, length: int) -> None:
        """Those longer than an octet in an IPv4 prefix: what is around them may decide what zones they have."""
        for space in self.state.crossing(vrf, 4, first, length):
            if space.prefix_length > length and is_classless(space):
                self.spaces[space.subnet.id] = None
                self.names[vrf, octet_zone(space)] = None
                self.names[vrf, classless_zone(space.first, space.prefix_length)] = None

    def zone(self, event: e.ZoneCreated | e.ZoneReshaped | e.ZoneDeleted) -> None:
        """One that a person made, keeps no longer, or deleted."""
        zone, old = event.zone, self.was[event.zone.id]
        now = self.state.zones.get(zone.id)
        if now is not None and (old is None or old.name_template != now.name_template):
            self.called[now.id] = None
        kept = now is not None and now.kept
        if kept != (old is not None and old.kept):
            self.names[zone.vrf, zone.name] = None
            span = zone_span(zone.name)
            if span is not None and zone.name == zone_at(4, span[1], LAST_CUT[4])[0]:
                self._inside(zone.vrf, span[1], LAST_CUT[4])

    def record_gone(self, event: e.RecordDeleted) -> None:
        """It may have been the last thing that held its zone."""
        zone = self.state.zones.get(event.record.zone)
        if zone is not None:
            self.names[zone.vrf, zone.name] = None

    def secondary(self, event: e.SecondaryCreated | e.SecondaryDeleted) -> None:
        """The first one brings the catalog, and the last one takes it along."""
        self.catalogs[event.secondary.vrf] = None
        self.names[event.secondary.vrf, CATALOG] = None


_COUNTED: Final[dict[type, Callable[[_Census, Any], None]]] = {
    e.NetworkCreated: _Census.network,
    e.NetworkChanged: _Census.network,
    e.NetworkDeleted: _Census.network_gone,
    e.SubnetCreated: _Census.subnet,
    e.SubnetChanged: _Census.subnet,
    e.SubnetDeleted: _Census.subnet,
    e.ZoneCreated: _Census.zone,
    e.ZoneReshaped: _Census.zone,
    e.ZoneDeleted: _Census.zone,
    e.RecordDeleted: _Census.record_gone,
    e.SecondaryCreated: _Census.secondary,
    e.SecondaryDeleted: _Census.secondary,
}


_FOLLOWED: Final = frozenset({*_COUNTED, *reshaping.SHAPING})


def _settle(draft: Draft) -> None:
    """Delete the zones that nothing needs any more, and create those that are missing."""
    census, state = _Census(draft), draft.state
    for event in draft.events:
        count = _COUNTED.get(type(event))
        if count is not None:
            count(census, event)
    for vrf, name in census.names:
        zone = state.zone_named(vrf, name)
        if zone is not None and not _needed(state, zone):
            draft.record(e.ZoneDeleted(zone=zone))
            not_own(state, zone)
    for network in _present(census.networks, state.networks):
        _want_domain(draft, network)
    for space in _present(census.spaces, state.subnets):
        _want_pointers(draft, space)
    _fit_names(state, census.called)
    for vrf in census.catalogs:
        if any(each.vrf == vrf for each in state.secondaries.values()):
            _create(draft, Zone(id="", vrf=vrf, name=CATALOG))


def _present(ids: Iterable[str], things: dict[str, Any]) -> list[Any]:
    return [things[id_] for id_ in ids if id_ in things]


def _needed(state: State, zone: Zone) -> bool:
    if zone.kept or zone.id in state.made:
        return True
    if zone.catalog:
        return any(each.vrf == zone.vrf for each in state.secondaries.values())
    if is_reverse(zone.name):
        return any(True for _ in wanting(state, zone.vrf, zone.name))
    return any((network.vrf, network.domain) == (zone.vrf, zone.name) for network in state.networks.values())


def _want_domain(draft: Draft, network: Network) -> None:
    if network.domain is None:
        return
    if parse_domain(network.domain, "/domain") != network.domain:
        raise InvalidValue(f"write the domain as {parse_domain(network.domain)}", pointer="/domain")
    if is_reverse("." + network.domain) or network.domain in ("arpa.", CATALOG):
        raise InvalidValue("a network's domain cannot be a reverse zone, or the catalog", pointer="/domain")
    if len(network.domain) > _LONGEST_DOMAIN + 1:
        raise InvalidValue(
            f"a domain has at most {_LONGEST_DOMAIN} octets: {CONTACT}, which its zone needs, goes before it",
            pointer="/domain",
            maximum=_LONGEST_DOMAIN,
        )
    zone = Zone(id="", vrf=network.vrf, name=network.domain, ttl=network.ttl, negative_ttl=network.negative_ttl)
    _create(draft, zone, "/domain")


def _want_pointers(draft: Draft, space: Space) -> None:
    network = draft.state.networks[space.subnet.network]
    pointer = "/cidr" if space.subnet.id in draft.was else ""
    for name in wanted_by(draft.state, space):
        zone = Zone(id="", vrf=network.vrf, name=name, ttl=network.ttl, negative_ttl=network.negative_ttl)
        _create(draft, zone, pointer, _staying(draft.state, space, name))


def _staying(state: State, space: Space, name: str) -> str:
    """What else to do where records are in the way of a classless zone, as after the subnet around it went."""
    octet = octet_zone(space) if classless_span(name) is not None else ""
    if state.zone_named(space.subnet.vrf, octet) is None:
        return ""
    return f", or set `reverse` of subnet {space.subnet.cidr} to `plain`: its pointers are in {octet} then"


def _fit_names(state: State, called: Iterable[str]) -> None:
    """Refuse templates by which an address's name would be too long, or hidden, of these networks, subnets, zones."""
    for id_ in called:
        if id_ in state.zones:
            zone = state.zones[id_]
            _fit(state, zone.vrf, zone.name, (zone.name_template,))
        elif id_ in state.networks:
            network = state.networks[id_]
            said = {network.name_template, *(s.subnet.name_template for s in state.spaces(id_))}
            _fit(state, network.vrf, network.domain, said)
        elif id_ in state.subnets:
            subnet = state.subnets[id_].subnet
            _fit(state, subnet.vrf, state.networks[subnet.network].domain, (subnet.name_template,))


def _fit(state: State, vrf: str, domain: str | None, templates: Iterable[str | None]) -> None:
    said = [template for template in templates if template is not None]
    if domain is not None:
        for template in said:
            _fits(template, domain)
        unhidden(state, vrf, domain, said)


def _fits(template: str, domain: str) -> None:
    longest = f"{parse_template(template).name(*_HIGHEST)}.{domain}"
    if len(longest) > LONGEST_NAME + 1:
        raise InvalidValue(
            f"names of {template} in {domain} would have up to {len(longest) - 1} octets, more than {LONGEST_NAME}",
            pointer="/name_template",
            maximum=LONGEST_NAME,
        )


def _create(draft: Draft, zone: Zone, pointer: str = "", advice: str = "") -> None:
    """Create a zone, if there is none of its name; `advice`: what else to do if it would hide records."""
    if draft.state.zone_named(zone.vrf, zone.name) is not None:
        return
    try:
        unshadowed(draft, zone.vrf, zone.name)
    except Conflict as error:
        raise Conflict(error.message + advice, **error.facts | {"pointer": pointer}) from None
    draft.record(e.ZoneCreated(zone=msgspec.structs.replace(zone, id=next(draft.moment.ids))))


def is_reverse(name: str) -> bool:
    """Whether a zone holds pointers."""
    return name.endswith((".in-addr.arpa.", ".ip6.arpa."))
