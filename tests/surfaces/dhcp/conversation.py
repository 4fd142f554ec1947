"""Messages, arrivals and leases for the tests of this room."""

from typing import Any

from tenure.model.leases import Lease
from tenure.surfaces.dhcp.link import Arrival
from tenure.surfaces.dhcp.v4_wire import Message

MAC = bytes.fromhex("525400010203")
OURS = 0x0A000001
ADDRESS = 0x0A000005
RELAY = 0x0A010001
BROADCAST = Arrival(interface="eth0", address=OURS, server=OURS, ours=frozenset({OURS}), broadcast=True)
UNICAST = Arrival(interface="eth0", address=OURS, server=OURS, ours=frozenset({OURS}), broadcast=False)


def message(kind: int, options: dict[int, bytes] | None = None, **changed: Any) -> Message:
    """A client's message of a type, with these options and fields."""
    fields: dict[str, Any] = dict.fromkeys(Message.__struct_fields__, 0) | {
        "op": 1,
        "htype": 1,
        "hlen": 6,
        "xid": 0x1234,
        "chaddr": MAC,
        "sname": b"",
        "file": b"",
        "options": {53: bytes((kind,)), **(options or {})},
    }
    return Message(**(fields | changed))


def lease(**changed: Any) -> Lease:
    """A lease of 10.0.0.5/24 for an hour."""
    fields: dict[str, Any] = {
        "address": ADDRESS,
        "prefix_length": 24,
        "subnet": "S",
        "dynamic": False,
        "lease_time": 3600,
        "hostname": "node1",
        "domain": "example.com.",
        "gateway": 0x0A0000FE,
        "dns_servers": (0x0A000002, 0x0A000003),
    }
    return Lease(**(fields | changed))
