"""A request and a response as values, and what carries one to the other."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol


class Request(NamedTuple):
    """What to send.

    Attributes:
        path: Escaped, with its query.
        headers: Names in lower case, without those of the transport (host, length) and the token's.
        seconds: How long to wait for the answer.
    """

    method: str
    path: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    seconds: float = 30.0

    @property
    def changes(self) -> bool:
        """Whether it may change anything."""
        return self.method != "GET"


class Response(NamedTuple):
    """What came back; `headers` have their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    """Carries one request to the service, and its answer back."""

    def send(self, request: Request) -> Response:
        """Send it and wait for the answer.

        Raises:
            Unreachable: Nothing was sent.
            AnswerLost: It was sent, perhaps; there is no answer.
        """
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...
