"""One address for a claim: which subnet, which block, which address; and the refusals when there is none."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from tenure.engine.adopting import adopt, is_own
from tenure.engine.choosing import choose
from tenure.engine.draft import Draft
from tenure.engine.models import MODELS
from tenure.engine.names import name_for
from tenure.engine.reach import barrier, near
from tenure.engine.rests import promised_before, rests_for, rests_from
from tenure.engine.rooms import Offered
from tenure.engine.slaac import EUI64_LENGTH, eui64
from tenure.engine.space import Space
from tenure.engine.state import versions
from tenure.engine.strategies import STRATEGIES, View, Wish
from tenure.errors import AlreadyAllocated, Conflict, Exhausted, InvalidValue
from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.holding import Allocation, Attachment, Claim, ClaimRequest
from tenure.model.placement import ROOT, Look
from tenure.model.policy import Standing, reach_of
from tenure.net.addresses import number_of, text_of, version_of


class Stand(NamedTuple):
    """How an allocation stands to others of its interface, and behind which claim (its id)."""

    standing: Standing = "primary"
    behind: str | None = None


PRIMARY: Final = Stand()
ALIAS: Final = Stand("alias")


def find(draft: Draft, claim: Claim, version: int, *, only: Space | None = None) -> tuple[Space, int, "Why"]:
    """One address of one version for a claim, after the blocks were taken for it: the one named, else its choice.

    Raises:
        InvalidValue, AlreadyAllocated, Conflict: The address that was named cannot be had.
        Exhausted: There is none.
    """
    network = draft.state.networks[claim.network]
    if claim.request.address is not None:
        return named(draft, claim, claim.request.address)
    if version == 6 and network.address_mode == "slaac" and claim.interface is not None:
        made = _by_eui64(draft, claim, network, only)
        if made is not None:
            return made
    wish = wish_of(draft, claim.host, network)
    spaces = Serving(draft, network, version, wish, only or wanted_subnet(draft, claim.request, wish))
    view = view_of(draft, wish, spaces)
    candidates = STRATEGIES[network.strategy](wish, view)
    found = choose(candidates, view, draft.state.subnets, draft.record)
    if found is None:
        raise _exhausted(draft, claim, network, version, spaces)
    space, number, candidate = found
    return space, number, Why(network.strategy, candidate.block, candidate.title, tuple(view.looks))


class Why:
    """What an allocation's event says of how it came about."""

    __slots__ = ("block", "looks", "strategy", "title")

    def __init__(self, strategy: str, block: str | None, title: str | None, looks: tuple[Look, ...] = ()) -> None:
        self.strategy = strategy
        self.block = block
        self.title = title
        self.looks = looks


def record_address(
    draft: Draft, claim: Claim, space: Space, number: int, why: Why, *, opens: bool, stand: Stand = PRIMARY
) -> None:
    """Record that a claim has an address, with its name and its interface.

    Taken out of its rest, DHCP gives it to nobody before the last promise to who had it before has ended.
    """
    now, ip = draft.moment.now, text_of(space.version, number)
    allocation = Allocation(
        id=next(draft.moment.ids),
        claim=claim.id,
        vrf=space.subnet.vrf,
        subnet=space.subnet.id,
        ip=ip,
        length=space.width,
        since=now,
        hostname=name_for(draft, claim, ip),
        block=why.block,
        title=why.title,
        standing=stand.standing,
        behind=stand.behind,
    )
    until, to = promised_before(draft, claim, space.subnet.vrf, ip)
    if until is not None:
        allocation = msgspec.structs.replace(allocation, waits_until=until, waits_for=to)
    adopt(draft, claim, space, number)
    attachment = None
    if claim.interface is not None:
        attachment = Attachment(allocation=allocation.id, interface=claim.interface, since=now)
    draft.record(
        e.AddressAllocated(
            claim=claim,
            allocation=allocation,
            attachment=attachment,
            strategy=why.strategy,
            looks=why.looks,
            opens=opens,
        )
    )


