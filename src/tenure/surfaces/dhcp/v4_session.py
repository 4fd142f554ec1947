"""One DHCPv4 message in, at most one out (RFC 2131); no socket, no clock, nothing remembered.

Two steps: `ask` says what the message wants of the allocator, `reply` puts the allocator's
answer into the protocol's words. Between them the caller submits the use.
"""

from msgspec import Struct, structs

from tenure.errors import AlreadyAllocated, Conflict, EpochChanged, Exhausted, InvalidValue, TenureError
from tenure.model.leases import Client, Lease, LeaseRefused
from tenure.model.uses import LeaseCommit, LeaseDecline, LeaseInform, LeaseOffer, LeaseRelease
from tenure.net.identifiers import mac_text
from tenure.surfaces.dhcp import v4_wire as wire
from tenure.surfaces.dhcp.link import (
    RELAY_FLAGS,
    RELAY_PORT,
    SERVER_OVERRIDE,
    UNICAST_FLAG,
    Arrival,
    place_of,
    relay_information,
)
from tenure.surfaces.dhcp.v4_options import (
    CLIENT_ID,
    MAXIMUM,
    REQUESTED,
    SERVER,
    SUBNET_SELECTION,
    TEXT,
    TYPE,
    VENDOR_CLASS,
    client_name,
    lease_options,
)
from tenure.surfaces.dhcp.v4_wire import Message

LeaseUse = LeaseOffer | LeaseCommit | LeaseRelease | LeaseDecline | LeaseInform
Result = Lease | LeaseRefused | TenureError | None

SERVER_PORT, CLIENT_PORT = 67, 68
EVERYBODY = 0xFFFFFFFF

_ETHERNET = 1
_MOST_HOPS = 16
_HEADERS = 28  # IP and UDP
_LEAST_DATAGRAM, _MOST_DATAGRAM = 576, 1500
_NAKS = (AlreadyAllocated, Conflict, Exhausted, InvalidValue)
"""What refuses a REQUEST aloud; any other error, and any error on another message, is silence."""


class Destination(Struct, frozen=True):
    """Where an answer goes: a UDP datagram to `address`, in a frame straight to `hardware` if that is not empty."""

    address: int
    port: int
    hardware: bytes = b""


def ask(message: Message, arrival: Arrival) -> LeaseUse | None:
    """What a message wants; None where it is not for us, or wants nothing that may be answered.

    Guarantees that `client.mac` is a station's Ethernet address and `client.hostname`, if any, a valid label.

    Source: RFC 2131 section 4.3 and its table 5.
    """
    kind = message.options.get(TYPE)
    if message.op != wire.REQUEST or kind is None or not _plausible(message):
        return None
    asker = _ASKERS.get(kind[0])
    return asker(message, arrival, relay_information(message)) if asker else None


def _plausible(message: Message) -> bool:
    """A station on Ethernet, and a relay that can be answered: not a group, not a loop."""
    chaddr = message.chaddr
    return (
        message.htype == _ETHERNET
        and len(chaddr) == 6
        and not chaddr[0] & 1
        and any(chaddr)
        and message.hops <= _MOST_HOPS
        and _station(message.giaddr)
        and _station(message.ciaddr)
    )


def _station(address: int) -> bool:
    """0 or an address that one host can have."""
    return address == 0 or (0x01000000 <= address < 0xE0000000 and address >> 24 != 127)


def _client(message: Message) -> Client:
    options = message.options
    client_id, vendor = options.get(CLIENT_ID, b""), options.get(VENDOR_CLASS, b"").decode("ascii", "replace")
    return Client(
        mac=mac_text(message.chaddr),
        client_id=client_id.hex() if len(client_id) > 1 else None,
        hostname=client_name(options),
        vendor_class=vendor if vendor.isascii() and vendor.isprintable() and vendor else None,
    )


def _address(message: Message, code: int) -> int:
    return int.from_bytes(message.options.get(code, b""))


