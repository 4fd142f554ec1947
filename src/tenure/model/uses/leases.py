"""What DHCP asks."""

from tenure.model.leases import Client, Place
from tenure.model.uses.asking import Asking


class LeaseOffer(Asking, frozen=True, kw_only=True):
    """DISCOVER: what could this client have here? Writes nothing, except that a pending claim is bound."""

    client: Client
    place: Place
    requested: int | None = None


class LeaseCommit(Asking, frozen=True, kw_only=True):
    """REQUEST: may this client have this address? `form` is one of RFC 2131's four."""

    client: Client
    place: Place
    address: int
    form: str


class LeaseRelease(Asking, frozen=True, kw_only=True):
    """RELEASE: ends a dynamic lease only."""

    client: Client
    place: Place
    address: int


class LeaseDecline(Asking, frozen=True, kw_only=True):
    """DECLINE: the holder found somebody else on its address."""

    client: Client
    place: Place
    address: int


class LeaseInform(Asking, frozen=True, kw_only=True):
    """INFORM: options for a client that has an address."""

    client: Client
    place: Place
    address: int
