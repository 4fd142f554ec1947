"""How many answers a prefix may draw, so that nobody's forged queries flood somebody else."""

from collections import OrderedDict
from functools import lru_cache
from ipaddress import ip_address


class RateLimit:
    """A token bucket for each prefix: one number each, the time at which the bucket would be full again.

    Args:
        rate: Answers a second that one prefix may draw in the long run.
        burst: Answers that it may draw at once.
        prefixes: How many are remembered; the one heard longest ago is forgotten first, and starts afresh.
    """

    def __init__(self, rate: float = 500, burst: int = 1000, prefixes: int = 65536) -> None:
        self._interval = 1 / rate
        self._slack = burst / rate
        self._prefixes = prefixes
        self._full: OrderedDict[str, float] = OrderedDict()

    def permit(self, prefix: str, now: float) -> bool:
        """Tell whether one more answer may go to `prefix` at `now` (seconds on any clock that never goes back)."""
        full = max(self._full.pop(prefix, now), now) + self._interval
        permitted = full <= now + self._slack
        self._full[prefix] = full if permitted else full - self._interval
        if len(self._full) > self._prefixes:
            self._full.popitem(last=False)
        return permitted


@lru_cache(4096)
def prefix_of(peer: str) -> str | None:
    """Return the /24 or /56 of an address as a key, or None for loopback, which is never limited.

    Args:
        peer: An address as a socket gives it: IPv6 in full, its zone index allowed.

    Cost: 3 µs for an IPv6 peer that did not ask of late.
    """
    if "." in peer and ":" not in peer:
        return None if peer.startswith("127.") else peer.rpartition(".")[0]
    address = ip_address(peer.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        return prefix_of(str(mapped))
    return None if address.is_loopback else address.packed[:7].hex()