def room_to_wait(draft: Draft, request: ClaimRequest) -> None:
    """Refuse a deferred claim for which there is no room, counting those that wait already unless overcommitted.

    Raises:
        Exhausted: The subnets that it could ever use have too few available addresses.
    """
    network = draft.state.networks[request.network]
    for version in versions(request.family):
        waiting = 0 if network.overcommit else draft.state.waiting[network.id, version]
        available = 0
        for space in _could_serve(draft, request, network, version):
            available += space.available
            if available >= waiting + request.count:
                break
        else:
            raise Exhausted(
                f"network {network.name} has {available} IPv{version} addresses available, {waiting} are waited for"
                + _unbound(draft, network, version),
                network=network.name,
                family=f"v{version}",
                available=available,
                waiting=waiting,
            )


def _unbound(draft: Draft, network: Network, version: int) -> str:
    """Why a network may have subnets, and none for whoever waits."""
    spaces = draft.state.spaces(network.id, version)
    if network.model != "clustered" or not spaces or any(space.subnet.locations for space in spaces):
        return ""
    return "; its subnets have no locations, and a clustered network serves a host from those bound to its place"


def _could_serve(draft: Draft, request: ClaimRequest, network: Network, version: int) -> Iterable[Space]:
    """The subnets with room that a claim could be served from, wherever it is bound."""
    if request.host is None and request.subnet is None:
        spaces = draft.state.rooms.all(network.id, version)
        return spaces if network.model != "clustered" else (space for space in spaces if space.subnet.locations)
    wish = wish_of(draft, request.host, network)
    return Serving(draft, network, version, wish, wanted_subnet(draft, request, wish))


def wanted_subnet(draft: Draft, request: ClaimRequest, wish: Wish) -> Space | None:
    """The subnet that a claim names, if it may be used there.

    Raises:
        Conflict: It is gone, is draining, or does not reach the host.
    """
    if request.subnet is None:
        return None
    space = draft.state.subnets.get(request.subnet)
    if space is None:
        raise Conflict("the subnet that it asks for is gone; release it", subnet=request.subnet, pointer="/subnet")
    if not reaches(space, wish):
        raise Conflict("that subnet does not reach that host", subnet=request.subnet, pointer="/subnet")
    _not_draining(space, "/subnet")
    return space


def _not_draining(space: Space, pointer: str) -> None:
    if space.subnet.draining:
        cidr = space.subnet.cidr
        raise Conflict(f"subnet {cidr} is draining: nothing new is placed there", subnet=cidr, pointer=pointer)


def wish_of(draft: Draft, host: str | None, network: Network) -> Wish:
    """What a strategy is told of where an address is wanted."""
    path, rack, areas = draft.state.way_up(host)
    name = "" if host is None else draft.state.locations[host].name
    return Wish(host or ROOT, rack, path, reach_of(network.boundary), name, areas, network.prefer)


def view_of(draft: Draft, wish: Wish, spaces: Iterable[Space]) -> View:
    """What a strategy may look at for a wish."""
    mine = near(draft.state, wish.owner, wish.reach)
    return View(spaces, lambda owner: _place_name(draft, owner), draft.moment.now, draft.moment.seed, mine)


class Serving:
    """The subnets with room that may serve a claim of one version, found anew each time they are asked for."""

    __slots__ = ("_model", "_offered", "_only", "_wish")

    def __init__(self, draft: Draft, network: Network, version: int, wish: Wish, only: Space | None) -> None:
        self._only = only
        self._wish = wish
        self._model = MODELS[network.model]
        self._offered = Offered(draft.state.rooms, network.id, version)

    def __iter__(self) -> Iterator[Space]:
        if self._only is None:
            return self._model(self._wish, self._offered)
        return iter((self._only,) if self._only.available else ())


def reaches(space: Space, wish: Wish) -> bool:
    """Whether a subnet is where the wish's host is. Without a host, all are."""
    bound = space.subnet.locations
    return not bound or not wish.path or bool(set(wish.path).intersection(bound))


