"""The rules of subnets and their ranges: what may lie where."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from tenure.engine import resolve
from tenure.engine.buddy import Piece
from tenure.engine.draft import Draft
from tenure.engine.fields import labelled
from tenure.engine.holdings import as_block
from tenure.engine.inventory import changed, new, sound_dhcp, vacant
from tenure.engine.names import unlike_others
from tenure.engine.naming_fields import name_template
from tenure.engine.pointing import LAST_CUT
from tenure.engine.renumber import not_renumbered, stays_draining, still_filled
from tenure.engine.space import Space
from tenure.engine.stretches import covered, holders_key, left_out, whole
from tenure.errors import InvalidValue, NotFound, Overlap
from tenure.model import events as e
from tenure.model.addressing import Network, Range, Subnet
from tenure.model.answers import Made, Nothing
from tenure.model.uses import ChangeRange, ChangeSubnet, CreateRange, CreateSubnet, DeleteRange, DeleteSubnet
from tenure.net.addresses import Prefix, number_of, parse_address, parse_prefix, text_of
from tenure.net.rangeset import Pair

_SHORTEST = {4: 4, 6: 8}


def create_subnet(use: CreateSubnet, draft: Draft) -> Made:
    """Put a prefix into a network; inside one of the network's own it is nested.

    Raises:
        Overlap: It crosses another network's subnet, equals one, or crosses a range.
        InUse: Addresses that it would keep to itself are held.
    """
    network = resolve.network(draft.state, use.network)
    prefix = _prefix(use.cidr)
    fields = _resolved_fields(draft, use.fields)
    subnet = new(Subnet, next(draft.moment.ids), fields, network=network.id, vrf=network.vrf, cidr=str(prefix))
    _room_for(draft, network, prefix, None)
    subnet = _sound(subnet, prefix)
    draft.record(e.SubnetCreated(subnet=subnet))
    unlike_others(draft, network.vrf, network.domain, "/cidr")
    return Made(subnet=subnet)


def change_subnet(use: ChangeSubnet, draft: Draft) -> Made:
    """Change a subnet; `cidr` resizes it.

    Raises:
        InUse: A holder would be outside, or would sit on what is kept from now on.
        Overlap: As for a new one.
        Conflict: It would not be draining, though its addresses are being replaced; or be draining or smaller, though
            another's are going there.
    """
    space = resolve.space(draft.state, use.subnet, "")
    old = space.subnet
    resolve.matching(old.revision, draft.asked.if_match)
    if use.changes == {"draining": old.draining}:
        return Made(subnet=old)
    stays_draining(use.changes, old)
    changes = _resolved_fields(draft, use.changes)
    if "cidr" in changes:
        changes["cidr"] = str(_prefix(str(changes["cidr"])))
    still_filled(changes, draft, space)
    subnet = changed(old, changes, ("network", "vrf"))
    prefix = parse_prefix(subnet.cidr)
    if prefix.version != space.version:
        raise InvalidValue(f"a subnet stays IPv{space.version}", pointer="/cidr")
    subnet = _sound(subnet, prefix)
    if subnet.cidr != old.cidr:
        _resize(draft, space, prefix)
    _not_held(draft, space, subnet, prefix)
    _still_reached(draft, old, subnet)
    draft.record(e.SubnetChanged(subnet=subnet))
    unlike_others(draft, subnet.vrf, draft.state.networks[subnet.network].domain)
    return Made(subnet=subnet)


def _still_reached(draft: Draft, old: Subnet, subnet: Subnet) -> None:
    """Refuse locations that leave a holder's host outside."""
    narrower = subnet.locations and not set(subnet.locations) >= set(old.locations) > set()
    if not narrower or not draft.state.subnets[old.id].held:
        return
    facts, places = draft.facts, set(subnet.locations)
    found = {h: held for h, held in facts.spread.get(old.id, {}).items() if _outside(draft, h, places)}
    since = [a for a in facts.allocations.values() if a.subnet == subnet.id and ("claims", (a.claim,)) in facts.net]
    for allocation in since:  # given or moved by a use before this one, in the same batch
        host = facts.claims[allocation.claim].host
        if allocation.until is None and _outside(draft, host, places):
            found.setdefault(host, (allocation.ip, 1))
    labels = sorted(f"{ip} at {draft.state.locations[str(host)].name}" for host, (ip, _) in found.items())
    vacant(f"subnet {subnet.cidr}", labels, sum(count for _, count in found.values()))


