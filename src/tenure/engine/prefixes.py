"""Where subnets lie: which hold an address, which cross a prefix, and what is bound to a location."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator

from tenure.model.addressing import Subnet
from tenure.net.addresses import parse_prefix, width

_Span = tuple[str, int, int, int]


class Prefixes:
    """Ids of subnets by where they lie.

    Attributes:
        named: Subnet ids by prefix text. bound_to: Subnet ids by location.
    """

    def __init__(self) -> None:
        self.named: dict[str, dict[str, None]] = {}
        self.bound_to: dict[str, dict[str, None]] = {}
        self._at: dict[_Span, str] = {}
        self._lengths: dict[int, Counter[int]] = {4: Counter(), 6: Counter()}
        self._order: dict[tuple[str, int], list[tuple[int, int, str]]] = {}

    def put(self, subnet: Subnet) -> None:
        """A subnet lies there from now on."""
        vrf, version, first, length = span = _span(subnet)
        self._at[span] = subnet.id
        self._lengths[version][length] += 1
        insort(self._order.setdefault((vrf, version), []), (first, length, subnet.id))
        self.named.setdefault(subnet.cidr, {})[subnet.id] = None
        for location in subnet.locations:
            self.bound_to.setdefault(location, {})[subnet.id] = None

    def drop(self, subnet: Subnet) -> None:
        """A subnet lies there no longer."""
        vrf, version, first, length = span = _span(subnet)
        del self._at[span]
        self._lengths[version][length] -= 1
        if not self._lengths[version][length]:
            del self._lengths[version][length]
        order = self._order[vrf, version]
        del order[bisect_left(order, (first, length, subnet.id))]
        _without(self.named, subnet.cidr, subnet.id)
        for location in dict.fromkeys(subnet.locations):
            _without(self.bound_to, location, subnet.id)

    def innermost(self, vrf: str, version: int, number: int) -> str | None:
        """The innermost subnet that an address lies in. Cost: one look for each length in use."""
        bits = width(version)
        for length in sorted(self._lengths[version], reverse=True):
            found = self._at.get((vrf, version, number >> (bits - length) << (bits - length), length))
            if found is not None:
                return found
        return None

    def crossing(self, vrf: str, version: int, first: int, length: int) -> Iterator[str]:
        """The subnets that hold this prefix, then those that lie in it. Cost: logarithmic, and those found."""
        bits = width(version)
        for above in sorted(self._lengths[version]):
            if above <= length:
                found = self._at.get((vrf, version, first >> (bits - above) << (bits - above), above))
                if found is not None:
                    yield found
        order = self._order.get((vrf, version), [])
        last = first + (1 << (bits - length)) - 1
        for start, below, subnet in order[bisect_left(order, (first,)) :]:
            if start > last:
                break
            if below > length:
                yield subnet


def _span(subnet: Subnet) -> _Span:
    prefix = parse_prefix(subnet.cidr)
    return subnet.vrf, prefix.version, int(prefix.network_address), prefix.prefixlen


def _without(index: dict[str, dict[str, None]], key: str, value: str) -> None:
    index[key].pop(value)
    if not index[key]:
        del index[key]
