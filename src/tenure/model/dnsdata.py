"""Records and zones, as values."""

from datetime import datetime
from typing import Final

import msgspec

from tenure.model.policy import RecordType, TsigAlgorithm

CATALOG: Final = "catalog.tenure.invalid."
"""The name of each view's catalog zone (RFC 9432); `.invalid` is nobody's."""

TYPES: Final[dict[RecordType, int]] = {
    "A": 1, "NS": 2, "CNAME": 5, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "SSHFP": 44, "SVCB": 64,
    "HTTPS": 65, "CAA": 257,
}  # fmt: skip
"""Numbers of the types that people may make records of."""


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
        ttl, negative_ttl: Seconds. Every automatic record of the zone has its TTL.
        name_servers: Absolute names; empty means those of the vrf, or `ns.<zone>` with the listener's address.
        name_template: How addresses are called whose subnet and network do not say.
        kept: A person made it, or wants it to stay: it is there without a network or subnet that needs it.
        floor: The oldest serial from which the journal is exact; older askers get a whole zone.
    """

    id: str
    vrf: str
    name: str
    serial: int = 1
    ttl: int = 300
    negative_ttl: int = 60
    name_servers: tuple[str, ...] = ()
    name_template: str | None = None
    kept: bool = False
    floor: int = 0
    revision: int = 1

    @property
    def catalog(self) -> bool:
        """Whether it is a view's catalog: its members are the view's other zones."""
        return self.name == CATALOG


class ZoneRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that a person made. No allocation, lease or release touches it.

    Attributes:
        zone: The zone's id.
        owner: As in `Record`; underscores and a leading `*` are allowed here.
        data: The rdata as a zone file has it, in its one spelling; names absolute.
        rdata: The same in wire form.
        ttl: Seconds; None follows the zone. One name's records of one type have one TTL.
    """

    id: str
    zone: str
    owner: str
    type: RecordType
    data: str
    rdata: bytes
    ttl: int | None = None
    revision: int = 1

    def record(self, zone: Zone) -> Record:
        """What it is in its zone."""
        return Record(self.owner, TYPES[self.type], zone.ttl if self.ttl is None else self.ttl, self.rdata)


class TsigKey(msgspec.Struct, frozen=True, kw_only=True):
    """A key that signs messages between this server and others (RFC 8945), without its secret.

    Attributes:
        name: Absolute, lower case, as both sides have to call it.
        vrf: Id of the address space whose zones whoever signs with it sees; None: that of the listener asked.
    """

    id: str
    name: str
    algorithm: TsigAlgorithm
    since: datetime
    vrf: str | None = None
    revision: int = 1


class Secondary(msgspec.Struct, frozen=True, kw_only=True):
    """A server that replicates the zones of one vrf.

    Attributes:
        address, port: Where it is told of changes; canonical text.
        key: Id of the TSIG key with which it must sign, and with which it is told; None: it need not sign.
        transfer_from: Prefixes from which it may transfer; empty means its `address`.
        notify: Whether it is told of changes.
    """

    id: str
    name: str
    vrf: str
    address: str
    port: int = 53
    key: str | None = None
    transfer_from: tuple[str, ...] = ()
    notify: bool = True
    revision: int = 1