def _outside(draft: Draft, host: str | None, places: set[str]) -> bool:
    return host in draft.state.locations and places.isdisjoint(draft.state.way_up(host)[0])


def delete_subnet(use: DeleteSubnet, draft: Draft) -> Nothing:
    """Close a subnet that holds nothing, with its ranges and blocks."""
    space = resolve.space(draft.state, use.subnet, "")
    resolve.matching(space.subnet.revision, draft.asked.if_match)
    not_renumbered(draft, space)
    holders, _ = draft.facts.holders.get(("subnet", space.subnet.id, "", ""), ([], 0))
    vacant(f"subnet {space.subnet.cidr}", holders, space.held)
    for range_ in list(space.ranges.values()):
        draft.record(e.RangeDeleted(range=range_))
    _surrender(draft, space, lambda start, end: True)
    draft.record(e.SubnetDeleted(subnet=space.subnet))
    unlike_others(draft, space.subnet.vrf, draft.state.networks[space.subnet.network].domain, "")
    return Nothing()


def create_range(use: CreateRange, draft: Draft) -> Made:
    """Set a range of a subnet aside.

    Raises:
        InvalidValue: It is not wholly inside the subnet, or ends before it starts.
        Overlap: It crosses another range or a nested subnet.
        InUse: Addresses in it are held.
    """
    space = resolve.space(draft.state, use.subnet, "")
    range_ = Range(
        id=next(draft.moment.ids),
        subnet=space.subnet.id,
        start=str(parse_address(use.start, "/start")),
        end=str(parse_address(use.end, "/end")),
        role=use.role,
        note=use.note,
    )
    _fits(draft, space, range_)
    _vacant_between(draft, space, _shown(range_), covered(space, range_.start, range_.end))
    draft.record(e.RangeCreated(range=range_))
    return Made(range=range_)


def change_range(use: ChangeRange, draft: Draft) -> Made:
    """Change a range. Leases that fall outside stay as they are; what it newly covers must be free."""
    old = _range(draft, use.range)
    resolve.matching(old.revision, draft.asked.if_match)
    changes = dict(use.changes)
    for end in ("start", "end"):
        if end in changes:
            changes[end] = str(parse_address(str(changes[end]), f"/{end}"))
    range_ = changed(old, changes, ("subnet",))
    space = draft.state.subnets[old.subnet]
    _fits(draft, space, range_)
    kept = old if range_.role == old.role else None
    _vacant_between(draft, space, _shown(range_), covered(space, range_.start, range_.end, kept))
    draft.record(e.RangeChanged(range=range_))
    return Made(range=range_)


def delete_range(use: DeleteRange, draft: Draft) -> Nothing:
    """Give a range back; a dynamic one only without leases."""
    range_ = _range(draft, use.range)
    resolve.matching(range_.revision, draft.asked.if_match)
    space = draft.state.subnets[range_.subnet]
    _vacant_between(draft, space, _shown(range_), covered(space, range_.start, range_.end))
    draft.record(e.RangeDeleted(range=range_))
    return Nothing()


def _range(draft: Draft, name: str) -> Range:
    found = draft.state.ranges.get(name)
    if found is None:
        raise NotFound(f"there is no range {name!r}", kind="range", name=name)
    return found


def _prefix(text: str) -> Prefix:
    prefix = parse_prefix(text, "/cidr")
    shortest = _SHORTEST[prefix.version]
    if prefix.prefixlen < shortest:
        raise InvalidValue(f"a subnet has at least /{shortest}", pointer="/cidr", minimum=shortest)
    if prefix.is_multicast or prefix.is_unspecified:
        raise InvalidValue(f"{prefix} holds no unicast addresses", pointer="/cidr")
    return prefix


def _resolved_fields(draft: Draft, fields: dict[str, Any]) -> dict[str, Any]:
    resolved = dict(fields)
    if "renumbering" in resolved:
        raise InvalidValue("renumbering cannot be set: renumber the subnet", pointer="/renumbering")
    if resolved.get("gateway") is not None:
        resolved["gateway"] = str(parse_address(str(resolved["gateway"]), "/gateway"))
    if "dns_servers" in resolved:
        resolved["dns_servers"] = _listed(resolved, "dns_servers", resolve.host_address)
    if "locations" in resolved:
        resolved["locations"] = _listed(resolved, "locations", lambda p, at: resolve.location(draft.state, p, at).id)
    return resolved


