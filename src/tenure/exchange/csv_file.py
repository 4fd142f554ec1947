"""CSV: one row an address; the columns `ip,mac,hostname,network,subnet,host,rack` in any order, empty ones optional."""

import csv
import io
from collections.abc import Callable
from typing import Final

from tenure.errors import InvalidValue
from tenure.exchange.reading import Reading, Row
from tenure.net.addresses import parse_address, parse_prefix
from tenure.net.identifiers import parse_mac

COLUMNS: Final = ("ip", "mac", "hostname", "network", "subnet", "host", "rack")

_SPELLINGS: Final[dict[str, Callable[[str], str]]] = {
    "ip": lambda text: str(parse_address(text)),
    "mac": parse_mac,
    "subnet": lambda text: str(parse_prefix(text)),
}


def read(name: str, text: str) -> Reading:
    """Read a table with a header. Lines with nothing in them are passed over; faults name the file and the row."""
    reading = Reading()
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    try:
        for cells in lines:
            where = f"{name}, row {lines.line_num}"
            values = [cell.strip() for cell in cells]
            if not any(values):
                continue
            if not header:
                header = [value.lower() for value in values]
                reading.faults += _header_faults(name, header)
                if reading.faults:
                    break
            else:
                _read_row(reading, where, header, values)
    except csv.Error as error:
        reading.faults.append(f"{name}, row {lines.line_num}: {error}.")
    if not header:
        reading.faults.append(f"{name}: there is no header; its columns are {', '.join(COLUMNS)}.")
    return reading


def _header_faults(name: str, header: list[str]) -> list[str]:
    known = ", ".join(COLUMNS)
    unknown = [
        f"{name}: column {each!r} is unknown; the columns are {known}." for each in header if each not in COLUMNS
    ]
    double = [f"{name}: column {each!r} stands twice." for each in COLUMNS if header.count(each) > 1]
    return unknown + double


def _read_row(reading: Reading, where: str, header: list[str], values: list[str]) -> None:
    if len(values) > len(header):
        reading.faults.append(f"{where}: it has {len(values)} values for {len(header)} columns.")
        return
    given = {column: value for column, value in zip(header, values, strict=False) if value}
    for column, spelling in _SPELLINGS.items():
        if column in given:
            try:
                given[column] = spelling(given[column])
            except InvalidValue as error:
                reading.faults.append(f"{where}, column {column}: {error.message}.".replace("..", "."))
                return
    hostname = given.pop("hostname", None)
    reading.rows.append(Row(where, names=(hostname,) if hostname else (), **given))
