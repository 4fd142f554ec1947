"""Which vrf's zones each DNS listener serves, and which address a vrf's zones are found at."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from tenure.net.addresses import Address
from tenure.settings import Endpoint, Listener
from tenure.surfaces.dns.views import View, Views

_DEFAULT: Final = "default"
_ELSEWHERE: Final = {4: (socket.AF_INET, "192.0.2.1"), 6: (socket.AF_INET6, "2001:db8::1")}
_DISCARD: Final = 9


class Listening:
    """The listeners of this node.

    A listener may name its vrf. One that does not serves the only vrf that has zones; where several have, `default`,
    or else the oldest.

    Args:
        views: What there is to see.
        listeners: As the settings have them, each with what is seen there.
    """

    def __init__(self, views: Views, listeners: Sequence[tuple[Listener, View]]) -> None:
        self.views = views
        self._listeners = tuple(listeners)
        self._vrfs: dict[str, str] = {}
        self._own = own_places([listener for listener, _ in listeners])

    def follow(self, vrfs: Mapping[str, str], with_zones: Iterable[str]) -> None:
        """Have each listener show what it has to.

        Args:
            vrfs: Names of the vrfs by id.
            with_zones: Ids of those that have zones.
        """
        self._vrfs = dict(vrfs)
        ids = {name: vrf for vrf, name in vrfs.items()}
        usual = self._usual(with_zones)
        for listener, view in self._listeners:
            view.show(usual if listener.vrf is None else ids.get(listener.vrf, ""))

    def shown(self) -> set[str]:
        """Ids of the vrfs that some listener serves."""
        return {view.vrf for _, view in self._listeners}

    def addresses(self, name: str) -> tuple[Address, ...]:
        """Where the vrf of this name is served, as `places` says, without the ports."""
        return tuple(dict.fromkeys(ip_address(each.address) for each in places(self._own, name)))

    def sources(self, vrf: str) -> tuple[Address, ...]:
        """The same for a vrf's id."""
        return self.addresses(self._vrfs.get(vrf, ""))

    def _usual(self, with_zones: Iterable[str]) -> str:
        """Ids of vrfs begin with the time that they were made at."""
        return min(with_zones, key=lambda vrf: (self._vrfs.get(vrf) != _DEFAULT, vrf), default="")


def places(own: Mapping[Listener, Endpoint], name: str) -> tuple[Endpoint, ...]:
    """Where the vrf of a name is served: by listeners that name it; else those that name none; else all."""
    for wanted in (name, None):
        found = [place for listener, place in own.items() if listener.vrf == wanted]
        if found:
            return tuple(dict.fromkeys(found))
    return tuple(dict.fromkeys(own.values()))


def own_places(listeners: Iterable[Listener]) -> dict[Listener, Endpoint]:
    """Where others reach each listener; one of no address where this machine has none either is left out."""
    found = {listener: _own_address(listener) for listener in listeners}
    return {each: Endpoint(str(own), each.endpoint.port) for each, own in found.items() if own is not None}


def _own_address(listener: Listener) -> Address | None:
    """The address listened on; of one that is none, this machine's towards the rest of the world."""
    own = ip_address(listener.endpoint.address)
    if not own.is_unspecified:
        return own
    family, elsewhere = _ELSEWHERE[own.version]
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((elsewhere, _DISCARD))  # sends nothing
        return ip_address(probe.getsockname()[0])
    return None
