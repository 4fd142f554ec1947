"""The link that a DHCP message came from, and what holds there."""

from typing import Final, NamedTuple

from tenure.engine.draft import Draft
from tenure.engine.space import Space
from tenure.model.addressing import Network, Subnet
from tenure.model.leases import Place

DEFAULT_LEASE_TIME: Final = 3600


class Link(NamedTuple):
    """A link that a message came from, with the policies that hold there."""

    space: Space
    lease_time: int
    authoritative: bool


def link_of(draft: Draft, place: Place) -> Link | None:
    """The subnet that a message came from, if Tenure serves DHCP there. The vrf `default` comes first."""
    if place.link is None:
        return None
    state = draft.state
    first = state.find("vrf", "default")
    for vrf in dict.fromkeys([*([first] if first else []), *state.vrfs]):
        space = state.space_at(vrf, 4, place.link)
        if space is not None:
            return served(draft, space)
    return None


def one_link(one: Subnet, other: Subnet) -> bool:
    """Whether clients on one subnet may use addresses of the other: while a network leaves one of them for the other.

    They are bound to the same places then, and one is draining, as a subnet that is renumbered is.
    """
    alike = one.network == other.network and set(one.locations) == set(other.locations)
    return one.id == other.id or (alike and (one.draining or other.draining))


def served(draft: Draft, space: Space) -> Link | None:
    """What holds on a subnet, if Tenure serves DHCP there."""
    network = draft.state.networks[space.subnet.network]
    mine, wider = space.subnet.dhcp, network.dhcp
    if not _enabled(space.subnet, network):
        return None
    authoritative = mine.authoritative if mine.authoritative is not None else wider.authoritative
    return Link(space, _lease_time(space.subnet, network), authoritative is not False)


def _enabled(subnet: Subnet, network: Network) -> bool:
    """As the subnet says, else the network; where neither does, it is off where machines are configured by hand."""
    said = subnet.dhcp.enabled if subnet.dhcp.enabled is not None else network.dhcp.enabled
    return network.address_mode != "static" if said is None else said


def _lease_time(subnet: Subnet, network: Network) -> int:
    """Seconds that are promised; no more than the renumbering says while the subnet's addresses are being replaced."""
    usual = subnet.dhcp.lease_time or network.dhcp.lease_time or DEFAULT_LEASE_TIME
    going = subnet.renumbering
    return usual if going is None or going.stopped else min(usual, going.lease_time)
