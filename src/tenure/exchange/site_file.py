"""A site file, TOML or JSON: vrfs, locations, networks with their subnets and ranges, machines and claims.

Each table has the fields of the API, and no others are known here: what a field may be is the service's to say.
"""

import json
import tomllib
from typing import Any, Final

from tenure.exchange.reading import Reading, Thing

_TABLES: Final = ("vrfs", "locations", "networks", "machines", "claims")


def read(name: str, text: str) -> Reading:
    """Read a site file; the order of its tables does not matter."""
    reading = Reading()
    try:
        site = json.loads(text) if text.lstrip().startswith("{") else tomllib.loads(text)
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


def _entries(reading: Reading, name: str, table: str, entries: Any) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        reading.faults.append(f"{name}: {table} is a list of tables.")
        return []
    return [
        (f"{name}, {table} {number} {_label(entry)}".rstrip(), dict(entry)) for number, entry in enumerate(entries, 1)
    ]


def _label(entry: dict[str, Any]) -> str:
    said = entry.get("name") or entry.get("cidr") or entry.get("start") or ""
    return f"({said})" if said else ""


def _vrf(reading: Reading, where: str, fields: dict[str, Any]) -> None:
    reading.things.append(Thing("vrf", fields, where))


def _of_a_kind(default: str) -> Any:
    def read_one(reading: Reading, where: str, fields: dict[str, Any]) -> None:
        reading.things.append(Thing(str(fields.pop("kind", default)), fields, where))

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
    "locations": _of_a_kind("host"),
    "networks": _network,
    "machines": _of_a_kind("managed"),
    "claims": _claim,
}
