"""`tenure network`: what workloads ask for."""

from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Option

from tenure.cli.group import changed, example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import (
    CustomFilter,
    CustomOption,
    DhcpAuthoritative,
    DhcpEnabled,
    DhcpLeaseTime,
    DhcpOption,
    Limit,
    NameTemplate,
    NegativeTtl,
    NewName,
    TagFilter,
    TagsOption,
    Thing,
    Ttl,
    VrfFilter,
    Words,
    seconds,
    sent,
)
from tenure.cli.remote import Change, Edit, Remote, session

app = group("network", "Networks: what workloads ask for, with its policies and its subnets.")

Model = Annotated[str | None, Option(metavar="MODEL", help="flat (default) or clustered.")]
Strategy = Annotated[
    str | None,
    Option(metavar="STRATEGY", help="topology (default), host_block, first_free, smallest_gap or random_window."),
]
Boundary = Annotated[
    str | None, Option(metavar="BOUNDARY", help="soft (default), hard, or by level: rack=hard; host=hard,site=hard.")
]
Cooldown = Annotated[
    int | None, Option(metavar="DURATION", parser=seconds, help="Rest of a released address; 5m.", show_default=False)
]
Domain = Annotated[str | None, Option(metavar="DOMAIN", help="The forward zone, as prod.example.")]
SharedNames = Annotated[
    bool | None,
    Option(
        "--shared-names/--no-shared-names",
        help="Whether several holders may have one name. Off, who shares one keeps it.",
    ),
]
Overcommit = Annotated[
    bool | None, Option("--overcommit/--no-overcommit", help="Accept more waiting claims than there is room.")
]
BlockV4 = Annotated[int | None, Option("--block-length-v4", metavar="LENGTH", help="IPv4: of a host's block; 28.")]
BlockV6 = Annotated[int | None, Option("--block-length-v6", metavar="LENGTH", help="IPv6: of a host's block; 124.")]
RackV4 = Annotated[int | None, Option("--rack-block-length-v4", metavar="LENGTH", help="IPv4: of a rack's block.")]
RackV6 = Annotated[int | None, Option("--rack-block-length-v6", metavar="LENGTH", help="IPv6: of a rack's block.")]
Prefer = Annotated[
    str | None, Option(metavar="WHERE", help="Where routes hurt more when blocks run short: spine (default) or fabric.")
]
RouteBudget = Annotated[
    str | None, Option(metavar="ROUTES", help="Routes that the spine may hold for it; more is a warning.")
]

AddressMode = Annotated[
    str | None, Option(metavar="MODE", help="dhcp (default), static or slaac: how machines learn their addresses.")
]
AllocateOn = Annotated[
    str | None,
    Option(
        metavar="WHEN",
        help="commission, deploy, boot or binding: when machines get addresses by themselves. As the model suggests.",
    ),
]
Interfaces = Annotated[str | None, Option(metavar="WHICH", help="Which of their interfaces do: boot (default) or all.")]
OnOverride = Annotated[
    str | None,
    Option(metavar="WHAT", help="What becomes of an address when another takes its place: shelve, release or keep."),
]
Harvests = Annotated[
    bool | None,
    Option("--harvest/--no-harvest", help="Whether addresses of unseen machines that are not deployed may be taken."),
]
HarvestAfter = Annotated[
    int | None, Option(metavar="DURATION", parser=seconds, help="Unseen for so long; 30d.", show_default=False)
]
HarvestBelow = Annotated[
    int | None, Option(min=0, metavar="ADDRESSES", help="While fewer are available than this; 0 is never.")
]
LowThreshold = Annotated[
    int | None, Option(min=0, metavar="ADDRESSES", help="Tell when fewer are available than this; 0 is never.")
]
Enlist = Annotated[
    bool | None, Option("--enlist/--no-enlist", help="Whether unknown clients that get a lease become new machines.")
]
EnlistLimit = Annotated[int | None, Option(min=0, metavar="COUNT", help="So many a minute and subnet; 60.")]

