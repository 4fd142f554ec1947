"""Which zones the inventory brings into being: each network's domain, each subnet's reverse zones.

The engine knows no names of zones, naming knows no inventory; this joins them.
The zones' events are recorded in the same change as the network's or subnet's.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from tenure.engine.plan import Draft
from tenure.engine.state import State
from tenure.errors import InvalidValue
from tenure.model import events as e
from tenure.model.addressing import Network, Subnet
from tenure.model.dnsdata import Zone
from tenure.naming.hostnames import LONGEST_NAME, parse_domain
from tenure.naming.reverse import zone_at, zones_for
from tenure.net.addresses import parse_prefix, width

_CONTACT = "hostmaster."
"""The longest name that every zone has in itself: its contact. (The other is its server.)"""

_LONGEST_DOMAIN = LONGEST_NAME - len(_CONTACT)


def follow(draft: Draft) -> None:
    """Record what a draft's events about networks and subnets mean for zones.

    Raises:
        InvalidValue: A network's domain is not the canonical name of a zone.

    Cost: nothing for a draft without such events; else a look at the networks and the crossing subnets.
    """
    for event in list(draft.events):
        found = _FOLLOWERS.get(type(event))
        if found is not None:
            found(draft, event)


def _network_made(draft: Draft, event: e.NetworkCreated) -> None:
    _want_domain(draft, event.network)


def _network_changed(draft: Draft, event: e.NetworkChanged) -> None:
    network = event.network
    _want_domain(draft, network)
    _drop_domains(draft, network.vrf)
    for zone in list(_zones_of(draft.state, network)):
        times = (network.ttl, network.negative_ttl)
        if (zone.ttl, zone.negative_ttl) != times:
            _reshape(draft, zone, ttl=network.ttl, negative_ttl=network.negative_ttl)


def _network_gone(draft: Draft, event: e.NetworkDeleted) -> None:
    _drop_domains(draft, event.network.vrf)


def _subnet_made(draft: Draft, event: e.SubnetCreated) -> None:
    _want_pointers(draft, event.subnet)


def _subnet_changed(draft: Draft, event: e.SubnetChanged) -> None:
    _want_pointers(draft, event.subnet)
    _drop_pointers(draft, event.subnet.vrf)


def _subnet_gone(draft: Draft, event: e.SubnetDeleted) -> None:
    _drop_pointers(draft, event.subnet.vrf)


_FOLLOWERS: dict[type, Callable[[Draft, Any], None]] = {
    e.NetworkCreated: _network_made,
    e.NetworkChanged: _network_changed,
    e.NetworkDeleted: _network_gone,
    e.SubnetCreated: _subnet_made,
    e.SubnetChanged: _subnet_changed,
    e.SubnetDeleted: _subnet_gone,
}


def _want_domain(draft: Draft, network: Network) -> None:
    if network.domain is None:
        return
    if parse_domain(network.domain, "/domain") != network.domain:
        raise InvalidValue(f"write the domain as {parse_domain(network.domain)}", pointer="/domain")
    if is_reverse("." + network.domain) or network.domain == "arpa.":
        raise InvalidValue("a network's domain cannot be a reverse zone", pointer="/domain")
    if len(network.domain) > _LONGEST_DOMAIN + 1:
        raise InvalidValue(
            f"a domain has at most {_LONGEST_DOMAIN} octets: {_CONTACT}, which its zone needs, goes before it",
            pointer="/domain",
            maximum=_LONGEST_DOMAIN,
        )
    if draft.state.zone_named(network.vrf, network.domain) is None:
        _create(draft, network, network.domain)


def _want_pointers(draft: Draft, subnet: Subnet) -> None:
    if subnet.reverse == "off":
        return
    network = draft.state.networks[subnet.network]
    for name, _, _ in zones_for(parse_prefix(subnet.cidr)):
        if draft.state.zone_named(subnet.vrf, name) is None:
            _create(draft, network, name)
            _reshape_around(draft, subnet.vrf, name)


def _create(draft: Draft, network: Network, name: str) -> None:
    zone = Zone(
        id=next(draft.moment.ids), vrf=network.vrf, name=name, ttl=network.ttl, negative_ttl=network.negative_ttl
    )
    draft.record(e.ZoneCreated(zone=zone))


def _drop_domains(draft: Draft, vrf: str) -> None:
    wanted = {n.domain for n in draft.state.networks.values() if n.vrf == vrf}
    _drop(draft, (z for z in _of_vrf(draft.state, vrf) if not is_reverse(z.name) and z.name not in wanted))


def _drop_pointers(draft: Draft, vrf: str) -> None:
    wanted: set[str] = set()
    for space in draft.state.subnets.values():
        if space.subnet.vrf == vrf and space.subnet.reverse != "off":
            wanted.update(name for name, _, _ in zones_for(parse_prefix(space.subnet.cidr)))
    _drop(draft, (z for z in _of_vrf(draft.state, vrf) if is_reverse(z.name) and z.name not in wanted))


def _drop(draft: Draft, zones: Iterable[Zone]) -> None:
    for zone in list(zones):
        draft.record(e.ZoneDeleted(zone=zone))
        _reshape_around(draft, zone.vrf, zone.name)


def _reshape_around(draft: Draft, vrf: str, name: str) -> None:
    """Names go to the innermost zone: one that came or went inside another changes what that one holds."""
    above = name.partition(".")[2]
    while above.count(".") > 2:
        around = draft.state.zone_named(vrf, above)
        if around is not None:
            _reshape(draft, around)
            return
        above = above.partition(".")[2]


def _reshape(draft: Draft, zone: Zone, **changes: int) -> None:
    draft.record(e.ZoneReshaped(zone=msgspec.structs.replace(zone, revision=zone.revision + 1, **changes)))


def _of_vrf(state: State, vrf: str) -> Iterator[Zone]:
    return (zone for zone in state.zones.values() if zone.vrf == vrf)


def _zones_of(state: State, network: Network) -> Iterator[Zone]:
    """The forward zone of a network, and the reverse zones of its subnets."""
    names = [network.domain] if network.domain is not None else []
    for space in state.spaces(network.id):
        if space.subnet.reverse != "off":
            names.extend(name for name, _, _ in zones_for(parse_prefix(space.subnet.cidr)))
    found = (state.zone_named(network.vrf, name) for name in dict.fromkeys(names))
    return (zone for zone in found if zone is not None)


def is_reverse(name: str) -> bool:
    """Whether a zone holds pointers."""
    return name.endswith((".in-addr.arpa.", ".ip6.arpa."))


def pointer_zone(
    named: Callable[[str, str], Zone | None], vrf: str, version: int, number: int, length: int
) -> Zone | None:
    """The zone that an address's pointer is in: the innermost that there is.

    That is its subnet's, or the last cut's (/24, /124), which a smaller subnet nested in this one may have brought.
    """
    innermost = named(vrf, zone_at(version, number, width(version))[0])
    return innermost or named(vrf, zone_at(version, number, length)[0])
