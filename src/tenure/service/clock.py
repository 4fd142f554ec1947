"""The clocks of a process, and whether the ledger's can be trusted."""

from datetime import datetime
from typing import Final, Protocol


class Clock(Protocol):
    """What a process knows of time; tests bring their own."""

    def now(self) -> datetime:
        """The node's clock, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only count up."""
        ...

    def pause(self, seconds: float) -> None:
        """Let time pass."""
        ...


STEP: Final = 60.0
"""Seconds of a step that suspends what time alone would do."""
CALM: Final = 600.0
"""Seconds without a further step after which the clock is trusted again by itself."""
_DRIFT: Final = 0.001
"""Seconds a second by which the two clocks may part without anybody noticing: more than any slewing."""


class Steadiness:
    """Compares the time of each turn with a monotonic clock.

    A step forwards shows at once. A step backwards shows after a minute, because the ledger's time never
    goes back but stands still; until then nothing ends too early.
    """

    def __init__(self) -> None:
        self._offset: float | None = None
        self._seen = 0.0
        self._stepped_at: float | None = None
        self._step = 0.0

    @property
    def trusted(self) -> bool:
        """Whether expiry and everything else that time alone does may go on."""
        return self._stepped_at is None

    @property
    def reason(self) -> str:
        """One sentence for whoever asks why it is not trusted."""
        until = "it was calm for ten minutes, or Tenure is restarted"
        return f"the clock stepped by {self._step:+.0f} s: expiry is suspended until {until}"

    def see(self, now: datetime, counted: float) -> None:
        """Take in one reading: the turn's time, and seconds that never step."""
        offset = now.timestamp() - counted
        if self._offset is None:
            self._offset, self._seen = offset, counted
            return
        drift = (counted - self._seen) * _DRIFT
        self._seen = counted
        parted = offset - self._offset
        if abs(parted) > STEP:
            self._offset, self._step, self._stepped_at = offset, parted, counted
            return
        self._offset += max(-drift, min(drift, parted))
        if self._stepped_at is not None and counted - self._stepped_at >= CALM:
            self._stepped_at = None
