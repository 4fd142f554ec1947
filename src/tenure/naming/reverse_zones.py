"""Reverse zones by where they lie: the innermost one of an address has its pointer."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator

from tenure.model.dnsdata import Zone
from tenure.naming.reverse import zone_span
from tenure.net.addresses import width

_View = tuple[str, int]


class ReverseZones:
    """The reverse zones of all vrfs, as far as their names say what they span; any other zone is passed over.

    Attributes:
        made: How many records people made in those of a vrf; whoever keeps these counts them here.
    """

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self._at: dict[tuple[_View, int, int], str] = {}
        self._lengths: dict[_View, Counter[int]] = {}
        self._longest: dict[_View, list[int]] = {}
        self._order: dict[_View, list[tuple[int, int]]] = {}

    def put(self, zone: Zone) -> None:
        """A zone is there from now on."""
        place = _place(zone)
        if place is not None:
            view, length, first = place
            self._at[place] = zone.id
            lengths = self._lengths.setdefault(view, Counter())
            lengths[length] += 1
            self._longest[view] = sorted(lengths, reverse=True)
            insort(self._order.setdefault(view, []), (first, length))

    def drop(self, zone: Zone) -> None:
        """A zone is there no longer."""
        place = _place(zone)
        if place is not None:
            view, length, first = place
            del self._at[place]
            self._lengths[view][length] -= 1
            if not self._lengths[view][length]:
                del self._lengths[view][length]
                self._longest[view].remove(length)
            order = self._order[view]
            del order[bisect_left(order, (first, length))]

    def innermost(self, vrf: str, version: int, number: int, below: int = 129) -> str | None:
        """Id of the innermost zone that an address lies in, or None.

        Args:
            below: Only zones of whole prefixes shorter than this count.

        Cost: one look for each length in use.
        """
        found = self._innermost((vrf, version), number, below)
        return None if found is None else found[0]

    def over(self, vrf: str, version: int, first: int, last: int) -> Iterator[tuple[int, int, str]]:
        """The innermost zones of the addresses from `first` to `last`: pieces of that, in order, each with a zone's id.

        Addresses that are in no zone are in no piece. Cost: logarithmic for each that is found.
        """
        view = (vrf, version)
        order = self._order.get(view, [])
        while first <= last:
            after = bisect_right(order, (first, 128))
            end = min(last, order[after][0] - 1 if after < len(order) else last)
            found = self._innermost(view, first, 129)
            if found is not None:
                end = min(end, found[1])
                yield first, end, found[0]
            first = end + 1

    def _innermost(self, view: _View, number: int, below: int) -> tuple[str, int] | None:
        bits = width(view[1])
        for length in self._longest.get(view, ()):
            host_bits = bits - length
            first = number >> host_bits << host_bits
            found = self._at.get((view, length, first)) if length < below else None
            if found is not None:
                return found, first + (1 << host_bits) - 1
        return None


def _place(zone: Zone) -> tuple[_View, int, int] | None:
    span = zone_span(zone.name)
    if span is None:
        return None
    version, first, last = span
    return (zone.vrf, version), width(version) - (last - first).bit_length(), first
