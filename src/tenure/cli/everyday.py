"""The verbs of every day: allocate, reserve, bind, rebind, release."""

from pathlib import Path
from typing import Annotated, Any

from typer import BadParameter, Context, Exit, Option, Typer

from tenure.cli import claims as c
from tenure.cli.group import example
from tenure.cli.moves import StaticAcknowledged
from tenure.cli.options import CustomOption, TagsOption
from tenure.cli.remote import REFUSED, Change, Edit, Session, session

app = Typer()

_FILE = {"exists": True, "dir_okay": False, "readable": True}


@app.command(
    cls=Change,
    epilog=example(
        "tenure allocate prod --host compute-7 --hostname vm-17",
        "tenure allocate prod --count 500 --hosts-from hosts.txt",
        "tenure allocate prod --batch claims.csv",
    ),
)
def allocate(
    ctx: Context,
    network: c.Network,
    handle: c.Handle = None,
    subnet: c.Subnet = None,
    host: c.Host = None,
    machine: c.Machine = None,
    mac: c.Mac = None,
    hostname: c.Hostname = None,
    family: c.Family = None,
    address: c.Wanted = None,
    during_cooldown: c.DuringCooldown = False,
    count: Annotated[
        int | None, Option(min=1, metavar="COUNT", help="Addresses of the claim; with --hosts-from, claims.")
    ] = None,
    project: c.Project = None,
    purpose: c.Purpose = None,
    static: c.Static = False,
    defer: c.Defer = False,
    addresses: c.Several = None,
    contiguous: c.Contiguous = False,
    queue: c.Queue = False,
    alias: c.Alias = False,
    on_override: c.OnOverride = None,
    static_acknowledged: StaticAcknowledged = False,
    shared: c.Shared = False,
    from_: c.From = None,
    expires: c.Expires = None,
    harvest: c.Harvest = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
    hosts_from: Annotated[
        Path | None,
        Option(metavar="FILE", help="Many claims, one a host: hosts one a line, again from the top.", **_FILE),
    ] = None,
    batch: Annotated[
        Path | None, Option(metavar="FILE", help="Many claims from CSV: its columns are the JSON fields.", **_FILE)
    ] = None,
) -> None:
    """Make a claim: an address near the host, at once. The other options hold for each claim of a batch."""
    fields = c.fields_of(locals(), leave=("hosts_from", "batch"))
    asked = session(ctx)
    if hosts_from is None and batch is None:
        c.show_claim(asked, asked.client.claims.create(**fields, **asked.change))
    else:
        _allocate_many(asked, fields, hosts_from, batch)


def _allocate_many(asked: Session, fields: dict[str, Any], hosts: Path | None, batch: Path | None) -> None:
    from tenure.cli import batches

    if hosts is not None and batch is not None:
        raise BadParameter("either --hosts-from or --batch", param_hint="--batch")
    if asked.dry_run:
        raise BadParameter("a batch has no dry run; try one claim", param_hint="--dry-run")
    claims = batches.by_host(fields, hosts) if hosts is not None else batches.by_row(fields, batch)
    if not batches.claim(asked, claims):
        raise Exit(REFUSED)


@app.command(
    cls=Change,
    epilog=example(
        "tenure reserve prod --count 5 --contiguous --for landscape --expires 7d",
        "tenure reserve prod --address 10.0.3.65 --address 10.0.3.70 --handle gateways",
    ),
)
def reserve(
    ctx: Context,
    network: c.Network,
    count: c.Count = None,
    contiguous: c.Contiguous = False,
    address: Annotated[
        list[str] | None, Option(metavar="IP", help="Exactly this one. Repeatable.", show_default=False)
    ] = None,
    purpose: Annotated[str | None, Option("--for", metavar="TEXT", help="What they are for.")] = None,
    expires: c.Expires = None,
    handle: c.Handle = None,
    subnet: c.Subnet = None,
    host: c.Host = None,
    family: c.Family = None,
    project: c.Project = None,
    hostname: c.Hostname = None,
    queue: c.Queue = False,
    shared: c.Shared = False,
    tags: TagsOption = None,
    custom: CustomOption = None,
) -> None:
    """Keep addresses for a purpose: a claim with no machine. `tenure allocate --from` uses them."""
    fields = c.fields_of(locals(), leave=("address",))
    fields |= {"address": address[0]} if address and len(address) == 1 else {"addresses": address} if address else {}
    asked = session(ctx)
    c.show_claim(asked, asked.client.claims.create(**fields, **asked.change))


@app.command(cls=Edit, epilog=example("tenure bind nova:7f3c/port-1 compute-7"))
def bind(ctx: Context, claim: c.Which, host: c.OnHost) -> None:
    """Decide the addresses of a pending claim near a host."""
    asked = session(ctx)
    c.show_claim(asked, asked.client.claims.bind(c.claim_of(asked, claim), host, **asked.edit))


@app.command(
    cls=Edit, epilog=example("tenure rebind 10.0.3.65 compute-8", "tenure rebind 10.0.3.65 compute-8 --handover 2m")
)
def rebind(
    ctx: Context,
    claim: c.Which,
    host: c.OnHost,
    renumber: c.Renumber = False,
    handover: c.Handover = None,
    static_acknowledged: StaticAcknowledged = False,
) -> None:
    """Move a claim to another host. It keeps its addresses where the boundary is soft; there already, it stays so."""
    asked = session(ctx)
    meant = c.claim_of(asked, claim)
    how: dict[str, Any] = {"renumber": renumber, "handover": handover, "static_acknowledged": static_acknowledged}
    moved = asked.client.claims.rebind(meant, host, **how, **asked.edit)
    c.show_claim(asked, moved if renumber or asked.json else c.unmoved(moved))


@app.command(
    cls=Edit,
    epilog=example(
        "tenure release 4f1d2c3b4a5968778695", "tenure release 10.0.3.65", "tenure release nova:7f3c/port-1"
    ),
)
def release(
    ctx: Context,
    claim: c.Which,
    vrf: Annotated[str | None, Option(metavar="VRF", help="The address is of this vrf; default.")] = None,
    project: Annotated[str | None, Option(metavar="PROJECT", help="The handle is of this project; default.")] = None,
) -> None:
    """Give a claim's addresses back; they rest before anybody else gets them."""
    asked = session(ctx)
    meant = c.claim_of(asked, claim, vrf, project)
    held = asked.client.claims.show(meant)["addresses"] if asked.dry_run else []
    released = asked.client.claims.release(meant, **asked.edit)
    if not asked.json:
        c.tell_gone(held, released)
    c.show_claim(asked, released)
