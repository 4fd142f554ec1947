"""Sockets that `tenure serve` listens on: bound before anything is written, and kept while processes come and go."""

import errno
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final

from tenure.errors import InUse, InvalidValue, NotFound, NotPermitted, TenureError
from tenure.settings import Endpoint

_BACKLOG: Final = 1024
_LONGEST_PATH: Final = 107  # sun_path with its NUL
_TRIES: Final = 20


def tcp(endpoint: Endpoint, purpose: str) -> socket.socket:
    """A listening TCP socket.

    Raises:
        InUse, NotFound, NotPermitted: It cannot be had; one sentence says why.
    """
    sock = _bound(endpoint, socket.SOCK_STREAM, purpose)
    sock.listen(_BACKLOG)
    return sock


def udp_and_tcp(endpoint: Endpoint, purpose: str) -> tuple[socket.socket, socket.socket]:
    """A UDP socket, and a listening TCP one on the same port; errors are those of `tcp`."""
    for left in reversed(range(_TRIES)):
        udp = _bound(endpoint, socket.SOCK_DGRAM, purpose)
        try:
            return udp, tcp(Endpoint(endpoint.address, port_of(udp)), purpose)
        except InUse:
            udp.close()
            if endpoint.port or not left:  # a port that was free for UDP may be taken for TCP
                raise
    raise AssertionError("unreachable")


def unix(path: Path, mode: int, purpose: str) -> socket.socket:
    """A listening Unix socket at `path`; one that nobody listens on any more is replaced.

    Raises:
        InUse: Somebody listens there, or it is no socket.
        InvalidValue: The path is too long for a socket.
    """
    if len(os.fsencode(path)) > _LONGEST_PATH:
        raise InvalidValue(
            f"The path of the {purpose}, {path}, is longer than the {_LONGEST_PATH} bytes of a socket's."
        )
    if path.is_socket() and not _listened(path):
        path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        path.chmod(mode)
    except OSError as error:
        sock.close()
        raise _refusal(error, str(path), purpose) from None
    sock.listen(_BACKLOG)
    return sock


def port_of(sock: socket.socket) -> int:
    """The port that a socket is bound to."""
    port: int = sock.getsockname()[1]
    return port


def remove(path: Path) -> None:
    """Remove a Unix socket's file, if it is there."""
    with suppress(FileNotFoundError):
        path.unlink()


def _bound(endpoint: Endpoint, kind: socket.SocketKind, purpose: str) -> socket.socket:
    family = socket.AF_INET6 if ":" in endpoint.address else socket.AF_INET
    sock = socket.socket(family, kind)
    try:
        if kind is socket.SOCK_STREAM:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind((endpoint.address, endpoint.port))
    except OSError as error:
        sock.close()
        raise _refusal(error, str(endpoint), purpose) from None
    return sock


def _listened(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
        return True


def _refusal(error: OSError, where: str, purpose: str) -> TenureError:
    if error.errno == errno.EADDRINUSE:
        return InUse(f"The {purpose} cannot use {where}: it is in use.", holders=[], count=1)
    if error.errno == errno.EADDRNOTAVAIL:
        return NotFound(
            f"The {purpose} cannot use {where}: this machine has no such address.", kind="address", name=where
        )
    return NotPermitted(f"The {purpose} cannot use {where}: {error.strerror}.")
