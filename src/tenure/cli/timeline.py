"""The time line of an address as people read it: when, what, who, and what they were called."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from tenure.cli import output

COLUMNS: Final = ("time", "what", "who", "name", "mac", "by")

_OWN: Final = "machine:"
"""How the handles begin of what machines were given by themselves."""
_SAID: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "tenure.address.allocated": lambda data: "leased" if data["allocation"].get("lease") else "given",
    "tenure.address.released": lambda data: _because("released", data.get("reason", "released")),
    "tenure.address.restored": lambda data: f"back, was {data['before']}",
    "tenure.address.observed": lambda data: f"seen: {data['observation'].get('mac', 'somebody')}",
    "tenure.address.disputed": lambda data: f"disputed by {(data.get('observed') or {}).get('mac', 'its holder')}",
    "tenure.address.aliased": lambda data: "an alias",
    "tenure.lease.promised": lambda data: f"promised until {data['allocation']['held_until']}",
    "tenure.claim.rebound": lambda data: "moved to another host",
    "tenure.machine.changed": lambda data: "machine renamed",
    "tenure.interface.changed": lambda data: "MAC replaced",
}


def rows(events: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines of a history, for people; who had the address before a line is known from the line before."""
    before: Mapping[str, Any] = {}
    for event in events:
        yield _row(event, before)
        before = event["holder"] or {}


def _row(event: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    holder = event["holder"] or {}
    return {
        "time": event["time"],
        "what": _what(event, before),
        "who": who(holder),
        "name": holder.get("name"),
        "mac": holder.get("macs"),
        "by": event["actor"],
    }


def who(holder: Mapping[str, Any]) -> str:
    """Who holds an address: by handle, with machines and host where they are known.

    What a machine was given by itself has a handle that nobody gave: there the machine says more.
    """
    places = [*holder.get("machines", ()), *filter(None, [holder.get("host")])]
    more = " at ".join(output.text(place) for place in places)
    handle = str(holder.get("handle", ""))
    if more and handle.startswith(_OWN):
        return more
    return f"{handle} ({more})" if more else handle


def _what(event: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    if event["kind"] == "tenure.address.moved":
        return f"{event['data']['reason']}, from {who(before) or event['data']['giver']['handle']}"
    if event["kind"] == "tenure.address.detached":
        gone = [name for name in before.get("machines", ()) if name not in (event["holder"] or {}).get("machines", ())]
        return f"detached ({output.text(gone)})" if gone else "detached"
    said = _SAID.get(event["kind"])
    if said is not None:
        return said(event["data"])
    _, noun, verb = event["kind"].split(".")
    return verb if noun == "address" else f"{noun} {verb}"


def _because(what: str, reason: str) -> str:
    return what if reason == what else f"{what}: {reason}"
