"""What changed in zones, step by step, so that whoever has an older serial is sent the difference (RFC 1995).

In memory, and bounded over all zones: the oldest steps go first, whichever zone they are of. Older ones
are in the store.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Final, NamedTuple

MOST: Final = 64 * 2**20
"""Octets that the steps of all zones take at most."""

_STEP: Final = 400
_RECORD: Final = 180
_SERIAL: Final = slice(-20, -16)

Packed = tuple[bytes, bytes]
"""A record: the path of its owner below the apex, and type, class, TTL, length and rdata."""


class Step(NamedTuple):
    """One step of a zone's serial.

    Attributes:
        before, after: The zone's packed SOA on both sides.
        removed, added: What really went and came between them, the SOA aside.
    """

    before: bytes
    removed: tuple[Packed, ...]
    after: bytes
    added: tuple[Packed, ...]

    @property
    def size(self) -> int:
        """About how many octets it takes."""
        records = (*self.removed, *self.added)
        return _STEP + sum(_RECORD + len(path) + len(packed) for path, packed in records)


def serial_of(soa: bytes) -> int:
    """The serial in a packed SOA: the first of the five numbers at its end."""
    return int.from_bytes(soa[_SERIAL])


def stamped(soa: bytes, serial: int) -> bytes:
    """The same packed SOA with another serial."""
    return soa[: _SERIAL.start] + serial.to_bytes(4) + soa[_SERIAL.stop :]


class Room:
    """The memory that the journals of many zones share.

    Args:
        most: Octets.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._order: deque[tuple[Journal, int, int]] = deque()
        self.used = 0

    def take(self, journal: "Journal", serial: int, size: int) -> None:
        """Count a step in; the oldest ones go while there are too many."""
        self._order.append((journal, serial, size))
        self.used += size
        while self.used > self._most:
            oldest, of, freed = self._order.popleft()
            oldest.forget(of)
            self.used -= freed


class Journal:
    """The latest steps of one zone. For one thread.

    Args:
        room: Shared with other zones; None is a room of its own.
    """

    __slots__ = ("_room", "_steps")

    def __init__(self, room: Room | None = None) -> None:
        self._room = room or Room()
        self._steps: OrderedDict[int, Step] = OrderedDict()  # by the serial before it

    def __len__(self) -> int:
        return len(self._steps)

    def note(self, before: bytes, removed: Iterable[Packed], after: bytes, added: Iterable[Packed]) -> None:
        """Remember a step; `before` and `after` are the packed SOA on both sides of it. Cost: about 2 µs."""
        step = Step(before, tuple(removed), after, tuple(added))
        self._steps[serial_of(before)] = step
        self._room.take(self, serial_of(before), step.size)

    def since(self, serial: int) -> list[Step] | None:
        """All steps that lead from `serial` to now, in order; None where the way is not remembered.

        Cost: linear in the steps.
        """
        found = []
        step = self._steps.get(serial)
        while step is not None:
            found.append(step)
            step = self._steps.get(serial_of(step.after))
        return found or None

    def forget(self, serial: int) -> None:
        """Let go of the step that began at `serial`, if it is here."""
        self._steps.pop(serial, None)

    def clear(self) -> None:
        """Let go of all steps; the room is free once they would have been the oldest."""
        self._steps.clear()
