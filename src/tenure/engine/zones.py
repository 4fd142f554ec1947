"""Zones as people make and change them. (Which zones networks and subnets bring along is decided above the engine.)"""

from typing import Final

import msgspec

from tenure.engine import resolve
from tenure.engine.cuts import unshadowed
from tenure.engine.draft import Draft
from tenure.engine.inventory import changed, converted, vacant
from tenure.engine.names import unlike_others
from tenure.engine.naming_fields import name_template, server_names
from tenure.engine.pointing import wanting, without_keeping
from tenure.engine.serving import not_own, reachable
from tenure.engine.state import State
from tenure.errors import Conflict, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.answers import Made, Nothing
from tenure.model.dnsdata import CATALOG, Zone
from tenure.model.uses import ChangeZone, CreateZone, DeleteZone
from tenure.naming import serial
from tenure.naming.authority import CONTACT
from tenure.naming.hostnames import LONGEST_NAME, parse_name
from tenure.naming.reverse import classless_span, zone_span

LONGEST_TTL: Final = 2**31 - 1
LONGEST_ZONE: Final = LONGEST_NAME - len(CONTACT) - 1
_REVERSE: Final = ("in-addr.arpa.", "ip6.arpa.")


class _Said(msgspec.Struct, frozen=True):
    """What a person may say of a zone."""

    ttl: int = 300
    negative_ttl: int = 60
    name_servers: tuple[str, ...] = ()
    name_template: str | None = None
    serial: int = serial.FIRST


def find_zone(state: State, name: str, pointer: str = "") -> Zone:
    """A zone by its id, or by its name where one vrf alone has such a zone.

    Raises:
        NotFound: There is none.
        InvalidValue: Several vrfs have one of this name.
    """
    if name in state.zones:
        return state.zones[name]
    absolute = name.lower() if name.endswith(".") else name.lower() + "."
    found = [zone for vrf in state.vrfs if (zone := state.zone_named(vrf, absolute)) is not None]
    if not found:
        raise NotFound(f"there is no zone {name!r}", kind="zone", name=name, pointer=pointer)
    if len(found) > 1:
        ids = [zone.id for zone in found]
        raise InvalidValue(f"several vrfs have a zone {absolute}; name its id", pointer=pointer, allowed=ids)
    return found[0]


def create_zone(use: CreateZone, draft: Draft) -> Made:
    """Make a zone that stays, whatever networks and subnets there are.

    Raises:
        InvalidValue: Its name cannot be a zone's, or a field is malformed.
        Conflict: The vrf has it already; it would hide what the zone around it says (`cuts.unshadowed`); or one of its
            servers has no address (`serving.reachable`).
    """
    vrf = resolve.resolved(draft.state, "vrf", use.vrf, "/vrf")
    name = _zone_name(use.name)
    there = draft.state.zone_named(vrf, name)
    if there is not None:
        how = "" if there.kept else "; networks or subnets brought it, and it stays without them if it is `kept`"
        raise Conflict(f"there is a zone {name} already{how}", kind="zone", name=name, id=there.id, pointer="/name")
    for field in use.fields:
        if field not in _Said.__struct_fields__:
            raise InvalidValue(f"{field} is not a field that can be set", pointer=f"/{field}")
    said = converted(use.fields, _Said)
    zone = Zone(id=next(draft.moment.ids), vrf=vrf, name=name, kept=True, **msgspec.structs.asdict(said))
    zone = _sound(zone)
    unshadowed(draft, vrf, name)
    if "serial" in use.fields:
        draft.serials[zone.id] = zone.serial
    draft.record(e.ZoneCreated(zone=zone))
    reachable(draft.state, vrf, zone.name_servers)
    unlike_others(draft, vrf, name)
    return Made(zone=zone)


def change_zone(use: ChangeZone, draft: Draft) -> Made:
    """Change a zone's times, name servers or template, or whether it stays; all of it is new to who follows it.

    A serial that is given must be later than the zone's own: who follows it would take no other (RFC 1982).
    What changes nothing is not recorded.

    Raises:
        NotFound, InvalidValue, StaleRevision: As usual.
        Conflict: It would not stay, and nothing but that keeps it: delete it. A server has no address: see `serving`.
        InUse: Others are served by the name that this server has in it, and would not have any more.
    """
    old = find_zone(draft.state, use.zone)
    resolve.matching(old.revision, draft.asked.if_match)
    _not_catalog(old)
    zone = _sound(changed(old, use.changes, ("vrf", "name", "floor")))
    if "serial" in use.changes:
        zone = _going_on(draft, old, zone)
    if old.kept and not zone.kept and not needing(draft.state, old):
        raise Conflict(f"nothing else needs zone {old.name}; delete it", zone=old.id, pointer="/kept")
    if msgspec.structs.replace(zone, revision=old.revision) == old:
        return Made(zone=old)
    draft.record(e.ZoneReshaped(zone=zone))
    if zone.name_servers != old.name_servers:
        reachable(draft.state, zone.vrf, zone.name_servers)
        not_own(draft.state, zone)
    unlike_others(draft, zone.vrf, zone.name)
    return Made(zone=zone)


