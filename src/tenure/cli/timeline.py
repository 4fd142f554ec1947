"""The time line of an address as people read it: when, what, who, and what they were called."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tenure.cli import output

COLUMNS: Final = ("time", "what", "who", "name", "mac", "by")

_SAID: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "tenure.address.allocated": lambda data: "leased" if data["allocation"].get("lease") else "given",
    "tenure.address.released": lambda data: _because("released", data.get("reason", "released")),
    "tenure.address.moved": lambda data: f"{data['reason']}, from {data['giver']['handle']}",
    "tenure.address.restored": lambda data: f"back, was {data['before']}",
    "tenure.address.observed": lambda data: f"seen: {data['observation'].get('mac', 'somebody')}",
    "tenure.address.disputed": lambda data: f"disputed by {(data.get('observed') or {}).get('mac', 'its holder')}",
    "tenure.address.aliased": lambda data: "an alias",
    "tenure.lease.promised": lambda data: f"promised until {data['allocation']['held_until']}",
    "tenure.claim.rebound": lambda data: "moved to another host",
    "tenure.machine.changed": lambda data: "machine renamed",
    "tenure.interface.changed": lambda data: "MAC replaced",
}


def row(event: Mapping[str, Any]) -> dict[str, Any]:
    """A line of the history, for people."""
    holder = event["holder"] or {}
    return {
        "time": event["time"],
        "what": _what(event),
        "who": who(holder),
        "name": holder.get("name"),
        "mac": holder.get("macs"),
        "by": event["actor"],
    }


def who(holder: Mapping[str, Any]) -> str:
    """Who holds an address: by handle, with machines and host where they are known."""
    places = [*holder.get("machines", ()), *filter(None, [holder.get("host")])]
    more = " at ".join(output.text(place) for place in places)
    return f"{holder['handle']} ({more})" if more else str(holder.get("handle", ""))


def _what(event: Mapping[str, Any]) -> str:
    said = _SAID.get(event["kind"])
    if said is not None:
        return said(event["data"])
    _, noun, verb = event["kind"].split(".")
    return verb if noun == "address" else f"{noun} {verb}"


def _because(what: str, reason: str) -> str:
    return what if reason == what else f"{what}: {reason}"