def _listed(fields: dict[str, Any], name: str, read: Callable[[str, str], str]) -> list[str]:
    """Each member as `read` gives it from its text and its pointer; none stands twice."""
    if not isinstance(fields[name], list | tuple):
        raise InvalidValue(f"{name} must be a list", pointer=f"/{name}")
    found: dict[str, None] = {}
    for at, text in enumerate(fields[name]):
        value = read(str(text), f"/{name}/{at}")
        if value in found:
            raise InvalidValue(f"{text} stands twice", pointer=f"/{name}/{at}", value=str(text))
        found[value] = None
    return list(found)


def _sound(subnet: Subnet, prefix: Prefix) -> Subnet:
    sound_dhcp(subnet.dhcp)
    if subnet.reverse == "rfc2317" and (prefix.version != 4 or prefix.prefixlen <= LAST_CUT[4]):
        raise InvalidValue(
            f"rfc2317 is for IPv4 longer than /{LAST_CUT[4]}: {prefix} has zones of its own without it",
            pointer="/reverse",
            value="rfc2317",
            allowed=["auto", "plain", "off"],
        )
    subnet = msgspec.structs.replace(subnet, name_template=name_template(subnet.name_template))
    if subnet.gateway is not None:
        gateway = parse_address(subnet.gateway)
        beside = gateway.version == prefix.version == 6 and gateway.is_link_local  # as routers advertise themselves
        if gateway not in prefix and not beside:
            raise InvalidValue(f"gateway {gateway} is not in {prefix}", pointer="/gateway", value=str(gateway))
        small = prefix.prefixlen >= prefix.max_prefixlen - 1
        edges = [prefix.network_address] + ([prefix.broadcast_address] if prefix.version == 4 else [])
        if gateway in edges and not small and not subnet.use_all_addresses:
            raise InvalidValue(f"gateway {gateway} is an edge of {prefix}", pointer="/gateway", value=str(gateway))
    return labelled(subnet)


def _room_for(draft: Draft, network: Network, prefix: Prefix, but: Space | None) -> None:
    """Refuse a prefix that crosses what is there; blocks of a subnet around it that lie wholly in it go back."""
    first, length = int(prefix.network_address), prefix.prefixlen
    for other in draft.state.crossing(network.vrf, prefix.version, first, length):
        if other is but:
            continue
        if other.subnet.network != network.id or (other.first, other.prefix_length) == (first, length):
            name = draft.state.networks[other.subnet.network].name
            raise Overlap(
                f"{prefix} crosses {other.subnet.cidr} of network {name}; "
                "a subnet may lie in a larger one of its own network, and nowhere else: "
                "choose another prefix, or another vrf",
                **{"with": other.subnet.cidr, "network": name, "pointer": "/cidr"},
            )
        if other.prefix_length < length:
            _room_inside(draft, other, prefix)


def _room_inside(draft: Draft, parent: Space, prefix: Prefix) -> None:
    first, last = whole(prefix)
    for range_ in parent.ranges.values():
        if number_of(range_.start) <= last and first <= number_of(range_.end):
            raise Overlap(
                f"{prefix} crosses the range {range_.start}-{range_.end} of {parent.subnet.cidr}",
                **{"with": f"{range_.start}-{range_.end}", "pointer": "/cidr"},
            )
    for number in [n for n in parent.resting if first <= n <= last]:
        vacant(f"{prefix} in {parent.subnet.cidr}", [f"{text_of(parent.version, number)}, which still rests"])
    _vacant_between(draft, parent, f"{prefix} in {parent.subnet.cidr}", ((first, last),))
    _surrender(draft, parent, lambda start, end: first <= start and end <= last)


