"""Names that a zone has without holding them: computed from an address when they are asked for, or listed in a row.

What is asked is read backwards into an address, and that is looked for among the stretches of
addresses that have such names. No stretch is ever walked to answer a query.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from tenure.naming import records
from tenure.naming.hostnames import wire
from tenure.naming.reverse import owner_number, zone_span
from tenure.naming.templates import Stretch, Template
from tenure.net.addresses import width
from tenure.surfaces.dns.nodes import FIXED, IN, Node, joined, same


class Computed(Protocol):
    """A stretch of addresses, and those of them that are called otherwise."""

    @property
    def stretch(self) -> Stretch:
        """The addresses and their template."""

    @property
    def taken(self) -> Collection[int]:
        """Addresses with a name of their own; those of a stretch that is not listed need not be here."""


class Ahead:
    """A stretch as it is served: `taken` follows the zone's changes."""

    __slots__ = ("_head", "_octets", "stretch", "taken")

    def __init__(self, computed: Computed) -> None:
        self.stretch = computed.stretch
        self.taken = set(computed.taken)
        self._octets = width(self.stretch.version) // 8
        kind = records.A if self.stretch.version == 4 else records.AAAA
        self._head = FIXED.pack(kind, IN, self.stretch.ttl, self._octets)

    @property
    def begin(self) -> tuple[int, int]:
        """Where it begins: version and first address. Stretches that one spelling names are disjoint."""
        return self.stretch.version, self.stretch.first

    def packed(self, number: int) -> bytes:
        """The record of an address, taken or not: `Stretch.record` without its owner. Cost: 0.3 µs, a PTR 2 µs."""
        if not self.stretch.pointers:
            return self._head + number.to_bytes(self._octets)
        target = wire(f"{self.stretch.template.name(self.stretch.version, number)}.{self.stretch.domain}")
        return FIXED.pack(records.PTR, IN, self.stretch.ttl, len(target)) + target

    def free(self, first: int, last: int) -> bool:
        """Tell whether an address between both is not taken. Cost: at most one look for each taken one."""
        low, high = max(first, self.stretch.first), min(last, self.stretch.last)
        return high - low >= len(self.taken) or any(number not in self.taken for number in range(low, high + 1))


Place = tuple[Ahead, int]
"""A stretch and one of its addresses."""


class _Spelling(ABC):
    """One way from an address to a name in the zone, and the stretches that are called so."""

    def __init__(self, aheads: Iterable[Ahead]) -> None:
        self._aheads = sorted(aheads, key=lambda ahead: ahead.begin)
        self._begins = [ahead.begin for ahead in self._aheads]

    def place(self, name: str) -> Place | None:
        """The address whose name this is, taken or not."""
        found = self._read(name)
        if found is None:
            return None
        version, number = found
        at = bisect_right(self._begins, found) - 1
        if at < 0:
            return None
        ahead = self._aheads[at]
        return (ahead, number) if version == ahead.stretch.version and number <= ahead.stretch.last else None

    @abstractmethod
    def beneath(self, name: str) -> bool:
        """Tell whether an address that is not taken has a longer name that ends with this one."""

    @abstractmethod
    def _read(self, name: str) -> tuple[int, int] | None:
        """The version and number of the address that has this name, of a stretch or not."""

    def _free(self, version: int, first: int, last: int) -> bool:
        at = max(bisect_right(self._begins, (version, first)) - 1, 0)
        while at < len(self._aheads) and self._begins[at] <= (version, last):
            ahead = self._aheads[at]
            if ahead.stretch.version == version and ahead.stretch.last >= first and ahead.free(first, last):
                return True
            at += 1
        return False


class _Templated(_Spelling):
    """Names made from a template, relative to the zone."""

    def __init__(self, template: Template, aheads: Iterable[Ahead]) -> None:
        super().__init__(aheads)
        self._template = template
        self._lead = template.before.split(".")
        self._tail = template.after.split(".")[1:]

    def _read(self, name: str) -> tuple[int, int] | None:
        return self._template.number(name)

    def beneath(self, name: str) -> bool:
        missing = len(self._lead) + len(self._tail) - (name.count(".") + 1)
        if missing <= 0:
            return False
        if missing < len(self._lead):
            found = self.place(".".join((*self._lead[:missing], name)))
            return found is not None and found[1] not in found[0].taken
        alike = self._tail[missing - len(self._lead) :] == name.split(".")
        return alike and any(ahead.free(ahead.stretch.first, ahead.stretch.last) for ahead in self._aheads)


