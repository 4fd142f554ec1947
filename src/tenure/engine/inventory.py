"""The inventory's rules: vrfs, locations, networks. (Subnets and ranges: `subnets`; machines: `machines`.)"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tenure.engine import resolve
from tenure.engine.dhcp_options import encoded
from tenure.engine.draft import Draft
from tenure.engine.fields import labelled
from tenure.engine.leaving import leaving
from tenure.engine.names import unlike_others
from tenure.engine.naming_fields import name_template, server_names
from tenure.engine.serving import not_own, reachable
from tenure.engine.space import Space
from tenure.errors import Conflict, InUse, InvalidValue, NotFound
from tenure.model import events as e
from tenure.model.access import Token
from tenure.model.addressing import Network, Vrf
from tenure.model.answers import Made, Nothing
from tenure.model.policy import WIDTHS, Dhcp
from tenure.model.topology import Location
from tenure.model.uses import (
    ChangeLocation,
    ChangeNetwork,
    ChangeVrf,
    CreateLocation,
    CreateNetwork,
    CreateToken,
    CreateVrf,
    DeleteLocation,
    DeleteNetwork,
    DeleteVrf,
    RevokeToken,
)
from tenure.naming.hostnames import parse_domain

T = TypeVar("T", bound=msgspec.Struct)

_BOUNDS = {
    "cooldown": (0, 30 * 86400),
    "ttl": (0, 7 * 86400),
    "negative_ttl": (0, 86400),
    "block_length_v4": (8, 32),
    "rack_block_length_v4": (8, 32),
    "block_length_v6": (32, 128),
    "rack_block_length_v6": (32, 128),
    "route_budget": (1, 1_000_000),
    "harvest_after": (0, 3650 * 86400),
    "harvest_below": (0, 2**32),
    "low_threshold": (0, 2**32),
    "enlist_limit": (0, 100_000),
}
_SAID_BY_ENGINE = ("over_budget", "depleted")


def changed(thing: T, changes: dict[str, Any], fixed: tuple[str, ...]) -> T:
    """A copy of `thing` with `changes`, one revision on.

    Raises:
        InvalidValue: A field is unknown, fixed, or of the wrong type; `pointer` names it.
    """
    fields = msgspec.to_builtins(thing)
    for name, value in changes.items():
        if name not in fields or name in ("id", "revision"):
            raise InvalidValue(f"{name} is not a field that can be set", pointer=f"/{name}")
        if name in fixed and value != fields[name]:
            raise InvalidValue(f"{name} cannot be changed; make another", pointer=f"/{name}")
    fields.update(changes)
    fields["revision"] += 1
    return converted(fields, type(thing))


def converted(fields: dict[str, Any], kind: type[T]) -> T:
    """A value from loose fields.

    Raises:
        InvalidValue: A field is of the wrong type; `pointer` names it.
    """
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$.")
        field = path.rstrip("`").split(".")[0].split("[")[0]
        raise InvalidValue(f"{field}: {message}", pointer=f"/{field}" if field else "") from error


def new(kind: type[T], id_: str, fields: dict[str, Any], **given: Any) -> T:
    """A new thing of its first revision; `fields` are as a caller sent them, `given` cannot be among them."""
    known = {f.name for f in msgspec.structs.fields(kind)} - {"id", "revision", *given}
    for name in fields:
        if name not in known:
            raise InvalidValue(f"{name} is not a field that can be set", pointer=f"/{name}")
    return converted({"id": id_, **fields, **given}, kind)


def bounded(thing: Any, names: tuple[str, ...]) -> None:
    """Refuse a number outside its bounds.

    Raises:
        InvalidValue: With the field's pointer and what is allowed.
    """
    for name in names:
        low, high = _BOUNDS[name]
        value = getattr(thing, name)
        if value is not None and not low <= value <= high:
            raise InvalidValue(f"{name} must be {low} to {high}", pointer=f"/{name}", minimum=low, maximum=high)


def create_vrf(use: CreateVrf, draft: Draft) -> Made:
    """Make an address space."""
    resolve.unnamed(draft.state, "vrf", use.name)
    vrf = Vrf(id=next(draft.moment.ids), name=use.name, name_servers=server_names(use.name_servers))
    draft.record(e.VrfCreated(vrf=vrf))
    return Made(vrf=vrf)


def change_vrf(use: ChangeVrf, draft: Draft) -> Made:
    """Change an address space's name, or the servers of its zones that name none.

    Raises:
        Conflict: A server is in one of its zones and has no address there: see `serving.reachable`.
        InUse: A zone is served by the name that this server has in another, and would not have any more.
    """
    old = draft.state.vrfs[resolve.resolved(draft.state, "vrf", use.vrf)]
    resolve.matching(old.revision, draft.asked.if_match)
    vrf = changed(old, use.changes, ())
    vrf = msgspec.structs.replace(vrf, name_servers=server_names(vrf.name_servers))
    resolve.unnamed(draft.state, "vrf", vrf.name, but=vrf.id)
    draft.record(e.VrfChanged(vrf=vrf))
    if vrf.name_servers != old.name_servers:
        reachable(draft.state, vrf.id, vrf.name_servers)
        for zone in [each for each in draft.state.zones.values() if each.vrf == vrf.id and not each.name_servers]:
            not_own(draft.state, zone)
    return Made(vrf=vrf)


def delete_vrf(use: DeleteVrf, draft: Draft) -> Nothing:
    """Close an address space without networks, zones that people made, secondaries and keys."""
    state = draft.state
    vrf = state.vrfs[resolve.resolved(state, "vrf", use.vrf)]
    resolve.matching(vrf.revision, draft.asked.if_match)
    zones = [zone for zone in state.zones.values() if zone.kept or zone.id in state.made]
    for things in state.networks.values(), zones, state.secondaries.values(), state.tsig_keys.values():
        vacant(f"vrf {vrf.name}", [each.name for each in things if each.vrf == vrf.id])
    draft.record(e.VrfDeleted(vrf=vrf))
    return Nothing()


def vacant(what: str, holders: list[str], count: int | None = None, advice: str = "") -> None:
    """Refuse to delete what still holds something; `advice` ends the sentence.

    Raises:
        InUse: With the first 20 holders and how many there are.
    """
    total = len(holders) if count is None else count
    if total:
        first = holders[:20]
        named = ", ".join(first) + (" …" if total > len(first) else "")
        raise InUse(f"{what} still holds {total}: {named}{advice}", holders=first, count=total)


def create_location(use: CreateLocation, draft: Draft) -> Made:
    """Make a place under its parent."""
    resolve.unnamed(draft.state, "location", use.name)
    parent = None if use.parent is None else resolve.location(draft.state, use.parent, "/parent").id
    routers = _routers({"router": use.router, "router_v6": use.router_v6})
    id_ = next(draft.moment.ids)
    place = Location(id=id_, name=use.name, kind=use.kind, parent=parent, relay=use.relay, **routers)
    _fits_above(draft, place)
    draft.record(e.LocationCreated(location=place))
    return Made(location=place)


def change_location(use: ChangeLocation, draft: Draft) -> Made:
    """Change a place's name, parent, relay or routers, or whether it is draining."""
    old = resolve.location(draft.state, use.location, "")
    resolve.matching(old.revision, draft.asked.if_match)
    if use.changes == {"draining": old.draining}:
        return Made(location=old)
    changes = dict(use.changes)
    if changes.get("parent") is not None:
        changes["parent"] = resolve.location(draft.state, str(changes["parent"]), "/parent").id
    place = changed(old, changes | _routers(changes), ("kind",))
    resolve.unnamed(draft.state, "location", place.name, but=place.id)
    _fits_above(draft, place)
    draft.record(e.LocationChanged(location=place))
    return Made(location=place)


