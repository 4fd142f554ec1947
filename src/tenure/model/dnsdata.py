"""Records and zones, as values."""

import msgspec


class Record(msgspec.Struct, frozen=True, array_like=True, order=True):
    """One resource record.

    Attributes:
        owner: Absolute, lower case, ASCII (A-labels), with its trailing dot: `vm-17.prod.example.`.
        type: The type's number (1 A, 2 NS, 5 CNAME, 6 SOA, 12 PTR, 28 AAAA).
        ttl: Seconds, 0 to 2**31 - 1 (RFC 2181 section 8).
        rdata: Wire form, embedded names uncompressed.
    """

    owner: str
    type: int
    ttl: int
    rdata: bytes


class ZoneChange(msgspec.Struct, frozen=True, array_like=True):
    """What one transaction did to one zone: a net difference, and the serial it moved to."""

    zone: str
    """The zone's id."""
    serial: int
    sequence: int
    """Place in the ledger of the transaction's last event."""
    removed: tuple[Record, ...] = ()
    added: tuple[Record, ...] = ()


class Zone(msgspec.Struct, frozen=True, kw_only=True):
    """A zone that Tenure is primary of.

    Attributes:
        name: Absolute, lower case, with its trailing dot.
        serial: SOA serial (RFC 1982), never 0.
        ttl, negative_ttl: Seconds.
        name_servers: Absolute names; empty means `ns.<zone>` with the listener's address.
        floor: The oldest serial from which the journal is exact; older askers get a whole zone.
    """

    id: str
    vrf: str
    name: str
    serial: int = 1
    ttl: int = 300
    negative_ttl: int = 60
    name_servers: tuple[str, ...] = ()
    floor: int = 0
    revision: int = 1
