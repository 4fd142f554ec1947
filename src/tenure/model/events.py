"""What happened: the only words for change.

An event carries all that its rows need, so that the ledger replays to the same
state; it never carries a secret. `kind` is its name on the wire.
"""

from datetime import datetime
from typing import Union

import msgspec

from tenure.model.access import Token
from tenure.model.addressing import Network, Range, Subnet, Vrf
from tenure.model.dnsdata import Zone
from tenure.model.holding import Allocation, Attachment, Claim
from tenure.model.machines import Interface, Machine
from tenure.model.placement import Block, Look
from tenure.model.topology import Location


class Subject(msgspec.Struct, frozen=True):
    """What an event is about: the ledger's searchable columns."""

    project: str | None = None
    vrf: str | None = None
    ip: str | None = None
    claim: str | None = None
    machine: str | None = None
    zone: str | None = None


class _Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    def subject(self) -> Subject:
        """What the event is about."""
        return Subject()

    @property
    def kind(self) -> str:
        """The event's name on the wire: `tenure.<noun>.<past participle>`."""
        return str(self.__struct_config__.tag)


class VrfCreated(_Event, frozen=True, kw_only=True, tag="tenure.vrf.created"):
    """An address space was made."""

    vrf: Vrf

    def subject(self) -> Subject:
        """The vrf."""
        return Subject(vrf=self.vrf.id)


class VrfChanged(_Event, frozen=True, kw_only=True, tag="tenure.vrf.changed"):
    """An address space was renamed; `vrf` is as it is now."""

    vrf: Vrf

    def subject(self) -> Subject:
        """The vrf."""
        return Subject(vrf=self.vrf.id)


class VrfDeleted(_Event, frozen=True, kw_only=True, tag="tenure.vrf.deleted"):
    """An address space was closed."""

    vrf: Vrf

    def subject(self) -> Subject:
        """The vrf."""
        return Subject(vrf=self.vrf.id)


class LocationCreated(_Event, frozen=True, kw_only=True, tag="tenure.location.created"):
    """A place was made."""

    location: Location


class LocationChanged(_Event, frozen=True, kw_only=True, tag="tenure.location.changed"):
    """A place was changed; `location` is as it is now."""

    location: Location


class LocationDeleted(_Event, frozen=True, kw_only=True, tag="tenure.location.deleted"):
    """A place was closed."""

    location: Location


class NetworkCreated(_Event, frozen=True, kw_only=True, tag="tenure.network.created"):
    """A network was made."""

    network: Network

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class NetworkChanged(_Event, frozen=True, kw_only=True, tag="tenure.network.changed"):
    """A network was changed; `network` is as it is now."""

    network: Network

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class NetworkDeleted(_Event, frozen=True, kw_only=True, tag="tenure.network.deleted"):
    """A network was closed."""

    network: Network

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class NetworkBudgetCrossed(_Event, frozen=True, kw_only=True, tag="tenure.network.budget_crossed"):
    """The spine's routes of a network passed its `route_budget`, or are within it again (`network.over_budget`)."""

    network: Network
    routes: int

    def subject(self) -> Subject:
        """The network's vrf."""
        return Subject(vrf=self.network.vrf)


class SubnetCreated(_Event, frozen=True, kw_only=True, tag="tenure.subnet.created"):
    """A subnet was made."""

    subnet: Subnet

    def subject(self) -> Subject:
        """The subnet's vrf."""
        return Subject(vrf=self.subnet.vrf)


class SubnetChanged(_Event, frozen=True, kw_only=True, tag="tenure.subnet.changed"):
    """A subnet was changed; `subnet` is as it is now."""

    subnet: Subnet

    def subject(self) -> Subject:
        """The subnet's vrf."""
        return Subject(vrf=self.subnet.vrf)


class SubnetDeleted(_Event, frozen=True, kw_only=True, tag="tenure.subnet.deleted"):
    """A subnet was closed."""

    subnet: Subnet

    def subject(self) -> Subject:
        """The subnet's vrf."""
        return Subject(vrf=self.subnet.vrf)


class RangeCreated(_Event, frozen=True, kw_only=True, tag="tenure.range.created"):
    """A range was set aside."""

    range: Range


