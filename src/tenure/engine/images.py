"""Which rows an event writes.

The one place that says what the ledger means for the tables. The store applies
these images; replaying the ledger through them gives the tables again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tenure.model import events as e
from tenure.model.observed import Observation
from tenure.model.placement import Block

Key = tuple[str, ...]


class Image(NamedTuple):
    """A row as it is after an event; `row` None closes it, `new` says that it was not there before."""

    table: str
    key: Key
    row: Any
    new: bool = False


def images(event: e.Event) -> tuple[Image, ...]:
    """The rows that `event` writes, in an order that the tables accept."""
    return _IMAGES[type(event)](event)


def net(table: dict[tuple[str, Key], Image], image: Image) -> Image | None:
    """Fold `image` into the net of a batch: one image a key, the last row, new if the first was new.

    Returns what the net had for its key before.
    """
    at = (image.table, image.key)
    before = table.get(at)
    table[at] = image if before is None else image._replace(new=before.new)
    return before


def _created(table: str, field: str) -> Callable[[Any], tuple[Image, ...]]:
    def of(event: Any) -> tuple[Image, ...]:
        thing = getattr(event, field)
        return (Image(table, (thing.id,), thing, new=True),)

    return of


def _changed(table: str, field: str) -> Callable[[Any], tuple[Image, ...]]:
    def of(event: Any) -> tuple[Image, ...]:
        thing = getattr(event, field)
        return (Image(table, (thing.id,), thing),)

    return of


def _deleted(table: str, field: str) -> Callable[[Any], tuple[Image, ...]]:
    def of(event: Any) -> tuple[Image, ...]:
        return (Image(table, (getattr(event, field).id,), None),)

    return of


def _allocated(event: e.AddressAllocated) -> tuple[Image, ...]:
    claim, allocation, attachment = event.claim, event.allocation, event.attachment
    rows = (
        Image("claims", (claim.id,), claim, event.opens),
        Image("allocations", (allocation.id,), allocation, True),
    )
    if attachment is None:
        return rows
    return (*rows, Image("attachments", (attachment.allocation, attachment.interface), attachment, True))


def _released(event: e.AddressReleased) -> tuple[Image, ...]:
    return (
        Image("claims", (event.claim.id,), event.claim),
        Image("allocations", (event.allocation.id,), event.allocation),
        *(Image("attachments", (a.allocation, a.interface), a) for a in event.attachments),
    )


def _moved(event: e.AddressMoved) -> tuple[Image, ...]:
    claim, allocation, attachment = event.claim, event.allocation, event.attachment
    giver = () if event.giver.id == claim.id else (Image("claims", (event.giver.id,), event.giver),)
    rows = (
        *giver,
        Image("claims", (claim.id,), claim, event.opens),
        Image("allocations", (event.left.id,), event.left),
        *(Image("attachments", (a.allocation, a.interface), a) for a in event.attachments),
        Image("allocations", (allocation.id,), allocation, True),
    )
    if attachment is None:
        return rows
    return (*rows, Image("attachments", (attachment.allocation, attachment.interface), attachment, True))


def _attached(event: e.AddressAttached) -> tuple[Image, ...]:
    key = (event.attachment.allocation, event.attachment.interface)
    return (Image("claims", (event.claim.id,), event.claim), Image("attachments", key, event.attachment, True))


def _detached(event: e.AddressDetached) -> tuple[Image, ...]:
    key = (event.attachment.allocation, event.attachment.interface)
    return (Image("claims", (event.claim.id,), event.claim), Image("attachments", key, event.attachment))


def _observed(event: e.AddressObserved) -> tuple[Image, ...]:
    return (_observation(event.observation),)


def _disputed(event: e.AddressDisputed) -> tuple[Image, ...]:
    return () if event.observed is None else (_observation(event.observed),)


def _observation(seen: Observation) -> Image:
    return Image("observations", (seen.vrf, seen.ip), seen)


def _block_key(block: Block) -> Key:
    # The owner is part of the key, so that a change of owner closes one row and opens another.
    return (block.subnet, block.cidr, block.kind, "-" if block.owner is None else block.owner)


def _owned(event: e.BlockOwned) -> tuple[Image, ...]:
    return (Image("blocks", _block_key(event.block), event.block, new=True),)


def _surrendered(event: e.BlockSurrendered) -> tuple[Image, ...]:
    return (Image("blocks", _block_key(event.block), None),)


def _resized(event: e.BlockResized) -> tuple[Image, ...]:
    return (
        Image("blocks", _block_key(event.before), None),
        Image("blocks", _block_key(event.block), event.block, new=True),
    )


def _rebound(event: e.ClaimRebound) -> tuple[Image, ...]:
    return (
        Image("claims", (event.claim.id,), event.claim),
        *(Image("allocations", (a.id,), a) for a in event.allocations),
    )


def _none(event: e.EpochStarted) -> tuple[Image, ...]:
    return ()


_IMAGES: dict[type, Callable[[Any], tuple[Image, ...]]] = {
    e.VrfCreated: _created("vrfs", "vrf"),
    e.VrfChanged: _changed("vrfs", "vrf"),
    e.VrfDeleted: _deleted("vrfs", "vrf"),
    e.LocationCreated: _created("locations", "location"),
    e.LocationChanged: _changed("locations", "location"),
    e.LocationDeleted: _deleted("locations", "location"),
    e.NetworkCreated: _created("networks", "network"),
    e.NetworkChanged: _changed("networks", "network"),
    e.NetworkDeleted: _deleted("networks", "network"),
    e.NetworkBudgetCrossed: _changed("networks", "network"),
    e.SubnetCreated: _created("subnets", "subnet"),
    e.SubnetChanged: _changed("subnets", "subnet"),
    e.SubnetDeleted: _deleted("subnets", "subnet"),
    e.RangeCreated: _created("ranges", "range"),
    e.RangeChanged: _changed("ranges", "range"),
    e.RangeDeleted: _deleted("ranges", "range"),
    e.MachineCreated: _created("machines", "machine"),
    e.MachineChanged: _changed("machines", "machine"),
    e.MachineDeleted: _deleted("machines", "machine"),
    e.InterfaceCreated: _created("interfaces", "interface"),
    e.InterfaceChanged: _changed("interfaces", "interface"),
    e.InterfaceDeleted: _deleted("interfaces", "interface"),
    e.ZoneCreated: _created("zones", "zone"),
    e.ZoneReshaped: _changed("zones", "zone"),
    e.ZoneDeleted: _deleted("zones", "zone"),
    e.BlockOwned: _owned,
    e.BlockSurrendered: _surrendered,
    e.BlockResized: _resized,
    e.ClaimDeferred: _created("claims", "claim"),
    e.ClaimBound: _changed("claims", "claim"),
    e.ClaimRebound: _rebound,
    e.ClaimSettled: _changed("claims", "claim"),
    e.ClaimReleased: _changed("claims", "claim"),
    e.AddressAllocated: _allocated,
    e.AddressReleased: _released,
    e.LeasePromised: _changed("allocations", "allocation"),
    e.AddressShelved: _changed("allocations", "allocation"),
    e.AddressAliased: _changed("allocations", "allocation"),
    e.AddressRestored: _changed("allocations", "allocation"),
    e.AddressNamed: _changed("allocations", "allocation"),
    e.AddressAttached: _attached,
    e.AddressDetached: _detached,
    e.AddressMoved: _moved,
    e.AddressObserved: _observed,
    e.ClaimChanged: _changed("claims", "claim"),
    e.ClaimExpiring: _changed("claims", "claim"),
    e.NetworkDepleted: _changed("networks", "network"),
    e.NetworkReplenished: _changed("networks", "network"),
    e.MachineEnlisted: _created("machines", "machine"),
    e.MachineCommissioned: _changed("machines", "machine"),
    e.MachineReadied: _changed("machines", "machine"),
    e.MachineDeployed: _changed("machines", "machine"),
    e.MachineReleased: _changed("machines", "machine"),
    e.MachineRetired: _changed("machines", "machine"),
    e.MachineSeen: _changed("machines", "machine"),
    e.TokenCreated: _created("tokens", "token"),
    e.TokenRevoked: _deleted("tokens", "token"),
    e.AddressDisputed: _disputed,
    e.EpochStarted: _none,
}
