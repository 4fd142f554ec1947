"""Addresses offered in the last minute: memory that no event records, and that may be lost."""

from datetime import datetime, timedelta

_OFFERED = timedelta(minutes=1)
_MOST = 65536


class Offers:
    """Addresses offered in the last minute, to whom; bounded, in memory only."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], tuple[str, datetime]] = {}

    def holder(self, subnet: str, number: int, now: datetime) -> str | None:
        """The MAC to which an address was offered lately."""
        found = self._open.get((subnet, number))
        return found[0] if found is not None and found[1] > now else None

    def note(self, subnet: str, number: int, mac: str, now: datetime) -> None:
        """Remember an offer; the oldest are forgotten where there are too many."""
        self._open.pop((subnet, number), None)
        self._open[subnet, number] = (mac, now + _OFFERED)
        while len(self._open) > _MOST:
            del self._open[next(iter(self._open))]

    def forget(self, subnet: str, number: int) -> None:
        """The offer was taken."""
        self._open.pop((subnet, number), None)
