"""One address for a claim: which subnet, which block, which address; and the refusals when there is none."""

from tenure.engine.draft import Draft
from tenure.engine.models import MODELS
from tenure.engine.space import Space
from tenure.engine.state import versions
from tenure.engine.strategies import MOST_CANDIDATES, STRATEGIES, Candidate, View, Wish
from tenure.errors import AlreadyAllocated, Conflict, Exhausted, InvalidValue
from tenure.model import events as e
from tenure.model.addressing import Network
from tenure.model.holding import Allocation, Attachment, Claim, ClaimRequest
from tenure.model.placement import ROOT, Look
from tenure.net.addresses import number_of, parse_prefix, prefix_text, text_of


def place(draft: Draft, claim: Claim, version: int, *, opens: bool, only: Space | None = None) -> None:
    """Record one address of one version for a claim, with the blocks that had to be taken for it.

    Raises:
        InvalidValue, AlreadyAllocated, Conflict: The address that was named cannot be had.
        Exhausted: There is none.
    """
    network = draft.state.networks[claim.network]
    if claim.request.address is not None:
        space, number = _named(draft, claim.request, network)
        record_address(draft, claim, space, number, _placed(draft, claim, space, number), opens=opens)
        return
    wish = _wish(draft, claim, network)
    spaces = [only] if only is not None else _offered(draft, claim.request, network, version, wish)
    view = View([s for s in spaces if s.available > 0], _Names(draft))
    found = _choose(draft, network, wish, view)
    if found is None:
        raise _exhausted(draft, claim, network, version, spaces)
    space, number, candidate = found
    why = Why(network.strategy, candidate.block, candidate.title, tuple(view.looks))
    record_address(draft, claim, space, number, why, opens=opens)


class Why:
    """What an allocation's event says of how it came about."""

    __slots__ = ("block", "looks", "strategy", "title")

    def __init__(self, strategy: str, block: str | None, title: str | None, looks: tuple[Look, ...] = ()) -> None:
        self.strategy = strategy
        self.block = block
        self.title = title
        self.looks = looks


def record_address(draft: Draft, claim: Claim, space: Space, number: int, why: Why, *, opens: bool) -> None:
    """Record that a claim has an address, with its name and its interface."""
    now = draft.moment.now
    allocation = Allocation(
        id=next(draft.moment.ids),
        claim=claim.id,
        vrf=space.subnet.vrf,
        subnet=space.subnet.id,
        ip=text_of(space.version, number),
        length=space.width,
        since=now,
        hostname=name_for(draft, claim),
        block=why.block,
        title=why.title,
    )
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


def name_for(draft: Draft, claim: Claim) -> str | None:
    """The relative name that a claim's addresses will have: its own, or its machine's where that is a host name.

    Raises:
        Conflict: Another claim's address has it in the same zone.
    """
    hostname = claim.request.hostname
    if hostname is None and claim.machine is not None:
        name = draft.facts.machines[claim.machine].name.lower()
        hostname = name if is_hostname(name) else None
    domain = draft.state.networks[claim.network].domain
    if hostname is not None and domain is not None:
        holder = name_holder(draft, hostname, claim.network, claim.id)
        if holder is not None:
            raise Conflict(
                f"the name {hostname}.{domain} belongs to {holder.ip}",
                name=f"{hostname}.{domain}",
                address=holder.ip,
                pointer="/hostname",
            )
    return hostname


def name_holder(draft: Draft, hostname: str, network: str, claim: str) -> Allocation | None:
    """The open allocation of another claim that has this name in the network's zone."""
    mine = draft.state.networks[network]
    for allocation in draft.facts.named.get(hostname, {}).values():
        other = draft.state.networks[draft.state.subnets[allocation.subnet].subnet.network]
        if allocation.claim != claim and (other.vrf, other.domain) == (mine.vrf, mine.domain):
            return allocation
    return None


def is_hostname(name: str) -> bool:
    """Whether a machine's name can stand in a zone (RFC 1123); one that cannot gives no record."""
    return len(name) <= 253 and all(_is_label(label) for label in name.split("."))


def _is_label(label: str) -> bool:
    plain = label.isascii() and label.replace("-", "").isalnum()
    return plain and 0 < len(label) <= 63 and label[0] != "-" and label[-1] != "-"


def room_to_wait(draft: Draft, request: ClaimRequest) -> None:
    """Refuse a deferred claim for which there is no room, counting those that wait already unless overcommitted.

    Raises:
        Exhausted: The subnets that it could ever use have too few available addresses.
    """
    network = draft.state.networks[request.network]
    for version in versions(request.family):
        subnets = draft.state.spaces(network.id, version)
        if request.subnet is not None:
            subnets = [s for s in subnets if s.subnet.id == request.subnet]
        available = sum(s.available for s in subnets)
        waiting = 0 if network.overcommit else draft.state.waiting[network.id, version]
        if available < waiting + request.count:
            raise Exhausted(
                f"network {network.name} has {available} IPv{version} addresses available, {waiting} of them waited for",
                network=network.name,
                family=f"v{version}",
                available=available,
                waiting=waiting,
            )


