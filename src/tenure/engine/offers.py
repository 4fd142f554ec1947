"""What clients caused lately, and how it is bounded: memory that no event records, and that may be lost."""

from collections import Counter, OrderedDict, deque
from datetime import datetime, timedelta

from tenure.engine.space import Space

_OFFERED = timedelta(minutes=1)
_MOST = 65536


class Offers:
    """Addresses offered in the last minute, to whom; bounded, in memory only. The subnet knows that they are.

    A client has one open offer a subnet, however often it asks. An offer keeps an address from others only while there
    are more: it costs whoever makes up clients nothing, so that it must not cost the others an address either.
    """

    def __init__(self, subnets: dict[str, Space]) -> None:
        self._subnets = subnets
        self._open: OrderedDict[tuple[str, int], tuple[str, datetime]] = OrderedDict()
        self._of: dict[tuple[str, str], int] = {}
        self._ages: dict[str, OrderedDict[int, None]] = {}

    def holder(self, subnet: str, number: int, now: datetime) -> str | None:
        """The MAC to which an address was offered lately."""
        found = self._open.get((subnet, number))
        return found[0] if found is not None and found[1] > now else None

    def of(self, subnet: str, mac: str) -> int | None:
        """The address that was offered to a MAC lately."""
        return self._of.get((subnet, mac))

    def oldest(self, subnet: str) -> int | None:
        """The address of a subnet that was offered longest ago, if any is."""
        return next(iter(self._ages.get(subnet, ())), None)

    def note(self, subnet: str, number: int, mac: str, now: datetime) -> None:
        """Remember an offer, instead of the client's last one; the oldest are forgotten where there are too many."""
        before = self._of.get((subnet, mac))
        if before is not None:
            self.forget(subnet, before)
        self.forget(subnet, number)
        self._open[subnet, number] = (mac, now + _OFFERED)
        self._of[subnet, mac] = number
        self._ages.setdefault(subnet, OrderedDict())[number] = None
        self._subnets[subnet].offer(number, open_=True)
        if len(self._open) > _MOST:
            self.forget(*next(iter(self._open)))

    def expire(self, now: datetime) -> None:
        """Forget what was offered more than a minute ago. Amortized O(1) for each."""
        while self._open:
            key, (_, until) = next(iter(self._open.items()))
            if until > now:
                break
            self.forget(*key)

    def forget(self, subnet: str, number: int) -> None:
        """The offer was taken, or is over."""
        found = self._open.pop((subnet, number), None)
        if found is None:
            return
        del self._of[subnet, found[0]]
        self._age_out(subnet, number)
        if subnet in self._subnets:
            self._subnets[subnet].offer(number, open_=False)

    def _age_out(self, subnet: str, number: int) -> None:
        ages = self._ages[subnet]
        del ages[number]
        if not ages:
            del self._ages[subnet]


class Lately:
    """How often something happened on each subnet within `window`: memory that no event records, and that may be lost.

    Bounded: of more than 65,536 within it, the next are refused wherever they are.
    """

    def __init__(self, window: timedelta) -> None:
        self._window = window
        self._times: deque[tuple[datetime, str]] = deque()
        self._counts: Counter[str] = Counter()

    def room(self, subnet: str, limit: int, now: datetime) -> bool:
        """Whether it may happen once more on a subnet where it may `limit` times. Amortized O(1)."""
        while self._times and self._times[0][0] <= now - self._window:
            _, gone = self._times.popleft()
            self._counts[gone] -= 1
            if not self._counts[gone]:
                del self._counts[gone]
        return self._counts[subnet] < limit and len(self._times) < _MOST

    def note(self, subnet: str, now: datetime) -> None:
        """It happened."""
        self._times.append((now, subnet))
        self._counts[subnet] += 1