def named(draft: Draft, claim: Claim, address: str, pointer: str = "/address") -> tuple[Space, int, "Why"]:
    """An address that a claim asks for by name, if it may have it.

    Raises:
        InvalidValue: It is not in the network, or in the subnet that was named.
        AlreadyAllocated: Another claim has it.
        Conflict: It is kept for something, rests, is used by a stranger, or cannot be used where the claim's host is.
    """
    network, request = draft.state.networks[claim.network], claim.request
    number = number_of(address)
    space = draft.state.space_at(network.vrf, version_of(address), number)
    if space is None or space.subnet.network != network.id or request.subnet not in (None, space.subnet.id):
        where = "that subnet" if request.subnet else f"any subnet of network {network.name}"
        raise InvalidValue(f"{address} is not in {where}", pointer=pointer, value=address)
    may_be_there(draft, claim, space, number, pointer)
    _not_draining(space, pointer)
    if space.is_used(number):
        raise AlreadyAllocated(
            f"{address} belongs to {_holder(draft, space, address)}", address=address, pointer=pointer
        )
    if number in space.closed:
        raise Conflict(f"{address} {_kept_for(space, number)}", address=address, pointer=pointer)
    if number in space.strangers:
        _no_stranger(draft, claim, address, space, pointer)
    resting = space.resting.get(number)
    if resting is not None and not request.during_cooldown and not rests_for(draft, claim, space, address):
        until = resting.isoformat(timespec="seconds").replace("+00:00", "Z")
        raise Conflict(
            f"{address} rests until {until}; during_cooldown takes it all the same",
            address=address,
            cooling_until=resting.isoformat(),
        )
    return space, number, placed(claim, space, number)


def _no_stranger(draft: Draft, claim: Claim, address: str, space: Space, pointer: str) -> None:
    """Refuse an address on which another MAC than the claim's was seen."""
    if not is_own(draft, claim, space, number_of(address)):
        seen = draft.facts.observations.get((space.subnet.vrf, address))
        who = "somebody" if seen is None or seen.mac is None else seen.mac
        raise Conflict(
            f"{address} was seen in use by {who}, to whom it was not given",
            address=address,
            mac=None if seen is None else seen.mac,
            pointer=pointer,
        )


def had_last(draft: Draft, claim: Claim, version: int, only: Space | None) -> tuple[Space, int, "Why"] | None:
    """The address of a version that was held last under a claim's handle, if it may have it again.

    Neither does its own rest bar it, nor that its own interface was seen there since; a stranger, somebody else's
    claim, or a place from which it cannot be used does.
    """
    network = draft.state.networks[claim.network]
    for allocation in draft.facts.former.get((claim.project, claim.handle), ()):
        space, number = draft.state.subnets.get(allocation.subnet), number_of(allocation.ip)
        if space is None or space.version != version or only not in (None, space):
            continue
        if space.subnet.network != network.id or space.subnet.draining:
            continue
        is_its_own = _is_its_own(draft, claim, space, number, allocation)
        if is_its_own and _is_near(draft, claim, network, space, number):
            return space, number, placed(claim, space, number, "former")
    return None


def _is_its_own(draft: Draft, claim: Claim, space: Space, number: int, allocation: Allocation) -> bool:
    """Whether an address is free, or rests from this allocation only, and from none that came later."""
    if number in space.strangers and not is_own(draft, claim, space, number):
        return False
    resting = space.resting.get(number)
    mine = resting is None or (resting == allocation.cooling_until and rests_from(draft, allocation))
    return mine and not space.is_used(number) and number not in space.closed


def _is_near(draft: Draft, claim: Claim, network: Network, space: Space, number: int) -> bool:
    wish = wish_of(draft, claim.host, network)
    return reaches(space, wish) and barrier(draft.state, network, space, number, claim.host) is None


def may_be_there(draft: Draft, claim: Claim, space: Space, number: int, pointer: str = "/address") -> None:
    """Refuse an address that cannot be used where the claim's host is.

    Raises:
        Conflict: Its subnet does not reach there, or a hard boundary keeps it.
    """
    network = draft.state.networks[claim.network]
    if not reaches(space, wish_of(draft, claim.host, network)):
        address = text_of(space.version, number)
        raise Conflict(f"{address} is of a subnet that does not reach that host", address=address, pointer=pointer)
    block = barrier(draft.state, network, space, number, claim.host)
    if block is not None:
        address, owner = text_of(space.version, number), _place_name(draft, block.owner or ROOT)
        raise Conflict(
            f"{address} lies in block {block.text} of {owner}, and the boundary is hard",
            address=address,
            block=block.text,
            boundary="hard",
            pointer=pointer,
        )