_NULLABLE = ("domain", "name_template", "route_budget", "allocate_on")


def _fields(given: dict[str, Any], leave: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of a body, a boundary by level and a budget as the API has them."""
    fields = sent(given, leave=leave, nullable=_NULLABLE)
    if "=" in (fields.get("boundary") or ""):
        fields["boundary"] = _levels(fields["boundary"])
    if fields.get("route_budget") is not None:
        fields["route_budget"] = _count(fields["route_budget"])
    return fields


def _levels(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(level and word for level, _, word in pairs):
        raise BadParameter("write soft, hard, or LEVEL=hard with commas between", param_hint="--boundary")
    return {level: word for level, _, word in pairs}


def _count(text: str) -> int:
    if not text.isdecimal():
        raise BadParameter("write a number of routes, or none", param_hint="--route-budget")
    return int(text)


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
    name_template: NameTemplate = None,
    shared_names: SharedNames = None,
    overcommit: Overcommit = None,
    block_length_v4: BlockV4 = None,
    block_length_v6: BlockV6 = None,
    rack_block_length_v4: RackV4 = None,
    rack_block_length_v6: RackV6 = None,
    prefer: Prefer = None,
    route_budget: RouteBudget = None,
    address_mode: AddressMode = None,
    allocate_on: AllocateOn = None,
    interfaces: Interfaces = None,
    on_override: OnOverride = None,
    harvest: Harvests = None,
    harvest_after: HarvestAfter = None,
    harvest_below: HarvestBelow = None,
    low_threshold: LowThreshold = None,
    enlist: Enlist = None,
    enlist_limit: EnlistLimit = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
    dhcp_enabled: DhcpEnabled = None,
    dhcp_lease_time: DhcpLeaseTime = None,
    dhcp_authoritative: DhcpAuthoritative = None,
    dhcp_option: DhcpOption = None,
) -> None:
    """Make a network."""
    fields = _fields(locals())
    asked = session(ctx)
    made(asked, asked.client.networks.create(**fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure network list"))
def list_(
    ctx: Context,
    vrf: VrfFilter = None,
    tag: TagFilter = None,
    custom: CustomFilter = None,
    q: Words = None,
    limit: Limit = None,
) -> None:
    """List networks."""
    columns = ("name", "vrf", "model", "strategy", "boundary", "domain", "cooldown")
    show_list(session(ctx), session(ctx).client.networks, columns, limit, vrf=vrf, tag=tag, custom=custom, q=q)


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
    name_template: NameTemplate = None,
    shared_names: SharedNames = None,
    overcommit: Overcommit = None,
    block_length_v4: BlockV4 = None,
    block_length_v6: BlockV6 = None,
    rack_block_length_v4: RackV4 = None,
    rack_block_length_v6: RackV6 = None,
    prefer: Prefer = None,
    route_budget: RouteBudget = None,
    address_mode: AddressMode = None,
    allocate_on: AllocateOn = None,
    interfaces: Interfaces = None,
    on_override: OnOverride = None,
    harvest: Harvests = None,
    harvest_after: HarvestAfter = None,
    harvest_below: HarvestBelow = None,
    low_threshold: LowThreshold = None,
    enlist: Enlist = None,
    enlist_limit: EnlistLimit = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
    dhcp_enabled: DhcpEnabled = None,
    dhcp_lease_time: DhcpLeaseTime = None,
    dhcp_authoritative: DhcpAuthoritative = None,
    dhcp_option: DhcpOption = None,
) -> None:
    """Change a network; `--domain none` leaves it without names, `--name-template none` without those ahead of time.

    `--route-budget none` leaves it without a budget.

    `none` empties --dhcp-lease-time, a DHCP option, --tags or --custom; `--allocate-on none` follows the model again.
    """
    fields = _fields(locals(), leave=("network",))
    changed(session(ctx), session(ctx).client.networks, network, fields, shown=("name",))


offer_show(app, lambda asked: asked.client.networks, "network", "prod")
offer_delete(app, lambda asked: asked.client.networks, "network", "prod")
