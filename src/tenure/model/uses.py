"""What may be asked: every change, and the reads that need the allocator's memory.

A use is a frozen value, so that it can travel: surfaces run in processes of
their own and submit uses to the writer's process. Names in a use are as the
caller gave them (a name or an id); the engine resolves them against its state.
"""

from typing import Union

import msgspec

from tenure.model.holding import ClaimRequest
from tenure.model.leases import Client, Place
from tenure.model.policy import LocationKind, MachineKind, RangeRole, Role
from tenure.model.topology import Relay


class _Use(msgspec.Struct, frozen=True, kw_only=True, tag=True, omit_defaults=True):
    pass


class CreateVrf(_Use, frozen=True, kw_only=True):
    """Make an address space."""

    name: str


class ChangeVrf(_Use, frozen=True, kw_only=True):
    """Rename an address space."""

    vrf: str
    changes: dict[str, object]


class DeleteVrf(_Use, frozen=True, kw_only=True):
    """Close an address space that holds nothing."""

    vrf: str


class CreateLocation(_Use, frozen=True, kw_only=True):
    """Make a place; `parent` is a name or id."""

    name: str
    kind: LocationKind
    parent: str | None = None
    relay: Relay | None = None
    router: str | None = None
    router_v6: str | None = None


class ChangeLocation(_Use, frozen=True, kw_only=True):
    """Change a place's name, parent, relay or routers."""

    location: str
    changes: dict[str, object]


class DeleteLocation(_Use, frozen=True, kw_only=True):
    """Close a place that holds nothing."""

    location: str


class CreateNetwork(_Use, frozen=True, kw_only=True):
    """Make a network; `fields` are those of `Network` as sent, `vrf` a name or id."""

    name: str
    vrf: str = "default"
    fields: dict[str, object] = {}


class ChangeNetwork(_Use, frozen=True, kw_only=True):
    """Change a network's name or policies."""

    network: str
    changes: dict[str, object]


class DeleteNetwork(_Use, frozen=True, kw_only=True):
    """Close a network without subnets and claims."""

    network: str


class CreateSubnet(_Use, frozen=True, kw_only=True):
    """Put a prefix into a network; `fields` are those of `Subnet` as sent, locations by name or id."""

    network: str
    cidr: str
    fields: dict[str, object] = {}


class ChangeSubnet(_Use, frozen=True, kw_only=True):
    """Change a subnet; `cidr` resizes it."""

    subnet: str
    changes: dict[str, object]


class DeleteSubnet(_Use, frozen=True, kw_only=True):
    """Close a subnet that holds nothing."""

    subnet: str


class CreateRange(_Use, frozen=True, kw_only=True):
    """Set a range of a subnet aside."""

    subnet: str
    start: str
    end: str
    role: RangeRole
    note: str = ""


class ChangeRange(_Use, frozen=True, kw_only=True):
    """Change a range's ends, role or note."""

    range: str
    changes: dict[str, object]


class DeleteRange(_Use, frozen=True, kw_only=True):
    """Give a range back."""

    range: str


class NewInterface(msgspec.Struct, frozen=True):
    """An interface as sent with a machine."""

    mac: str
    name: str = ""


class CreateMachine(_Use, frozen=True, kw_only=True):
    """Make a machine with its interfaces."""

    name: str
    kind: MachineKind = "managed"
    location: str | None = None
    interfaces: tuple[NewInterface, ...] = ()


class ChangeMachine(_Use, frozen=True, kw_only=True):
    """Change a machine; `interfaces`, if sent, is the whole new list."""

    machine: str
    changes: dict[str, object]


class DeleteMachine(_Use, frozen=True, kw_only=True):
    """Close a machine that holds nothing."""

    machine: str


class ClaimAddresses(_Use, frozen=True, kw_only=True):
    """Ask for addresses under a handle (None: one is made). Names in `request` are still as given."""

    request: ClaimRequest
    handle: str | None = None


class BindClaim(_Use, frozen=True, kw_only=True):
    """Decide a pending claim's addresses near `host`."""

    claim: str
    host: str


class RebindClaim(_Use, frozen=True, kw_only=True):
    """Move a claim to another host; `renumber` takes addresses near it instead of keeping the old ones.

    `handover`: Seconds for which the host that it leaves announces kept addresses too, less preferred.
    """

    claim: str
    host: str
    renumber: bool = False
    handover: int = 30


class SettleClaim(_Use, frozen=True, kw_only=True):
    """End a moved claim's hand-over now: its former host announces it no longer."""

    claim: str


class EvacuateHost(_Use, frozen=True, kw_only=True):
    """Move every open claim of a host to another, or none; answers a list of holdings."""

    host: str
    to: str
    renumber: bool = False
    handover: int = 30


class ReleaseClaim(_Use, frozen=True, kw_only=True):
    """Release by id; with `handle` too, both must name the same open claim. `project` None means any."""

    claim: str
    handle: str | None = None
    project: str | None = None


class Together(_Use, frozen=True, kw_only=True):
    """All of these, or none: at most 1,000, an import 10,000. Answers a list."""

    uses: "tuple[Use, ...]"


class LeaseOffer(_Use, frozen=True, kw_only=True):
    """DISCOVER: what could this client have here? Writes nothing, except that a pending claim is bound."""

    client: Client
    place: Place
    requested: int | None = None


class LeaseCommit(_Use, frozen=True, kw_only=True):
    """REQUEST: may this client have this address? `form` is one of RFC 2131's four."""

    client: Client
    place: Place
    address: int
    form: str


class LeaseRelease(_Use, frozen=True, kw_only=True):
    """RELEASE: ends a dynamic lease only."""

    client: Client
    place: Place
    address: int


class LeaseDecline(_Use, frozen=True, kw_only=True):
    """DECLINE: the holder found somebody else on its address."""

    client: Client
    place: Place
    address: int


class LeaseInform(_Use, frozen=True, kw_only=True):
    """INFORM: options for a client that has an address."""

    client: Client
    place: Place
    address: int


class ExpireLeases(_Use, frozen=True, kw_only=True):
    """Close dynamic leases whose promise has ended; at most `limit` of them. Answers how many."""

    limit: int = 256


class Tend(_Use, frozen=True, kw_only=True):
    """What time alone does to placement: empty blocks are surrendered, hand-overs settle, budgets are looked at.

    At most `limit` changes; answers how many there were.
    """

    limit: int = 256


class ReadCapacity(_Use, frozen=True, kw_only=True):
    """Count a network's addresses; `by_location` for each location too."""

    network: str
    by_location: bool = False


class CreateToken(_Use, frozen=True, kw_only=True):
    """Make a token; only the SHA-256 of its secret travels."""

    name: str
    role: Role
    digest: bytes


class RevokeToken(_Use, frozen=True, kw_only=True):
    """Revoke a token at once."""

    token: str


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
