"""Claims, and the allocations under them."""

from datetime import datetime
from typing import Final

import msgspec

from tenure.model.policy import Custom, Family, Harvest, Kept, OnOverride, Standing

LEASES: Final = "dhcp"
"""Project of dynamic leases, and beginning of their handles (`dhcp:<subnet>:<mac>`)."""

MACHINES: Final = "machine"
"""Project of what machines are given by themselves, and beginning of the handles (`machine:<interface>[:deploy]`)."""

OWN_PROJECTS: Final = (LEASES, MACHINES)
"""Callers use neither these projects nor handles that begin so."""


class ClaimRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a caller asked for, normalized: the content that a repeated claim is compared by.

    Attributes:
        network: Network id.
        subnet: Subnet id, where the caller chose it.
        host: Location id, or None.
        machine: Machine name as given, or None.
        mac: One spelling, or None.
        hostname: Relative, lower case, A-labels; or None.
        address: Canonical text of the one address wanted. addresses: of several.
        count: Addresses of each family, 1 to 1024; `contiguous`: side by side.
        queue: Where there is no room, wait in order instead of being refused.
        alias: Stand beside what the interface has already, instead of overriding it.
        on_override: What becomes of what it has; None: as the network says.
        static_acknowledged: Somebody will change what was written by hand into the machine, if that is displaced. It is
            no content: a repetition may say otherwise.
        shared: Several interfaces may use it at once.
        reservation: Id of the claim (a reservation of the same project) whose addresses it uses.
        expires: When it shall be released by itself.
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
    addresses: tuple[str, ...] = ()
    contiguous: bool = False
    queue: bool = False
    alias: bool = False
    on_override: OnOverride | None = None
    static_acknowledged: bool = False
    shared: bool = False
    reservation: str | None = None
    expires: datetime | None = None
    harvest: Harvest = "inherit"
    tags: tuple[str, ...] = ()
    custom: Custom = {}


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
        kept: How long a machine keeps what it was given by itself, or for a deployment; None: until it is released.
        static: The address was written into a configuration by hand; as asked, or as changed since.
        harvest, expires, tags, custom: As asked, or as changed since.
        warned: Its end was announced.
        named: Somebody asked for a very address since, other than the request did.
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
    kept: Kept | None = None
    static: bool = False
    harvest: Harvest = "inherit"
    expires: datetime | None = None
    warned: bool = False
    tags: tuple[str, ...] = ()
    custom: Custom = {}
    named: bool = False
    revision: int = 1

    @property
    def by_name(self) -> bool:
        """Whether somebody asked for its very address, in the request or since."""
        return self.named or self.request.address is not None or bool(self.request.addresses)

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
        standing: `primary` answers DHCP and is what the machine is called by; `alias` stands beside it;
            `shelved` is kept, answers to nobody and has no name in DNS.
        behind: Id of the claim that displaced it (made it an alias, or shelved it), after which it comes back.
        lender: Id of the reservation that it goes back to at its release.
        waits_until: A former user was promised it until then; DHCP gives it to nobody else before.
        waits_for: Id of the interface that was promised it; None: several were, or it is not known which.
        replaces: Id of the allocation of the same claim whose name it takes when its client uses it,
            and at `named_at` in any case; that one is taken back then.
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
    standing: Standing = "primary"
    behind: str | None = None
    lender: str | None = None
    waits_until: datetime | None = None
    waits_for: str | None = None
    replaces: str | None = None
    named_at: datetime | None = None

    def away(self, host: str | None) -> str | None:
        """The host that uses the address away from its block's owner, so that it needs a route of its own; or None.

        `host`: Where its claim is bound.
        """
        return None if self.lease or self.standing == "shelved" or self.title in ("own", "new") else host


class Attachment(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An interface on an allocation, so that aliases and shared addresses need no second row."""

    allocation: str
    interface: str
    since: datetime
    until: datetime | None = None
