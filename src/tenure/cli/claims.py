"""What claims look like, and the options of asking for one."""

from collections.abc import Mapping
from typing import Annotated, Any

from typer import Argument, Option

from tenure.cli import output
from tenure.cli.remote import Session

Network = Annotated[str, Argument(metavar="NETWORK", help="Its name or id.", show_default=False)]
ClaimId = Annotated[str, Argument(metavar="ID", help="The claim's id.", show_default=False)]
OnHost = Annotated[str, Argument(metavar="HOST", help="A location of kind host.", show_default=False)]
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


def show_claim(asked: Session, claim: Mapping[str, Any]) -> None:
    """Print a claim: its addresses first."""
    if asked.json:
        output.value(claim)
        return
    for address in claim["addresses"]:
        print(_line(address))
    if not claim["addresses"]:
        print(f"{claim['state']}: it holds no address")
    rest = ("id", "state", "handle", "network", "host", "machine", "mac", "purpose")
    output.fields({name: claim[name] for name in rest if claim[name]})
    if asked.dry_run:
        print("A dry run: nothing was changed.")


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
