"""Moments as callers say them: in UTC, and of a time that every part of the system can reckon with."""

from datetime import UTC, datetime
from typing import Final

from tenure.errors import InvalidValue

FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LAST: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""What is reckoned from a moment (a day before, thirty days after) must still be one."""


def moment(time: datetime, pointer: str = "") -> datetime:
    """A time in UTC.

    Args:
        time: With its zone.
        pointer: JSON pointer of the field, for the error.

    Raises:
        InvalidValue: It is before the year 1970 or after the year 8999, or has no zone.
    """
    if time.tzinfo is None or not FIRST <= time < LAST:
        raise InvalidValue("a time with its zone, of the years 1970 to 8999, is needed", pointer=pointer)
    return time.astimezone(UTC)
