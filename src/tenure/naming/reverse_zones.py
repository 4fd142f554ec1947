"""Reverse zones by where they lie: the innermost one of an address has its pointer."""

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterator

from tenure.model.dnsdata import Zone
from tenure.naming.reverse import zone_span
from tenure.net.addresses import width

_View = tuple[str, int]


class ReverseZones:
    """The reverse zones of all vrfs, as far as their names say what they span; any other zone is passed over."""

    def __init__(self) -> None:
        self._at: dict[tuple[_View, int, int], str] = {}
        self._lengths: dict[_View, Counter[int]] = {}
        self._order: dict[_View, list[tuple[int, int]]] = {}

    def put(self, zone: Zone) -> None:
        """A zone is there from now on."""
        place = _place(zone)
        if place is not None:
            view, length, first = place
            self._at[place] = zone.id
            self._lengths.setdefault(view, Counter())[length] += 1
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

    def over(self, vrf: str, version: int, first: int, last: int) -> Iterator[str]:
        """Ids of the zones that are the innermost of some address from `first` to `last`; one may come twice.

        Cost: logarithmic for each that is found.
        """
        view = (vrf, version)
        order = self._order.get(view, [])
        while first <= last:
            after = bisect_right(order, (first, 128))
            ends = [order[after][0]] if after < len(order) else []
            found = self._innermost(view, first, 129)
            if found is not None:
                yield found[0]
                ends.append(found[1] + 1)
            first = min(ends, default=last + 1)

    def _innermost(self, view: _View, number: int, below: int) -> tuple[str, int] | None:
        bits = width(view[1])
        for length in sorted(self._lengths.get(view, ()), reverse=True):
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
