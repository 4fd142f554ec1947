"""Questions from inside a network namespace, one datagram each."""

import ctypes
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

import dns.flags
import dns.message
import dns.rdatatype

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET, <sched.h>


def socket_in(namespace: str) -> socket.socket:
    """A datagram socket of a namespace: a thread that enters it makes the socket and ends."""

    def enter() -> socket.socket:
        with Path("/run/netns", namespace).open("rb") as handle:
            if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), _NEW_NETWORK):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    with ThreadPoolExecutor(1) as apart:
        return apart.submit(enter).result()


class Resolver:
    """Asks a resolver at port 53 of a namespace; a context manager.

    Args:
        address: Of the resolver.
    """

    def __init__(self, namespace: str, address: str, patience: float = 5) -> None:
        self._address = address
        self._socket = socket_in(namespace)
        self._socket.settimeout(patience)

    def asks(self, name: str, kind: str, *, at: str | None = None) -> set[str]:
        """The data of the records of that type in the answer, whatever CNAMEs lead there; empty where there are none.

        Args:
            at: Another server to ask.
        """
        query = dns.message.make_query(name, kind)
        query.flags |= dns.flags.RD
        for _ in range(3):
            self._socket.sendto(query.to_wire(), (at or self._address, 53))
            try:
                answer = dns.message.from_wire(self._socket.recv(65535))
                while answer.id != query.id:
                    answer = dns.message.from_wire(self._socket.recv(65535))
            except TimeoutError:
                continue
            wanted = dns.rdatatype.from_text(kind)
            return {data.to_text() for found in answer.answer if found.rdtype == wanted for data in found}
        return set()

    def names(self, owner: str) -> set[str]:
        """The names that a pointer leads to."""
        return self.asks(owner, "PTR")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()
