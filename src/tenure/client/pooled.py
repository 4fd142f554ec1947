"""The transport over httpx: many connections, for many threads."""

import httpx

from tenure.client.problems import AnswerLost, Unreachable
from tenure.client.wire import Request, Response

_CONNECT_SECONDS = 5.0
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class PooledTransport:
    """Connections as they are needed, up to httpx's limits; any thread may send.

    Args:
        url: `http://127.0.0.1:8080`, `https://…`, or `unix:/run/tenure.sock`.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._url = url
        socket_path = url.removeprefix("unix:") if url.startswith("unix:") else None
        self._client = httpx.Client(
            base_url="http://localhost" if socket_path else url,
            headers={} if token is None else {"authorization": f"Bearer {token}"},
            transport=httpx.HTTPTransport(uds=socket_path) if socket_path else None,
            trust_env=False,
        )

    def send(self, request: Request) -> Response:
        """Send it and wait for the answer; see `Transport.send`."""
        timeout = httpx.Timeout(request.seconds, connect=_CONNECT_SECONDS)
        try:
            answer = self._client.request(
                request.method, request.path, content=request.body, headers=dict(request.headers), timeout=timeout
            )
        except _NEVER_SENT as error:
            raise Unreachable(f"Nobody answers at {self._url}: {error}.", url=self._url) from error
        except httpx.TransportError as error:
            raise AnswerLost(f"The connection to {self._url} ended before it answered.", url=self._url) from error
        return Response(answer.status_code, dict(answer.headers), answer.content)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