def _resize(draft: Draft, space: Space, prefix: Prefix) -> None:
    """Refuse a new prefix that would lose something; give back the blocks that do not fit it."""
    first, last = whole(prefix)
    _room_for(draft, draft.state.networks[space.subnet.network], prefix, space)
    for range_ in space.ranges.values():
        if number_of(range_.start) < first or number_of(range_.end) > last:
            vacant(f"resizing {space.subnet.cidr}", [f"range {range_.start}-{range_.end}"])
    _vacant_between(draft, space, f"resizing {space.subnet.cidr} to {prefix}", left_out(space, prefix))
    for number in [n for n in space.resting if not first <= n <= last]:
        vacant(f"resizing {space.subnet.cidr}", [f"{text_of(space.version, number)}, which still rests"])
    for other in draft.state.crossing(space.subnet.vrf, space.version, first, prefix.prefixlen):
        if other is not space and other.prefix_length > prefix.prefixlen:
            _room_inside(draft, space, parse_prefix(other.subnet.cidr))
    _cut_to_size(draft, space, (first, prefix.prefixlen), last)
    _surrender(draft, space, lambda start, end: not first <= start <= end <= last)


def _cut_to_size(draft: Draft, space: Space, piece: Piece, last: int) -> None:
    """The innermost host block around the new prefix has the size of that from now on: all that is held lies there."""
    first, length = piece
    around = [b for b in space.blocks.values() if b.length < length and b.first <= first and last <= b.last]
    if around and piece not in space.blocks and space.held_between(first, last):
        block = max(around, key=lambda each: each.length)
        before, after = (as_block(space, *each, block.owner) for each in (block.key, piece))
        draft.record(e.BlockResized(before=before, block=after))


def _surrender(draft: Draft, space: Space, goes: Callable[[int, int], bool]) -> None:
    """Give back the blocks of which that is said, by first and last address; nothing is held in them."""
    for block in [b for b in space.blocks.values() if goes(b.first, b.last)]:
        draft.record(e.BlockSurrendered(block=as_block(space, block.first, block.length, block.owner)))
    for region in [r for r in space.regions.values() if goes(r.first, r.last)]:
        draft.record(e.BlockSurrendered(block=as_block(space, region.first, region.length, region.owner, region.kind)))


def _not_held(draft: Draft, space: Space, subnet: Subnet, prefix: Prefix) -> None:
    """Refuse a gateway, DNS server or edge that somebody holds as an address of its own."""
    kept = [subnet.gateway] if subnet.gateway else []
    kept += [s for s in subnet.dns_servers if parse_address(s) in prefix]
    wide = prefix.prefixlen < prefix.max_prefixlen - 1
    if wide and not subnet.use_all_addresses:
        kept.append(str(prefix.network_address))
        if prefix.version == 4:
            kept.append(str(prefix.broadcast_address))
    held = [k for k in dict.fromkeys(kept) if space.is_used(number_of(k))]
    vacant(f"subnet {subnet.cidr}", held)


def _fits(draft: Draft, space: Space, range_: Range) -> None:
    first, last = parse_address(range_.start), parse_address(range_.end)
    for pointer, end in (("/start", first), ("/end", last)):
        if end.version != space.version or not space.first <= int(end) <= space.last:
            raise InvalidValue(f"{end} is not in {space.subnet.cidr}", pointer=pointer, value=str(end))
    if int(last) < int(first):
        raise InvalidValue(f"the range ends before it starts, at {last}", pointer="/end", value=str(last))
    if range_.role == "dynamic" and space.version != 4:
        raise InvalidValue("dynamic ranges are for IPv4", pointer="/role", allowed=["reserved"])
    for other in space.ranges.values():
        if other.id != range_.id and number_of(other.start) <= int(last) and int(first) <= number_of(other.end):
            crossed = f"{other.start}-{other.end}"
            raise Overlap(f"{first}-{last} crosses the range {crossed}", **{"with": crossed, "pointer": "/start"})
    for subnet, (low, high) in space.nested.items():
        if low <= int(last) and int(first) <= high:
            crossed = draft.state.subnets[subnet].subnet.cidr
            raise Overlap(f"{first}-{last} crosses the subnet {crossed}", **{"with": crossed, "pointer": "/start"})


def _shown(range_: Range) -> str:
    return f"range {range_.start}-{range_.end}"


def _vacant_between(draft: Draft, space: Space, what: str, stretches: Iterable[Pair]) -> None:
    """Refuse what needs these stretches of a subnet free, with who holds something there."""
    holders: list[str] = []
    count = 0
    for stretch in stretches:
        holders += draft.facts.holders.get(holders_key(space, stretch), ([], 0))[0]
        count += space.held_between(*stretch)
    vacant(what, holders, count)
