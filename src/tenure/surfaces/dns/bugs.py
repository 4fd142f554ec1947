"""Bugs of ours that cost one query, one connection, one zone or one secondary, and nothing else."""

import asyncio
import logging
from collections import Counter
from typing import Any

log = logging.getLogger(__name__)


class Bugs:
    """Counts every bug that was met, and logs each once: whoever meets it may do so a thousand times a second.

    Args:
        counters: `bugs`.
    """

    def __init__(self, counters: Counter[str]) -> None:
        self._counters = counters
        self._logged: set[tuple[str, str, int]] = set()

    def note(self, error: BaseException, what: str) -> None:
        """Take note of a bug. Which one it is, the line says where it was raised.

        Args:
            what: What it was met in, and ended.
        """
        self._counters["bugs"] += 1
        place = (what, *_raised(error))
        if place not in self._logged:
            self._logged.add(place)
            log.error("a bug ended %s; it is logged this once, and counted", what, exc_info=error)

    def handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """For an event loop: what a callback raises is a bug; what the system lacks is not."""
        error = context.get("exception")
        if isinstance(error, Exception) and not isinstance(error, OSError):
            self.note(error, "what an event called for")
        else:
            loop.default_exception_handler(context)


def _raised(error: BaseException) -> tuple[str, int]:
    """The file and the line."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return ("", 0) if trace is None else (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