def _routers(sent: Mapping[str, object]) -> dict[str, Any]:
    """The routers' addresses among what was sent, in their one spelling."""
    routers: dict[str, Any] = {}
    for name in sent.keys() & {"router", "router_v6"}:
        text = sent[name]
        routers[name] = None if text is None else resolve.host_address(str(text), f"/{name}")
    second = routers.get("router_v6")
    if second is not None and ":" not in second:
        raise InvalidValue(f"{second} is not an IPv6 address", pointer="/router_v6", value=second)
    return routers


def _fits_above(draft: Draft, place: Location) -> None:
    if place.parent is not None:
        above = draft.state.locations[place.parent]
        if WIDTHS[above.kind] <= WIDTHS[place.kind]:
            raise InvalidValue(f"a {place.kind} cannot be in a {above.kind}", pointer="/parent")
    relay = place.relay
    if relay is not None:
        if relay.circuit_id is None and relay.remote_id is None:
            raise InvalidValue("a relay needs a circuit_id or a remote_id", pointer="/relay")
        other = draft.state.relays.get((relay.circuit_id, relay.remote_id))
        if other not in (None, place.id):
            raise InvalidValue("another location has this relay already", pointer="/relay")


def delete_location(use: DeleteLocation, draft: Draft) -> Nothing:
    """Close a place that holds no claim, place, subnet or machine.

    Its empty blocks go back; those in which others hold addresses stay, ownerless, until they are empty.
    """
    state = draft.state
    place = resolve.location(state, use.location, "")
    resolve.matching(place.revision, draft.asked.if_match)
    what = f"location {place.name}"
    vacant(what, [state.locations[c].name for c in state.children.get(place.id, ())])
    vacant(what, [state.subnets[s].subnet.cidr for s in state.prefixes.bound_to.get(place.id, ())])
    vacant(what, *_at_location(draft, place.id))
    for space in state.subnets.values():
        for step in leaving(space, place.id):
            draft.record(step)
    draft.record(e.LocationDeleted(location=place))
    return Nothing()


