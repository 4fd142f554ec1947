"""The transport of the standard library: one connection, kept open; over TCP, TLS or a Unix socket."""

import http.client
import socket
from contextlib import suppress
from urllib.parse import SplitResult, unquote, urlsplit

from tenure.client.problems import AnswerLost, Unreachable
from tenure.client.wire import Request, Response
from tenure.errors import InvalidValue

_CONNECT_SECONDS = 5.0


class PlainTransport:
    """One kept-open connection; for one thread at a time.

    Args:
        url: `http://127.0.0.1:8080`, `https://…`, or `unix:/run/tenure.sock`.

    Raises:
        InvalidValue: `url` is none of these.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        self._parts = _parts_of(url)
        self._base = "" if self._parts.scheme == "unix" else self._parts.path.rstrip("/")
        self._authorization = {} if token is None else {"authorization": f"Bearer {token}"}
        self._connection: http.client.HTTPConnection | None = None

    def send(self, request: Request) -> Response:
        """Send it and wait for the answer; see `Transport.send`."""
        connection = self._connected(request.seconds)
        try:
            headers = {**self._authorization, **request.headers}
            connection.request(request.method, self._base + request.path, request.body, headers)
            answer = connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise AnswerLost(f"The connection to {self._url} ended before it answered.", url=self._url) from error
        if answer.will_close:
            self.close()
        return Response(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self, seconds: float) -> http.client.HTTPConnection:
        if self._connection is None:
            self._connection = self._connect()
        sock = self._connection.sock
        assert isinstance(sock, socket.socket)
        sock.settimeout(seconds)
        return self._connection

    def _connect(self) -> http.client.HTTPConnection:
        connection = _connection_to(self._parts)
        try:
            connection.connect()
        except OSError as error:
            with suppress(OSError):
                connection.close()
            reason = error.strerror or str(error)
            raise Unreachable(f"Nobody answers at {self._url}: {reason}.", url=self._url) from error
        return connection


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_CONNECT_SECONDS)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connection_to(parts: SplitResult) -> http.client.HTTPConnection:
    if parts.scheme == "unix":
        return _UnixConnection(unquote(parts.path))
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(str(parts.hostname), parts.port, timeout=_CONNECT_SECONDS)


def _parts_of(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        named = bool(parts.path if parts.scheme == "unix" else parts.hostname and parts.port != 0)
    except ValueError:
        named = False
    if not named or parts.scheme not in ("http", "https", "unix"):
        raise InvalidValue(f"{url!r} is not a URL like http://127.0.0.1:8080 or unix:/run/tenure.sock.", setting="url")
    return parts
