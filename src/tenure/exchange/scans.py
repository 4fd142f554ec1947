"""The output of a scan, and which reader reads it."""

from collections.abc import Callable
from typing import Final, Literal, get_args

from tenure.errors import InvalidValue
from tenure.exchange import arp_scan, neighbours, nmap
from tenure.exchange.scanning import Scan

Kind = Literal["neighbours", "arp-scan", "nmap"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_READERS: Final[dict[Kind, Callable[[str, str], Scan]]] = {
    "neighbours": neighbours.read,
    "arp-scan": arp_scan.read,
    "nmap": nmap.read,
}


def read(name: str, text: str, kind: Kind | None = None) -> Scan:
    """Read the output of a scan as what it is said to be, or looks like.

    Raises:
        InvalidValue: It does not look like any kind, or is damaged.
    """
    return _READERS[kind or guessed(name, text)](name, text)


def guessed(name: str, text: str) -> Kind:
    """What an output is, by its first line that tells.

    Raises:
        InvalidValue: None does.
    """
    if text.lstrip()[:1] == "[":
        return "neighbours"
    if text.lstrip()[:1] == "<":
        return "nmap"
    for line in text.splitlines():
        if line.startswith("Starting Nmap ") or nmap.REPORT.fullmatch(line.rstrip()):
            return "nmap"
        if ", type: EN10MB, " in line or arp_scan.LINE.fullmatch(line):
            return "arp-scan"
        if " dev " in line:
            return "neighbours"
    raise InvalidValue(f"{name} does not look like the output of ip neigh, arp-scan or nmap -sn; say --kind")
