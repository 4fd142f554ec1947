"""What udhcpc and dhclient run when something happens: sets the interface up, and tells the test as one line of JSON.

Called as `dhcp_script.py FIFO [udhcpc's event]`, with the client's own variables in the environment. It runs
alone, without the packages of the test run, and touches nothing outside its network namespace.
"""

import ipaddress
import json
import os
import subprocess
import sys
from collections.abc import Mapping

BOUND = {"bound", "renew", "BOUND", "RENEW", "REBIND", "REBOOT"}
UNBOUND = {"deconfig", "PREINIT", "EXPIRE", "FAIL", "RELEASE", "STOP"}


def lease_of(words: Mapping[str, str], event: str) -> dict[str, str]:
    """What the client got, in one spelling for both clients; an empty string for what was not given."""
    first = "new_" if "reason" in words else ""

    def said(ours: str, theirs: str) -> str:
        return words.get(f"new_{theirs}" if first else ours, "")

    return {
        "event": event,
        "interface": words.get("interface", ""),
        "address": said("ip", "ip_address"),
        "mask": said("subnet", "subnet_mask"),
        "router": said("router", "routers"),
        "dns": said("dns", "domain_name_servers"),
        "domain": said("domain", "domain_name"),
        "hostname": said("hostname", "host_name"),
        "server": said("serverid", "dhcp_server_identifier"),
        "lease_seconds": said("lease", "dhcp_lease_time"),
    }


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=False, capture_output=True)


def set_up(lease: Mapping[str, str]) -> None:
    """Give the interface its address and its default route, or take them away."""
    interface = lease["interface"]
    _ip("link", "set", interface, "up")
    if lease["event"] in UNBOUND:
        _ip("-4", "address", "flush", "dev", interface)
    elif lease["event"] in BOUND:
        own = ipaddress.ip_interface(f"{lease['address']}/{lease['mask']}")
        _ip("address", "replace", str(own), "dev", interface)
        if lease["router"]:
            _ip("route", "replace", "default", "via", lease["router"].split()[0], "dev", interface)


def main() -> None:
    """Do both, then tell."""
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    words: Mapping[str, str] = os.environ
    lease = lease_of(words, words.get("reason") or sys.argv[2])
    set_up(lease)
    handle = os.open(sys.argv[1], os.O_WRONLY)
    os.write(handle, json.dumps(lease).encode() + b"\n")
    os.close(handle)


if __name__ == "__main__":
    main()
