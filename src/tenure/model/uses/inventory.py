"""What may be asked of the inventory: address spaces, places, networks, subnets, ranges and tokens."""

import msgspec

from tenure.model.policy import LocationKind, RangeRole, Role
from tenure.model.topology import Relay
from tenure.model.uses.asking import Asking


class CreateVrf(Asking, frozen=True, kw_only=True):
    """Make an address space."""

    name: str
    name_servers: tuple[str, ...] = ()


class ChangeVrf(Asking, frozen=True, kw_only=True):
    """Rename an address space."""

    vrf: str
    changes: dict[str, object]


class DeleteVrf(Asking, frozen=True, kw_only=True):
    """Close an address space that holds nothing."""

    vrf: str


class CreateLocation(Asking, frozen=True, kw_only=True):
    """Make a place; `parent` is a name or id."""

    name: str
    kind: LocationKind
    parent: str | None = None
    relay: Relay | None = None
    router: str | None = None
    router_v6: str | None = None


class ChangeLocation(Asking, frozen=True, kw_only=True):
    """Change a place's name, parent, relay or routers."""

    location: str
    changes: dict[str, object]


class DeleteLocation(Asking, frozen=True, kw_only=True):
    """Close a place that holds nothing."""

    location: str


class CreateNetwork(Asking, frozen=True, kw_only=True):
    """Make a network; `fields` are those of `Network` as sent, `vrf` a name or id."""

    name: str
    vrf: str = "default"
    fields: dict[str, object] = msgspec.field(default_factory=dict)


class ChangeNetwork(Asking, frozen=True, kw_only=True):
    """Change a network's name or policies."""

    network: str
    changes: dict[str, object]


class DeleteNetwork(Asking, frozen=True, kw_only=True):
    """Close a network without subnets and claims."""

    network: str


class CreateSubnet(Asking, frozen=True, kw_only=True):
    """Put a prefix into a network; `fields` are those of `Subnet` as sent, locations by name or id."""

    network: str
    cidr: str
    fields: dict[str, object] = msgspec.field(default_factory=dict)


class ChangeSubnet(Asking, frozen=True, kw_only=True):
    """Change a subnet; `cidr` resizes it."""

    subnet: str
    changes: dict[str, object]


class DeleteSubnet(Asking, frozen=True, kw_only=True):
    """Close a subnet that holds nothing."""

    subnet: str


class CreateRange(Asking, frozen=True, kw_only=True):
    """Set a range of a subnet aside."""

    subnet: str
    start: str
    end: str
    role: RangeRole
    note: str = ""


class ChangeRange(Asking, frozen=True, kw_only=True):
    """Change a range's ends, role or note."""

    range: str
    changes: dict[str, object]


class DeleteRange(Asking, frozen=True, kw_only=True):
    """Give a range back."""

    range: str


class HarvestNetwork(Asking, frozen=True, kw_only=True):
    """Take pre-allocated addresses back as the network's policy says, oldest unseen first; at most `limit`.

    Answers a `Harvested`: what was taken. A dry run may be of another policy than the network has: `allowed`, `after`
    (seconds) and `below`, as `Network.harvest`, `harvest_after` and `harvest_below`; None is what it has.
    """

    network: str
    limit: int = 256
    allowed: bool | None = None
    after: int | None = None
    below: int | None = None


class RenumberSubnet(Asking, frozen=True, kw_only=True):
    """Begin, stop or resume the replacement of a subnet's addresses by those of another.

    `to`: Name or id of the other; None: of the one that was said. `fields`: `wave`, `lease_time`,
    `static_acknowledged`, `stopped` as in `Renumbering`.
    """

    subnet: str
    to: str | None = None
    fields: dict[str, object] = msgspec.field(default_factory=dict)


class CancelRenumbering(Asking, frozen=True, kw_only=True):
    """End a subnet's renumbering where it stands."""

    subnet: str


class ReadCapacity(Asking, frozen=True, kw_only=True):
    """Count a network's addresses; `by_location` for each location too."""

    network: str
    by_location: bool = False


class CreateToken(Asking, frozen=True, kw_only=True):
    """Make a token; only the SHA-256 of its secret travels."""

    name: str
    role: Role
    digest: bytes


class RevokeToken(Asking, frozen=True, kw_only=True):
    """Revoke a token at once."""

    token: str