def _at_location(draft: Draft, place: str) -> tuple[list[str], int]:
    """Labels of claims and machines at a place, and how many: as read, put right by what the batch did since."""
    labels, count = draft.facts.holders.get(("location", place, "", ""), ([], 0))
    machines = draft.facts.machines
    here = {f"machine {m.name}" for m in machines.values() if m.location == place}
    gone = {f"machine {n}" for n, id_ in draft.facts.machine_names.items() if id_ not in machines}
    gone |= {f"machine {m.name}" for m in machines.values()} - here
    claims = [label for label in labels if label.startswith("claim ")]
    known = here | {label for label in labels if label.startswith("machine ")} - gone
    unseen = count - len(labels)
    return [*claims, *sorted(known)] if known else claims, draft.state.claims_at[place] + len(known) + unseen


def create_network(use: CreateNetwork, draft: Draft) -> Made:
    """Make a network."""
    resolve.unnamed(draft.state, "network", use.name)
    vrf = resolve.resolved(draft.state, "vrf", use.vrf, "/vrf")
    _not_said(use.fields)
    network = _sound(new(Network, next(draft.moment.ids), use.fields, name=use.name, vrf=vrf))
    draft.record(e.NetworkCreated(network=network))
    return Made(network=network)


def change_network(use: ChangeNetwork, draft: Draft) -> Made:
    """Change a network's name or policies. Its domain stays while an address is held in it."""
    old = resolve.network(draft.state, use.network, "")
    resolve.matching(old.revision, draft.asked.if_match)
    changes = dict(use.changes)
    _not_said(changes)
    if changes.get("vrf") is not None:
        changes["vrf"] = draft.state.find("vrf", str(changes["vrf"]))
    network = _sound(changed(old, changes, ("vrf",)))
    resolve.unnamed(draft.state, "network", network.name, but=network.id)
    if network.domain != old.domain:
        _unnamed_in(old, [s for s in draft.state.spaces(old.id) if s.held])
    draft.record(e.NetworkChanged(network=network))
    unlike_others(draft, network.vrf, network.domain)
    return Made(network=network)


