"""What this node remembers of the ledger outside it: so that a ledger that became shorter is noticed.

`<data>/witness` is written in place after each commit and never synced: after
a loss of power it may be older than the ledger, which does no harm, and two
slots are written by turns, so that a torn one leaves the other.
`<data>/witness.serials` holds the highest serials, once a second.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec

from tenure.naming.serial import later
from tenure.store.interface import Head

_SLOT: Final = 256
_INTERVAL: Final = 1.0

Serials = dict[str, int]
"""Highest serial by zone, named `<vrf id>/<zone name>`: a zone that comes back goes on from there."""


class _Note(msgspec.Struct, frozen=True):
    count: int
    head: Head


class Witness:
    """One node's memory of the ledger. For the writer's thread.

    A disk that takes nothing more stops nobody: what could not be written is said in `trouble`, and tried again.

    Args:
        directory: The data directory, which is there.
    """

    def __init__(self, directory: Path) -> None:
        self._serials_path = directory / "witness.serials"
        self._file = os.open(directory / "witness", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._count = 0
        self._saved_at = float("-inf")
        self._unsaved = False
        self.trouble = ""
        self.head = self._read_head()
        self.serials = self._read_serials()

    def __enter__(self) -> "Witness":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def note(self, head: Head) -> None:
        """Remember the end of the ledger. Cost: one small write to the page cache."""
        self.head = head
        self._count += 1
        body = msgspec.json.encode(_Note(self._count, head))
        slot = zlib.crc32(body).to_bytes(4, "big") + len(body).to_bytes(2, "big") + body
        with self._trying():
            os.pwrite(self._file, slot.ljust(_SLOT, b"\0"), self._count % 2 * _SLOT)

    def saw(self, zone: str, serial: int) -> None:
        """Remember a serial, if it is later than the one known of the zone."""
        known = self.serials.get(zone)
        if known is None or later(serial, known):
            self.serials[zone] = serial
            self._unsaved = True

    def save(self, now: float) -> None:
        """Write the serials, unless that was done in the last second or nothing is new; `now` is monotonic."""
        if self._unsaved and now - self._saved_at >= _INTERVAL:
            self._write_serials()
            self._saved_at = now

    def close(self) -> None:
        """Write what is unwritten and let go of the file. Idempotent."""
        if self._unsaved:
            self._write_serials()
        self.drop()

    def drop(self) -> None:
        """Let go of the file and write nothing, as a process does that is killed. Idempotent."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write_serials(self) -> None:
        written = self._serials_path.with_suffix(".new")
        with self._trying():
            written.write_bytes(msgspec.json.encode(self.serials))
            written.replace(self._serials_path)
            self._unsaved = False

    @contextmanager
    def _trying(self) -> Iterator[None]:
        try:
            yield
            self.trouble = ""
        except OSError as error:
            self.trouble = f"the data directory takes nothing: {error}"

    def _read_head(self) -> Head | None:
        found = [note for at in (0, 1) if (note := _read(os.pread(self._file, _SLOT, at * _SLOT))) is not None]
        if not found:
            return None
        latest = max(found, key=lambda note: note.count)
        self._count = latest.count
        return latest.head

    def _read_serials(self) -> Serials:
        try:
            return msgspec.json.decode(self._serials_path.read_bytes(), type=Serials)
        except (FileNotFoundError, msgspec.DecodeError, msgspec.ValidationError):
            return {}


def _read(slot: bytes) -> _Note | None:
    body = slot[6 : 6 + int.from_bytes(slot[4:6], "big")]
    if not body or zlib.crc32(body) != int.from_bytes(slot[:4], "big"):
        return None
    try:
        return msgspec.json.decode(body, type=_Note)
    except msgspec.ValidationError:
        return None  # of another release
