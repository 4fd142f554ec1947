"""Logs: lines for people on a terminal, JSON for programs anywhere else."""

import logging
import sys

import structlog
from structlog.typing import Processor

from tenure.settings import LogLevel


def configure(level: LogLevel, role: str) -> None:
    """Send everything that is logged in this process to standard error, with the process's role on it."""

    def with_role(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event["process"] = role
        return event

    terminal = sys.stderr.isatty()
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        with_role,
    ]
    ending: list[Processor] = (
        [structlog.dev.ConsoleRenderer()]
        if terminal
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in ("alembic", "asyncio", "uvicorn", "uvicorn.error"):
        logging.getLogger(name).setLevel("WARNING")