def delete_zone(use: DeleteZone, draft: Draft) -> Nothing:
    """Close a zone without records; one that networks or subnets need stays as long as they.

    Raises:
        InUse: It has records that people made; or others need it, and no person had made it; or are served by its name.
    """
    zone = find_zone(draft.state, use.zone)
    resolve.matching(zone.revision, draft.asked.if_match)
    _not_catalog(zone)
    records = draft.state.made.get(zone.id, {})
    vacant(f"zone {zone.name}", [f"{r.owner} {r.type}" for owner in records.values() for r in owner.values()])
    holders = needing(draft.state, zone)
    if not holders:
        draft.record(e.ZoneDeleted(zone=zone))
        not_own(draft.state, zone)
    elif zone.kept:
        draft.record(e.ZoneReshaped(zone=msgspec.structs.replace(zone, kept=False, revision=zone.revision + 1)))
    else:
        vacant(f"zone {zone.name}", holders, advice="; it goes with them")
    return Nothing()


def needing(state: State, zone: Zone) -> list[str]:
    """The networks and subnets for which a zone is there, even if no person keeps it.

    Cost: a forward one's: the networks; else the subnets near it.
    """
    if zone_span(zone.name) is None:
        return [f"network {n.name}" for n in state.networks.values() if (n.vrf, n.domain) == (zone.vrf, zone.name)]
    needed = without_keeping(wanting(state, zone.vrf, zone.name), zone.name)
    return [f"subnet {space.subnet.cidr}" for space in needed]


def _zone_name(text: str) -> str:
    name = parse_name(text if text.endswith(".") else text + ".", "/name")
    if len(name) > LONGEST_ZONE + 1:
        raise InvalidValue(
            f"a zone's name has at most {LONGEST_ZONE} octets: {CONTACT}, which it needs, goes before it",
            pointer="/name",
            maximum=LONGEST_ZONE,
        )
    if name == CATALOG:
        raise InvalidValue(f"{name} is the catalog, which comes with the first secondary", pointer="/name")
    if name.endswith(_REVERSE):
        _reverse_name(name)
    return name


def _reverse_name(name: str) -> None:
    span = zone_span(name)
    if span is None:
        raise InvalidValue(
            f"{name} is no reverse zone's name: whole octets or nibbles, or as 64-26.2.0.192.in-addr.arpa.",
            pointer="/name",
            value=name,
        )
    if span[1] == span[2] and classless_span(name) is None:
        raise InvalidValue(f"{name} is an address's name, not a zone's", pointer="/name", value=name)


def _not_catalog(zone: Zone) -> None:
    if zone.catalog:
        raise Conflict(f"{zone.name} is the catalog: it is there as long as there are secondaries", zone=zone.id)


def _going_on(draft: Draft, old: Zone, zone: Zone) -> Zone:
    """A zone with the serial that was asked for; if it has that already, as it was."""
    current = draft.moment.serials.get(zone.id, old.serial)
    if zone.serial == current:
        return msgspec.structs.replace(zone, serial=old.serial)
    if not serial.later(zone.serial, current):
        between = serial.halfway(current, zone.serial)
        raise InvalidValue(
            f"serial {zone.serial} is not later than {current}, and nobody who follows the zone would (RFC 1982): to go"
            f" round to it, set {between} first, wait until all secondaries have that, and then set {zone.serial}",
            pointer="/serial",
            current=current,
            between=between,
        )
    draft.serials[zone.id] = zone.serial
    return zone


def _sound(zone: Zone) -> Zone:
    """A zone whose fields hold, its servers and template in their one spelling."""
    if not serial.FIRST <= zone.serial <= serial.LAST:
        raise InvalidValue(
            f"serial must be {serial.FIRST} to {serial.LAST}",
            pointer="/serial",
            minimum=serial.FIRST,
            maximum=serial.LAST,
        )
    for field in ("ttl", "negative_ttl"):
        if not 0 <= getattr(zone, field) <= LONGEST_TTL:
            raise InvalidValue(
                f"{field} must be 0 to {LONGEST_TTL}", pointer=f"/{field}", minimum=0, maximum=LONGEST_TTL
            )
    template = name_template(zone.name_template)
    if template is not None and zone_span(zone.name) is not None:
        raise InvalidValue(
            "a reverse zone has no template: its names come from the forward one", pointer="/name_template"
        )
    return msgspec.structs.replace(zone, name_servers=server_names(zone.name_servers), name_template=template)
