"""A site's own life, read from a CSV file instead of made up.

The columns are `time,event,workload,host`, in any order, under a header:

- `time`: seconds, or a date and time of ISO 8601; never earlier than in the row before. The first is hour 0.
- `event`: `arrive`, `leave`, `move` (to another host, with its address), `renumber` (to another host, with a new
  one) or `replace` (the host is made again under its name).
- `workload`: any name; one that has left may arrive again. Empty for `replace`.
- `host`: any name, or `rack/host`; hosts without a rack share one. Empty for `leave`.
"""

import csv
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Final, NamedTuple

from tenure.errors import InvalidValue
from tenure.simulate.workload import Arrive, Event, Leave, Move, Replace
from tenure.simulate.world import HOUR, Site

COLUMNS: Final = ("time", "event", "workload", "host")

_MORE: Final = "more"

_NEEDED: Final = {
    "arrive": ("workload", "host"),
    "leave": ("workload",),
    "move": ("workload", "host"),
    "renumber": ("workload", "host"),
    "replace": ("host",),
}


class Trace(NamedTuple):
    """What a file tells.

    Attributes:
        site: Its hosts and racks, numbered as they first appear.
        events: In order of time, which is in seconds from the first.
        hours: Whole hours, so that the last event lies within.
    """

    site: Site
    events: tuple[Event, ...]
    hours: float


def read(path: Path) -> Trace:
    """Read a trace.

    Raises:
        InvalidValue: The file cannot be read, or a row cannot; the row is named.

    Cost: the whole file is kept in memory.
    """
    reading = _Reading()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file, strict=True, restkey=_MORE, restval="")
            if sorted(lines.fieldnames or ()) != sorted(COLUMNS):
                raise InvalidValue(f"{path.name}: its header must be {','.join(COLUMNS)}.")
            for row in lines:
                _add(reading, row, f"{path.name}, row {lines.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidValue(f"{path.name} cannot be read: {error}.") from None
    if not reading.events:
        raise InvalidValue(f"{path.name} has no events.")
    return Trace(reading.site(), tuple(reading.events), reading.events[-1].time // HOUR + 1)


def _add(reading: "_Reading", row: Mapping[str, str], where: str) -> None:
    try:
        reading.add(row)
    except ValueError as error:
        raise InvalidValue(f"{where}: {error}.") from None


class _Reading:
    """What has been read: names become numbers, and times begin with 0."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._start: float | None = None
        self._live: dict[str, int] = {}
        self._arrived = 0
        self._hosts: dict[str, int] = {}
        self._racks: dict[str, int] = {}
        self._placed: list[int] = []

    def site(self) -> Site:
        return Site(len(self._placed), len(self._racks), "uniform", tuple(self._placed))

    def add(self, row: Mapping[str, str]) -> None:
        if _MORE in row:
            raise ValueError("it has more values than the header")
        kind = row["event"]
        if kind not in _NEEDED:
            raise ValueError(f"{kind!r} is no event; they are {', '.join(_NEEDED)}")
        for column in _NEEDED[kind]:
            if not row[column]:
                raise ValueError(f"{kind} needs a {column}")
        self.events.append(self._event(kind, self._time(row["time"]), row["workload"], row["host"]))

    def _time(self, text: str) -> float:
        time = _seconds(text)
        if self._start is None:
            self._start = time
        time -= self._start
        if time < (self.events[-1].time if self.events else 0.0):
            raise ValueError("it is earlier than the row before")
        return time

    def _event(self, kind: str, time: float, workload: str, host: str) -> Event:
        if kind == "replace":
            return Replace(time, self._host(host))
        if kind == "arrive":
            return Arrive(time, self._arrival(workload), self._host(host))
        if workload not in self._live:
            raise ValueError(f"{workload} has not arrived")
        if kind == "leave":
            return Leave(time, self._live.pop(workload))
        return Move(time, self._live[workload], self._host(host), kind == "renumber")

    def _arrival(self, workload: str) -> int:
        if workload in self._live:
            raise ValueError(f"{workload} has arrived already")
        number = self._live[workload] = self._arrived
        self._arrived += 1
        return number

    def _host(self, name: str) -> int:
        if name not in self._hosts:
            rack = name.rpartition("/")[0]
            self._hosts[name] = len(self._placed)
            self._placed.append(self._racks.setdefault(rack, len(self._racks)))
        return self._hosts[name]


def _seconds(text: str) -> float:
    """Seconds of any epoch; a date and time without an offset is taken as UTC."""
    try:
        seconds = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if not isfinite(seconds):
        raise ValueError(f"{text} is no time")
    return seconds
