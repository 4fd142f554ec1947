"""Lists and single things for people and programs: what may be read of a store outside of the writer's turn."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.answers import HeldAddress, Holding, MachineWithInterfaces
from tenure.model.dnsdata import Secondary, TsigKey, Zone, ZoneChange, ZoneRecord
from tenure.model.events import Entry
from tenure.model.holding import Allocation, Claim
from tenure.model.machines import Interface, Machine
from tenure.model.observed import Observation
from tenure.model.placement import Block
from tenure.model.topology import Location

T = TypeVar("T")

Tags = Sequence[str]
Custom = Sequence[tuple[str, str]]


class Head(msgspec.Struct, frozen=True):
    """The end of the ledger. `batch` is "" and `sequence` 0 while it is empty."""

    epoch: str
    sequence: int
    batch: str
    time: datetime | None


class Seen(NamedTuple, Generic[T]):
    """A value, and the head of the ledger in the same snapshot."""

    value: T
    head: Head


class Page(NamedTuple, Generic[T]):
    """A part of a list; `next` asks for the part after it, and is None at the end."""

    items: list[T]
    next: str | None
    head: Head


class KnownAddress(NamedTuple):
    """An address that is held, or rests, and everything that hangs on it."""

    allocation: Allocation
    claim: Claim
    held: HeldAddress
    interfaces: tuple[Interface, ...]
    """Attached now; for a resting address, those that were attached at its end."""
    machines: tuple[Machine, ...]
    """Of the interfaces, and the one that the claim names."""


class SeenAddress(NamedTuple):
    """An address that something was seen on, and the subnet that it lies in."""

    observation: Observation
    subnet: Subnet


class Told(NamedTuple):
    """A line of an address's history.

    Attributes:
        holder: Who held it after that, as they were called then; of a release, who had it. None: nobody.
    """

    entry: Entry
    holder: KnownAddress | None


class OwnedBlock(NamedTuple):
    """A block and how many of its addresses are held."""

    block: Block
    in_use: int


class Extent(NamedTuple):
    """What a change would take away: a vrf, a network, a subnet, stretches of a subnet, or what is used at a place.

    Attributes:
        stretches: First and last addresses, as text; None is all of the subnet.
    """

    vrf: str = ""
    network: str = ""
    subnet: str = ""
    stretches: tuple[tuple[str, str], ...] | None = None
    location: str = ""


class Some(NamedTuple):
    """The first 20 of something, and how many there are."""

    total: int
    first: tuple[str, ...]


class Affected(NamedTuple):
    """What is in an extent. `places`: names of the location that it is of, and of those below.

    `resting`: addresses that nobody holds any more and that rest; none of a location.
    """

    addresses: Some
    names: Some
    leases: Some
    resting: Some
    places: tuple[str, ...]


class Remaining(NamedTuple):
    """What is still somewhere: the oldest claims, at most 20, and how many there are."""

    holdings: list[Holding]
    total: int


FormerKind = Literal["vrf", "network", "location"]
"""What is found by name also after it is gone."""


class Unmoved(NamedTuple):
    """What a renumbering of a subnet has left.

    Attributes:
        left: How many addresses, without leases and without those whose successor is given already.
        stuck: The oldest claims among their holders, at most 20, whose address was written down by hand.
        total: How many of these there are.
    """

    left: int
    stuck: list[Holding]
    total: int


class Users(NamedTuple):
    """Machines and interfaces by id, open or closed, as they were last."""

    machines: dict[str, Machine]
    interfaces: dict[str, Interface]


class Found(NamedTuple):
    """A line of a search: `kind` is the noun, `label` what a person calls it; `zone` the id of a record's zone."""

    kind: str
    id: str
    label: str
    zone: str = ""


class Findings(NamedTuple):
    """What a search understood its words to be (`address`, `prefix`, `mac` or `name`), and what it found."""

    understood_as: str
    items: list[Found]


