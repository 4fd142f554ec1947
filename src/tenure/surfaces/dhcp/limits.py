"""How often somebody may ask: token buckets in bounded memory."""

from collections import OrderedDict
from collections.abc import Hashable


class Buckets:
    """One token bucket a key; the key asked about longest ago is forgotten when there are too many.

    A flood of made-up keys gains a bucket each, so it takes a second limit with few keys (the link) to bound it.

    Args:
        rate: Tokens a second.
        burst: Tokens that a bucket holds at most, and at first; at least 1.
        capacity: Keys remembered.
    """

    def __init__(self, rate: float, burst: float, capacity: int) -> None:
        self._rate = rate
        self._burst = burst
        self._capacity = capacity
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def allow(self, key: Hashable, now: float) -> bool:
        """Take a token of `key` if there is one; `now` in seconds, of any clock; a step back adds nothing."""
        buckets = self._buckets
        tokens, since = buckets.get(key) or (self._burst, now)
        tokens = min(self._burst, tokens + max(0.0, now - since) * self._rate)
        allowed = tokens >= 1
        buckets[key] = (tokens - 1 if allowed else tokens, now)
        buckets.move_to_end(key)
        if len(buckets) > self._capacity:
            buckets.popitem(last=False)
        return allowed
