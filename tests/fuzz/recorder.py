"""The transport under a protocol: keeps what is written, and says when more may come."""

import asyncio
from typing import Any


class Recorder(asyncio.Transport):
    """A connection without a socket.

    Attributes:
        written: All that the protocol wrote.
    """

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self._reading = asyncio.Event()
        self._reading.set()
        self._closing = False

    async def readable(self) -> None:
        """Wait until the protocol takes more, or has ended the connection."""
        await self._reading.wait()

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def pause_reading(self) -> None:
        self._reading.clear()

    def resume_reading(self) -> None:
        self._reading.set()

    def is_reading(self) -> bool:
        return self._reading.is_set()

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._closing = True
        self._reading.set()

    def abort(self) -> None:
        self.close()
