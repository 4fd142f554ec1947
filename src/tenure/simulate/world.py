"""What is simulated: a site, what happens on it, the subnet that serves it, and the policy that is judged."""

from typing import Final, NamedTuple

from tenure.model.policy import Boundaries, Boundary, Prefer, StrategyName
from tenure.net.addresses import Prefix, parse_prefix

HOUR: Final = 3600.0
"""Seconds. Times of events are in seconds from the start; what people write is in hours."""


class Skew(NamedTuple):
    """How unequal hosts are: sigma of the lognormal weights of host and rack, which are multiplied; 0 is equal."""

    host: float
    rack: float


SKEWS: Final = {"uniform": Skew(0.0, 0.0), "skewed": Skew(0.8, 0.4), "racks": Skew(0.4, 0.8)}
"""By name: all alike, hosts that differ more than racks, racks that differ more than hosts."""


class Site(NamedTuple):
    """Hosts in racks; both are numbered from 0.

    Attributes:
        hosts: How many, 1 or more.
        racks: How many, 1 to `hosts`; a flat site is one rack.
        skew: A name in `SKEWS`.
        placed: The rack of each host; empty where the hosts are spread evenly, in order.
    """

    hosts: int = 500
    racks: int = 20
    skew: str = "skewed"
    placed: tuple[int, ...] = ()

    def rack_of(self, host: int) -> int:
        """The rack that a host of the beginning stands in."""
        return self.placed[host] if self.placed else host * self.racks // self.hosts


class Lifetime(NamedTuple):
    """How long workloads live: exponential, or a mixture of two.

    Attributes:
        hours: Mean of the long ones.
        short_hours: Mean of the short ones.
        short: Share of arrivals that are short, 0 up to but not 1.
    """

    hours: float = 8.0
    short_hours: float = 0.5
    short: float = 0.0

    @property
    def mean(self) -> float:
        """Mean over all arrivals, in hours."""
        return self.short * self.short_hours + (1 - self.short) * self.hours


MIXED: Final = Lifetime(hours=72.0, short_hours=0.5, short=0.9)
"""What clouds report: four arrivals of five live under an hour, and 94 % of what lives at a time lives for days."""

FOREVER: Final = Lifetime(hours=1e9)
"""Nobody leaves."""


class Level(NamedTuple):
    """How many workloads shall live at an hour: a number, or up to 1 a share of the subnet."""

    hour: float
    amount: float


class Load(NamedTuple):
    """What happens on a site.

    Attributes:
        levels: Workloads alive on average, at hours from 0; linear in between, constant after the last.
        lifetime: How long each lives.
        populated: Whether those of hour 0 are there from the start; else the site starts empty.
        burst: Mean size of a deployment, whose workloads arrive at one moment; 1 is Poisson arrivals.
        migration: Share of workloads that move to another host in their life; half of them come home.
        renumber: Whether who moves takes a new address instead of keeping its own.
        replaced: From and until which hour every host is replaced, one by one, under the same names.
        rack_added: Hour at which one more rack, of the size of rack 0, starts to be used.
        rack_removed: Hour at which rack 0 goes, with all that runs there.
        first_requests: Whether each host asks once, all at the start, and nothing else happens.
    """

    levels: tuple[Level, ...] = (Level(0.0, 12_000.0),)
    lifetime: Lifetime = Lifetime()
    populated: bool = False
    burst: float = 1.0
    migration: float = 0.0
    renumber: bool = False
    replaced: tuple[float, float] | None = None
    rack_added: float | None = None
    rack_removed: float | None = None
    first_requests: bool = False


class Policy(NamedTuple):
    """Which addresses workloads get.

    Attributes:
        strategy: Its name.
        block_length: Prefix length of a host's (first) block; None is the strategy's default.
        rack_block_length: Prefix length of a rack's (first) block; None follows from the subnet.
        boundary: Whether an address may leave its host's, rack's … blocks.
        prefer: Whose routes are spared where both cannot be.
        cap: Most blocks that a host may own; None is no cap.
        cooldown: Seconds in which a released address is given to nobody.
    """

    strategy: StrategyName = "topology"
    block_length: int | None = None
    rack_block_length: int | None = None
    boundary: Boundary | Boundaries = "soft"
    prefer: Prefer = "spine"
    cap: int | None = None
    cooldown: int = 0


class Span(NamedTuple):
    """A part of a run that is reported on its own: from and until which hour, the end not included."""

    name: str
    start: float
    end: float


class World(NamedTuple):
    """One row of a scenario.

    Attributes:
        policy: Who gets which address.
        subnet: What serves the site, a prefix in text.
        site: Hosts and racks.
        load: What happens.
        hours: How long.
        warm_up: Hours before figures count.
        spans: What is reported; empty is one span from `warm_up` to `hours`.
        marks: Shares of the subnet, ascending: figures are taken as each is first reached, and the last ends the run.
        drained: Whether everybody leaves at the end and a day passes, to see what stays behind.
        trace: A CSV file that happens instead of `load`; see `tenure.simulate.trace`.
        note: What sets this row apart, for people.
    """

    policy: Policy = Policy()
    subnet: str = "10.0.0.0/16"
    site: Site = Site()
    load: Load = Load()
    hours: float = 48.0
    warm_up: float = 16.0
    spans: tuple[Span, ...] = ()
    marks: tuple[float, ...] = ()
    drained: bool = False
    trace: str | None = None
    note: str = ""

    @property
    def prefix(self) -> Prefix:
        """The subnet as a value."""
        return parse_prefix(self.subnet)

    @property
    def addresses(self) -> int:
        """Addresses in the subnet, usable or not."""
        return int(self.prefix.num_addresses)

    @property
    def reported(self) -> tuple[Span, ...]:
        """The spans to report, one at least."""
        return self.spans or (Span("", self.warm_up, self.hours),)

    def amount(self, level: Level) -> float:
        """How many workloads a level stands for."""
        return level.amount * self.addresses if level.amount <= 1 else level.amount


def boundary_text(boundary: Boundary | Boundaries) -> str:
    """A boundary as people write it: `soft`, `hard`, or the levels that are hard (`rack=hard`)."""
    if isinstance(boundary, str):
        return boundary
    levels = ("host", "rack", "site", "region")
    return ",".join(f"{level}=hard" for level in levels if getattr(boundary, level) == "hard") or "soft"
