"""A server in one namespace and a hand-driven client in another, joined by a veth pair, in this process."""

import asyncio
import ctypes
import os
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from tenure.surfaces.dhcp.v4_wire import Message, decode, encode
from tests.lab.namespaces import Namespace

T = TypeVar("T")
PATIENCE = 10
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def inside(namespace: Namespace, make: Callable[[], T]) -> T:
    """Call `make` in a namespace; sockets that it opens stay there."""
    result: Future[T] = Future()

    def run() -> None:
        fd = os.open(f"/run/netns/{namespace.name}", os.O_RDONLY)
        try:
            if _libc.setns(fd, _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
            result.set_result(make())
        except BaseException as error:
            result.set_exception(error)
        finally:
            os.close(fd)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return result.result()


class Ends:
    """What a client sends and sees on its end of the link, `eth0`: whole frames."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace
        self._frames = inside(namespace, self._open_frames)

    @staticmethod
    def _open_frames() -> socket.socket:
        made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(0x0800))
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        made.bind(("eth0", 0x0800))
        return made

    def broadcast(self, message: Message) -> None:
        """Send as a client without an address does."""
        self.broadcast_octets(encode(message, 548))

    def broadcast_octets(self, octets: bytes) -> None:
        """Send any octets from port 68 to port 67, to everybody."""
        packet = Ether(dst="ff:ff:ff:ff:ff:ff", src="52:54:00:01:02:03") / IP(src="0.0.0.0", dst="255.255.255.255")
        self._frames.send(bytes(packet / UDP(sport=68, dport=67) / octets))

    def datagrams(self, address: str, port: int) -> socket.socket:
        """A UDP socket on this end."""

        def make() -> socket.socket:
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            made.bind((address, port))
            return made

        return inside(self._namespace, make)

    async def answer(self) -> tuple[Message, Ether]:
        """The next DHCP answer that arrives, and the frame that brought it."""
        loop = asyncio.get_running_loop()
        while True:
            octets = await asyncio.wait_for(loop.sock_recv(self._frames, 65535), PATIENCE)
            frame = Ether(octets)
            if UDP in frame and frame[UDP].sport == 67:
                return decode(bytes(frame[UDP].payload)), frame

    def close(self) -> None:
        """Close the frame socket."""
        self._frames.close()
