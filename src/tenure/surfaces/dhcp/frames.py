"""Ethernet frames with an IPv4 UDP datagram, for a client that has no address to be reached at yet."""

import struct

_ETHERNET = struct.Struct("!6s6sH")
_IP = struct.Struct("!BBHHHBBHII")
_UDP = struct.Struct("!HHHH")
_IPV4, _UDP_PROTOCOL, _TTL, _DO_NOT_FRAGMENT = 0x0800, 17, 64, 0x4000


def frame(
    payload: bytes, *, hardware: tuple[bytes, bytes], addresses: tuple[int, int], ports: tuple[int, int]
) -> bytes:
    """One frame, from the first to the second of each pair.

    Args:
        payload: At most 1,472 octets, so that it fits into Ethernet's 1,500.

    Source: RFC 791, RFC 768, RFC 894.
    """
    source, destination = hardware
    size = _UDP.size + len(payload)
    ip = _IP.pack(0x45, 0, _IP.size + size, 0, _DO_NOT_FRAGMENT, _TTL, _UDP_PROTOCOL, 0, *addresses)
    ip = ip[:10] + checksum(ip).to_bytes(2) + ip[12:]
    pseudo = struct.pack("!IIHH", *addresses, _UDP_PROTOCOL, size)
    total = checksum(pseudo + _UDP.pack(*ports, size, 0) + payload) or 0xFFFF
    return _ETHERNET.pack(destination, source, _IPV4) + ip + _UDP.pack(*ports, size, total) + payload


def checksum(octets: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(octets) % 2:
        octets += b"\0"
    total: int = sum(struct.unpack(f"!{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF
