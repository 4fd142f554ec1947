"""The REST API as Python calls, raising the errors of the service.

A core without I/O (`wire`, `requests`, `attempts`) and two transports: `plain` with the standard library
alone, also over a Unix socket, and `pooled` over httpx. `connect` is where to start:

    with connect("http://127.0.0.1:8080", token) as tenure:
        claim = tenure.claims.create(network="prod", host="compute-7")
"""

from tenure.client.client import Client, connect
from tenure.client.problems import AnswerLost, Unreachable
from tenure.client.shapes import Claim, HeldAddress
from tenure.client.wire import Request, Response, Transport

__all__ = ["AnswerLost", "Claim", "Client", "HeldAddress", "Request", "Response", "Transport", "Unreachable", "connect"]
