"""What `nmap -sn` prints for people, and for programs with `-oX` (nmap(1), nmap.dtd)."""

import re
from typing import Final
from xml.parsers import expat

from tenure.errors import InvalidValue
from tenure.exchange.scanning import NMAP, Scan

REPORT: Final = re.compile(r"Nmap scan report for (?:.* \()?([0-9A-Fa-f.:]+)\)?( \[host down.*\])?")
_MAC: Final = re.compile(r"MAC Address: ([0-9A-Fa-f:]{17})(?: \(.*\))?")
_END: Final = "\n"
"""No line of a text."""


def read(name: str, text: str) -> Scan:
    """Read its output.

    A host that answered from another link has no MAC here. The machine that scans lists itself, without a MAC too.

    Raises:
        InvalidValue: It begins as XML, and is none.
    """
    return _from_xml(name, text) if text.lstrip().startswith("<") else _from_lines(name, text)


def _from_lines(name: str, text: str) -> Scan:
    scan = Scan(NMAP)
    host: tuple[str, str] | None = None
    mac = None
    for number, line in enumerate([*text.splitlines(), _END], 1):
        report, said = REPORT.fullmatch(line.rstrip()), _MAC.fullmatch(line.rstrip())
        if said:
            mac = said[1]
        if report or line == _END:
            if host is not None:
                scan.see(*host, mac)
            host, mac = None if report is None or report[2] else (f"{name}, line {number}", report[1]), None
    return scan


class _Hosts:
    """The hosts that are up, as the parser meets them."""

    def __init__(self, name: str, scan: Scan) -> None:
        self._name = name
        self._scan = scan
        self._up = False
        self._ips: list[str] = []
        self._mac: str | None = None
        self._number = 0

    def begin(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        if tag == "host":
            self._up, self._ips, self._mac = False, [], None
            self._number += 1
        elif tag == "status":
            self._up = attributes.get("state") == "up"
        elif tag == "address" and "addr" in attributes:
            if attributes.get("addrtype") == "mac":
                self._mac = attributes["addr"]
            else:
                self._ips.append(attributes["addr"])

    def end(self, tag: str) -> None:
        """An element ends."""
        if tag == "host" and self._up:
            for ip in self._ips:
                self._scan.see(f"{self._name}, host {self._number}", ip, self._mac)


def _from_xml(name: str, text: str) -> Scan:
    scan = Scan(NMAP)
    hosts = _Hosts(name, scan)
    parser = expat.ParserCreate()
    parser.StartElementHandler = hosts.begin
    parser.EndElementHandler = hosts.end

    def refuse(*declared: object) -> None:
        raise InvalidValue(f"{name} declares an entity, as no output of nmap does")

    parser.EntityDeclHandler = refuse  # what is declared could be made to fill the memory
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise InvalidValue(f"{name} is no XML of `nmap -oX`: {error}") from None
    except UnicodeEncodeError:
        raise InvalidValue(f"{name} is no XML of `nmap -oX`: it has characters of no text") from None
    return scan
