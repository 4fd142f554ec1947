"""A TCP proxy before a database, that cuts the line at the worst moment."""

import selectors
import socket
import threading
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

COMMIT = b"\x0bCOMMIT\0"
"""PostgreSQL's statement as it is on the line: the word alone is in `BEGIN … READ COMMITTED` too."""


class Cut(Enum):
    """When to cut the line on which the words are seen."""

    BEFORE = "the server never hears the words"
    AFTER = "the server hears and answers them, and the answer is lost"


class Proxy:
    """Forwards connections on a loopback port of its own; a context manager.

    Args:
        url: Where the real server listens, as a database URL with host and port.
    """

    def __init__(self, url: str) -> None:
        self._real = url
        self._target = (urlsplit(url).hostname, urlsplit(url).port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lines: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._order: tuple[bytes, Cut] | None = None
        self._refusing = False
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The same database, through the proxy."""
        port = self._listener.getsockname()[1]
        return self._real.replace(f":{self._target[1]}/", f":{port}/")

    def cut_at(self, words: bytes, when: Cut) -> None:
        """Cut, once, the next line on which a client says `words` (such as `COMMIT`), wherever they stand."""
        with self._lock:
            self._order = (words, when)

    def refuse(self, refusing: bool = True) -> None:
        """Cut every line, and close new ones at once until told otherwise."""
        with self._lock:
            self._refusing = refusing
            lines = list(self._lines) if refusing else []
        for line in lines:
            _hang_up(line)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                client.close()
            else:
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server:
            line = (client, server)
            with self._lock:
                self._lines.append(line)
            try:
                self._forward(client, server)
            finally:
                with self._lock:
                    self._lines.remove(line)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ, lambda: self._to_server(client, server))
            ready.register(server, selectors.EVENT_READ, lambda: _pass_on(server, client))
            going = True
            while going:
                for key, _ in ready.select():
                    step: Callable[[], bool] = key.data
                    going = going and step()

    def _to_server(self, client: socket.socket, server: socket.socket) -> bool:
        data = _heard(client)
        when = self._due(data)
        if when is Cut.BEFORE:
            return False
        going = _said(server, data)
        if when is Cut.AFTER:
            _heard(server)
            return False
        return going

    def _due(self, data: bytes) -> Cut | None:
        with self._lock:
            if self._order is None or self._order[0] not in data:
                return None
            when = self._order[1]
            self._order = None
            self.cuts += 1
            return when

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.refuse()
        _hang_up((self._listener,))
        self._listener.close()


def _pass_on(source: socket.socket, target: socket.socket) -> bool:
    return _said(target, _heard(source))


def _heard(source: socket.socket) -> bytes:
    """What comes next; nothing if the line is dead."""
    try:
        return source.recv(65536)
    except OSError:
        return b""


def _said(target: socket.socket, data: bytes) -> bool:
    """Send; false at the end of the line."""
    try:
        target.sendall(data)
    except OSError:
        return False
    return bool(data)


def _hang_up(line: tuple[socket.socket, ...]) -> None:
    for end in line:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            continue
