"""What claims look like, and the options of asking for one."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

from tenure.cli import output
from tenure.cli.options import NONE, seconds, sent
from tenure.cli.remote import Session
from tenure.errors import NotFound

Network = Annotated[str, Argument(metavar="NETWORK", help="Its name or id.", show_default=False)]
Which = Annotated[
    str, Argument(metavar="CLAIM", help="Its id, its handle, or an address that it holds.", show_default=False)
]
OnHost = Annotated[str, Argument(metavar="HOST", help="A location of kind host.", show_default=False)]
Renumber = Annotated[bool, Option("--renumber", help="Take new addresses near the new host.")]
Handover = Annotated[
    int | None,
    Option(
        metavar="DURATION",
        parser=seconds,
        help="How long the old host announces kept addresses too; 30s.",
        show_default=False,
    ),
]


def ends(text: str) -> str:
    """When a claim ends: a time with its zone (RFC 3339), or how long from now (`7d`); as the API takes it."""
    if text == NONE:
        return text
    if text[-1:] in "smhdw" and text[:1].isdecimal():
        return (datetime.now(UTC) + timedelta(seconds=seconds(text))).isoformat(timespec="seconds")
    time = _time(text)
    if time is None or time.tzinfo is None:
        raise BadParameter(f"{text!r} is neither 7d, from now, nor a time with its zone, 2026-12-24T15:00:00Z")
    return time.isoformat()


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


Handle = Annotated[str | None, Option(metavar="TEXT", help="Your own name for it: the same gets the same answer.")]
Subnet = Annotated[str | None, Option(metavar="SUBNET", help="From this one; else the network chooses.")]
Host = Annotated[str | None, Option(metavar="HOST", help="Where the address is used.")]
Machine = Annotated[str | None, Option(metavar="MACHINE", help="The machine that holds it.")]
Mac = Annotated[str | None, Option(metavar="MAC", help="The interface that holds it, in any spelling.")]
Hostname = Annotated[str | None, Option(metavar="NAME", help="Its name in the network's zone.")]
Family = Annotated[str | None, Option(metavar="FAMILY", help="v4, v6 or dual; what the network has.")]
Wanted = Annotated[str | None, Option(metavar="IP", help="Exactly this one.")]
DuringCooldown = Annotated[bool, Option("--during-cooldown", help="Also while it rests after its last holder.")]
Project = Annotated[str | None, Option(metavar="PROJECT", help="Whose it is; default.")]
Purpose = Annotated[str | None, Option(metavar="TEXT", help="What it is for.")]
Static = Annotated[bool, Option("--static", help="It is written into a configuration by hand.")]
Defer = Annotated[bool, Option("--defer", help="Decide the address when the claim is bound to a host.")]
Several = Annotated[
    list[str] | None, Option("--addresses", metavar="IP", help="Exactly these. Repeatable.", show_default=False)
]
Contiguous = Annotated[bool, Option("--contiguous", help="The addresses of a family are side by side.")]
Queue = Annotated[bool, Option("--queue", help="Where there is no room, wait in order instead of being refused.")]
Alias = Annotated[bool, Option("--alias", help="Stand beside what the interface has, instead of overriding it.")]
OnOverride = Annotated[
    str | None,
    Option(
        metavar="WHAT", help="What becomes of what the interface has: shelve, release or keep; as the network says."
    ),
]
Shared = Annotated[bool, Option("--shared", help="Several interfaces may use it at once.")]
From = Annotated[
    str | None, Option("--from", metavar="CLAIM", help="Use the addresses of this reservation: its id or handle.")
]
Expires = Annotated[
    str | None,
    Option(metavar="WHEN", parser=ends, help="When it is released by itself: 7d, or a time.", show_default=False),
]
Harvest = Annotated[
    str | None, Option(metavar="WHAT", help="May it be harvested: inherit (as the network says), never or allowed.")
]
Count = Annotated[int | None, Option(min=1, max=1024, metavar="COUNT", help="Addresses of each family; 1.")]


def fields_of(given: Mapping[str, Any], leave: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a claim from a command's `locals()`.

    Flags that are not set are left out, so that a handle's content stays the same.
    """
    found = {name: value for name, value in sent(given, leave).items() if value is not False}
    return {name.removesuffix("_"): value for name, value in found.items()}