class RangeChanged(_Event, frozen=True, kw_only=True, tag="tenure.range.changed"):
    """A range was changed; `range` is as it is now."""

    range: Range


class RangeDeleted(_Event, frozen=True, kw_only=True, tag="tenure.range.deleted"):
    """A range was given back."""

    range: Range


class MachineCreated(_Event, frozen=True, kw_only=True, tag="tenure.machine.created"):
    """A machine was made."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineChanged(_Event, frozen=True, kw_only=True, tag="tenure.machine.changed"):
    """A machine was changed; `machine` is as it is now."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class MachineDeleted(_Event, frozen=True, kw_only=True, tag="tenure.machine.deleted"):
    """A machine was closed; its interfaces have events of their own."""

    machine: Machine

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.machine.id)


class InterfaceCreated(_Event, frozen=True, kw_only=True, tag="tenure.interface.created"):
    """A machine got an interface."""

    interface: Interface

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.interface.machine)


class InterfaceChanged(_Event, frozen=True, kw_only=True, tag="tenure.interface.changed"):
    """An interface was changed; `interface` is as it is now."""

    interface: Interface

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.interface.machine)


class InterfaceDeleted(_Event, frozen=True, kw_only=True, tag="tenure.interface.deleted"):
    """An interface was closed."""

    interface: Interface

    def subject(self) -> Subject:
        """The machine."""
        return Subject(machine=self.interface.machine)


class ZoneCreated(_Event, frozen=True, kw_only=True, tag="tenure.zone.created"):
    """A network or a subnet brought a zone into being."""

    zone: Zone

    def subject(self) -> Subject:
        """The zone."""
        return Subject(vrf=self.zone.vrf, zone=self.zone.id)


class ZoneReshaped(_Event, frozen=True, kw_only=True, tag="tenure.zone.reshaped"):
    """All of a zone changed at once (its TTL, say): whoever follows it takes it whole."""

    zone: Zone

    def subject(self) -> Subject:
        """The zone."""
        return Subject(vrf=self.zone.vrf, zone=self.zone.id)


class ZoneDeleted(_Event, frozen=True, kw_only=True, tag="tenure.zone.deleted"):
    """The last network or subnet that needed a zone is gone."""

    zone: Zone

    def subject(self) -> Subject:
        """The zone."""
        return Subject(vrf=self.zone.vrf, zone=self.zone.id)


class BlockOwned(_Event, frozen=True, kw_only=True, tag="tenure.block.owned"):
    """A location took a block."""

    block: Block


class BlockSurrendered(_Event, frozen=True, kw_only=True, tag="tenure.block.surrendered"):
    """A block went back; `block` is as it was."""

    block: Block


class BlockResized(_Event, frozen=True, kw_only=True, tag="tenure.block.resized"):
    """A block grew by its buddy, or shrank to one of its halves; `before` is as it was."""

    before: Block
    block: Block


class ClaimDeferred(_Event, frozen=True, kw_only=True, tag="tenure.claim.deferred"):
    """A claim was accepted and waits to be bound."""

    claim: Claim

    def subject(self) -> Subject:
        """The claim."""
        return _of_claim(self.claim)


class ClaimBound(_Event, frozen=True, kw_only=True, tag="tenure.claim.bound"):
    """A deferred claim was bound to a host; its addresses follow in the same change. `before`: its host till then."""

    claim: Claim
    before: str | None = None

    def subject(self) -> Subject:
        """The claim."""
        return _of_claim(self.claim)


class ClaimRebound(_Event, frozen=True, kw_only=True, tag="tenure.claim.rebound"):
    """A claim moved to another host. `before`: its host till then.

    `allocations`: Those that it keeps, with the title that it has to them there.
    """

    claim: Claim
    before: str | None = None
    allocations: tuple[Allocation, ...] = ()

    def subject(self) -> Subject:
        """The claim."""
        return _of_claim(self.claim)


class ClaimSettled(_Event, frozen=True, kw_only=True, tag="tenure.claim.settled"):
    """A moved claim's former host announces its addresses no longer. `before`: that host."""

    claim: Claim
    before: str

    def subject(self) -> Subject:
        """The claim."""
        return _of_claim(self.claim)


class ClaimReleased(_Event, frozen=True, kw_only=True, tag="tenure.claim.released"):
    """A claim that held no address was released."""

    claim: Claim

    def subject(self) -> Subject:
        """The claim."""
        return _of_claim(self.claim)


