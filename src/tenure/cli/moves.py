"""What is done to a held address: move, attach, detach, rename."""

from ipaddress import ip_address
from typing import Annotated, Final

from typer import Argument, Context, Option, Typer

from tenure.cli import claims as c
from tenure.cli.group import example
from tenure.cli.options import NONE, InVrf, Ip
from tenure.cli.remote import Edit, Session, session
from tenure.errors import NotFound
from tenure.net.identifiers import looks_like_mac

app = Typer()

_RECEIVERS: Final = ("machine", "interface", "claim")

Interface = Annotated[
    str, Argument(metavar="INTERFACE", help="The interface: its MAC in any spelling, or its id.", show_default=False)
]
StaticAcknowledged = Annotated[
    bool, Option("--static-acknowledged", help="Somebody changes what is written by hand into the machine.")
]


@app.command(
    cls=Edit,
    epilog=example(
        "tenure move 10.0.3.65 --to 52:54:00:0a:0b:0c",
        "tenure move 10.0.3.65 --to vm-18 --dns when_acked",
        "tenure move 10.0.3.65 --to 10.0.3.70",
    ),
)
def move(
    ctx: Context,
    ip: Ip,
    to: Annotated[
        str,
        Option(
            metavar="WHERE",
            help="A MAC, a machine or a claim, which gets it; or an address, which its holder gets instead.",
            show_default=False,
        ),
    ],
    on_override: c.OnOverride = None,
    static_acknowledged: StaticAcknowledged = False,
    dns: Annotated[
        str | None,
        Option(metavar="WHEN", help="When names follow: now or when_acked; now, unless a DHCP client uses it."),
    ] = None,
    vrf: InVrf = None,
) -> None:
    """Give a held address to somebody else, or its holder another address. The machine may be off.

    A DHCP client that uses the old address is refused at its next request and
    gets the new one; nobody else gets the old one before its promise ends.
    """
    asked = session(ctx)
    fields = {**_receiver(asked, to), "static_acknowledged": static_acknowledged or None}
    fields |= {"on_override": on_override, "dns": dns}
    said = {name: value for name, value in fields.items() if value is not None}
    c.show_claim(asked, asked.client.addresses.reassign(ip, said, vrf=vrf, **asked.edit))


def _receiver(asked: Session, said: str) -> dict[str, str]:
    """What a person meant by `--to`, as a field of the body."""
    if _is_address(said):
        return {"address": said}
    if looks_like_mac(said):
        return {"interface": said}
    found = [each for each in asked.client.search(said) if said in (each["id"], each["label"])]
    for kind in _RECEIVERS:
        for each in found:
            if each["kind"] == kind:
                return {kind: each["id"]}
    raise NotFound(f"There is no machine, interface or claim {said!r}.", kind="machine", name=said)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@app.command(cls=Edit, epilog=example("tenure attach 10.0.3.65 52:54:00:0a:0b:0c"))
def attach(ctx: Context, ip: Ip, interface: Interface, vrf: InVrf = None) -> None:
    """Let an interface use a held address: a shared one beside others, any other instead of who uses it now."""
    asked = session(ctx)
    c.show_claim(asked, asked.client.addresses.attach(ip, interface, vrf=vrf, **asked.edit))


@app.command(cls=Edit, epilog=example("tenure detach 10.0.3.65", "tenure detach 10.0.3.65 52:54:00:0a:0b:0c"))
def detach(
    ctx: Context,
    ip: Ip,
    interface: Annotated[
        str | None, Argument(metavar="INTERFACE", help="Its MAC or id; else the only one.", show_default=False)
    ] = None,
    vrf: InVrf = None,
) -> None:
    """Let an interface use a held address no longer. Its claim keeps it."""
    asked = session(ctx)
    c.show_claim(asked, asked.client.addresses.detach(ip, interface, vrf=vrf, **asked.edit))


@app.command(cls=Edit, epilog=example("tenure rename 10.0.3.65 db-1", "tenure rename 10.0.3.65 none"))
def rename(
    ctx: Context,
    ip: Ip,
    hostname: Annotated[
        str,
        Argument(metavar="NAME", help="Its new name in the network's zone; none: its machine's.", show_default=False),
    ],
    vrf: InVrf = None,
) -> None:
    """Call a held address otherwise; its forward and reverse records change together."""
    asked = session(ctx)
    name = None if hostname == NONE else hostname
    c.show_claim(asked, asked.client.addresses.rename(ip, name, vrf=vrf, **asked.edit))
