"""Which link a DHCPv4 message came from, and what the relay said about it."""

from msgspec import Struct

from tenure.model.leases import Place
from tenure.surfaces.dhcp.v4_wire import RELAY, Message, suboptions

CIRCUIT_ID, REMOTE_ID, LINK_SELECTION, RELAY_FLAGS, SERVER_OVERRIDE, RELAY_PORT = 1, 2, 5, 10, 11, 19
SUBNET_SELECTION = 118
UNICAST_FLAG = 0x80


class Arrival(Struct, frozen=True):
    """How a datagram came in: what the message itself does not say.

    Attributes:
        interface: Name of the interface that received it.
        address: That interface's own address; 0 if it has none.
        server: The server identifier to answer with.
        ours: Every address of this server.
        broadcast: Whether it was sent to a broadcast address.
        source_port: UDP port that it came from.
    """

    interface: str
    address: int
    server: int
    ours: frozenset[int]
    broadcast: bool
    source_port: int = 68


def relay_information(message: Message) -> dict[int, bytes]:
    """The relay's sub-options; empty where there are none."""
    information = message.options.get(RELAY)
    return suboptions(information) if information else {}


def place_of(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> Place:
    """Say where a client is.

    The link is, in this order, what the relay selects (RFC 3527), what the client selects
    (RFC 3011), the relay's own address, the address of a client that wrote to us directly from
    wherever it is, the receiving interface.

    Args:
        relay: As `relay_information` gave it for this message.
    """
    circuit, remote = relay.get(CIRCUIT_ID), relay.get(REMOTE_ID)
    return Place(
        link=_link(message, arrival, relay) or None,
        circuit_id=circuit.hex() if circuit else None,
        remote_id=remote.hex() if remote else None,
        relayed=message.giaddr != 0,
    )


def _link(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> int:
    selected = relay.get(LINK_SELECTION) or message.options.get(SUBNET_SELECTION)
    if selected:
        return int.from_bytes(selected)
    if message.giaddr:
        return message.giaddr
    if message.ciaddr and not arrival.broadcast:
        return message.ciaddr
    return arrival.address
