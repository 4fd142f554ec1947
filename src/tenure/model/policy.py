"""What may be chosen: the words of policies, and the DHCP settings of a link."""

from typing import Literal

import msgspec

NetworkModel = Literal["flat", "clustered"]
StrategyName = Literal["topology", "first_free"]
Boundary = Literal["soft", "hard"]
RangeRole = Literal["dynamic", "reserved"]
ReverseMode = Literal["plain", "off"]
LocationKind = Literal["region", "site", "rack", "host"]
MachineKind = Literal["managed", "instance", "device"]
Family = Literal["v4", "v6", "dual"]
Title = Literal["own", "new", "borrowed"]
Role = Literal["admin", "viewer"]


class Dhcp(msgspec.Struct, frozen=True):
    """DHCP settings of a network or a subnet; None means that the wider one, then the default, decides.

    Attributes:
        lease_time: Seconds, 60 to 30 days; 3600 where nobody says otherwise.
        authoritative: Whether a client that asks for an address of another link is told so.
        options: Option name or number to value: a known name with text, a list of texts or a number,
            or a number as text with `hex:…`.
    """

    enabled: bool | None = None
    lease_time: int | None = None
    authoritative: bool | None = None
    options: dict[str, str | int | list[str]] = {}