class _Pointing(_Spelling):
    """Pointer names, relative to the reverse zone."""

    def __init__(self, zone: str, aheads: Iterable[Ahead]) -> None:
        super().__init__(aheads)
        self._zone = zone

    def _read(self, name: str) -> tuple[int, int] | None:
        return owner_number(self._zone, f"{name}.{self._zone}")

    def beneath(self, name: str) -> bool:
        span = zone_span(f"{name}.{self._zone}")
        return span is not None and span[1] < span[2] and self._free(*span)


class ComputedNames:
    """The computed names of one zone.

    Args:
        zone: Its absolute name.
        computed: At least one stretch; all are of this zone.

    Attributes:
        listed: Stretches that a transfer lists.

    Cost: a few microseconds a name, whatever the stretches hold.
    """

    __slots__ = ("_spellings", "listed")

    def __init__(self, zone: str, computed: Iterable[Computed]) -> None:
        aheads = [Ahead(each) for each in computed]
        self.listed = tuple(ahead for ahead in aheads if ahead.stretch.listed)
        self._spellings = tuple(_spellings(zone, aheads))

    def find(self, path: bytes) -> Node | None:
        """What is computed for the name at `path`; None if nothing is."""
        places = [place for place in self._places(path) if place[1] not in place[0].taken]
        if not places:
            return None
        return joined([ahead.packed(number) for ahead, number in places])

    def listed_at(self, path: bytes) -> Node | None:
        """The part of it that a transfer lists."""
        places = (place for place in self._places(path) if place[0].stretch.listed)
        return joined([ahead.packed(number) for ahead, number in places if number not in ahead.taken])

    def beneath(self, path: bytes) -> bool:
        """Tell whether a computed name lies beneath the one at `path`."""
        name = _spelled(path)
        return name is not None and any(spelling.beneath(name) for spelling in self._spellings)

    def place(self, path: bytes, record: bytes) -> Place | None:
        """The address of which this is the computed record, taken or not, if it is one that is listed."""
        for ahead, number in self._places(path):
            if ahead.stretch.listed and same(ahead.packed(number), record):
                return ahead, number
        return None

    def _places(self, path: bytes) -> list[Place]:
        """The addresses that have this name, taken or not: hardly ever two."""
        name = _spelled(path)
        if name is None:
            return []
        places = [spelling.place(name) for spelling in self._spellings]
        return [place for place in places if place is not None]


def _spellings(zone: str, aheads: Iterable[Ahead]) -> Iterator[_Spelling]:
    pointing: list[Ahead] = []
    templated: dict[Template, list[Ahead]] = {}
    for ahead in aheads:
        if ahead.stretch.pointers:
            pointing.append(ahead)
        else:
            templated.setdefault(_relative(ahead.stretch, zone), []).append(ahead)
    if pointing:
        yield _Pointing(zone, pointing)
    for template, named in templated.items():
        yield _Templated(template, named)


def _relative(stretch: Stretch, zone: str) -> Template:
    """The stretch's template, relative to the zone instead of its domain."""
    between = f".{stretch.domain}".removesuffix(f".{zone}")
    return stretch.template._replace(after=stretch.template.after + between)


def _spelled(path: bytes) -> str | None:
    """The name at `path` relative to the zone; None for one that nobody would compute."""
    if path and path[0] + 1 == len(path):
        return None if b"." in path[1:] else path[1:].decode("latin-1")
    labels, at = [], 0
    while at < len(path):
        end = at + path[at] + 1
        labels.append(path[at + 1 : end])
        at = end
    labels.reverse()
    if any(b"." in label for label in labels):
        return None
    return b".".join(labels).decode("latin-1")