def _wish(draft: Draft, claim: Claim, network: Network) -> Wish:
    path = draft.state.path(claim.host)
    rack = next((place.id for place in path if place.kind == "rack"), ROOT)
    return Wish(claim.host or ROOT, rack, tuple(place.id for place in path), network.boundary)


def _offered(draft: Draft, request: ClaimRequest, network: Network, version: int, wish: Wish) -> list[Space]:
    spaces = draft.state.spaces(network.id, version)
    if request.subnet is not None:
        spaces = [s for s in spaces if s.subnet.id == request.subnet]
        if wish.path and not all(_reaches(s, wish) for s in spaces):
            raise Conflict("that subnet does not reach that host", subnet=request.subnet, pointer="/subnet")
        return spaces
    return list(MODELS[network.model](wish, spaces))


def _reaches(space: Space, wish: Wish) -> bool:
    bound = space.subnet.locations
    return not bound or bool(set(wish.path).intersection(bound))


def _choose(draft: Draft, network: Network, wish: Wish, view: View) -> tuple[Space, int, Candidate] | None:
    """The first candidate that holds: its blocks are recorded as owned. At most 64 are looked at."""
    for at, candidate in enumerate(STRATEGIES[network.strategy](wish, view)):
        space = draft.state.subnets[candidate.subnet]
        number = _take(draft, space, candidate)
        if number is not None and space.is_free(number):
            return space, number, candidate
        if at + 1 == MOST_CANDIDATES:
            break
    return None


def _take(draft: Draft, space: Space, candidate: Candidate) -> int | None:
    for block in candidate.take:
        draft.record(e.BlockOwned(block=block))
    if candidate.number is not None or not candidate.take:
        return candidate.number
    prefix = parse_prefix(candidate.take[-1].cidr)
    return space.pick(space.blocks[int(prefix.network_address), prefix.prefixlen])


def _named(draft: Draft, request: ClaimRequest, network: Network) -> tuple[Space, int]:
    address = str(request.address)
    number = number_of(address)
    version = 6 if ":" in address else 4
    space = draft.state.space_at(network.vrf, version, number)
    if space is None or space.subnet.network != network.id or request.subnet not in (None, space.subnet.id):
        raise InvalidValue(f"{address} is in no subnet that was asked for", pointer="/address", value=address)
    if space.is_used(number):
        raise AlreadyAllocated(f"{address} belongs to another handle", address=address)
    if number in space.closed:
        raise Conflict(f"{address} {_kept_for(space, number)}", address=address, pointer="/address")
    resting = space.resting.get(number)
    if resting is not None and not request.during_cooldown:
        raise Conflict(
            f"{address} rests until {resting.isoformat()}; during_cooldown takes it all the same",
            address=address,
            cooling_until=resting.isoformat(),
        )
    return space, number


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


def _placed(draft: Draft, claim: Claim, space: Space, number: int) -> Why:
    """How an address that was asked for by name lies to the blocks."""
    block = space.block_at(number)
    if block is None:
        return Why("explicit", None, None)
    title = "own" if block.owner == (claim.host or ROOT) else "borrowed"
    return Why("explicit", prefix_text(space.version, block.first, block.length), title)


def _exhausted(draft: Draft, claim: Claim, network: Network, version: int, spaces: list[Space]) -> Exhausted:
    elsewhere = sum(s.available for s in draft.state.spaces(network.id, version))
    host = "no host" if claim.host is None else draft.state.locations[claim.host].name
    if not spaces:
        barrier = f"none of its IPv{version} subnets reaches {host}"
    elif elsewhere and network.boundary == "hard":
        barrier = f"the boundary is hard and {host} has no room, while {elsewhere} are available elsewhere"
    elif elsewhere:
        barrier = f"{elsewhere} are available in subnets that do not reach {host}"
    else:
        barrier = "all its addresses are in use, reserved or resting"
    return Exhausted(
        f"network {network.name} has no IPv{version} address for {host}: {barrier}",
        network=network.name,
        family=f"v{version}",
        host=host,
        boundary=network.boundary,
        available_elsewhere=elsewhere,
    )


class _Names(dict[str, str]):
    """Names of locations by id, looked up when asked."""

    def __init__(self, draft: Draft) -> None:
        super().__init__()
        self._locations = draft.state.locations

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        """The location's name."""
        found = self._locations.get(key)
        return default if found is None else found.name
