"""What arp-scan prints (arp-scan(1)): an address, a MAC and its vendor a line, with tabs between."""

import re
from typing import Final

from tenure.exchange.scanning import ARP_SCAN, Scan

LINE: Final = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)\t([0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5})(?:\t.*)?")


def read(name: str, text: str) -> Scan:
    """Read its output, `--plain` and `--quiet` too; what it says of itself is passed over.

    Two that answer for one address are two sightings.
    """
    scan = Scan(ARP_SCAN)
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line)
        if found:
            scan.see(f"{name}, line {number}", found[1], found[2])
    return scan
