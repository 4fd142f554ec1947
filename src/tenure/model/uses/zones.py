"""What may be asked of zones, of records that people make, and of those who replicate zones."""

import msgspec

from tenure.model.policy import RecordType, TsigAlgorithm
from tenure.model.uses.asking import Asking


class CreateZone(Asking, frozen=True, kw_only=True):
    """Make a zone that stays; `fields` are those of `Zone` as sent, `vrf` a name or id."""

    name: str
    vrf: str = "default"
    fields: dict[str, object] = msgspec.field(default_factory=dict)


class ChangeZone(Asking, frozen=True, kw_only=True):
    """Change a zone's TTLs, servers, template or serial, or whether it stays; `zone` is an id, or a name of one vrf's.

    A serial must be later than the zone's own (RFC 1982).
    """

    zone: str
    changes: dict[str, object]


class DeleteZone(Asking, frozen=True, kw_only=True):
    """Close a zone without records, or let it go with the networks and subnets that need it."""

    zone: str


class CreateRecord(Asking, frozen=True, kw_only=True):
    """Make a record.

    Attributes:
        name: Relative to the zone, or absolute with its dot; `@` is the zone itself.
        data: As a zone file has it; names in it are relative to the zone unless they end with a dot.
    """

    zone: str
    name: str
    type: RecordType
    data: str
    ttl: int | None = None


class ChangeRecord(Asking, frozen=True, kw_only=True):
    """Change a record's data or TTL; `record` is its id."""

    record: str
    changes: dict[str, object]


class DeleteRecord(Asking, frozen=True, kw_only=True):
    """Remove a record that a person made."""

    record: str


class CreateTsigKey(Asking, frozen=True, kw_only=True):
    """Make a key; `sealed` is its secret as it is stored, encrypted by the caller."""

    name: str
    algorithm: TsigAlgorithm
    sealed: bytes
    vrf: str | None = None


class DeleteTsigKey(Asking, frozen=True, kw_only=True):
    """End a key that no secondary has."""

    key: str


class CreateSecondary(Asking, frozen=True, kw_only=True):
    """Let a server replicate a vrf's zones; `fields` are those of `Secondary` as sent, `key` by name or id."""

    name: str
    vrf: str = "default"
    fields: dict[str, object] = msgspec.field(default_factory=dict)


class ChangeSecondary(Asking, frozen=True, kw_only=True):
    """Change a secondary."""

    secondary: str
    changes: dict[str, object]


class DeleteSecondary(Asking, frozen=True, kw_only=True):
    """A server replicates no longer."""

    secondary: str
