"""Which rows an event writes.

The one place that says what the ledger means for the tables. The store applies
these images; replaying the ledger through them gives the tables again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from tenure.engine.labels import LABELLED, labels
from tenure.model import events as e
from tenure.model.holding import Claim
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
        return (Image(table, (thing.id,), thing, new=True), *_labelled(table, thing, new=True))

    return of


def _changed(table: str, field: str) -> Callable[[Any], tuple[Image, ...]]:
    def of(event: Any) -> tuple[Image, ...]:
        thing = getattr(event, field)
        return (Image(table, (thing.id,), thing),)

    return of


def _described(table: str, field: str) -> Callable[[Any], tuple[Image, ...]]:
    """Of a change that may be one of labels."""

    def of(event: Any) -> tuple[Image, ...]:
        thing = getattr(event, field)
        return (Image(table, (thing.id,), thing), Image("labels", (LABELLED[table], thing.id), labels(thing)))

    return of


def _deleted(table: str, field: str) -> Callable[[Any], tuple[Image, ...]]:
    def of(event: Any) -> tuple[Image, ...]:
        thing = getattr(event, field)
        return (Image(table, (thing.id,), None), *_unlabelled(table, thing))

    return of


def _labelled(table: str, thing: Any, *, new: bool) -> tuple[Image, ...]:
    """Most things have no labels, and cost nothing more."""
    if table not in LABELLED or not (thing.tags or thing.custom):
        return ()
    return (Image("labels", (LABELLED[table], thing.id), labels(thing), new),)


def _unlabelled(table: str, thing: Any) -> tuple[Image, ...]:
    """What is closed is found no longer."""
    if table not in LABELLED or not (thing.tags or thing.custom):
        return ()
    return (Image("labels", (LABELLED[table], thing.id), None),)


def _opened(claim: Claim, *, opens: bool) -> tuple[Image, ...]:
    return _labelled("claims", claim, new=True) if opens else ()


def _closed(claim: Claim) -> tuple[Image, ...]:
    return _unlabelled("claims", claim) if claim.until is not None else ()


def _allocated(event: e.AddressAllocated) -> tuple[Image, ...]:
    claim, allocation, attachment = event.claim, event.allocation, event.attachment
    rows = (
        Image("claims", (claim.id,), claim, event.opens),
        Image("allocations", (allocation.id,), allocation, True),
        *_opened(claim, opens=event.opens),
    )
    if attachment is None:
        return rows
    return (*rows, Image("attachments", (attachment.allocation, attachment.interface), attachment, True))


def _released(event: e.AddressReleased) -> tuple[Image, ...]:
    return (
        Image("claims", (event.claim.id,), event.claim),
        Image("allocations", (event.allocation.id,), event.allocation),
        *(Image("attachments", (a.allocation, a.interface), a) for a in event.attachments),
        *_closed(event.claim),
    )


def _moved(event: e.AddressMoved) -> tuple[Image, ...]:
    claim, allocation, attachment = event.claim, event.allocation, event.attachment
    giver = () if event.giver.id == claim.id else (Image("claims", (event.giver.id,), event.giver),)
    rows = (
        *giver,
        *_closed(event.giver),
        Image("claims", (claim.id,), claim, event.opens),
        *_opened(claim, opens=event.opens),
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


def _ended(event: e.ClaimReleased) -> tuple[Image, ...]:
    return (Image("claims", (event.claim.id,), event.claim), *_closed(event.claim))


def _rebound(event: e.ClaimRebound) -> tuple[Image, ...]:
    return (
        Image("claims", (event.claim.id,), event.claim),
        *(Image("allocations", (a.id,), a) for a in event.allocations),
    )


def _none(event: e.Event) -> tuple[Image, ...]:
    return ()


_IMAGES: dict[type, Callable[[Any], tuple[Image, ...]]] = {
    e.VrfCreated: _created("vrfs", "vrf"),
    e.VrfChanged: _changed("vrfs", "vrf"),
    e.VrfDeleted: _deleted("vrfs", "vrf"),
    e.LocationCreated: _created("locations", "location"),
    e.LocationChanged: _changed("locations", "location"),
    e.LocationDeleted: _deleted("locations", "location"),
    e.NetworkCreated: _created("networks", "network"),
    e.NetworkChanged: _described("networks", "network"),
    e.NetworkDeleted: _deleted("networks", "network"),
    e.NetworkBudgetCrossed: _changed("networks", "network"),
    e.SubnetCreated: _created("subnets", "subnet"),
    e.SubnetChanged: _described("subnets", "subnet"),
    e.SubnetDeleted: _deleted("subnets", "subnet"),
    e.RangeCreated: _created("ranges", "range"),
    e.RangeChanged: _changed("ranges", "range"),
    e.RangeDeleted: _deleted("ranges", "range"),
    e.MachineCreated: _created("machines", "machine"),
    e.MachineChanged: _described("machines", "machine"),
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
    e.ClaimReleased: _ended,
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
    e.ClaimChanged: _described("claims", "claim"),
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
    e.RecordCreated: _created("records", "record"),
    e.RecordChanged: _changed("records", "record"),
    e.RecordDeleted: _deleted("records", "record"),
    e.TsigKeyCreated: _created("tsig_keys", "key"),
    e.TsigKeyDeleted: _deleted("tsig_keys", "key"),
    e.SecondaryCreated: _created("secondaries", "secondary"),
    e.SecondaryChanged: _changed("secondaries", "secondary"),
    e.SecondaryDeleted: _deleted("secondaries", "secondary"),
    e.TokenCreated: _created("tokens", "token"),
    e.TokenRevoked: _deleted("tokens", "token"),
    e.AddressDisputed: _disputed,
    e.LeaseCompacted: _none,
    e.EpochStarted: _none,
}
