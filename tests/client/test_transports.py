"""Both transports over real sockets, TCP and Unix, against a server of the standard library."""

import http.server
import socket
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.client import AnswerLost, Client, Request, Transport, Unreachable, connect
from tenure.client.plain import PlainTransport
from tenure.client.pooled import PooledTransport
from tenure.errors import InvalidValue
from tests.lab.processes import free_port

TRANSPORTS = [PlainTransport, PooledTransport]


class Echo(http.server.BaseHTTPRequestHandler):
    """Says what it was asked; on /hang-up it says nothing."""

    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        if self.path == "/hang-up":
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        said = f"{self.command} {self.path} {self.headers.get('authorization')} {body.decode()}".encode()
        self.send_response(418 if self.path == "/teapot" else 200)
        self.send_header("Content-Length", str(len(said)))
        self.send_header("X-Thing", "One")
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = _answer  # noqa: N815

    def address_string(self) -> str:
        """Nobody, of a Unix socket."""
        return "-"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""


class UnixServer(socketserver.ThreadingUnixStreamServer):
    """The same on a Unix socket."""

    daemon_threads = True


@pytest.fixture(params=["tcp", "unix"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where the echo is."""
    server: socketserver.BaseServer
    if request.param == "tcp":
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        where = f"http://127.0.0.1:{server.server_address[1]}"
    else:
        server = UnixServer(str(tmp_path / "echo.sock"), Echo)
        where = f"unix:{tmp_path / 'echo.sock'}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield where
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_what_is_sent_arrives_and_what_is_answered_comes_back(kind: Any, url: str) -> None:
    transport: Transport = kind(url, "secret")
    for _ in range(3):
        answer = transport.send(Request("POST", "/a?b=c", {"content-type": "application/json"}, b"{}"))
        assert answer.status == 200
        assert answer.body == b"POST /a?b=c Bearer secret {}"
        assert answer.headers["x-thing"] == "One"
    assert transport.send(Request("GET", "/teapot")).status == 418
    transport.close()


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_a_connection_that_ends_without_an_answer_is_a_lost_answer(kind: Any, url: str) -> None:
    transport: Transport = kind(url, None)
    with pytest.raises(AnswerLost):
        transport.send(Request("POST", "/hang-up"))
    assert transport.send(Request("GET", "/after")).body == b"GET /after None "
    transport.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # httpcore leaves a Unix socket open
@pytest.mark.parametrize("kind", TRANSPORTS)
def test_nobody_there_is_unreachable(kind: Any, tmp_path: Path) -> None:
    for where in (f"http://127.0.0.1:{free_port()}", f"unix:{tmp_path / 'nobody.sock'}"):
        transport: Transport = kind(where, None)
        with pytest.raises(Unreachable):
            transport.send(Request("GET", "/"))
        transport.close()


@pytest.mark.parametrize("kind", TRANSPORTS)
def test_an_answer_that_takes_too_long_is_lost(kind: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        transport: Transport = kind(f"http://127.0.0.1:{silent.getsockname()[1]}", None)
        with pytest.raises(AnswerLost):
            transport.send(Request("GET", "/", seconds=0.05))
        transport.close()


@pytest.mark.parametrize("url", ["", "tenure", "ftp://x", "http://", "http://x:port", "unix:", "http://x:99999"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        connect(url)
    assert refused.value.facts["setting"] == "url"


def test_both_are_transports_of_the_client(url: str) -> None:
    for name in ("plain", "pooled"):
        with connect(url, "secret", transport=name) as client:
            assert isinstance(client, Client)
