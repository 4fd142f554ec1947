"""A very small DHCPv4 server made of scapy's packets: something else than Tenure for the lab's own tests to talk to.

Run as `dhcp_peer.py INTERFACE OWN_ADDRESS FIRST_CLIENT_ADDRESS ROUTER`. One address for each hardware address, in
order of appearance; each message it hears is one line on standard output.
"""

import socket
import sys
from ipaddress import IPv4Address

from scapy.layers.dhcp import BOOTP, DHCP

ANSWERS = {1: "offer", 3: "ack"}
NAMES = {1: "DISCOVER", 3: "REQUEST", 7: "RELEASE"}


def answer(message: BOOTP, own: str, address: str, router: str) -> bytes | None:
    """The reply to a DISCOVER or a REQUEST; nothing to anything else."""
    options = {option[0]: option[1:] for option in message[DHCP].options if isinstance(option, tuple)}
    kind = options["message-type"][0]
    relayed = message.giaddr if message.giaddr != "0.0.0.0" else "direct"
    asked = options.get("requested_addr", ("",))[0]
    print(f"{NAMES.get(kind, kind)} via {relayed} asking {asked or message.ciaddr}", flush=True)
    if kind not in ANSWERS:
        return None
    reply = BOOTP(
        op=2, xid=message.xid, flags=message.flags, yiaddr=address, giaddr=message.giaddr, chaddr=message.chaddr
    )
    given = [
        ("message-type", ANSWERS[kind]),
        ("server_id", own),
        ("lease_time", 600),
        ("subnet_mask", "255.255.255.0"),
        ("router", router),
        ("name_server", own),
        ("domain", b"example.org"),
        ("hostname", b"given-name"),
    ]
    agent = options.get("relay_agent_information") or options.get("relay_agent_Information")
    if agent:
        given.append(("relay_agent_information", *agent))
    return bytes(reply / DHCP(options=[*given, "end"]))


def main() -> None:
    """Serve until killed."""
    interface, own, first, router = sys.argv[1:5]
    known: dict[bytes, str] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        server.bind(("0.0.0.0", 67))
        print("serving", flush=True)
        while True:
            message = BOOTP(server.recv(4096))
            mac = bytes(message.chaddr[:6])
            address = known.setdefault(mac, str(IPv4Address(first) + len(known)))
            reply = answer(message, own, address, router)
            if reply:
                target = (message.giaddr, 67) if message.giaddr != "0.0.0.0" else ("255.255.255.255", 68)
                server.sendto(reply, target)


if __name__ == "__main__":
    main()
