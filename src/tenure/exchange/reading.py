"""What a reader makes of a file: things that it defines, rows that hold addresses, and what it left out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from tenure.errors import InvalidValue

_MOST_FAULTS: Final = 20


@dataclass(frozen=True)
class Thing:
    """Something that a file defines, as `POST /v1/import` takes it.

    Attributes:
        kind: vrf, region, site, rack, host, network, subnet, range, managed, instance, device or claim.
        fields: Its fields, without `kind`.
        where: File and place in it, for people.
    """

    kind: str
    fields: dict[str, Any]
    where: str


@dataclass(frozen=True)
class Row:
    """Somebody who has an address, or is to get one; values are in their one spelling.

    Attributes:
        names: Host names; the first is the one that counts. They may be qualified.
        subnet: A prefix.
        host, rack: Locations.
    """

    where: str
    ip: str | None = None
    mac: str | None = None
    names: tuple[str, ...] = ()
    network: str | None = None
    subnet: str | None = None
    host: str | None = None
    rack: str | None = None


@dataclass
class Reading:
    """All of a file.

    Attributes:
        notes: What was understood but left out, or not understood; a line each.
        faults: What is wrong; with any of them nothing is imported.
    """

    things: list[Thing] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def joined(readings: Iterable[Reading]) -> Reading:
    """Several files as one.

    Raises:
        InvalidValue: Something is wrong in one of them; fact `errors` has every sentence.
    """
    whole = Reading()
    for each in readings:
        whole.things += each.things
        whole.rows += each.rows
        whole.notes += each.notes
        whole.faults += each.faults
    refuse(whole.faults)
    return whole


def refuse(faults: list[str]) -> None:
    """Say what is wrong, if anything is.

    Raises:
        InvalidValue: Something is; nothing was sent.
    """
    if faults:
        more = len(faults) - _MOST_FAULTS
        shown = faults[:_MOST_FAULTS] + ([f"and {more} more"] if more > 0 else [])
        raise InvalidValue("\n".join(shown), errors=faults)
