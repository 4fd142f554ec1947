"""What may be asked of claims."""

from tenure.model.holding import ClaimRequest
from tenure.model.uses.asking import Asking


class ChangeClaim(Asking, frozen=True, kw_only=True):
    """Change what is said of a claim: `expires`, `harvest`, `static`, `tags`, `custom`."""

    claim: str
    changes: dict[str, object]


class ClaimAddresses(Asking, frozen=True, kw_only=True):
    """Ask for addresses under a handle (None: one is made). Names in `request` are still as given."""

    request: ClaimRequest
    handle: str | None = None


class BindClaim(Asking, frozen=True, kw_only=True):
    """Decide a pending claim's addresses near `host`."""

    claim: str
    host: str


class RebindClaim(Asking, frozen=True, kw_only=True):
    """Move a claim to another host; `renumber` takes addresses near it instead of keeping the old ones.

    `handover`: Seconds for which the host that it leaves announces kept addresses too, less preferred.
    `static_acknowledged`: Somebody changes what is written by hand into the machine, where it is renumbered.
    """

    claim: str
    host: str
    renumber: bool = False
    handover: int = 30
    static_acknowledged: bool = False


class SettleClaim(Asking, frozen=True, kw_only=True):
    """End a moved claim's hand-over now: its former host announces it no longer."""

    claim: str


class EvacuateHost(Asking, frozen=True, kw_only=True):
    """Move every open claim of a host to another, or none; answers a list of holdings."""

    host: str
    to: str
    renumber: bool = False
    handover: int = 30
    static_acknowledged: bool = False


class ReleaseClaim(Asking, frozen=True, kw_only=True):
    """Release by id; with `handle` too, both must name the same open claim. `project` None means any."""

    claim: str
    handle: str | None = None
    project: str | None = None
