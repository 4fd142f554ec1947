"""`tenure subnet`: prefixes on links."""

from typing import Annotated

from typer import Argument, Context, Option

from tenure.cli.drains import offer_drain
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
    NetworkFilter,
    TagFilter,
    TagsOption,
    VrfFilter,
    emptied,
    sent,
)
from tenure.cli.remote import Change, Edit, Remote, session

app = group("subnet", "Subnets: prefixes on links, each of a network.")

Subnet = Annotated[str, Argument(metavar="SUBNET", help="Its id, or its prefix.", show_default=False)]
Gateway = Annotated[str | None, Option(metavar="IP", help="The router; it has no default.")]
DnsServers = Annotated[list[str] | None, Option(metavar="IP", help="A DNS server. Repeatable.", show_default=False)]
Locations = Annotated[
    list[str] | None, Option(metavar="LOCATION", help="Where it is; everywhere. Repeatable.", show_default=False)
]
UseAll = Annotated[
    bool | None,
    Option("--use-all-addresses/--no-use-all-addresses", help="Give out network and broadcast address too."),
]
Reverse = Annotated[
    str | None,
    Option(
        metavar="MODE",
        help="Where its pointers are: plain (in the octet's or nibble's zone), rfc2317 (longer than /24: in one of "
        "its own), off, or auto (default): plain where the octet's zone is served here or the addresses are private, "
        "else rfc2317.",
    ),
]


@app.command(cls=Change, epilog=example("tenure subnet create prod 10.0.3.0/24 --gateway 10.0.3.1 --locations rack-3"))
def create(
    ctx: Context,
    network: Annotated[str, Argument(metavar="NETWORK", help="The network that it is of.", show_default=False)],
    cidr: Annotated[str, Argument(metavar="PREFIX", help="The prefix, without host bits.", show_default=False)],
    gateway: Gateway = None,
    dns_servers: DnsServers = None,
    locations: Locations = None,
    use_all_addresses: UseAll = None,
    reverse: Reverse = None,
    name_template: NameTemplate = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
    dhcp_enabled: DhcpEnabled = None,
    dhcp_lease_time: DhcpLeaseTime = None,
    dhcp_authoritative: DhcpAuthoritative = None,
    dhcp_option: DhcpOption = None,
) -> None:
    """Put a prefix into a network."""
    fields = sent(locals(), leave=("network",))
    asked = session(ctx)
    made(asked, asked.client.subnets.create(network, **fields, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure subnet list --network prod"))
def list_(
    ctx: Context,
    network: NetworkFilter = None,
    vrf: VrfFilter = None,
    tag: TagFilter = None,
    custom: CustomFilter = None,
    limit: Limit = None,
) -> None:
    """List subnets."""
    columns = ("cidr", "network", "vrf", "gateway", "dns_servers", "locations", "draining", "id")
    filters = {"network": network, "vrf": vrf, "tag": tag, "custom": custom}
    show_list(session(ctx), session(ctx).client.subnets, columns, limit, **filters)


@app.command("set", cls=Edit, epilog=example("tenure subnet set 10.0.3.0/24 --gateway 10.0.3.254"))
def set_(
    ctx: Context,
    subnet: Subnet,
    cidr: Annotated[str | None, Option(metavar="PREFIX", help="Its new prefix: resizes it.")] = None,
    gateway: Gateway = None,
    dns_servers: DnsServers = None,
    locations: Locations = None,
    use_all_addresses: UseAll = None,
    reverse: Reverse = None,
    name_template: NameTemplate = None,
    tags: TagsOption = None,
    custom: CustomOption = None,
    dhcp_enabled: DhcpEnabled = None,
    dhcp_lease_time: DhcpLeaseTime = None,
    dhcp_authoritative: DhcpAuthoritative = None,
    dhcp_option: DhcpOption = None,
) -> None:
    """Change a subnet.

    `none` empties --gateway, --dns-servers, --locations, --name-template, --tags, --custom, --dhcp-lease-time or a
    DHCP option.
    """
    fields = sent(locals(), leave=("subnet",), nullable=("gateway", "name_template"))
    changed(session(ctx), session(ctx).client.subnets, subnet, emptied(fields, "dns_servers", "locations"))


offer_drain(app, lambda asked: asked.client.subnets, "subnet", "10.0.3.0/24")
offer_show(app, lambda asked: asked.client.subnets, "subnet", "10.0.3.0/24")
offer_delete(app, lambda asked: asked.client.subnets, "subnet", "10.0.3.0/24")
