"""Claims, and the allocations under them."""

from datetime import datetime

import msgspec

from tenure.model.policy import Family


class ClaimRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a caller asked for, normalized: the content that a repeated claim is compared by.

    Attributes:
        network: Network id.
        subnet: Subnet id, where the caller chose it.
        host: Location id, or None.
        machine: Machine name as given, or None.
        mac: One spelling, or None.
        hostname: Relative, lower case, A-labels; or None.
        address: Canonical text of the one address wanted.
        count: Addresses of each family, 1 to 1024.
    """

    network: str
    subnet: str | None = None
    host: str | None = None
    machine: str | None = None
    mac: str | None = None
    hostname: str | None = None
    family: Family | None = None
    address: str | None = None
    during_cooldown: bool = False
    count: int = 1
    project: str = "default"
    purpose: str = ""
    static: bool = False
    defer: bool = False


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody's standing request for addresses; its id is its incarnation.

    Attributes:
        project: Whose it is; handles are unique among open claims of one project.
        host: Location id where it is bound (it may have moved since the request), or None.
        leaving: Host that it was moved from and that still announces its addresses, less preferred; or None.
        settles: When `leaving` stops by itself.
        since: When it was asked.
        bound: When its addresses were decided; None while it is pending.
        until: When it was released; None while it is open.
    """

    id: str
    handle: str
    project: str
    network: str
    request: ClaimRequest
    since: datetime
    actor: str
    host: str | None = None
    machine: str | None = None
    interface: str | None = None
    bound: datetime | None = None
    leaving: str | None = None
    settles: datetime | None = None
    until: datetime | None = None
    revision: int = 1

    @property
    def state(self) -> str:
        """`pending`, `bound` or `released`."""
        if self.until is not None:
            return "released"
        return "pending" if self.bound is None else "bound"


class Allocation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One address of one claim; closed with `until`, never changed in address, claim or holder.

    Attributes:
        ip: Canonical text.
        length: Prefix length of what is held: 32 or 128 for an address.
        block: The block it came from as text, and `title`: by what right; None for a dynamic lease.
        hostname: Relative name that its records carry, or None.
        lease: Whether it is a dynamic lease, which ends by itself.
        held_until: The latest moment to which any DHCP promise was made.
        until: When it was released.
        cooling_until: Until when it rests after release.
    """

    id: str
    claim: str
    vrf: str
    subnet: str
    ip: str
    length: int
    since: datetime
    hostname: str | None = None
    block: str | None = None
    title: str | None = None
    lease: bool = False
    held_until: datetime | None = None
    until: datetime | None = None
    cooling_until: datetime | None = None

    def away(self, host: str | None) -> str | None:
        """The host that uses the address away from its block's owner, so that it needs a route of its own; or None.

        `host`: Where its claim is bound.
        """
        return None if self.lease or self.title in ("own", "new") else host


class Attachment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An interface on an allocation, so that aliases and shared addresses need no second row."""

    allocation: str
    interface: str
    since: datetime
    until: datetime | None = None