def claim_of(asked: Session, said: str, vrf: str | None = None, project: str | None = None) -> str:
    """The id of the claim that is meant. A claim released already is found by its id only."""
    if len(said) == 20 and set(said) <= set("0123456789abcdef"):
        return said
    if _is_address(said):
        known = asked.client.addresses.show(said, vrf=vrf)
        if known["state"] != "allocated":
            raise NotFound(f"Nobody holds {said}; it rests.", kind="address", name=said)
        return str(known["claim"])
    for claim in asked.client.claims.list(handle=said, project=project or "default"):
        return str(claim["id"])
    raise NotFound(f"There is no open claim {said!r}, by id, handle or address.", kind="claim", name=said)


def _is_address(text: str) -> bool:
    from ipaddress import ip_address

    try:
        ip_address(text)
    except ValueError:
        return False
    return True


_SHOWN = (
    *("id", "state", "handle", "network", "host", "leaving", "settles", "machine", "mac", "purpose", "from"),
    *("static", "shared", "kept", "expires", "tags", "custom"),
)
_BECAME = {
    "shelved": "is shelved, and comes back when this is released",
    "kept": "stays beside it",
    "released": "is released",
    "restored": "is back",
    "returned": "is back with its reservation",
}


def show_claim(asked: Session, claim: Mapping[str, Any]) -> None:
    """Print a claim: its addresses first."""
    if asked.json:
        output.value(claim)
        return
    for address in claim["addresses"]:
        print(_line(address))
    if not claim["addresses"]:
        expired = claim["state"] == "released" and claim["expires"] and claim["expires"] <= claim["released"]
        print(f"{claim['state']}: it holds no address" + (f"; it expired at {claim['expires']}" if expired else ""))
    output.fields({name: claim[name] for name in _SHOWN if claim[name]})
    for other in claim["displaced"]:
        print(f"{other['ip']} {_BECAME[other['became']]}.")
    if claim["effective_by"]:
        print(f"Names follow when the client uses the new address, at the latest at {claim['effective_by']}.")
    if asked.dry_run:
        print("A dry run: nothing was changed.")


def called(address: Mapping[str, Any]) -> str:
    """An address as a sentence has it: with its name, if it has one."""
    return f"{address['ip']} ({address['name']})" if address["name"] else str(address["ip"])


def tell_gone(held: Iterable[Mapping[str, Any]], claim: Mapping[str, Any]) -> None:
    """Say which of the addresses that a claim `held` a release would give back; not those that were borrowed."""
    back = {other["ip"] for other in claim["displaced"] if other["became"] == "returned"}
    for address in held:
        if address["ip"] not in back:
            print(f"{called(address)} would be released.")


def unmoved(claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim that kept its addresses, for people: a block that was new when it was claimed is no longer."""
    addresses = [{**each, "title": "own" if each["title"] == "new" else each["title"]} for each in claim["addresses"]]
    return {**claim, "addresses": addresses}


def row(claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim as a row of a table."""
    names = [address["name"] for address in claim["addresses"] if address["name"]]
    return {**claim, "addresses": [address["ip"] for address in claim["addresses"]], "name": names[:1]}


def _line(address: Mapping[str, Any]) -> str:
    parts = [f"{address['ip']}/{address['prefix_length']}"]
    if address["standing"] != "primary":
        parts.append(address["standing"])
    if address["name"]:
        parts.append(address["name"])
    if address["block"]:
        parts.append(f"block {address['block']} ({address['title']})")
    if address["gateway"]:
        parts.append(f"gateway {address['gateway']}")
    return "  ".join(parts)
