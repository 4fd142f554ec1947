"""Address spaces, networks, subnets and ranges."""

from datetime import datetime

import msgspec

from tenure.model.policy import (
    AddressMode,
    AllocateOn,
    Boundaries,
    Boundary,
    Custom,
    Dhcp,
    NetworkModel,
    OnOverride,
    Ports,
    Prefer,
    RangeRole,
    ReverseMode,
    StrategyName,
)


class Vrf(msgspec.Struct, frozen=True):
    """An address space: an address is unique in it, and its zones are a view of their own.

    Attributes:
        name_servers: Absolute names of the servers of its zones that name none themselves.
    """

    id: str
    name: str
    name_servers: tuple[str, ...] = ()
    revision: int = 1


class Network(msgspec.Struct, frozen=True, kw_only=True):
    """What workloads ask for: a model, policies, and one or more subnets in one vrf.

    Attributes:
        cooldown: Seconds that a released address rests, 0 to 30 days.
        ttl: Seconds that records of this network may be cached, 0 to one week.
        negative_ttl: Seconds that the absence of a name may be cached.
        domain: The forward zone, absolute and lower case with its trailing dot, or None for no names.
        name_template: How its addresses are called that nobody has named; a subnet's goes before it.
        shared_names: Several holders may have one name: all their addresses are in it.
        block_length_v4: Length of a host block; None takes the default (28, or the subnet's if longer).
        rack_block_length_v4: Length of a rack block; None follows from the subnet's length.
        prefer: Where a route hurts less when blocks run short: `spine` borrows of the rack's hosts before
            the rack takes more space, `fabric` the other way round.
        route_budget: Routes that the spine's table may hold for this network; None for no budget.
        over_budget: Whether it holds more; said by the engine, never by a caller.
        overcommit: Deferred claims are accepted without regard to those already waiting.
        address_mode: How machines learn their addresses: `static` serves no DHCP unless `dhcp.enabled` says so;
            `slaac` gives IPv6 addresses by EUI-64 where the MAC is known.
        allocate_on: When machines get the addresses that Tenure gives by itself; None follows the model (`decided`).
        interfaces: Which interfaces of a machine get one: those that it boots from, or all.
        on_override: What becomes of an interface's address when a person asks for another.
        harvest: Whether pre-allocated addresses of machines that are not deployed may be taken back …
        harvest_after: … once they were not seen for so many seconds …
        harvest_below: … while fewer addresses than this are available. 0: never.
        low_threshold: Fewer available addresses than this, of a family that it has, are told; 0: never.
        depleted: Whether that is so; said by the engine, never by a caller.
        enlist: Unknown clients that get a lease here become `new` machines, `enlist_limit` a minute and subnet.
        tags: Sorted, each once. custom: A site's own fields.
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
    address_mode: AddressMode = "dhcp"
    allocate_on: AllocateOn | None = None
    interfaces: Ports = "boot"
    on_override: OnOverride = "shelve"
    harvest: bool = False
    harvest_after: int = 30 * 86400
    harvest_below: int = 0
    low_threshold: int = 0
    depleted: bool = False
    enlist: bool = True
    enlist_limit: int = 60
    name_template: str | None = None
    shared_names: bool = False
    tags: tuple[str, ...] = ()
    custom: Custom = {}
    revision: int = 1

    @property
    def decided(self) -> AllocateOn:
        """When machines get their addresses here: as `allocate_on` says, else as the model suggests."""
        return self.allocate_on or ("binding" if self.model == "clustered" else "commission")


class Renumbering(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Addresses of a subnet are being replaced by those of another, a wave at a time.

    Attributes:
        to: Id of the subnet that the new addresses are of.
        wave: Addresses at most that move in one minute.
        lease_time: Seconds that DHCP promises here meanwhile.
        static_acknowledged: Claims marked `static` move too.
        stopped: Nothing moves until it is resumed.
        moved: How many addresses have moved.
        waved: When the last wave was.
    """

    to: str
    since: datetime
    wave: int = 64
    lease_time: int = 120
    static_acknowledged: bool = False
    stopped: bool = False
    moved: int = 0
    waved: datetime | None = None


class Subnet(msgspec.Struct, frozen=True, kw_only=True):
    """A prefix on a link.

    Attributes:
        cidr: Canonical text, no host bits: `10.0.3.0/24`.
        gateway: Canonical text of an address inside `cidr`, or None.
        dns_servers: Canonical texts; those inside `cidr` are never given out.
        locations: Ids of the locations that the subnet is bound to; empty means everywhere.
        use_all_addresses: Network and broadcast (or subnet-router anycast) address may be given out.
        draining: Nothing new is placed here.
        reverse: Where its pointers are: in the zone of its octet or nibble (`plain`), in one of its own that the
            parent points into (`rfc2317`, longer than /24 only), nowhere (`off`); `auto` is `plain` for what is
            not longer than /24, where the octet's zone is served here, or where the addresses are private (RFC 1918,
            RFC 6598, link-local), else `rfc2317`.
        name_template: How its addresses are called that nobody has named.
        renumbering: Where its addresses are going, while they are.
    """

    id: str
    network: str
    vrf: str
    cidr: str
    gateway: str | None = None
    dns_servers: tuple[str, ...] = ()
    locations: tuple[str, ...] = ()
    use_all_addresses: bool = False
    reverse: ReverseMode = "auto"
    name_template: str | None = None
    draining: bool = False
    renumbering: Renumbering | None = None
    dhcp: Dhcp = Dhcp()
    tags: tuple[str, ...] = ()
    custom: Custom = {}
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
