"""Address spaces, networks, subnets and ranges."""

import msgspec

from tenure.model.policy import (
    Boundaries,
    Boundary,
    Dhcp,
    NetworkModel,
    Prefer,
    RangeRole,
    ReverseMode,
    StrategyName,
)


class Vrf(msgspec.Struct, frozen=True):
    """An address space: an address is unique in it."""

    id: str
    name: str
    revision: int = 1


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """What workloads ask for: a model, policies, and one or more subnets in one vrf.

    Attributes:
        cooldown: Seconds that a released address rests, 0 to 30 days.
        ttl: Seconds that records of this network may be cached, 0 to one week.
        negative_ttl: Seconds that the absence of a name may be cached.
        domain: The forward zone, absolute and lower case with its trailing dot, or None for no names.
        block_length_v4: Length of a host block; None takes the default (28, or the subnet's if longer).
        rack_block_length_v4: Length of a rack block; None follows from the subnet's length.
        prefer: Where a route hurts less when blocks run short: `spine` borrows of the rack's hosts before
            the rack takes more space, `fabric` the other way round.
        route_budget: Routes that the spine's table may hold for this network; None for no budget.
        over_budget: Whether it holds more; said by the engine, never by a caller.
        overcommit: Deferred claims are accepted without regard to those already waiting.
    """

    id: str
    name: str
    vrf: str
    model: NetworkModel = "flat"
    strategy: StrategyName = "topology"
    boundary: Boundary | Boundaries = "soft"
    cooldown: int = 300
    domain: str | None = None
    ttl: int = 300
    negative_ttl: int = 60
    overcommit: bool = False
    dhcp: Dhcp = Dhcp()
    block_length_v4: int | None = None
    block_length_v6: int | None = None
    rack_block_length_v4: int | None = None
    rack_block_length_v6: int | None = None
    prefer: Prefer = "spine"
    route_budget: int | None = None
    over_budget: bool = False
    revision: int = 1


class Subnet(msgspec.Struct, frozen=True, kw_only=True):
    """A prefix on a link.

    Attributes:
        cidr: Canonical text, no host bits: `10.0.3.0/24`.
        gateway: Canonical text of an address inside `cidr`, or None.
        dns_servers: Canonical texts; those inside `cidr` are never given out.
        locations: Ids of the locations that the subnet is bound to; empty means everywhere.
        use_all_addresses: Network and broadcast (or subnet-router anycast) address may be given out.
        draining: Nothing new is placed here.
        reverse: Whether Tenure answers for its pointers.
    """

    id: str
    network: str
    vrf: str
    cidr: str
    gateway: str | None = None
    dns_servers: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    use_all_addresses: bool = False
    reverse: ReverseMode = "plain"
    draining: bool = False
    dhcp: Dhcp = Dhcp()
    revision: int = 1


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """First and last address of a stretch of a subnet, both included, and what it is kept for."""

    id: str
    subnet: str
    start: str
    end: str
    role: RangeRole
    note: str = ""
    revision: int = 1
