"""Many DHCP clients in one process: each takes a lease, and keeps it by doing nothing more.

Run as `dhcp_crowd.py INTERFACE NUMBER`. Its clients are 02:00:00:00:00:00 and on. Each lease is one line, `MAC
address`; the last line is `done` with how many there are. Its packets are made by hand, by RFC 2131 section 2.
"""

import selectors
import socket
import struct
import sys
import time
from ipaddress import IPv4Address

HEADER = struct.Struct("!BBBBIHHIIII16s64s128s4s")
MAGIC = b"\x63\x82\x53\x63"
BROADCAST = 0x8000
DISCOVER, OFFER, REQUEST, ACK = 1, 2, 3, 5
TYPE, ASKED, SERVER = 53, 50, 54
AT_ONCE = 32
"""Clients that wait for an answer at a time: a rack that boots."""
PATIENCE = 2.0
TRIES = 5


def message(number: int, kind: int, options: dict[int, bytes]) -> bytes:
    """A message of client `number`; its number is also its transaction's."""
    mac = b"\x02\0" + number.to_bytes(4)
    fixed = (1, 1, 6, 0, number + 1, 0, BROADCAST, 0, 0, 0, 0, mac, b"", b"", MAGIC)
    given = {TYPE: bytes((kind,)), **options}
    return HEADER.pack(*fixed) + b"".join(bytes((code, len(data))) + data for code, data in given.items()) + b"\xff"


def heard(datagram: bytes) -> tuple[int, int, dict[int, bytes]]:
    """The client's number, the address and the options of an answer."""
    fixed = HEADER.unpack_from(datagram)
    options, at = {}, HEADER.size
    while at < len(datagram) and datagram[at] != 0xFF:
        if datagram[at] == 0:
            at += 1
            continue
        code, length = datagram[at], datagram[at + 1]
        options[code] = datagram[at + 2 : at + 2 + length]
        at += 2 + length
    return fixed[4] - 1, fixed[8], options


class Crowd:
    """All clients of one interface."""

    def __init__(self, interface: str, number: int) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        self._socket.bind(("0.0.0.0", 68))
        self._socket.setblocking(False)
        self._todo = list(range(number))[::-1]
        self._waiting: dict[int, tuple[float, int, int, dict[int, bytes]]] = {}
        self.leases: dict[int, int] = {}

    def run(self) -> None:
        """Until each has a lease or has given up."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._socket, selectors.EVENT_READ)
            while self._todo or self._waiting:
                while self._todo and len(self._waiting) < AT_ONCE:
                    self._say(self._todo.pop(), TRIES, DISCOVER, {})
                if ready.select(0.1):
                    self._hear()
                self._insist()

    def _say(self, number: int, tries: int, kind: int, options: dict[int, bytes]) -> None:
        self._waiting[number] = (time.monotonic() + PATIENCE, tries - 1, kind, options)
        self._socket.sendto(message(number, kind, options), ("255.255.255.255", 67))

    def _hear(self) -> None:
        number, address, options = heard(self._socket.recv(4096))
        if number not in self._waiting:
            return
        asked, kind = self._waiting[number][2], options[TYPE][0]
        if (asked, kind) == (DISCOVER, OFFER):
            self._say(number, TRIES, REQUEST, {ASKED: address.to_bytes(4), SERVER: options[SERVER]})
        elif asked == REQUEST:
            del self._waiting[number]
            if kind == ACK:
                self.leases[number] = address
                print(f"02:00:{number.to_bytes(4).hex(':')} {IPv4Address(address)}", flush=True)
            else:
                self._todo.append(number)

    def _insist(self) -> None:
        now = time.monotonic()
        for number, (until, tries, kind, options) in list(self._waiting.items()):
            if until <= now and tries:
                self._say(number, tries, kind, options)
            elif until <= now:
                del self._waiting[number]


def main() -> None:
    """Take the leases, then say how many there are."""
    crowd = Crowd(sys.argv[1], int(sys.argv[2]))
    crowd.run()
    print(f"done {len(crowd.leases)}", flush=True)


if __name__ == "__main__":
    main()
