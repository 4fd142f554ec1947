"""What was seen on the network without being asked."""

from datetime import datetime

import msgspec


class Observation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An address that something uses, as a scanner, a switch or a DHCP client saw it.

    Attributes:
        subnet: Id of the innermost subnet that it lies in.
        ip: Canonical text.
        mac: Who uses it, one spelling; None where only the address was seen.
        source: Who says so: `arp-scan`, `nmap`, `neighbours`, `decline`, `probe`, or the caller's own word.
        since, last: When it was first and last seen (repetitions soon after the last are not recorded).
        until: When it is too old to count.
        claim: Id of the claim whose address it is used on by a stranger; None where nobody holds it.
    """

    vrf: str
    subnet: str
    ip: str
    source: str
    since: datetime
    last: datetime
    until: datetime
    mac: str | None = None
    claim: str | None = None
