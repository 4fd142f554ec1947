"""Addresses offered in the last minute: memory that no event records, and that may be lost."""

from collections import OrderedDict
from datetime import datetime, timedelta

from tenure.engine.space import Space

_OFFERED = timedelta(minutes=1)
_MOST = 65536


class Offers:
    """Addresses offered in the last minute, to whom; bounded, in memory only. The subnet knows that they are.

    A client has one open offer a subnet, however often it asks.
    """

    def __init__(self, subnets: dict[str, Space]) -> None:
        self._subnets = subnets
        self._open: OrderedDict[tuple[str, int], tuple[str, datetime]] = OrderedDict()
        self._of: dict[tuple[str, str], int] = {}

    def holder(self, subnet: str, number: int, now: datetime) -> str | None:
        """The MAC to which an address was offered lately."""
        found = self._open.get((subnet, number))
        return found[0] if found is not None and found[1] > now else None

    def of(self, subnet: str, mac: str) -> int | None:
        """The address that was offered to a MAC lately."""
        return self._of.get((subnet, mac))

    def note(self, subnet: str, number: int, mac: str, now: datetime) -> None:
        """Remember an offer, instead of the client's last one; the oldest are forgotten where there are too many."""
        before = self._of.get((subnet, mac))
        if before is not None:
            self.forget(subnet, before)
        self.forget(subnet, number)
        self._open[subnet, number] = (mac, now + _OFFERED)
        self._of[subnet, mac] = number
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
        if subnet in self._subnets:
            self._subnets[subnet].offer(number, open_=False)
