"""A dnsmasq configuration: `dhcp-host`, `dhcp-range`, `address` and `host-record` (dnsmasq(8)).

Everything else is a note with its line: nothing is passed over in silence.
"""

import re
from collections.abc import Callable
from ipaddress import ip_network
from typing import Any, Final

from tenure.errors import InvalidValue
from tenure.exchange.reading import Reading, Row, Thing
from tenure.net.addresses import parse_address
from tenure.net.identifiers import duration, looks_like_mac, parse_mac

_TAGS: Final = ("set:", "tag:", "id:", "net:", "interface:")
_LEASE: Final = re.compile(r"[0-9]+[smhdw]?|infinite")


def read(name: str, text: str) -> Reading:
    """Read a configuration; a line is a directive, `#` begins a comment."""
    reading = Reading()
    for number, line in enumerate(text.splitlines(), 1):
        said = re.sub(r"(^|\s)#.*", "", line).strip()
        if said:
            _read_line(reading, f"{name}, line {number}", said)
    return reading


def _read_line(reading: Reading, where: str, line: str) -> None:
    word, _, rest = (part.strip() for part in line.partition("="))
    directive = _DIRECTIVES.get(word)
    if directive is None:
        reading.notes.append(f"{where}: {line!r} is not understood and left out.")
        return
    try:
        directive(reading, where, rest)
    except InvalidValue as error:
        reading.faults.append(f"{where}: {error.message}.".replace("..", "."))


def _dhcp_host(reading: Reading, where: str, rest: str) -> None:
    macs, addresses, names = [], [], []
    for part in _parts(rest):
        if part == "ignore" or "*" in part:
            reading.notes.append(f"{where}: {part!r} is not understood, and the line left out.")
            return
        if looks_like_mac(part):
            macs.append(parse_mac(part))
        elif _is_address(part):
            addresses.append(_address(part))
        elif not (part.startswith(_TAGS) or _LEASE.fullmatch(part)):
            names.append(part)
        else:
            reading.notes.append(f"{where}: {part!r} is left out.")
    if len(macs) > 1:
        reading.notes.append(f"{where}: a claim has one MAC; {', '.join(macs[1:])} is left out.")
    mac = macs[0] if macs else None
    if mac is None and not addresses:
        reading.notes.append(f"{where}: it has neither a MAC nor an address and is left out.")
    for ip in addresses:
        reading.rows.append(Row(where, ip, mac, tuple(names[:1])))
    if mac is not None and not addresses:
        reading.rows.append(Row(where, None, mac, tuple(names[:1])))


def _dhcp_range(reading: Reading, where: str, rest: str) -> None:
    parts = [part for part in _parts(rest) if not part.startswith(_TAGS)]
    if len(parts) < 2 or not _is_address(parts[0]):
        raise InvalidValue("a dhcp-range has a first and a last address")
    start, end = _address(parts[0]), parts[1]
    subnet = _subnet_of(start, parts[2:])
    lease = next((part for part in parts[2:] if _LEASE.fullmatch(part) and not _is_length(start, part)), None)
    if subnet is not None:
        reading.things.append(Thing("subnet", {"cidr": subnet, **_leased(lease)}, where))
    if not _is_address(end):
        reading.notes.append(f"{where}: {end!r} is no last address; no range is made.")
        return
    fields = {"subnet": subnet, "start": start, "end": _address(end), "role": "dynamic", "note": "dnsmasq"}
    reading.things.append(Thing("range", fields, where))


def _leased(lease: str | None) -> dict[str, Any]:
    if lease is None or lease == "infinite":
        return {}
    return {"dhcp": {"lease_time": int(duration(lease).total_seconds())}}


def _subnet_of(start: str, parts: list[str]) -> str | None:
    """The prefix that a netmask, or an IPv6 prefix length, says."""
    for part in parts:
        if (_is_address(part) and ":" not in part) or _is_length(start, part):
            try:
                return str(ip_network(f"{start}/{part}", strict=False))
            except ValueError:
                raise InvalidValue(f"{part} is no netmask") from None
    return str(ip_network(f"{start}/64", strict=False)) if ":" in start else None


def _is_length(start: str, part: str) -> bool:
    return ":" in start and part.isdigit() and 64 <= int(part) <= 128


def _address_of_names(reading: Reading, where: str, rest: str) -> None:
    names = [name for name in rest.split("/")[1:-1] if name]
    ip = rest.rpartition("/")[2]
    if not names or not _is_address(ip):
        reading.notes.append(f"{where}: 'address={rest}' gives no name an address and is left out.")
        return
    reading.rows.append(Row(where, _address(ip), names=tuple(names)))


def _host_record(reading: Reading, where: str, rest: str) -> None:
    parts = _parts(rest)
    addresses = [_address(part) for part in parts if _is_address(part)]
    names = tuple(part for part in parts if not _is_address(part) and not part.isdigit())
    if not names or not addresses:
        raise InvalidValue("a host-record has names, and one or two addresses")
    for ip in addresses:
        reading.rows.append(Row(where, ip, names=names))


def _parts(rest: str) -> list[str]:
    return [part.strip() for part in rest.split(",") if part.strip()]


def _is_address(part: str) -> bool:
    return bool(
        re.fullmatch(r"[0-9]+(\.[0-9]+){3}|\[[0-9a-fA-F:.]+\]|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*", part)
    )


def _address(part: str) -> str:
    return str(parse_address(part.removeprefix("[").removesuffix("]")))


_DIRECTIVES: Final[dict[str, Callable[[Reading, str, str], None]]] = {
    "dhcp-host": _dhcp_host,
    "dhcp-range": _dhcp_range,
    "address": _address_of_names,
    "host-record": _host_record,
}