def _ask_offer(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> LeaseUse | None:
    requested = _address(message, REQUESTED) or None
    return LeaseOffer(client=_client(message), place=place_of(message, arrival, relay), requested=requested)


def _ask_commit(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> LeaseUse | None:
    form = _form(message, arrival, relay)
    wanted = _wanted(message)
    if form is None or not wanted or not _ours(message, arrival, relay):
        return None
    return LeaseCommit(client=_client(message), place=place_of(message, arrival, relay), address=wanted, form=form)


def _wanted(message: Message) -> int:
    """The address that a REQUEST is about: that of a client in use of it, else the requested one."""
    return message.ciaddr or _address(message, REQUESTED)


def _form(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> str | None:
    """Which of the four REQUESTs this is (RFC 2131 section 4.3.2)."""
    if message.ciaddr == 0:
        return "selecting" if SERVER in message.options else "init-reboot"
    return "renewing" if _unicast(message, arrival, relay) else "rebinding"


def _unicast(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> bool:
    """Whether the client itself wrote to a server; a relay in between may say so (RFC 5010)."""
    if message.giaddr:
        return bool(relay.get(RELAY_FLAGS, b"\0")[0] & UNICAST_FLAG)
    return not arrival.broadcast


def _ours(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> bool:
    """Whether the message names no server, or this one; a relay may stand in for us (RFC 5107)."""
    named = message.options.get(SERVER)
    return named is None or named == relay.get(SERVER_OVERRIDE) or int.from_bytes(named) in arrival.ours


def _ask_release(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> LeaseUse | None:
    if not message.ciaddr or not _ours(message, arrival, relay):
        return None
    place = place_of(message, arrival, relay)
    return LeaseRelease(client=_client(message), place=place, address=message.ciaddr)


def _ask_decline(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> LeaseUse | None:
    declined = _address(message, REQUESTED)
    if not declined or not _ours(message, arrival, relay):
        return None
    return LeaseDecline(client=_client(message), place=place_of(message, arrival, relay), address=declined)


def _ask_inform(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> LeaseUse | None:
    if not message.ciaddr:
        return None
    place = place_of(message, arrival, relay)
    return LeaseInform(client=_client(message), place=place, address=message.ciaddr)


_ASKERS = {
    wire.DISCOVER: _ask_offer,
    wire.COMMIT: _ask_commit,
    wire.DECLINE: _ask_decline,
    wire.RELEASE: _ask_release,
    wire.INFORM: _ask_inform,
}


def reply(message: Message, arrival: Arrival, result: Result) -> tuple[Message, Destination] | None:
    """The answer to a message that `ask` turned into a use, and where it goes; None is silence.

    Never acknowledges another address than the one asked about: that is refused.

    Source: RFC 2131 section 4.3, its table 3, and section 4.1 for the destination.
    """
    kind = message.options[TYPE][0]
    relay = relay_information(message)
    if kind == wire.COMMIT and _refuses(result, _wanted(message)):
        return _nak(message, arrival, relay, result), _nak_destination(message, arrival, relay)
    if not isinstance(result, Lease):
        return None
    if kind == wire.DISCOVER:
        answer = _promise(message, arrival, relay, result, wire.OFFER)
    elif kind == wire.COMMIT:
        answer = _promise(message, arrival, relay, result, wire.ACK)
    elif kind == wire.INFORM:
        answer = _informed(message, arrival, relay, result)
    else:
        return None
    return answer, _destination(message, arrival, relay, answer.yiaddr)


def _refuses(result: Result, wanted: int) -> bool:
    if isinstance(result, Lease):
        return result.address != wanted
    return isinstance(result, LeaseRefused) or (isinstance(result, _NAKS) and not isinstance(result, EpochChanged))


def _promise(message: Message, arrival: Arrival, relay: dict[int, bytes], lease: Lease, kind: int) -> Message:
    options = _head(message, arrival, relay, kind) | lease_options(message, lease)
    ciaddr = message.ciaddr if kind == wire.ACK else 0
    return _answer(message, options, ciaddr=ciaddr, yiaddr=lease.address)


def _informed(message: Message, arrival: Arrival, relay: dict[int, bytes], lease: Lease) -> Message:
    """Options, no address, no lease time (RFC 2131 section 4.3.5), whatever the lease says."""
    unpromised = structs.replace(lease, address=0, lease_time=0)
    options = _head(message, arrival, relay, wire.ACK) | lease_options(message, unpromised)
    return _answer(message, options, ciaddr=message.ciaddr)


def _nak(message: Message, arrival: Arrival, relay: dict[int, bytes], result: Result) -> Message:
    """Only what table 3 allows; through a relay with the broadcast bit, as the client's address is void."""
    options = _head(message, arrival, relay, wire.NAK)
    reason = result.reason if isinstance(result, LeaseRefused) else "not your address here"
    options[TEXT] = reason.encode("ascii", "replace")[:100] or b"no"
    flags = message.flags | wire.BROADCAST if message.giaddr else message.flags
    return _answer(message, options, flags=flags)


def _head(message: Message, arrival: Arrival, relay: dict[int, bytes], kind: int) -> dict[int, bytes]:
    """What every answer has; what the client and the relay sent to have it back comes back unchanged.

    Client identifier: RFC 6842; subnet selection: RFC 3011, which a NAK leaves out; option 82: RFC 3046.
    """
    options = {TYPE: bytes((kind,)), SERVER: relay.get(SERVER_OVERRIDE) or arrival.server.to_bytes(4)}
    for code in (CLIENT_ID, SUBNET_SELECTION, wire.RELAY):
        if code in message.options and not (code == SUBNET_SELECTION and kind == wire.NAK):
            options[code] = message.options[code]
    return options


def _answer(
    message: Message, options: dict[int, bytes], *, ciaddr: int = 0, yiaddr: int = 0, flags: int | None = None
) -> Message:
    return Message(
        op=wire.REPLY,
        htype=message.htype,
        hlen=message.hlen,
        hops=0,
        xid=message.xid,
        secs=0,
        flags=message.flags if flags is None else flags,
        ciaddr=ciaddr,
        yiaddr=yiaddr,
        siaddr=0,
        giaddr=message.giaddr,
        chaddr=message.chaddr,
        sname=b"",
        file=b"",
        options=options,
    )


def _destination(message: Message, arrival: Arrival, relay: dict[int, bytes], yiaddr: int) -> Destination:
    if message.giaddr:
        return _to_relay(message, arrival, relay)
    if message.ciaddr:
        return Destination(message.ciaddr, CLIENT_PORT)
    if message.flags & wire.BROADCAST:
        return Destination(EVERYBODY, CLIENT_PORT)
    return Destination(yiaddr, CLIENT_PORT, message.chaddr)


def _nak_destination(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> Destination:
    return _to_relay(message, arrival, relay) if message.giaddr else Destination(EVERYBODY, CLIENT_PORT)


def _to_relay(message: Message, arrival: Arrival, relay: dict[int, bytes]) -> Destination:
    """The relay's server port, or the one that it wrote from if it says so (RFC 8357)."""
    return Destination(message.giaddr, arrival.source_port if RELAY_PORT in relay else SERVER_PORT)


def room(message: Message) -> int:
    """Octets that an answer to this message may have: what the client takes (option 57), at most one Ethernet frame."""
    maximum = _address(message, MAXIMUM)
    return min(max(maximum, _LEAST_DATAGRAM), _MOST_DATAGRAM) - _HEADERS
