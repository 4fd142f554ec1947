"""A site file, TOML or JSON: vrfs, locations, networks with their subnets and ranges, machines and claims.

Each table has the fields of the API, and no others are known here. What a field may be is the service's to say,
except for those by which an import finds what is there already.
"""

import json
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Final

from tenure.errors import InvalidValue
from tenure.exchange.reading import Reading, Thing
from tenure.net.addresses import parse_address, parse_prefix

_TABLES: Final = ("vrfs", "locations", "networks", "machines", "claims")
_KINDS: Final = {"locations": ("host", "rack", "site", "region"), "machines": ("managed", "instance", "device")}
"""What the entries of a table may be; the first is what they are if they say nothing."""
_TEXTS: Final = frozenset(("name", "kind", "vrf", "network", "subnet", "cidr", "start", "end", "domain", "gateway"))
_SPELLINGS: Final[dict[str, Callable[[str], Any]]] = {
    "cidr": parse_prefix,
    "start": parse_address,
    "end": parse_address,
}
_NEEDED: Final = {"subnets": ("cidr",), "ranges": ("start", "end")}


def read(name: str, text: str) -> Reading:
    """Read a site file; the order of its tables does not matter."""
    reading = Reading()
    try:
        site = _parsed(text)
    except RecursionError:
        reading.faults.append(f"{name}: it is nested too deeply.")
        return reading
    except ValueError as error:
        reading.faults.append(f"{name}: {error}.")
        return reading
    for table in site:
        if table not in _TABLES:
            reading.faults.append(f"{name}: {table!r} is no table of a site; they are {', '.join(_TABLES)}.")
    for table in _TABLES:
        for place, fields in _entries(reading, name, table, site.get(table, [])):
            _READERS[table](reading, place, fields)
    return reading


def _parsed(text: str) -> dict[str, Any]:
    """The tables of a file. JSON can spell half of a surrogate pair (`\\ud800`), which no text has: that is refused."""
    if not text.lstrip().startswith("{"):
        return tomllib.loads(text)
    site: dict[str, Any] = json.loads(text)
    json.dumps(site, ensure_ascii=False).encode()
    return site


def _entries(reading: Reading, name: str, table: str, entries: Any) -> list[tuple[str, dict[str, Any]]]:
    """The entries of a table that can be placed, with their places; of the others, faults."""
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        reading.faults.append(f"{name}: {table} is a list of tables.")
        return []
    found = []
    for number, entry in enumerate(entries, 1):
        place = f"{name}, {table} {number} {_label(entry)}".rstrip()
        faults = [f"{place}: {fault}." for fault in _faults(table, entry)]
        reading.faults += faults
        if not faults:
            found.append((place, dict(entry)))
    return found


def _faults(table: str, entry: dict[str, Any]) -> Iterator[str]:
    """What an import itself has to understand of an entry."""
    for name, value in entry.items():
        if name in _TEXTS and not isinstance(value, str | None):
            yield f"{name} is text"
        elif name == "dns_servers" and not isinstance(value, list):
            yield f"{name} is a list"
        elif name in _SPELLINGS and value is not None:
            yield from _misspelled(name, value)
    for name in _NEEDED.get(table, ()):
        if entry.get(name) is None:
            yield f"{name} is missing"
    kinds = _KINDS.get(table)
    if kinds and entry.get("kind", kinds[0]) not in kinds:
        yield f"its kind is none of {', '.join(kinds)}"


def _misspelled(name: str, value: str) -> Iterator[str]:
    try:
        _SPELLINGS[name](value)
    except InvalidValue as error:
        yield f"{name}: {error.message}"


def _label(entry: dict[str, Any]) -> str:
    said = entry.get("name") or entry.get("cidr") or entry.get("start") or ""
    return f"({said})" if said else ""


def _vrf(reading: Reading, where: str, fields: dict[str, Any]) -> None:
    reading.things.append(Thing("vrf", fields, where))


def _of_a_kind(table: str) -> Any:
    def read_one(reading: Reading, where: str, fields: dict[str, Any]) -> None:
        reading.things.append(Thing(fields.pop("kind", _KINDS[table][0]), fields, where))

    return read_one


def _network(reading: Reading, where: str, fields: dict[str, Any]) -> None:
    subnets = fields.pop("subnets", [])
    reading.things.append(Thing("network", fields, where))
    for place, subnet in _entries(reading, where, "subnets", subnets):
        ranges = subnet.pop("ranges", [])
        reading.things.append(Thing("subnet", {**subnet, "network": fields.get("name")}, place))
        for spot, range_ in _entries(reading, place, "ranges", ranges):
            reading.things.append(Thing("range", {**range_, "subnet": subnet.get("cidr")}, spot))


def _claim(reading: Reading, where: str, fields: dict[str, Any]) -> None:
    reading.things.append(Thing("claim", fields, where))


_READERS: Final = {
    "vrfs": _vrf,
    "locations": _of_a_kind("locations"),
    "networks": _network,
    "machines": _of_a_kind("machines"),
    "claims": _claim,
}
