"""The sockets of one interface, and what the kernel says about the machine's addresses (Linux)."""

import array
import errno
import fcntl
import socket
import struct
from collections.abc import Iterator

from tenure.errors import InUse, NotFound, NotPermitted, TenureError
from tenure.surfaces.dhcp.frames import frame
from tenure.surfaces.dhcp.link import Arrival
from tenure.surfaces.dhcp.v4_desk import Outgoing
from tenure.surfaces.dhcp.v4_session import SERVER_PORT
from tenure.surfaces.dhcp.v4_wire import LONGEST

_SIOCGIFCONF, _SIOCGIFHWADDR = 0x8912, 0x8927
_IFREQ = struct.Struct("16s2xH4s16x")  # name, family and port skipped, address
_IP_PKTINFO = 8
_SO_RCVBUFFORCE = 33
_PKTINFO = struct.Struct("@i4s4s")
_PKTINFO_SPACE = socket.CMSG_SPACE(_PKTINFO.size)
_RECEIVE_BUFFER = 4 << 20

Addresses = dict[str, list[int]]


class Interface:
    """Receives and sends DHCP on one interface.

    Raises:
        NotFound: There is no such interface.
        NotPermitted: This process may not bind port 67 or open a packet socket.
        InUse: Another server has port 67 on this interface.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.addresses: Addresses = {}
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            self._packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
            self._bind()
        except OSError as error:
            self.close()
            raise _refusal(name, error) from error
        self.refresh()

    def _bind(self) -> None:
        name, udp = self.name, self._udp
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode() + b"\0")
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        _widen(udp)
        udp.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)
        udp.bind(("0.0.0.0", SERVER_PORT))
        self._packet.bind((name, 0))  # protocol 0: sends, and never receives
        self._hardware = _hardware_address(udp, name)

    def fileno(self) -> int:
        """For `loop.add_reader`."""
        return self._udp.fileno()

    def close(self) -> None:
        """Close the sockets; may be called again."""
        self._udp.close()
        if hasattr(self, "_packet"):
            self._packet.close()

    def refresh(self) -> None:
        """Read the machine's addresses anew."""
        self.addresses = _addresses(self._udp)
        self._ours = frozenset(address for found in self.addresses.values() for address in found)
        self._address = next(iter(self.addresses.get(self.name, ())), 0)

    def receive(self, most: int) -> Iterator[tuple[bytes, Arrival]]:
        """At most `most` datagrams that are here now; one that is longer than any message is cut, and so refused."""
        receive = self._udp.recvmsg
        for _ in range(most):
            try:
                datagram, ancillary, _flags, source = receive(LONGEST + 1, _PKTINFO_SPACE)
            except BlockingIOError:
                return
            except OSError:  # an ICMP error of an earlier answer; it says nothing about what waits
                continue
            yield datagram, self._arrival(ancillary, source[1])

    def _arrival(self, ancillary: list[tuple[int, int, bytes]], source_port: int) -> Arrival:
        destination = _destination(ancillary)
        direct = destination in self._ours
        return Arrival(
            interface=self.name,
            address=self._address,
            server=destination if direct else self._address,
            ours=self._ours,
            broadcast=not direct,
            source_port=source_port,
        )

    def send(self, outgoing: Outgoing) -> bool:
        """Send one answer; false if the kernel would not take it (no route, a full queue): the client asks again."""
        destination = outgoing.destination
        try:
            if destination.hardware:
                self._packet.send(self._frame(outgoing))
            else:
                source = _PKTINFO.pack(0, outgoing.source.to_bytes(4), bytes(4))
                to = (socket.inet_ntoa(destination.address.to_bytes(4)), destination.port)
                self._udp.sendmsg([outgoing.datagram], [(socket.IPPROTO_IP, _IP_PKTINFO, source)], 0, to)
        except OSError:
            return False
        return True

    def _frame(self, outgoing: Outgoing) -> bytes:
        destination = outgoing.destination
        return frame(
            outgoing.datagram,
            hardware=(self._hardware, destination.hardware),
            addresses=(outgoing.source, destination.address),
            ports=(SERVER_PORT, destination.port),
        )


def _widen(udp: socket.socket) -> None:
    """Room for a burst of some thousands, beyond the machine's limit where that is permitted."""
    try:
        udp.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _RECEIVE_BUFFER)
    except PermissionError:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)


def _destination(ancillary: list[tuple[int, int, bytes]]) -> int:
    """The address in the datagram's own header; 0 if the kernel did not say."""
    for level, kind, octets in ancillary:
        if level == socket.IPPROTO_IP and kind == _IP_PKTINFO:
            return int.from_bytes(_PKTINFO.unpack_from(octets)[2])
    return 0


def _addresses(sock: socket.socket) -> Addresses:
    """Every IPv4 address of the machine by interface, primary ones first (SIOCGIFCONF)."""
    size = 64 * _IFREQ.size
    while True:
        buffer = array.array("B", bytes(size))
        asked = struct.pack("iL", size, buffer.buffer_info()[0])
        used: int = struct.unpack("iL", fcntl.ioctl(sock, _SIOCGIFCONF, asked))[0]
        if used < size:
            break
        size *= 2  # a full buffer may have been cut
    found: Addresses = {}
    for name, _, octets in _IFREQ.iter_unpack(buffer.tobytes()[:used]):
        label = name.split(b"\0", 1)[0].split(b":", 1)[0].decode()
        found.setdefault(label, []).append(int.from_bytes(octets))
    return found


def _hardware_address(sock: socket.socket, name: str) -> bytes:
    answer = fcntl.ioctl(sock, _SIOCGIFHWADDR, struct.pack("256s", name.encode()[:15]))
    return answer[18:24]


def _refusal(name: str, error: OSError) -> TenureError:
    if error.errno == errno.ENODEV:
        return NotFound(f"There is no network interface {name} here.", kind="interface", name=name)
    if error.errno in (errno.EPERM, errno.EACCES):
        return NotPermitted(f"DHCP on {name} needs the right to use port 67 and packet sockets (CAP_NET_RAW).")
    if error.errno == errno.EADDRINUSE:
        return InUse(f"Another DHCP server has UDP port {SERVER_PORT} on {name}.", holders=[], count=1)
    return NotPermitted(f"DHCP on {name} cannot start: {error.strerror}.")
