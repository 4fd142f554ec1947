"""Who may take whole zones: secondaries of the view asked, and whom the settings let in unsigned."""

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import NamedTuple

from tenure.model.dnsdata import Secondary
from tenure.net.addresses import Address

Prefix = IPv4Network | IPv6Network


class _Admitted(NamedTuple):
    """A secondary's id, from where it may come, and the id of the key that it must sign with, if any."""

    id: str
    prefixes: tuple[Prefix, ...]
    key: str | None


class Access:
    """The list of those who may take zones away.

    Args:
        anybody: Prefixes from which everybody may, unsigned.
    """

    def __init__(self, anybody: Iterable[str] = ()) -> None:
        self._anybody = tuple(map(ip_network, anybody))
        self._admitted: dict[str, list[_Admitted]] = {}

    def admit(self, secondaries: Iterable[Secondary]) -> None:
        """Let these in, and those of before no longer."""
        self._admitted = {}
        for each in secondaries:
            admitted = _Admitted(each.id, tuple(map(ip_network, each.transfer_from or (each.address,))), each.key)
            self._admitted.setdefault(each.vrf, []).append(admitted)

    def permits(self, vrf: str, peer: str, key: str | None) -> bool:
        """Whether a peer may take zones of a vrf.

        Args:
            vrf: Its id.
            peer: An address as a socket gives it; a zone index is allowed.
            key: Id of the key that the peer has signed with.

        Cost: linear in the vrf's secondaries.
        """
        return _within(address_of(peer), self._anybody) or bool(self.secondaries(vrf, peer, key))

    def secondaries(self, vrf: str, peer: str, key: str | None) -> list[str]:
        """Ids of the secondaries of a vrf that a peer may be; those that sign with its key if there are any."""
        address = address_of(peer)
        found = [each for each in self._admitted.get(vrf, ()) if each.key in (None, key)]
        here = [each for each in found if _within(address, each.prefixes)]
        signed = [each.id for each in here if each.key is not None]
        return signed or [each.id for each in here]


def address_of(peer: str) -> Address:
    """The address of a peer, an IPv4 one as that even if it came by IPv6."""
    address = ip_address(peer.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _within(address: Address, prefixes: tuple[Prefix, ...]) -> bool:
    return any(address in prefix for prefix in prefixes)
