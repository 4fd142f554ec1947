"""Serial numbers of zones (RFC 1982): a circle of 2**32, on which "later" means less than half way round.

Zero is never used: some servers take it for "no zone yet".
"""

from typing import Final

FIRST: Final = 1
LAST: Final = 2**32 - 1
_CIRCLE: Final = 2**32
_HALF: Final = 2**31
_LEAP: Final = 2**28


def later(a: int, b: int) -> bool:
    """Whether serial `a` is later than serial `b`.

    False both ways if they are the same, and also if they are exactly opposite, which the RFC leaves undefined.

    Source: RFC 1982 section 3.2.
    """
    return 0 < (a - b) % _CIRCLE < _HALF


def step(serial: int) -> int:
    """The serial of a zone's next change; never 0."""
    return _never_zero((serial + 1) % _CIRCLE)


def steps(first: int, last: int) -> int:
    """How many steps lead from a serial to a later one; where they pass zero, which is never used, one more."""
    return (last - first) % _CIRCLE


def halfway(first: int, last: int) -> int:
    """The serial by way of which a zone goes from one to another that is not later: later than the first; never 0.

    The other is later than that, unless it is just before the first: then it takes one more.
    Source: RFC 1982 section 7.
    """
    return (first + (last - first) % _CIRCLE // 2) % _CIRCLE or LAST


def leap(serial: int) -> int:
    """The serial of a zone whose ledger was restored to an earlier state; never 0.

    Later than every serial that was lost, as long as fewer than 2**28 of them were. A secondary that was
    away for up to seven leaps in a row still sees the last as later than what it has.

    Args:
        serial: The highest one known: the restored one, or one that a witness remembers.
    """
    return _never_zero((serial + _LEAP) % _CIRCLE)


def _never_zero(serial: int) -> int:
    return serial or FIRST
