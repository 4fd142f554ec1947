"""Which options a DHCPv4 answer carries, and in what form (RFC 2132, 3397, 3442, 4702)."""

import zlib
from collections.abc import Callable

from tenure.errors import InvalidValue
from tenure.model.leases import Lease
from tenure.naming.hostnames import LONGEST_NAME, fqdn, parse_hostname, wire
from tenure.surfaces.dhcp.v4_wire import Message

MASK, ROUTER, DNS, HOST_NAME, DOMAIN, BROADCAST = 1, 3, 6, 12, 15, 28
REQUESTED, LEASE_TIME, TYPE, SERVER, PARAMETERS, TEXT, MAXIMUM, T1, T2 = 50, 51, 53, 54, 55, 56, 57, 58, 59
VENDOR_CLASS, CLIENT_ID, FQDN, SUBNET_SELECTION, SEARCH, ROUTES, MS_ROUTES = 60, 61, 81, 118, 119, 121, 249

FOREVER = 0xFFFFFFFF
"""A lease time that never ends (RFC 2131 section 3.3)."""

UNASKED = bytes((MASK, ROUTER, DNS, DOMAIN, BROADCAST, HOST_NAME))
"""What a client gets that asks for nothing in particular."""

_OURS_ALONE = frozenset(
    (
        0,
        REQUESTED,
        LEASE_TIME,
        52,
        TYPE,
        SERVER,
        PARAMETERS,
        MAXIMUM,
        T1,
        T2,
        CLIENT_ID,
        FQDN,
        82,
        SUBNET_SELECTION,
        255,
    )
)
"""What belongs to the protocol, whatever the site set and the client asks for."""

_SERVER_UPDATES, _SERVER_OVERRIDES, _CANONICAL, _NO_UPDATE = 1, 2, 4, 8


def lease_options(message: Message, lease: Lease) -> dict[int, bytes]:
    """The options of an OFFER or ACK that depend on the lease: mandatory ones, then those asked for in their order.

    Each once, however often it is configured and requested. What the site set wins over what
    the subnet says, except for what belongs to the protocol itself.
    """
    found = _times(message, lease.lease_time) if lease.address else {}
    found[MASK] = _mask(lease)
    for code in message.options.get(PARAMETERS) or UNASKED:
        if code not in found:
            value = _value(code, lease)
            if value is not None:
                found[code] = value
    if FQDN in message.options and lease.address:
        found[FQDN] = _fqdn(message.options[FQDN], lease)
    return found


def _value(code: int, lease: Lease) -> bytes | None:
    if code in _OURS_ALONE:
        return None
    if code in (ROUTES, MS_ROUTES):
        return _routes(code, lease)
    if code in lease.options:
        return lease.options[code]
    known = _KNOWN.get(code)
    return known(lease) if known else None


def _times(message: Message, lease_time: int) -> dict[int, bytes]:
    """Lease time, T1 and T2.

    T1 is 0.45 to 0.5 of the lease and T2 0.825 to 0.875, the same each time for one client, so
    that a rack that booted together does not renew together.
    """
    seconds = min(lease_time, FOREVER)
    found = {LEASE_TIME: seconds.to_bytes(4)}
    if seconds != FOREVER:
        early = zlib.crc32(message.chaddr) % 1024 / 1024 * 0.05
        found[T1] = int(seconds * (0.5 - early)).to_bytes(4)
        found[T2] = int(seconds * (0.875 - early)).to_bytes(4)
    return found


def _mask(lease: Lease) -> bytes:
    return _netmask(lease.prefix_length).to_bytes(4)


def _netmask(length: int) -> int:
    return FOREVER << (32 - length) & FOREVER


def _router(lease: Lease) -> bytes | None:
    return lease.gateway.to_bytes(4) if lease.gateway else None


def _dns(lease: Lease) -> bytes | None:
    return b"".join(server.to_bytes(4) for server in lease.dns_servers) or None


