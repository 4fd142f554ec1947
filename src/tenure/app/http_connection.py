"""One HTTP connection: uvicorn's, with an end to what a caller may keep it waiting for, or make it hold.

Uvicorn closes a connection that is idle between two requests. It would wait for ever for the rest of a request, and
take headers of any length. Bodies are bounded where they are read (`surfaces.api.bodies`).
"""

import asyncio
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD: Final = 64 * 1024
"""Bytes of the request line and the headers; and one read of the socket more, at most."""

_ANSWER: Final = (
    "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n"
    "connection: close\r\n\r\n{body}"
)
_PROBLEM: Final = (
    '{{"type":"urn:tenure:problem:malformed","title":"{title}","status":{status},"detail":"{title}.",'
    '"code":"malformed"}}'
)


class HttpConnection(HttpToolsProtocol):
    """A connection whose requests come whole in bounded time.

    Attributes:
        patience: Seconds for a head, and between two pieces of a body.
        whole: Seconds for all of a body.
    """

    patience: ClassVar[float] = 20.0
    whole: ClassVar[float] = 300.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first head."""
        super().connection_made(transport)
        self._head: int | None = 0  # its bytes so far; None in a body
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._wait(self.patience)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing."""
        self._wait(None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is a head without end."""
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > LONGEST_HEAD:
            self._refuse(431, f"Request line and headers may have at most {LONGEST_HEAD} bytes")

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._head = self._head or 0
        self._wait(self.patience)

    def on_headers_complete(self) -> None:
        """A body begins, if there is one."""
        self._head = None
        self._until = self.loop.time() + self.whole
        self._wait(self.patience)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of it."""
        self._wait(min(self.patience, self._until - self.loop.time()))
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole; uvicorn sees to what comes between this one and the next."""
        self._head = 0
        self._wait(None)
        super().on_message_complete()

    def _wait(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(max(0.0, seconds), self._expire)

    def _expire(self) -> None:
        if self._head is None:
            self.transport.abort()  # whoever reads the body is told that the caller went away
        else:
            self._refuse(408, "The request did not come in time")

    def _refuse(self, status: int, title: str) -> None:
        if self.transport.is_closing():
            return
        body = _PROBLEM.format(title=title, status=status)
        answer = _ANSWER.format(status=f"{status} ", length=len(body), body=body)
        self.transport.write(answer.encode("ascii"))
        self.transport.close()


def settings_of(protocol: type[HttpConnection] = HttpConnection) -> dict[str, Any]:
    """What uvicorn is told about connections."""
    return {"http": protocol, "ws": "none", "limit_concurrency": 4096}
