"""What happened to addresses and to DHCP's promises of them."""

from tenure.model.events.happening import Happening, Subject, of_address
from tenure.model.holding import Allocation, Attachment, Claim
from tenure.model.observed import Observation
from tenure.model.placement import Look
from tenure.model.policy import Standing


class AddressAllocated(Happening, frozen=True, kw_only=True, tag="tenure.address.allocated"):
    """An address was given. A plain claim is this one event.

    Attributes:
        claim: As it is now, bound.
        attachment: Of the interface that uses it, if one is known.
        strategy: The strategy that chose; or `explicit` (asked for by name), `former` (what a machine had before),
            `contiguous`, `eui64` or `dynamic`.
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
        return of_address(self.claim, self.allocation)


class AddressReleased(Happening, frozen=True, kw_only=True, tag="tenure.address.released"):
    """An address was taken back; `allocation` is closed, and `claim` too unless it goes on (a move).

    Attributes:
        attachments: Those that ended with it.
        reason: `released`, `renumbered`, `expired`, `returned`, `declined`, `displaced`, `harvested` or `retired`.
        because: A sentence, where the reason alone does not say why (of a harvest).
        closes: Whether the claim itself ends with this event (it is its last address, and nothing replaces it).
    """

    claim: Claim
    allocation: Allocation
    attachments: tuple[Attachment, ...] = ()
    reason: str = "released"
    because: str = ""
    closes: bool = False

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class AddressDisputed(Happening, frozen=True, kw_only=True, tag="tenure.address.disputed"):
    """Somebody else was found on a held address; the holder keeps it, and a person should look.

    `observed`: Who was seen there; None where the holder only said so (DHCPDECLINE).
    """

    claim: Claim
    allocation: Allocation
    observed: Observation | None = None

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class LeasePromised(Happening, frozen=True, kw_only=True, tag="tenure.lease.promised"):
    """A DHCP promise was made, or written ahead: `allocation.held_until` is its new end."""

    claim: Claim
    allocation: Allocation

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class LeaseCompacted(Happening, frozen=True, kw_only=True, tag="tenure.lease.compacted"):
    """A promise of an address that was given back since stood here; `retention_days` let go of it."""


class AddressShelved(Happening, frozen=True, kw_only=True, tag="tenure.address.shelved"):
    """Another address replaces this one for a while: it is kept, answers to nobody, and comes back.

    `before`: Its standing till then; one that is shelved already waits for another address than before.
    """

    claim: Claim
    allocation: Allocation
    before: Standing = "primary"

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class AddressAliased(Happening, frozen=True, kw_only=True, tag="tenure.address.aliased"):
    """Another address of its interface became the primary one; this one stays beside it. `before`: as when shelved."""

    claim: Claim
    allocation: Allocation
    before: Standing = "primary"

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class AddressRestored(Happening, frozen=True, kw_only=True, tag="tenure.address.restored"):
    """What replaced an address is gone: it is its interface's primary one again. `before`: its standing till then."""

    claim: Claim
    allocation: Allocation
    before: Standing

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class AddressNamed(Happening, frozen=True, kw_only=True, tag="tenure.address.named"):
    """The name of the address that this one replaces follows now; `allocation.hostname` is it."""

    claim: Claim
    allocation: Allocation

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class AddressAttached(Happening, frozen=True, kw_only=True, tag="tenure.address.attached"):
    """An interface uses a held address from now on, alone or with others."""

    claim: Claim
    allocation: Allocation
    attachment: Attachment

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class AddressDetached(Happening, frozen=True, kw_only=True, tag="tenure.address.detached"):
    """An interface uses a held address no longer; `attachment` is closed."""

    claim: Claim
    allocation: Allocation
    attachment: Attachment

    def subject(self) -> Subject:
        """The address, its claim and machine."""
        return of_address(self.claim, self.allocation)


class AddressMoved(Happening, frozen=True, kw_only=True, tag="tenure.address.moved"):
    """A held address went from one claim, interface or name to another, without ever being free.

    Attributes:
        giver: The claim that it was under, as it is now.
        left: The allocation that it was; closed, without a rest.
        attachments: Those that ended with it.
        claim: The claim that it is under now; the giver's again where only the interface or the name is another.
        allocation: What it is now, with the same `ip`.
        attachment: Of the interface that uses it now, if there is one.
        reason: `reassigned`, `renamed`, `lent` (by a reservation) or `returned` (to it).
        opens: Whether the claim itself begins with this event.
        closes: Whether the giver's claim ends with this event.
    """

    giver: Claim
    left: Allocation
    attachments: tuple[Attachment, ...] = ()
    claim: Claim
    allocation: Allocation
    attachment: Attachment | None = None
    reason: str
    opens: bool = False
    closes: bool = False

    def subject(self) -> Subject:
        """The address, and the claim and machine that have it now."""
        return of_address(self.claim, self.allocation)


class AddressObserved(Happening, frozen=True, kw_only=True, tag="tenure.address.observed"):
    """Something was seen on an address that nobody holds; it is given to nobody until that was long ago.

    One that lasts no longer than it was seen is over: who was seen there has the address now.
    """

    observation: Observation

    def subject(self) -> Subject:
        """The address."""
        return Subject(vrf=self.observation.vrf, ip=self.observation.ip)
