"""What may be chosen: the words of policies, and the DHCP settings of a link."""

from typing import Final, Literal

import msgspec

NetworkModel = Literal["flat", "clustered"]
StrategyName = Literal["topology", "host_block", "first_free", "smallest_gap", "random_window"]
Boundary = Literal["soft", "hard"]
Reach = Literal["host", "rack", "site", "region", "anywhere"]
Prefer = Literal["spine", "fabric"]
BlockKind = Literal["host", "rack", "site", "region"]
LEVELS: Final[tuple[BlockKind, ...]] = ("host", "rack", "site", "region")
"""The narrowest first."""

WIDTHS: Final[dict[str, int]] = {level: width for width, level in enumerate(LEVELS)}
"""How wide a level is beside the others."""

RangeRole = Literal["dynamic", "reserved"]
ReverseMode = Literal["auto", "plain", "rfc2317", "off"]
RecordType = Literal["A", "AAAA", "CAA", "CNAME", "HTTPS", "MX", "NS", "PTR", "SRV", "SSHFP", "SVCB", "TXT"]
TsigAlgorithm = Literal["hmac-sha256", "hmac-sha512"]
LocationKind = Literal["region", "site", "rack", "host"]
MachineKind = Literal["managed", "instance", "device"]
MachineState = Literal["new", "commissioning", "ready", "deployed", "retired"]
AllocateOn = Literal["commission", "deploy", "boot", "binding"]
Ports = Literal["boot", "all"]
Allocate = Literal["inherit", "always", "never"]
OnOverride = Literal["shelve", "release", "keep"]
AddressMode = Literal["dhcp", "static", "slaac"]
Harvest = Literal["inherit", "never", "allowed"]
Standing = Literal["primary", "alias", "shelved"]
STANDINGS: Final[tuple[Standing, ...]] = ("primary", "alias", "shelved")
"""In the order in which they are shown."""

Kept = Literal["life", "deployment"]
NameFollows = Literal["now", "when_acked"]
Family = Literal["v4", "v6", "dual"]
Title = Literal["own", "new", "borrowed"]
Role = Literal["admin", "viewer"]


Custom = dict[str, str | int | float | bool]
"""A site's own fields, by name."""


class Boundaries(msgspec.Struct, frozen=True, omit_defaults=True):
    """At which level an address may leave its location's blocks; a hard one stops at its level.

    `Boundaries(rack="hard")`: hosts of a rack lend to each other, racks never.
    """

    host: Boundary = "soft"
    rack: Boundary = "soft"
    site: Boundary = "soft"
    region: Boundary = "soft"


def reach_of(boundary: "Boundary | Boundaries") -> Reach:
    """The widest location that a host's addresses may come from: that of the lowest hard level."""
    if isinstance(boundary, str):
        return "host" if boundary == "hard" else "anywhere"
    for level in LEVELS:
        if getattr(boundary, level) == "hard":
            return level
    return "anywhere"


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
