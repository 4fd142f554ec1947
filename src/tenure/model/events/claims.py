"""What happened to claims as a whole."""

from tenure.model.events.happening import Happening, Subject, of_claim
from tenure.model.holding import Allocation, Claim


class ClaimDeferred(Happening, frozen=True, kw_only=True, tag="tenure.claim.deferred"):
    """A claim was accepted and waits to be bound."""

    claim: Claim

    def subject(self) -> Subject:
        """The claim."""
        return of_claim(self.claim)


class ClaimBound(Happening, frozen=True, kw_only=True, tag="tenure.claim.bound"):
    """A deferred claim was bound to a host; its addresses follow in the same change. `before`: its host till then."""

    claim: Claim
    before: str | None = None

    def subject(self) -> Subject:
        """The claim."""
        return of_claim(self.claim)


class ClaimRebound(Happening, frozen=True, kw_only=True, tag="tenure.claim.rebound"):
    """A claim moved to another host. `before`: its host till then.

    `allocations`: Those that it keeps, with the title that it has to them there.
    """

    claim: Claim
    before: str | None = None
    allocations: tuple[Allocation, ...] = ()

    def subject(self) -> Subject:
        """The claim."""
        return of_claim(self.claim)


class ClaimSettled(Happening, frozen=True, kw_only=True, tag="tenure.claim.settled"):
    """A moved claim's former host announces its addresses no longer. `before`: that host."""

    claim: Claim
    before: str

    def subject(self) -> Subject:
        """The claim."""
        return of_claim(self.claim)


class ClaimReleased(Happening, frozen=True, kw_only=True, tag="tenure.claim.released"):
    """A claim that held no address was released."""

    claim: Claim

    def subject(self) -> Subject:
        """The claim."""
        return of_claim(self.claim)


class ClaimChanged(Happening, frozen=True, kw_only=True, tag="tenure.claim.changed"):
    """What is said of a claim was changed (its end, its tags …); `claim` is as it is now."""

    claim: Claim

    def subject(self) -> Subject:
        """The claim."""
        return of_claim(self.claim)


class ClaimExpiring(Happening, frozen=True, kw_only=True, tag="tenure.claim.expiring"):
    """A claim will be released at its `expires`, soon; said once."""

    claim: Claim

    def subject(self) -> Subject:
        """The claim."""
        return of_claim(self.claim)
