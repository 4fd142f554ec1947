"""What happened: the only words for change.

An event carries all that its rows need, so that the ledger replays to the same
state; it never carries a secret. `kind` is its name on the wire.
"""

from datetime import datetime
from typing import Union

import msgspec

from tenure.model.events.addresses import (
    AddressAliased,
    AddressAllocated,
    AddressAttached,
    AddressDetached,
    AddressDisputed,
    AddressMoved,
    AddressNamed,
    AddressObserved,
    AddressReleased,
    AddressRestored,
    AddressShelved,
    LeaseCompacted,
    LeasePromised,
)
from tenure.model.events.claims import (
    ClaimBound,
    ClaimChanged,
    ClaimDeferred,
    ClaimExpiring,
    ClaimRebound,
    ClaimReleased,
    ClaimSettled,
)
from tenure.model.events.happening import Subject
from tenure.model.events.inventory import (
    BlockOwned,
    BlockResized,
    BlockSurrendered,
    EpochStarted,
    LocationChanged,
    LocationCreated,
    LocationDeleted,
    NetworkBudgetCrossed,
    NetworkChanged,
    NetworkCreated,
    NetworkDeleted,
    NetworkDepleted,
    NetworkReplenished,
    RangeChanged,
    RangeCreated,
    RangeDeleted,
    SubnetChanged,
    SubnetCreated,
    SubnetDeleted,
    TokenCreated,
    TokenRevoked,
    VrfChanged,
    VrfCreated,
    VrfDeleted,
    ZoneCreated,
    ZoneDeleted,
    ZoneReshaped,
)
from tenure.model.events.machines import (
    InterfaceChanged,
    InterfaceCreated,
    InterfaceDeleted,
    MachineChanged,
    MachineCommissioned,
    MachineCreated,
    MachineDeleted,
    MachineDeployed,
    MachineEnlisted,
    MachineReadied,
    MachineReleased,
    MachineRetired,
    MachineSeen,
)

__all__ = [
    "AddressAliased",
    "AddressAllocated",
    "AddressAttached",
    "AddressDetached",
    "AddressDisputed",
    "AddressMoved",
    "AddressNamed",
    "AddressObserved",
    "AddressReleased",
    "AddressRestored",
    "AddressShelved",
    "BlockOwned",
    "BlockResized",
    "BlockSurrendered",
    "ClaimBound",
    "ClaimChanged",
    "ClaimDeferred",
    "ClaimExpiring",
    "ClaimRebound",
    "ClaimReleased",
    "ClaimSettled",
    "Entry",
    "EpochStarted",
    "Event",
    "InterfaceChanged",
    "InterfaceCreated",
    "InterfaceDeleted",
    "LeaseCompacted",
    "LeasePromised",
    "LocationChanged",
    "LocationCreated",
    "LocationDeleted",
    "MachineChanged",
    "MachineCommissioned",
    "MachineCreated",
    "MachineDeleted",
    "MachineDeployed",
    "MachineEnlisted",
    "MachineReadied",
    "MachineReleased",
    "MachineRetired",
    "MachineSeen",
    "NetworkBudgetCrossed",
    "NetworkChanged",
    "NetworkCreated",
    "NetworkDeleted",
    "NetworkDepleted",
    "NetworkReplenished",
    "RangeChanged",
    "RangeCreated",
    "RangeDeleted",
    "Subject",
    "SubnetChanged",
    "SubnetCreated",
    "SubnetDeleted",
    "TokenCreated",
    "TokenRevoked",
    "VrfChanged",
    "VrfCreated",
    "VrfDeleted",
    "ZoneCreated",
    "ZoneDeleted",
    "ZoneReshaped",
]

Event = Union[  # noqa: UP007 (a union of more than fifty tagged structs reads better in a column)
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
    ZoneCreated,
    ZoneReshaped,
    ZoneDeleted,
    BlockOwned,
    BlockSurrendered,
    BlockResized,
    TokenCreated,
    TokenRevoked,
    EpochStarted,
    NetworkDepleted,
    NetworkReplenished,
    MachineCreated,
    MachineChanged,
    MachineDeleted,
    InterfaceCreated,
    InterfaceChanged,
    InterfaceDeleted,
    MachineEnlisted,
    MachineCommissioned,
    MachineReadied,
    MachineDeployed,
    MachineReleased,
    MachineRetired,
    MachineSeen,
    ClaimDeferred,
    ClaimBound,
    ClaimRebound,
    ClaimSettled,
    ClaimReleased,
    ClaimChanged,
    ClaimExpiring,
    AddressAllocated,
    AddressReleased,
    AddressDisputed,
    LeasePromised,
    LeaseCompacted,
    AddressShelved,
    AddressAliased,
    AddressRestored,
    AddressNamed,
    AddressAttached,
    AddressDetached,
    AddressMoved,
    AddressObserved,
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