def _unnamed_in(network: Network, held: Sequence[Space]) -> None:
    """Refuse another domain while addresses have their names in this one.

    Raises:
        InUse: With the first 20 subnets that hold addresses, and how many addresses there are.
    """
    if held:
        total, first = sum(space.held for space in held), held[:20]
        named = ", ".join(f"{space.held} of {space.subnet.cidr}" for space in first) + " …" * (len(held) > len(first))
        raise InUse(
            f"network {network.name} keeps its domain while it holds addresses, which are called so: {named}; "
            "release them first, or make another network with the other domain",
            holders=[space.subnet.cidr for space in first],
            count=total,
        )


def _not_said(fields: Mapping[str, object]) -> None:
    for name in _SAID_BY_ENGINE:
        if name in fields:
            raise InvalidValue(f"{name} cannot be set: it tells what is so", pointer=f"/{name}")


def _sound(network: Network) -> Network:
    """A network whose policies hold, with its tags in their one form."""
    bounded(network, tuple(_BOUNDS))
    domain = network.domain
    if domain is not None and parse_domain(domain, "/domain") != domain:
        raise InvalidValue(f"write the domain as {parse_domain(domain)}", pointer="/domain", value=domain)
    network = msgspec.structs.replace(network, name_template=name_template(network.name_template))
    sound_dhcp(network.dhcp)
    for version in ("v4", "v6"):
        rack, block = getattr(network, f"rack_block_length_{version}"), getattr(network, f"block_length_{version}")
        if rack is not None and block is not None and rack > block:
            raise InvalidValue("a rack block cannot be smaller than a block", pointer=f"/rack_block_length_{version}")
    return labelled(network)


def sound_dhcp(dhcp: Dhcp) -> None:
    """Refuse a lease time outside 60 s to 30 days, and options that cannot be sent."""
    encoded(dhcp.options)
    lease_time = dhcp.lease_time
    if lease_time is not None and not 60 <= lease_time <= 30 * 86400:
        raise InvalidValue(
            "lease_time must be 60 to 2592000 seconds", pointer="/dhcp/lease_time", minimum=60, maximum=2592000
        )


def delete_network(use: DeleteNetwork, draft: Draft) -> Nothing:
    """Close a network without subnets and claims."""
    state = draft.state
    network = resolve.network(state, use.network, "")
    resolve.matching(network.revision, draft.asked.if_match)
    vacant(f"network {network.name}", [s.subnet.cidr for s in state.spaces(network.id)])
    holders, _ = draft.facts.holders.get(("network", network.id, "", ""), ([], 0))
    vacant(f"network {network.name}", holders, state.claims_of[network.id])
    draft.record(e.NetworkDeleted(network=network))
    return Nothing()


def create_token(use: CreateToken, draft: Draft) -> Made:
    """Make a token; the store keeps the digest beside it, the ledger does not."""
    resolve.plain(use.name, "/name")
    if draft.facts.token_names.get(use.name) is not None:
        raise Conflict(f"there is a token {use.name!r} already", kind="token", name=use.name, pointer="/name")
    token = Token(id=next(draft.moment.ids), name=use.name, role=use.role, since=draft.moment.now)
    draft.record(e.TokenCreated(token=token))
    return Made(token=token)


def revoke_token(use: RevokeToken, draft: Draft) -> Nothing:
    """Revoke a token at once."""
    found = draft.facts.token_names.get(use.token)
    if found is None:
        raise NotFound(f"there is no token {use.token!r}", kind="token", name=use.token)
    token = draft.facts.tokens[found]
    resolve.matching(token.revision, draft.asked.if_match)
    draft.record(e.TokenRevoked(token=token))
    return Nothing()
