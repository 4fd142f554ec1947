"""`tenure claim`: standing requests for addresses."""

from typing import Annotated

from typer import Context, Option

from tenure.cli import claims as c
from tenure.cli import output
from tenure.cli.group import done, example, group
from tenure.cli.moves import StaticAcknowledged
from tenure.cli.options import CustomFilter, CustomOption, Limit, NetworkFilter, TagFilter, TagsOption, sent
from tenure.cli.remote import Change, Edit, Remote, session

app = group("claim", "Claims: somebody's standing requests for addresses, each under a handle.")

_SAMPLE = "4f1d2c3b4a5968778695"


@app.command(cls=Change, epilog=example("tenure claim create prod --handle nova:7f3c/port-1 --host compute-7"))
def create(
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
    count: c.Count = None,
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
) -> None:
    """Ask for addresses."""
    fields = c.fields_of(locals())
    asked = session(ctx)
    c.show_claim(asked, asked.client.claims.create(**fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure claim list --network prod --state pending"))
def list_(
    ctx: Context,
    network: NetworkFilter = None,
    host: Annotated[str | None, Option(metavar="HOST", help="Only those bound to this host.")] = None,
    machine: Annotated[str | None, Option(metavar="MACHINE", help="Only those of this machine.")] = None,
    project: Annotated[str | None, Option(metavar="PROJECT", help="Only those of this project.")] = None,
    handle: Annotated[str | None, Option(metavar="TEXT", help="Only the one under this handle.")] = None,
    state: Annotated[str | None, Option(metavar="STATE", help="pending, bound or released; all open ones.")] = None,
    kept: Annotated[
        str | None, Option(metavar="HOW", help="Only what machines were given by themselves: life or deployment.")
    ] = None,
    tag: TagFilter = None,
    custom: CustomFilter = None,
    limit: Limit = None,
) -> None:
    """List claims, with the addresses that they hold."""
    filters = {name: value for name, value in locals().items() if name not in ("ctx", "limit")}
    asked = session(ctx)
    found = asked.client.claims.list(**filters)
    columns = ("id", "state", "handle", "network", "host", "addresses", "name")
    output.listed(columns, found if asked.json else map(c.row, found), limit, asked.json)


@app.command("show", cls=Remote, epilog=example(f"tenure claim show {_SAMPLE} --wait 30"))
def show(
    ctx: Context,
    claim: c.Which,
    wait: Annotated[int | None, Option(min=1, max=60, metavar="SECONDS", help="Until it is bound.")] = None,
) -> None:
    """Show a claim, open or released."""
    asked = session(ctx)
    claims, meant = asked.client.claims, c.claim_of(asked, claim)
    c.show_claim(asked, claims.show(meant) if wait is None else claims.wait(meant, wait))


@app.command(
    "set",
    cls=Edit,
    epilog=example("tenure claim set landscape --expires 30d", "tenure claim set 10.0.3.65 --static --tags rack-a"),
)
def set_(
    ctx: Context,
    claim: c.Which,
    expires: c.Expires = None,
    static: Annotated[
        bool | None, Option("--static/--no-static", help="It is written down by hand.", show_default=False)
    ] = None,
    harvest: c.Harvest = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
) -> None:
    """Change what is said of a claim; `none` takes its end, tags or custom fields away."""
    fields = sent(locals(), leave=("claim",), nullable=("expires",))
    asked = session(ctx)
    c.show_claim(asked, asked.client.claims.change(c.claim_of(asked, claim), fields, **asked.edit))


@app.command("settle", cls=Edit, epilog=example("tenure claim settle 10.0.3.65"))
def settle(ctx: Context, claim: c.Which) -> None:
    """End a hand-over: the host that a claim left announces its addresses no longer."""
    asked = session(ctx)
    c.show_claim(asked, asked.client.claims.settle(c.claim_of(asked, claim), **asked.edit))


@app.command("delete", cls=Edit, epilog=example(f"tenure claim delete {_SAMPLE}"))
def delete(ctx: Context, claim: c.Which) -> None:
    """Release a claim, and say no more."""
    asked = session(ctx)
    asked.client.claims.delete(c.claim_of(asked, claim), **asked.edit)
    done(asked, f"Claim {claim}", "released")
