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
        router_v6: The one for IPv6, where `router` is an IPv4 address.
    """

    id: str
    name: str
    kind: LocationKind
    parent: str | None = None
    relay: Relay | None = None
    draining: bool = False
    router: str | None = None
    router_v6: str | None = None
    revision: int = 1

    def router_for(self, version: int) -> str | None:
        """The router's address of a family, if there is one."""
        return next((each for each in (self.router_v6, self.router) if each and (":" in each) == (version == 6)), None)
