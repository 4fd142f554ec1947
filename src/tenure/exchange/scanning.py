"""What a scan of a network makes of its output: who was seen where, and what was left out."""

from dataclasses import dataclass, field
from typing import Final

from tenure.errors import InvalidValue
from tenure.net.addresses import parse_address
from tenure.net.identifiers import parse_mac

NEIGHBOURS: Final = "neighbours"
ARP_SCAN: Final = "arp-scan"
NMAP: Final = "nmap"


@dataclass(frozen=True)
class Sighted:
    """An address that something uses, in its one spelling; `mac` is None where only the address was seen."""

    ip: str
    mac: str | None
    source: str


@dataclass
class Scan:
    """All of one output.

    Attributes:
        source: Which program says so.
        sighted: In order, each once.
        notes: What was left out, a line each.
    """

    source: str
    sighted: list[Sighted] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _known: set[Sighted] = field(default_factory=set, repr=False, compare=False)

    def see(self, where: str, ip: str, mac: str | None) -> None:
        """Take one in, unless it was there; what cannot be read is noted, what is no address of a network passed over.

        `where`: Place in the output, for people.
        """
        try:
            address = parse_address(ip)
            found = Sighted(str(address), None if mac is None else parse_mac(mac), self.source)
        except InvalidValue as error:
            self.notes.append(f"{where}: {error.message}; it is left out.")
            return
        if address.is_multicast or address.is_unspecified or address.is_loopback or address.is_link_local:
            return
        if found not in self._known:
            self._known.add(found)
            self.sighted.append(found)