def _by_eui64(draft: Draft, claim: Claim, network: Network, only: Space | None) -> tuple[Space, int, "Why"] | None:
    """The address that the claim's interface makes of its MAC, in the first /64 that may serve it.

    None where there is no such subnet, or the interface has that address already. It is taken out of its rest, and
    from a stranger: nobody else makes it.

    Raises:
        AlreadyAllocated, Conflict: It is another's, or kept for something.
    """
    wish = wish_of(draft, claim.host, network)
    wanted = only or wanted_subnet(draft, claim.request, wish)
    space = next((s for s in Serving(draft, network, 6, wish, wanted) if s.prefix_length == EUI64_LENGTH), None)
    if space is None or claim.interface is None:
        return None
    number = space.first | eui64(draft.facts.interfaces[claim.interface].mac)
    ip = text_of(6, number)
    mine = (draft.facts.allocations[a].ip for a in draft.facts.uses.get(claim.interface, ()))
    if ip in mine:
        return None
    may_be_there(draft, claim, space, number, "/mac")
    if space.is_used(number):
        raise AlreadyAllocated(f"{ip}, which the MAC makes, belongs to another handle", address=ip, pointer="/mac")
    if number in space.closed:
        raise Conflict(f"{ip}, which the MAC makes, {_kept_for(space, number)}", address=ip, pointer="/mac")
    return space, number, placed(claim, space, number, "eui64")


def _kept_for(space: Space, number: int) -> str:
    text = text_of(space.version, number)
    if number in space.edges:
        return f"is an edge of {space.subnet.cidr}"
    if text == space.subnet.gateway:
        return f"is the gateway of {space.subnet.cidr}"
    if text in space.subnet.dns_servers:
        return f"is a DNS server of {space.subnet.cidr}"
    for range_ in space.ranges.values():
        if number_of(range_.start) <= number <= number_of(range_.end):
            return f"lies in the {range_.role} range {range_.start}-{range_.end}"
    return "lies in a nested subnet"


def placed(claim: Claim, space: Space, number: int, strategy: str = "explicit") -> Why:
    """How an address that no strategy of blocks chose lies to the blocks; `strategy`: who did choose it."""
    block = space.block_at(number)
    if block is None:
        return Why(strategy, None, None)
    title = "own" if block.owner == (claim.host or ROOT) else "borrowed"
    return Why(strategy, block.text, title)


def _holder(draft: Draft, space: Space, address: str) -> str:
    """Who holds an address, for a person."""
    held = draft.facts.addresses.get((space.subnet.vrf, address))
    if held is None:
        return "another handle"
    claim = draft.facts.claims[held.claim]
    machine = None if claim.machine is None else draft.facts.machines.get(claim.machine)
    return f"claim {claim.handle!r}" if machine is None else f"machine {machine.name}"


def _exhausted(draft: Draft, claim: Claim, network: Network, version: int, spaces: Iterable[Space]) -> Exhausted:
    elsewhere = sum(s.available for s in draft.state.rooms.all(network.id, version))
    host = "no host" if claim.host is None else draft.state.locations[claim.host].name
    there = "" if claim.host is None else f" for {host}"
    if not draft.state.families[network.id, version]:
        barrier = f"it has no IPv{version} subnet"
    elif not elsewhere and claim.request.count > 1:
        mine = draft.facts.held.get(claim.id, {}).values()
        there_are = sum(version_of(a.ip) == version for a in mine)
        barrier = f"{there_are} are available, not {claim.request.count}"
    elif not elsewhere:
        barrier = "all its addresses are in use, reserved or resting"
    elif any(True for _ in spaces):
        barrier = f"the boundary is {network.boundary}, and of {elsewhere} available none is in a block that it may use"
    else:
        barrier = f"{elsewhere} are available, but in no subnet that may serve it"
    return Exhausted(
        f"network {network.name} has no IPv{version} address{there}: {barrier}",
        network=network.name,
        family=f"v{version}",
        host=host,
        boundary=network.boundary,
        available_elsewhere=elsewhere,
    )


def _place_name(draft: Draft, place: str) -> str:
    found = draft.state.locations.get(place)
    return "everybody" if found is None else found.name
