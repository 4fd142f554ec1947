"""What a use answers, where it is more than the thing itself."""

from datetime import datetime
from typing import Union

import msgspec

from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.dnsdata import Secondary, TsigKey, Zone, ZoneRecord
from tenure.model.holding import Claim
from tenure.model.leases import Lease, LeaseRefused
from tenure.model.machines import Interface, Machine
from tenure.model.policy import LocationKind, Standing
from tenure.model.topology import Location


class HeldAddress(msgspec.Struct, frozen=True, kw_only=True):
    """One address of a holding, with what its user needs to configure it."""

    ip: str
    prefix_length: int
    subnet: str
    gateway: str | None
    dns_servers: tuple[str, ...]
    block: str | None
    title: str | None
    name: str | None
    held_until: datetime | None = None
    standing: Standing = "primary"


class Displaced(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of an address because of another: `shelved`, `kept`, `released`, `restored` or `returned`."""

    ip: str
    became: str
    claim: str


class Holding(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A claim and what it holds.

    Attributes:
        created: False where the same claim was there already.
        displaced: What became of other addresses by the same call.
        effective_by: When names have followed at the latest; None where no name moved, or it moved at once.
    """

    claim: Claim
    addresses: tuple[HeldAddress, ...] = ()
    created: bool = False
    displaced: tuple[Displaced, ...] = ()
    effective_by: datetime | None = None


class MachineWithInterfaces(msgspec.Struct, frozen=True, tag=True):
    """A machine and its open interfaces; after a step of its life also what it holds, and what became of the rest.

    Attributes:
        released: What it held, and went by this step.
    """

    machine: Machine
    interfaces: tuple[Interface, ...] = ()
    holdings: tuple[Holding, ...] = ()
    displaced: tuple[Displaced, ...] = ()
    released: tuple[HeldAddress, ...] = ()


class Sight(msgspec.Struct, frozen=True, omit_defaults=True):
    """What came of one sighting: `stranger`, `holder`, `conflict`, `known` (nothing new) or `elsewhere` (no subnet)."""

    ip: str
    outcome: str
    claim: str | None = None


class Observed(msgspec.Struct, frozen=True, tag=True):
    """What came of each sighting, in order."""

    sights: tuple[Sight, ...]


class Gleaned(msgspec.Struct, frozen=True):
    """An address that a harvest took."""

    ip: str
    claim: str
    machine: str
    seen: datetime | None


class Harvested(msgspec.Struct, frozen=True, tag=True):
    """What a harvest took, oldest unseen first, and how many addresses were available before."""

    taken: tuple[Gleaned, ...]
    available: int
    wanted: int


class Count(msgspec.Struct, frozen=True):
    """Addresses counted: capacity = in_use + reserved + cooling + available, exactly."""

    capacity: int = 0
    in_use: int = 0
    reserved: int = 0
    cooling: int = 0
    available: int = 0


class Room(Count, frozen=True):
    """The blocks of one location, counted.

    Attributes:
        room: How many addresses claims there, and below, could be given now, at most, if nobody else claimed:
            all but what a boundary keeps from them. 0 where a claim would be refused. Rooms of two locations may
            be the same addresses.
    """

    room: int = 0


class PlaceCount(msgspec.Struct, frozen=True):
    """What a network has at one location, and could have."""

    name: str
    kind: LocationKind
    v4: Room
    v6: Room


class Capacity(msgspec.Struct, frozen=True, tag=True):
    """A network's addresses, counted."""

    v4: Count
    v6: Count
    locations: tuple[PlaceCount, ...] | None = None


class Made(msgspec.Struct, frozen=True, tag=True):
    """A thing of the inventory as it is after the change; exactly one field is set."""

    vrf: Vrf | None = None
    location: Location | None = None
    network: Network | None = None
    subnet: Subnet | None = None
    range: Range | None = None
    token: Token | None = None
    zone: Zone | None = None
    record: ZoneRecord | None = None
    tsig_key: TsigKey | None = None
    secondary: Secondary | None = None


class Leased(msgspec.Struct, frozen=True, tag=True):
    """The answer to a DHCP message: a lease, a refusal, or neither (silence)."""

    lease: Lease | None = None
    refused: LeaseRefused | None = None


class Number(msgspec.Struct, frozen=True, tag=True):
    """How many."""

    value: int


class Nothing(msgspec.Struct, frozen=True, tag=True):
    """It is done, and there is nothing to show."""


class Failure(msgspec.Struct, frozen=True, tag=True):
    """A refusal on its way to its caller: an error's code, sentence and facts."""

    code: str
    message: str
    facts: dict[str, object] = {}


class Answers(msgspec.Struct, frozen=True, tag=True):
    """Answers of `Together`, in order."""

    items: "tuple[Answer, ...]"


Answer = Union[  # noqa: UP007
    Holding,
    MachineWithInterfaces,
    Observed,
    Harvested,
    Capacity,
    Made,
    Leased,
    Number,
    Nothing,
    Failure,
    Answers,
]


class Reply(msgspec.Struct, frozen=True):
    """What the writer sends back for one submission.

    Attributes:
        answer: The answer, or a `Failure`.
        sequence: Ledger position that the answer reflects, `epoch:sequence`.
        replayed: Whether an idempotency key brought back an earlier answer.
    """

    answer: Answer
    sequence: str
    replayed: bool = False
