"""What the DHCP surface and the allocator say to each other."""

from datetime import datetime

import msgspec


class Client(msgspec.Struct, frozen=True):
    """Who asks.

    Attributes:
        mac: One spelling.
        client_id: Option 61 in hexadecimal, or None.
        hostname: The name it calls itself, already a valid host name, or None.
        vendor_class: Option 60 as text, or None.
    """

    mac: str
    client_id: str | None = None
    hostname: str | None = None
    vendor_class: str | None = None


class Place(msgspec.Struct, frozen=True):
    """Where the message came from.

    Attributes:
        link: An IPv4 address of the link as a number: giaddr, what RFC 3527 or RFC 3011 selects, or the
            receiving interface's own; None if nothing tells.
        circuit_id, remote_id: Option 82 in hexadecimal, or None.
        relayed: Whether a relay stands between.
    """

    link: int | None
    circuit_id: str | None = None
    remote_id: str | None = None
    relayed: bool = False


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """What may be promised to a client now.

    Attributes:
        address: As a number; 0 in an answer to INFORM.
        prefix_length: Of the link.
        lease_time: Seconds that may be promised.
        held_until: No promise may go beyond it.
        options: Extra options by code, in wire form, as the site set them.
    """

    address: int
    prefix_length: int
    subnet: str
    dynamic: bool
    lease_time: int
    held_until: datetime | None = None
    hostname: str | None = None
    domain: str | None = None
    gateway: int | None = None
    dns_servers: tuple[int, ...] = ()
    options: dict[int, bytes] = {}
    authoritative: bool = True


class LeaseRefused(msgspec.Struct, frozen=True):
    """The client must be told no (DHCPNAK), and why, for the log."""

    reason: str
