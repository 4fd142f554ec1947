"""`tenure network`: what workloads ask for."""

from typing import Annotated

from typer import Argument, Context, Option

from tenure.cli.group import changed, example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import (
    DhcpAuthoritative,
    DhcpEnabled,
    DhcpLeaseTime,
    DhcpOption,
    Limit,
    NewName,
    Thing,
    VrfFilter,
    Words,
    seconds,
    sent,
)
from tenure.cli.remote import Change, Edit, Remote, session

app = group("network", "Networks: what workloads ask for, with its policies and its subnets.")

Model = Annotated[str | None, Option(metavar="MODEL", help="flat (default) or clustered.")]
Strategy = Annotated[str | None, Option(metavar="STRATEGY", help="topology (default) or first_free.")]
Boundary = Annotated[str | None, Option(metavar="BOUNDARY", help="soft (default) or hard.")]
Cooldown = Annotated[
    int | None, Option(metavar="DURATION", parser=seconds, help="Rest of a released address; 5m.", show_default=False)
]
Domain = Annotated[str | None, Option(metavar="DOMAIN", help="The forward zone, as prod.example.")]
Ttl = Annotated[int | None, Option(metavar="DURATION", parser=seconds, help="Of its records; 5m.", show_default=False)]
NegativeTtl = Annotated[
    int | None, Option(metavar="DURATION", parser=seconds, help="Of absent names; 1m.", show_default=False)
]
Overcommit = Annotated[
    bool | None, Option("--overcommit/--no-overcommit", help="Accept more waiting claims than there is room.")
]
BlockV4 = Annotated[int | None, Option("--block-length-v4", metavar="LENGTH", help="Of a host's block; 28.")]
BlockV6 = Annotated[int | None, Option("--block-length-v6", metavar="LENGTH", help="Of a host's block; 124.")]
RackV4 = Annotated[int | None, Option("--rack-block-length-v4", metavar="LENGTH", help="Of a rack's block.")]
RackV6 = Annotated[int | None, Option("--rack-block-length-v6", metavar="LENGTH", help="Of a rack's block.")]

_NULLABLE = ("domain",)


@app.command(cls=Change, epilog=example("tenure network create prod --domain prod.example. --cooldown 5m"))
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    vrf: Annotated[str | None, Option(metavar="VRF", help="Its address space; default.")] = None,
    model: Model = None,
    strategy: Strategy = None,
    boundary: Boundary = None,
    cooldown: Cooldown = None,
    domain: Domain = None,
    ttl: Ttl = None,
    negative_ttl: NegativeTtl = None,
    overcommit: Overcommit = None,
    block_length_v4: BlockV4 = None,
    block_length_v6: BlockV6 = None,
    rack_block_length_v4: RackV4 = None,
    rack_block_length_v6: RackV6 = None,
    dhcp_enabled: DhcpEnabled = None,
    dhcp_lease_time: DhcpLeaseTime = None,
    dhcp_authoritative: DhcpAuthoritative = None,
    dhcp_option: DhcpOption = None,
) -> None:
    """Make a network."""
    fields = sent(locals(), nullable=_NULLABLE)
    asked = session(ctx)
    made(asked, asked.client.networks.create(**fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure network list"))
def list_(ctx: Context, vrf: VrfFilter = None, q: Words = None, limit: Limit = None) -> None:
    """List networks."""
    columns = ("name", "vrf", "model", "strategy", "boundary", "domain", "cooldown")
    show_list(session(ctx), session(ctx).client.networks, columns, limit, vrf=vrf, q=q)


@app.command("set", cls=Edit, epilog=example("tenure network set prod --cooldown 10m --no-dhcp-enabled"))
def set_(
    ctx: Context,
    network: Thing,
    name: NewName = None,
    model: Model = None,
    strategy: Strategy = None,
    boundary: Boundary = None,
    cooldown: Cooldown = None,
    domain: Domain = None,
    ttl: Ttl = None,
    negative_ttl: NegativeTtl = None,
    overcommit: Overcommit = None,
    block_length_v4: BlockV4 = None,
    block_length_v6: BlockV6 = None,
    rack_block_length_v4: RackV4 = None,
    rack_block_length_v6: RackV6 = None,
    dhcp_enabled: DhcpEnabled = None,
    dhcp_lease_time: DhcpLeaseTime = None,
    dhcp_authoritative: DhcpAuthoritative = None,
    dhcp_option: DhcpOption = None,
) -> None:
    """Change a network; `--domain none` leaves it without names. `none` empties --dhcp-lease-time or a DHCP option."""
    fields = sent(locals(), leave=("network",), nullable=_NULLABLE)
    changed(session(ctx), session(ctx).client.networks, network, fields)


offer_show(app, lambda asked: asked.client.networks, "network", "prod")
offer_delete(app, lambda asked: asked.client.networks, "network", "prod")
