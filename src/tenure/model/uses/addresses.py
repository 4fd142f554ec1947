"""What may be asked of a held address, and what was seen on the network."""

import msgspec

from tenure.model.policy import NameFollows, OnOverride
from tenure.model.uses.asking import Asking


class ReassignAddress(Asking, frozen=True, kw_only=True):
    """Give a held address to another interface, machine or claim; or its holder another `address`. One of the four.

    Args:
        interface: MAC or id. machine: name or id. claim: id.
        on_override: What becomes of what the receiver has; None: as the network says.
        static_acknowledged: Somebody will change what was written by hand into the machine.
        dns: When names follow; None: at once where no lease is active, else when the client uses the new address.
    """

    vrf: str
    ip: str
    interface: str | None = None
    machine: str | None = None
    claim: str | None = None
    address: str | None = None
    on_override: OnOverride | None = None
    static_acknowledged: bool = False
    dns: NameFollows | None = None


class RenameAddress(Asking, frozen=True, kw_only=True):
    """Call a held address otherwise; None: by its machine's name, or by none."""

    vrf: str
    ip: str
    hostname: str | None


class AttachAddress(Asking, frozen=True, kw_only=True):
    """Let an interface (MAC or id) use a held address: a shared one too, any other instead of who uses it now."""

    vrf: str
    ip: str
    interface: str


class DetachAddress(Asking, frozen=True, kw_only=True):
    """Let an interface use a held address no longer; None: the only one that does."""

    vrf: str
    ip: str
    interface: str | None = None


class Sighting(msgspec.Struct, frozen=True, omit_defaults=True):
    """An address that something was seen to use; `mac` None where only the address was seen."""

    ip: str
    mac: str | None = None
    source: str = "api"


class ObserveAddresses(Asking, frozen=True, kw_only=True):
    """Say what was seen on the network; answers what came of each (`Observed`), in order."""

    sightings: tuple[Sighting, ...]
    vrf: str = "default"