def _host_name(lease: Lease) -> bytes | None:
    return lease.hostname.split(".", 1)[0].encode("ascii") if lease.hostname else None


def _domain(lease: Lease) -> bytes | None:
    return lease.domain.rstrip(".").encode("ascii") or None if lease.domain else None


def _search(lease: Lease) -> bytes | None:
    return _wire(lease.domain) if lease.domain else None


def _broadcast(lease: Lease) -> bytes | None:
    if not lease.address or lease.prefix_length > 30:
        return None
    return (lease.address | FOREVER ^ _netmask(lease.prefix_length)).to_bytes(4)


_KNOWN: dict[int, Callable[[Lease], bytes | None]] = {
    ROUTER: _router,
    DNS: _dns,
    HOST_NAME: _host_name,
    DOMAIN: _domain,
    BROADCAST: _broadcast,
    SEARCH: _search,
}


def _routes(code: int, lease: Lease) -> bytes | None:
    """Classless routes as the site set them, with the default route in them.

    A client that gets option 121 ignores option 3 (RFC 3442), so without 0/0 it would lose its gateway.
    """
    routes = lease.options.get(code) or lease.options.get(ROUTES)
    if routes is None or not lease.gateway or 0 in _route_lengths(routes):
        return routes
    return routes + b"\0" + lease.gateway.to_bytes(4)


def _route_lengths(routes: bytes) -> list[int]:
    lengths, at = [], 0
    while at < len(routes):
        lengths.append(routes[at])
        at += 5 + (routes[at] + 7) // 8
    return lengths


def _fqdn(asked: bytes, lease: Lease) -> bytes:
    """Option 81 in an answer: the server does the updates, and says which name (RFC 4702 section 4)."""
    flags = asked[0] if asked else 0
    encoding = flags & _CANONICAL
    name = _full_name(lease)
    if name is None:
        return bytes((encoding | _NO_UPDATE, 255, 255))
    overrides = 0 if flags & _SERVER_UPDATES else _SERVER_OVERRIDES
    text = _wire(name) if encoding else name.encode("ascii")
    return bytes((encoding | _SERVER_UPDATES | overrides, 255, 255)) + text


def _full_name(lease: Lease) -> str | None:
    if not lease.hostname:
        return None
    try:
        return fqdn(lease.hostname, _absolute(lease.domain)) if lease.domain else _absolute(lease.hostname)
    except InvalidValue:  # together too long for a name
        return None


def _absolute(name: str) -> str:
    return name if name.endswith(".") else name + "."


def _wire(name: str) -> bytes:
    return wire(_absolute(name))


def client_name(options: dict[int, bytes]) -> str | None:
    """The host name that a client calls itself (option 81, else 12), its first label; None if it is no host name.

    One bad label spoils the whole name, never the message (Kea 4557).
    """
    text = _fqdn_text(options[FQDN]) if FQDN in options else _ascii(options.get(HOST_NAME, b""))
    if not text:
        return None
    try:
        return parse_hostname(text.rstrip(".")).split(".", 1)[0]
    except InvalidValue:
        return None


def _fqdn_text(option: bytes) -> str:
    if len(option) < 4:
        return ""
    return _labels(option[3:]) if option[0] & _CANONICAL else _ascii(option[3:])


def _labels(octets: bytes) -> str:
    """A name in wire form, perhaps without its root label (RFC 4702 section 2.3.1); empty if it is not one."""
    labels, at = [], 0
    while at < len(octets) and octets[at]:
        end = at + 1 + octets[at]
        if end > len(octets) or octets[at] > 63:
            return ""
        labels.append(_ascii(octets[at + 1 : end]))
        at = end
    return "" if any("." in label for label in labels) else ".".join(labels)


def _ascii(octets: bytes) -> str:
    """As text; a trailing NUL is common, anything else outside ASCII makes it no name."""
    octets = octets.rstrip(b"\0")
    return octets.decode("ascii") if octets.isascii() and len(octets) <= LONGEST_NAME + 1 else ""