class Reads(Protocol):
    """Lists and single things for people and programs, each in one snapshot, from any thread.

    Lists take a cursor (`after`, as `Page.next` gave it; "" from the beginning) and a `limit` of 1 to 1000.
    Filters are ids unless they say otherwise; an empty or absent filter is none. `q` is a prefix of a name; `tags`
    and `custom` (names with values as text) must all be there.

    Raises:
        InvalidValue: The cursor is not one that a page gave, or the limit is out of bounds.
        StoreUnavailable: The database cannot be reached.
    """

    def vrfs(self, after: str = "", limit: int = 100, *, q: str = "") -> Page[Vrf]:
        """Open vrfs, by id."""
        ...

    def locations(
        self, after: str = "", limit: int = 100, *, parent: str = "", kind: str = "", q: str = ""
    ) -> Page[Location]:
        """Open locations, by id."""
        ...

    def networks(
        self, after: str = "", limit: int = 100, *, vrf: str = "", q: str = "", tags: Tags = (), custom: Custom = ()
    ) -> Page[Network]:
        """Open networks, by id."""
        ...

    def subnets(
        self,
        after: str = "",
        limit: int = 100,
        *,
        network: str = "",
        vrf: str = "",
        tags: Tags = (),
        custom: Custom = (),
    ) -> Page[Subnet]:
        """Open subnets, by id."""
        ...

    def ranges(self, after: str = "", limit: int = 100, *, subnet: str = "") -> Page[Range]:
        """Open ranges, by id."""
        ...

    def machines(
        self,
        after: str = "",
        limit: int = 100,
        *,
        location: str = "",
        kind: str = "",
        state: str = "",
        q: str = "",
        tags: Tags = (),
        custom: Custom = (),
    ) -> Page[MachineWithInterfaces]:
        """Open machines with their open interfaces, by id; `state` is that of their lives."""
        ...

    def on_machines(self, machines: Sequence[str]) -> dict[str, list[KnownAddress]]:
        """What machines (ids) hold now, by machine: under claims that name them, or on their interfaces.

        Primaries first, then aliases, then what is shelved; each as they were given.
        """
        ...

    def claims(
        self,
        after: str = "",
        limit: int = 100,
        *,
        network: str = "",
        host: str = "",
        machine: str = "",
        project: str = "",
        handle: str = "",
        state: str = "",
        kept: str = "",
        tags: Tags = (),
        custom: Custom = (),
    ) -> Page[Holding]:
        """Claims with the addresses they hold, by id. `state` is pending, bound or released; else all open ones.

        `kept`: Only what machines were given by themselves, for their `life` or a `deployment`.
        """
        ...

    def addresses(
        self,
        after: str = "",
        limit: int = 100,
        *,
        now: datetime,
        network: str = "",
        location: str = "",
        state: str = "",
        q: str = "",
        at: datetime | None = None,
        vrf: str = "",
    ) -> Page[KnownAddress]:
        """Addresses by subnet and number: held ones, or by `state` allocated, shelved or cooling (at `now`).

        `location` takes all places below it too. `q` is an address, a prefix, or how a hostname begins.
        `at`: as they were then, by vrf and number. Places and states are those of then; a page may have fewer than
        `limit` for them, even none, while there is a next one. Cost of the whole table: all that there ever were.
        """
        ...

    def observed(
        self, after: str = "", limit: int = 100, *, now: datetime, network: str = "", q: str = "", vrf: str = ""
    ) -> Page[SeenAddress]:
        """What was seen and is not too old at `now`, by vrf and number; `q` is an address or a prefix."""
        ...

    def blocks(self, after: str = "", limit: int = 100, *, network: str = "", location: str = "") -> Page[OwnedBlock]:
        """Open blocks with their use, oldest first."""
        ...

    def zones(self, after: str = "", limit: int = 100, *, vrf: str = "", q: str = "") -> Page[Zone]:
        """Open zones with their serials, by id."""
        ...

    def records(
        self, after: str = "", limit: int = 100, *, zone: str = "", type_: str = "", q: str = ""
    ) -> Page[ZoneRecord]:
        """Open records that people made, by id; `q` is a prefix of an owner."""
        ...

    def tsig_keys(self, after: str = "", limit: int = 100) -> Page[TsigKey]:
        """Open TSIG keys, by id."""
        ...

    def secondaries(self, after: str = "", limit: int = 100, *, vrf: str = "") -> Page[Secondary]:
        """Open secondaries, by id."""
        ...

    def tokens(self, after: str = "", limit: int = 100) -> Page[Token]:
        """Open tokens, by id."""
        ...

    def vrf(self, name: str) -> Seen[Vrf | None]:
        """An open vrf by name or id."""
        ...

    def former(self, kind: FormerKind, name: str, when: datetime | None = None) -> Seen[Any]:
        """A vrf, network or location by its id, or by the name that it has or had last.

        Of those with a name the one that was open at a time; without one the open one, else the last that was.
        """
        ...

    def called(self, ids: Collection[str]) -> dict[str, str]:
        """What vrfs, networks and locations with these ids are called, or were last; absent where there is none."""
        ...

    def location(self, name: str) -> Seen[Location | None]:
        """An open location by name or id."""
        ...

    def network(self, name: str) -> Seen[Network | None]:
        """An open network by name or id."""
        ...

    def subnet(self, name: str) -> Seen[Subnet | None]:
        """An open subnet by id or, where only one vrf has it, by its prefix."""
        ...

    def range(self, name: str) -> Seen[Range | None]:
        """An open range by id."""
        ...

    def machine(self, name: str) -> Seen[MachineWithInterfaces | None]:
        """An open machine by name or id, with its open interfaces."""
        ...

    def zone(self, name: str, vrf: str = "") -> Seen[Zone | None]:
        """An open zone by id, or by name: in a vrf, or where only one vrf has it."""
        ...

    def record(self, record: str) -> Seen[ZoneRecord | None]:
        """An open record that a person made, by id."""
        ...

    def tsig_key(self, name: str) -> Seen[TsigKey | None]:
        """An open TSIG key by name or id."""
        ...

    def secondary(self, name: str) -> Seen[Secondary | None]:
        """An open secondary by name or id."""
        ...

    def token(self, name: str) -> Seen[Token | None]:
        """An open token by name or id."""
        ...

    def claim(self, name: str) -> Seen[Holding | None]:
        """A claim by id, open or released, with the addresses it holds."""
        ...

    def address(self, vrf: str, ip: str, now: datetime) -> Seen[KnownAddress | None]:
        """Who holds an address; if nobody does, whose it was while it still rests at `now`."""
        ...

    def holders(self, vrf: str, ips: Sequence[str]) -> Seen[list[KnownAddress]]:
        """Who holds these addresses of a vrf now, in no order; those that nobody holds are left out."""
        ...

    def address_at(self, vrf: str, ip: str, when: datetime) -> Seen[KnownAddress | None]:
        """Who held an address at a time; if nobody did, whose it had been while it rested.

        Everything is called as it was then; `until` and `cooling_until` of the allocation are those of now.
        """
        ...

    def sighted(self, vrf: str, ips: Sequence[str], now: datetime) -> Seen[list[Observation]]:
        """What was seen on these addresses of a vrf, if that is not too old at `now`; in no order."""
        ...

    def observation(self, vrf: str, ip: str, now: datetime) -> Seen[SeenAddress | None]:
        """What was seen on an address, if that is not too old at `now`."""
        ...

    def remaining(self, *, location: str = "", subnet: str = "") -> Seen[Remaining]:
        """Open claims at a location and below it, or with an address of a subnet; by id. Cost: linear in them."""
        ...

    def users(self, machines: Collection[str], interfaces: Collection[str]) -> Seen[Users]:
        """Machines and interfaces by id; those that are not here are left out. At most 10,000 of each."""
        ...

    def unmoved(self, subnet: str) -> Seen[Unmoved]:
        """What a renumbering of a subnet has left, and who of it is written down by hand. Cost: linear in them."""
        ...

    def affected(self, extent: Extent, now: datetime) -> Seen[Affected]:
        """What a change would take away. Cost: linear in it."""
        ...

    def leaving(self, location: str) -> Seen[Remaining]:
        """Claims that moved away from a location, or from below it, and whose hand-over still stands; by id.

        Cost: linear in all hand-overs.
        """
        ...

    def history(self, vrf: str, ip: str, after: str = "", limit: int = 100) -> Page[Told]:
        """The time line of one address: the ledger's entries about it, and about its holders' claims and names
        while they held it; in order. A page may have fewer than `limit` while there is a next one.
        """
        ...

    def given(self, allocation: Allocation) -> Seen[list[Entry]]:
        """For `why`: the `AddressAllocated` entry that gave an address, and the `AddressMoved` that brought it here."""
        ...

    def search(self, q: str, limit: int = 100) -> Seen[Findings]:
        """Open things by address, prefix, MAC in any spelling, name, handle or id: exact ones, then by beginning."""
        ...

    def token_by_digest(self, digest: bytes) -> Token | None:
        """The open token whose secret has this SHA-256."""
        ...

    def sealed(self, key: str) -> bytes | None:
        """The secret of an open TSIG key (an id), encrypted as it was given; None where there is no such key."""
        ...

    def changes_since(self, zone: str, serial: int, limit: int = 1000) -> list[ZoneChange]:
        """A zone's changes that follow a serial, in order; none where the journal does not know it, or knows no more.

        The first one's serial is the step after `serial`. One without records is of the zone as a whole: what is
        before it does not lead to what is after it.
        """
        ...

    def zone_changes(self, zone: str, after: int, limit: int = 1000) -> list[ZoneChange]:
        """A zone's changes whose ledger sequence is above `after`, in order, at most `limit` of them."""
        ...
