"""Where things are: the tree of region, site, rack and host."""

import msgspec

from tenure.model.policy import LocationKind


class Relay(msgspec.Struct, frozen=True):
    """How a DHCP relay names this place (RFC 3046); hexadecimal text, lower case."""

    circuit_id: str | None = None
    remote_id: str | None = None


class Location(msgspec.Struct, frozen=True):
    """A place in the tree; a host is where addresses are used.

    Attributes:
        parent: An id, or None at the top.
        draining: Nothing new is placed here, nor below.
        router: Canonical text of the address by which others route to this place, or None.
    """

    id: str
    name: str
    kind: LocationKind
    parent: str | None = None
    relay: Relay | None = None
    draining: bool = False
    router: str | None = None
    revision: int = 1
