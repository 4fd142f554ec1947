"""The kernel's neighbour table, as `ip -json -statistics neigh` or `ip neigh` prints it (ip-neighbour(8))."""

import json
from collections.abc import Iterator
from typing import Any, Final

from tenure.errors import InvalidValue
from tenure.exchange.scanning import NEIGHBOURS, Scan

COMMAND: Final = ("ip", "-json", "-statistics", "neigh", "show")
"""Prints the table; needs no privileges."""

_PRESENT: Final = frozenset({"REACHABLE", "DELAY", "PROBE"})
_RECENT: Final = 600
"""Seconds for which an entry that is no longer used (STALE) still says who has the address."""


def read(name: str, text: str) -> Scan:
    """Read a table.

    Entries that were not confirmed lately are left out, for their address may be somebody else's by now; those
    without an answer, and those that somebody wrote by hand, say nothing.

    Raises:
        InvalidValue: It is no such table.
    """
    scan = Scan(NEIGHBOURS)
    old = 0
    for where, ip, mac, states, confirmed in _entries(name, text):
        if mac is None or not states & (_PRESENT | {"STALE"}):
            continue
        if states & _PRESENT or (confirmed is not None and confirmed <= _RECENT):
            scan.see(where, ip, mac)
        else:
            old += 1
    if old:
        said = "entry was not confirmed lately; it is" if old == 1 else "entries were not confirmed lately; they are"
        scan.notes.append(f"{name}: {old} {said} left out.")
    return scan


_Entry = tuple[str, str, str | None, frozenset[str], int | None]


def _entries(name: str, text: str) -> Iterator[_Entry]:
    return _from_json(name, text) if text.lstrip().startswith("[") else _from_lines(name, text)


def _from_json(name: str, text: str) -> Iterator[_Entry]:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidValue(f"{name} is no JSON of `ip -json neigh`: {error}") from None
    for number, entry in enumerate(table, 1):
        where = f"{name}, entry {number}"
        if not isinstance(entry, dict):
            raise InvalidValue(f"{where} is no neighbour; read what `ip -json neigh` prints")
        if entry:
            yield _entry(where, entry)


def _entry(where: str, entry: dict[str, Any]) -> _Entry:
    ip, mac, states, confirmed = (entry.get(each) for each in ("dst", "lladdr", "state", "confirmed"))
    if not isinstance(ip, str) or not isinstance(mac, str | None) or not isinstance(states, list):
        raise InvalidValue(f"{where} has no dst or state; read what `ip -json neigh` prints")
    known = frozenset(each for each in states if isinstance(each, str))
    return where, ip, mac, known, confirmed if isinstance(confirmed, int) else None


def _from_lines(name: str, text: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if "dev" not in words:
            raise InvalidValue(f"{name}, line {number} is no neighbour; read what `ip neigh` prints")
        mac = _after("lladdr", words)
        yield f"{name}, line {number}", words[0], mac, frozenset(words), _confirmed(words)


def _confirmed(words: list[str]) -> int | None:
    """The second of `used 12/7/3`: seconds since it was used, confirmed and updated."""
    parts = (_after("used", words) or "").split("/")
    return int(parts[1]) if len(parts) == 3 and parts[1].isascii() and parts[1].isdecimal() else None


def _after(word: str, words: list[str]) -> str | None:
    """The word that follows, if there is one."""
    place = words.index(word) + 1 if word in words else len(words)
    return words[place] if place < len(words) else None
