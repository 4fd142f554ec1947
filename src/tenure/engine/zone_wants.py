"""What uses of zones and records need read by key, and templates of what is called by them."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import msgspec

from tenure.engine.facts import Wanted
from tenure.engine.names import relative_names
from tenure.engine.records import owner_in
from tenure.engine.state import State
from tenure.engine.zones import find_zone
from tenure.errors import InvalidValue, NotFound, TenureError
from tenure.model import uses as u
from tenure.model.addressing import Network
from tenure.model.dnsdata import Zone
from tenure.naming.hostnames import parse_name
from tenure.naming.reverse import owner_number
from tenure.naming.templates import parse_template
from tenure.net.addresses import parse_address, text_of


def _create_network(found: Wanted, use: u.CreateNetwork, state: State) -> None:
    vrf, domain = state.find("vrf", use.vrf), use.fields.get("domain")
    if vrf is not None and isinstance(domain, str):
        _below(found, state, vrf, domain)


def _change_network(found: Wanted, use: u.ChangeNetwork, state: State) -> None:
    id_ = state.find("network", use.network)
    if id_ is None or not use.changes.keys() & {"domain", "name_template"}:
        return
    network = state.networks[id_]
    domain = use.changes.get("domain", network.domain)
    template = use.changes.get("name_template", network.name_template)
    if isinstance(domain, str) and domain != network.domain:
        _below(found, state, network.vrf, domain)
    if isinstance(domain, str) and isinstance(template, str | None):
        new = msgspec.structs.replace(network, domain=domain, name_template=template)
        alike(found, state, new, *(space.subnet.name_template for space in state.spaces(id_)))


def _create_zone(found: Wanted, use: u.CreateZone, state: State) -> None:
    vrf = state.find("vrf", use.vrf)
    if vrf is None:
        return
    with suppress(InvalidValue):
        name = parse_name(use.name if use.name.endswith(".") else use.name + ".", "/name")
        _below(found, state, vrf, name)
        template = use.fields.get("name_template")
        if isinstance(template, str):
            _like(found, vrf, name, template)


def _change_zone(found: Wanted, use: u.ChangeZone, state: State) -> None:
    with suppress(TenureError):
        zone = find_zone(state, use.zone)
        template, servers = use.changes.get("name_template"), use.changes.get("name_servers")
        if isinstance(template, str):
            _like(found, zone.vrf, zone.name, template)
        for server in servers if isinstance(servers, list | tuple) else zone.name_servers:
            if isinstance(server, str):
                found.hostnames.update(name for name, _ in relative_names(state, zone.vrf, server.lower()))


def alike(found: Wanted, state: State, network: Network, *templates: object) -> None:
    """Who is called as addresses may be by one of these templates, the network's, or its zone's."""
    if network.domain is None:
        return
    zone = state.zone_named(network.vrf, network.domain)
    for template in (*templates, network.name_template, None if zone is None else zone.name_template):
        if isinstance(template, str):
            _like(found, network.vrf, network.domain, template)


def _like(found: Wanted, vrf: str, domain: str, template: str) -> None:
    with suppress(InvalidValue):
        read = parse_template(template)
        found.alike.add((vrf, domain, read.before, read.after))


def _below(found: Wanted, state: State, vrf: str, cut: str) -> None:
    """Whose names are at or below where a zone is to begin."""
    for hostname, domain in relative_names(state, vrf, cut):
        found.hostnames.add(hostname)
        found.holders.add(("below", vrf, domain, hostname))


def _create_record(found: Wanted, use: u.CreateRecord, state: State) -> None:
    with suppress(TenureError):
        for zone in _meant(state, use.zone):
            owner = owner_in(zone, use.name)
            _owner(found, state, zone, owner)
            _data(found, zone, use.type, use.data)
            if use.type == "NS":
                _below(found, state, zone.vrf, owner)


def _meant(state: State, name: str) -> list[Zone]:
    """The zone that a record is of; if there is none, those that the same transaction may make under that name."""
    try:
        return [find_zone(state, name)]
    except NotFound:
        absolute = name.lower() if name.endswith(".") else name.lower() + "."
        return [Zone(id="", vrf=vrf, name=absolute) for vrf in state.vrfs]


def _made_record(found: Wanted, use: u.ChangeRecord | u.DeleteRecord, state: State) -> None:
    record = state.records.get(use.record)
    if record is None:
        return
    zone = state.zones[record.zone]
    _owner(found, state, zone, record.owner)
    _data(found, zone, record.type, record.data)
    if isinstance(use, u.ChangeRecord):
        for other in state.made[zone.id][record.owner].values():
            _data(found, zone, other.type, other.data)
        _data(found, zone, record.type, use.changes.get("data"))


def _owner(found: Wanted, state: State, zone: Zone, owner: str) -> None:
    """Who is called so, and who holds the address that it points from."""
    found.hostnames.update(hostname for hostname, _ in relative_names(state, zone.vrf, owner))
    pointed = owner_number(zone.name, owner)
    if pointed is not None:
        found.addresses.add((zone.vrf, text_of(*pointed)))


def _data(found: Wanted, zone: Zone, type_: str, data: object) -> None:
    if type_ in ("A", "AAAA") and isinstance(data, str):
        with suppress(InvalidValue):
            found.addresses.add((zone.vrf, str(parse_address(data.strip()))))


ZONED: Final[dict[type, Callable[[Wanted, Any, State], None]]] = {
    u.CreateNetwork: _create_network,
    u.ChangeNetwork: _change_network,
    u.CreateZone: _create_zone,
    u.ChangeZone: _change_zone,
    u.CreateRecord: _create_record,
    u.ChangeRecord: _made_record,
    u.DeleteRecord: _made_record,
}
