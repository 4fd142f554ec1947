"""What claims look like, and the options of asking for one."""

from collections.abc import Mapping
from typing import Annotated, Any

from typer import Argument, Option

from tenure.cli import output
from tenure.cli.options import seconds
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


def show_claim(asked: Session, claim: Mapping[str, Any]) -> None:
    """Print a claim: its addresses first."""
    if asked.json:
        output.value(claim)
        return
    for address in claim["addresses"]:
        print(_line(address))
    if not claim["addresses"]:
        print(f"{claim['state']}: it holds no address")
    rest = ("id", "state", "handle", "network", "host", "leaving", "settles", "machine", "mac", "purpose")
    output.fields({name: claim[name] for name in rest if claim[name]})
    if asked.dry_run:
        print("A dry run: nothing was changed.")


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
    if address["name"]:
        parts.append(address["name"])
    if address["block"]:
        parts.append(f"block {address['block']} ({address['title']})")
    if address["gateway"]:
        parts.append(f"gateway {address['gateway']}")
    return "  ".join(parts)