class AddressAllocated(_Event, frozen=True, kw_only=True, tag="tenure.address.allocated"):
    """An address was given. A plain claim is this one event.

    Attributes:
        claim: As it is now, bound.
        attachment: Of the interface that uses it, if one is known.
        strategy: The strategy that chose, or `explicit` or `dynamic`.
        looks: The blocks looked at, in order.
        opens: Whether the claim itself begins with this event (it was not deferred, and this is its first address).
    """

    claim: Claim
    allocation: Allocation
    attachment: Attachment | None = None
    strategy: str = ""
    looks: tuple[Look, ...] = ()
    opens: bool = False

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return _of_address(self.claim, self.allocation)


class AddressReleased(_Event, frozen=True, kw_only=True, tag="tenure.address.released"):
    """An address was taken back; `allocation` is closed, and `claim` too unless it goes on (a move).

    Attributes:
        attachments: Those that ended with it.
        reason: `released`, `renumbered`, `expired` or `declined`.
        closes: Whether the claim itself ends with this event (it is its last address, and nothing replaces it).
    """

    claim: Claim
    allocation: Allocation
    attachments: tuple[Attachment, ...] = ()
    reason: str = "released"
    closes: bool = False

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return _of_address(self.claim, self.allocation)


class AddressDisputed(_Event, frozen=True, kw_only=True, tag="tenure.address.disputed"):
    """The holder found somebody else on its address (DHCPDECLINE); it keeps the address, and a person should look."""

    claim: Claim
    allocation: Allocation

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return _of_address(self.claim, self.allocation)


class LeasePromised(_Event, frozen=True, kw_only=True, tag="tenure.lease.promised"):
    """A DHCP promise was made, or written ahead: `allocation.held_until` is its new end."""

    claim: Claim
    allocation: Allocation

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return _of_address(self.claim, self.allocation)


class TokenCreated(_Event, frozen=True, kw_only=True, tag="tenure.token.created"):
    """A token was made; its secret is not here."""

    token: Token


class TokenRevoked(_Event, frozen=True, kw_only=True, tag="tenure.token.revoked"):
    """A token was revoked."""

    token: Token


class EpochStarted(_Event, frozen=True, kw_only=True, tag="tenure.ledger.epoch_started"):
    """The ledger had become shorter than what a node remembered: followers start over."""

    epoch: str
    reason: str


Event = Union[  # noqa: UP007 (a union of more than thirty tagged structs reads better in a column)
    VrfCreated,
    VrfChanged,
    VrfDeleted,
    LocationCreated,
    LocationChanged,
    LocationDeleted,
    NetworkCreated,
    NetworkChanged,
    NetworkDeleted,
    NetworkBudgetCrossed,
    SubnetCreated,
    SubnetChanged,
    SubnetDeleted,
    RangeCreated,
    RangeChanged,
    RangeDeleted,
    MachineCreated,
    MachineChanged,
    MachineDeleted,
    InterfaceCreated,
    InterfaceChanged,
    InterfaceDeleted,
    ZoneCreated,
    ZoneReshaped,
    ZoneDeleted,
    BlockOwned,
    BlockSurrendered,
    BlockResized,
    ClaimDeferred,
    ClaimBound,
    ClaimRebound,
    ClaimSettled,
    ClaimReleased,
    AddressAllocated,
    AddressReleased,
    AddressDisputed,
    LeasePromised,
    TokenCreated,
    TokenRevoked,
    EpochStarted,
]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the ledger: an event, and who caused it, when, and in which change and transaction.

    Attributes:
        sequence: Its place; the first is 1 and there are no gaps.
        batch: Random id of the transaction.
        change: Id of the use that caused it.
        source: Address that the request came from, or a process's name.
    """

    sequence: int
    batch: str
    change: str
    time: datetime
    actor: str
    source: str
    request_id: str
    event: Event


def _of_claim(claim: Claim) -> Subject:
    return Subject(project=claim.project, claim=claim.id, machine=claim.machine)


def _of_address(claim: Claim, allocation: Allocation) -> Subject:
    return Subject(project=claim.project, vrf=allocation.vrf, ip=allocation.ip, claim=claim.id, machine=claim.machine)
