"""What may be asked: every change, and the reads that need the allocator's memory.

A use is a frozen value, so that it can travel: surfaces run in processes of
their own and submit uses to the writer's process. Names in a use are as the
caller gave them (a name or an id); the engine resolves them against its state.
"""

from typing import Union

import msgspec

from tenure.model.uses.addresses import (
    AttachAddress,
    DetachAddress,
    ObserveAddresses,
    ReassignAddress,
    RenameAddress,
    Sighting,
)
from tenure.model.uses.asking import Asking
from tenure.model.uses.claims import (
    BindClaim,
    ChangeClaim,
    ClaimAddresses,
    EvacuateHost,
    RebindClaim,
    ReleaseClaim,
    SettleClaim,
)
from tenure.model.uses.inventory import (
    CancelRenumbering,
    ChangeLocation,
    ChangeNetwork,
    ChangeRange,
    ChangeSubnet,
    ChangeVrf,
    CreateLocation,
    CreateNetwork,
    CreateRange,
    CreateSubnet,
    CreateToken,
    CreateVrf,
    DeleteLocation,
    DeleteNetwork,
    DeleteRange,
    DeleteSubnet,
    DeleteVrf,
    HarvestNetwork,
    ReadCapacity,
    RenumberSubnet,
    RevokeToken,
)
from tenure.model.uses.leases import (
    LeaseCommit,
    LeaseDecline,
    LeaseInform,
    LeaseOffer,
    LeaseRelease,
)
from tenure.model.uses.machines import (
    ChangeMachine,
    CommissionMachine,
    CreateMachine,
    DeleteMachine,
    DeployMachine,
    NewInterface,
    ReadyMachine,
    ReleaseMachine,
    RetireMachine,
    SeeMachine,
)
from tenure.model.uses.upkeep import (
    ExpireLeases,
    Lapse,
    Tend,
)
from tenure.model.uses.zones import (
    ChangeRecord,
    ChangeSecondary,
    ChangeZone,
    CreateRecord,
    CreateSecondary,
    CreateTsigKey,
    CreateZone,
    DeleteRecord,
    DeleteSecondary,
    DeleteTsigKey,
    DeleteZone,
)

__all__ = [
    "AttachAddress",
    "BindClaim",
    "CancelRenumbering",
    "ChangeClaim",
    "ChangeLocation",
    "ChangeMachine",
    "ChangeNetwork",
    "ChangeRange",
    "ChangeRecord",
    "ChangeSecondary",
    "ChangeSubnet",
    "ChangeVrf",
    "ChangeZone",
    "ClaimAddresses",
    "CommissionMachine",
    "CreateLocation",
    "CreateMachine",
    "CreateNetwork",
    "CreateRange",
    "CreateRecord",
    "CreateSecondary",
    "CreateSubnet",
    "CreateToken",
    "CreateTsigKey",
    "CreateVrf",
    "CreateZone",
    "DeleteLocation",
    "DeleteMachine",
    "DeleteNetwork",
    "DeleteRange",
    "DeleteRecord",
    "DeleteSecondary",
    "DeleteSubnet",
    "DeleteTsigKey",
    "DeleteVrf",
    "DeleteZone",
    "DeployMachine",
    "DetachAddress",
    "EvacuateHost",
    "ExpireLeases",
    "HarvestNetwork",
    "Lapse",
    "LeaseCommit",
    "LeaseDecline",
    "LeaseInform",
    "LeaseOffer",
    "LeaseRelease",
    "NewInterface",
    "ObserveAddresses",
    "ReadCapacity",
    "ReadyMachine",
    "ReassignAddress",
    "RebindClaim",
    "ReleaseClaim",
    "ReleaseMachine",
    "RenameAddress",
    "RenumberSubnet",
    "RetireMachine",
    "RevokeToken",
    "SeeMachine",
    "SettleClaim",
    "Sighting",
    "Submission",
    "Tend",
    "Together",
    "Use",
]


class Together(Asking, frozen=True, kw_only=True):
    """All of these, or none: at most 1,000, an import 10,000. Answers a list."""

    uses: "tuple[Use, ...]"


Use = Union[  # noqa: UP007 (as for events)
    CreateVrf,
    ChangeVrf,
    DeleteVrf,
    CreateLocation,
    ChangeLocation,
    DeleteLocation,
    CreateNetwork,
    ChangeNetwork,
    DeleteNetwork,
    CreateSubnet,
    ChangeSubnet,
    DeleteSubnet,
    CreateRange,
    ChangeRange,
    DeleteRange,
    CreateMachine,
    ChangeMachine,
    DeleteMachine,
    CommissionMachine,
    ReadyMachine,
    DeployMachine,
    ReleaseMachine,
    RetireMachine,
    SeeMachine,
    ChangeClaim,
    ReassignAddress,
    RenameAddress,
    AttachAddress,
    DetachAddress,
    ObserveAddresses,
    HarvestNetwork,
    RenumberSubnet,
    CancelRenumbering,
    Lapse,
    ClaimAddresses,
    BindClaim,
    RebindClaim,
    SettleClaim,
    EvacuateHost,
    ReleaseClaim,
    Together,
    LeaseOffer,
    LeaseCommit,
    LeaseRelease,
    LeaseDecline,
    LeaseInform,
    ExpireLeases,
    Tend,
    ReadCapacity,
    CreateToken,
    RevokeToken,
    CreateZone,
    ChangeZone,
    DeleteZone,
    CreateRecord,
    ChangeRecord,
    DeleteRecord,
    CreateTsigKey,
    DeleteTsigKey,
    CreateSecondary,
    ChangeSecondary,
    DeleteSecondary,
]


class Submission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A use and its circumstances, as it travels to the writer.

    Attributes:
        actor: `token:<name>`, `dhcp`, `upkeep` …
        source: Address that the request came from.
        dry_run: Answer what would happen, record nothing.
        if_match: Revision that the thing to change must have.
        key, item, digest: Idempotency key, place in a batch, and SHA-256 of the body; empty key for none.
        patience: Seconds that the caller waits; a use that was not begun by then is dropped.
        urgent: Goes before others (DHCP).
    """

    use: Use
    actor: str
    source: str = ""
    request_id: str = ""
    dry_run: bool = False
    if_match: int | None = None
    key: str = ""
    item: int = 0
    digest: bytes = b""
    patience: float = 30.0
    urgent: bool = False
