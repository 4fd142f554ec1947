"""`tenure routes`: what routers are told."""

from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Option, Typer
from typer.core import TyperGroup

from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.options import Limit, then
from tenure.cli.remote import Remote, session

_FEW = 3
_FORMS = ("json", "bird", "frr", "exabgp")


class Shown(TyperGroup):
    """A group that shows what is no command of it: `tenure routes spine`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is named, else `show`."""
        known = args[0] in self.commands or args[0].startswith("-")
        return super().resolve_command(ctx, args if known else ["show", *args])


app = Typer(
    name="routes",
    cls=Shown,
    no_args_is_help=True,
    help="Routes: the fewest that deliver each address to its holder. `tenure routes WHERE` is short for show.",
)

Where = Annotated[
    str,
    Argument(
        metavar="WHERE",
        help="fabric, or spine, which is the same (a next hop is a rack), hosts (it is a host; what simulate calls "
        "fabric), or a rack or host by name or id.",
        show_default=False,
    ),
]
Network = Annotated[str | None, Option(metavar="NETWORK", help="Only of this network; all.")]
Vrf = Annotated[str | None, Option(metavar="VRF", help="Of this vrf; default.")]


@app.command(
    cls=Remote,
    epilog=example(
        "tenure routes show fabric", "tenure routes rack-3 --network prod --format bird > /etc/bird/tenure.conf"
    ),
)
def show(
    ctx: Context,
    where: Where,
    network: Network = None,
    vrf: Vrf = None,
    at: Annotated[str | None, Option(metavar="TIME", help="As it was then: 2026-11-24T15:00:00Z.")] = None,
    form: Annotated[
        str | None, Option("--format", metavar="FORM", help="json, or a file for bird or frr, or lines for exabgp.")
    ] = None,
) -> None:
    """Show the routes to announce somewhere."""
    asked = session(ctx)
    at = then(at) if at is not None else None
    if form not in (None, *_FORMS):
        raise BadParameter(f"it is one of {', '.join(_FORMS)}", param_hint="--format")
    if form in _FORMS[1:]:
        print(asked.client.routes_text(where, str(form), network=network, vrf=vrf, at=at)[1], end="")
        return
    table = asked.client.routes(where, network=network, vrf=vrf, at=at)
    if asked.json or form == "json":
        output.value(table)
        return
    output.table(("prefix", "via", "router", "kind", "preferred"), [_row(route) for route in table["routes"]])
    print(_figures(table))


def _row(route: dict[str, Any]) -> dict[str, Any]:
    via = route["via"]
    apart = via["kind"] in ("local", "up", "unreachable")
    named = f"{via['kind']} {via['name'] or ''}".strip() if apart else via["name"]
    return {**route, "via": named, "router": via["router"]}


def _figures(table: dict[str, Any]) -> str:
    count = len(table["routes"])
    alone = table["host_routes"]
    left = sum(not route["preferred"] for route in table["routes"])
    least = f"the smallest table has {table['optimum']}"
    if count - left > table["optimum"]:
        least += " (this one changes less, and covers no space of others)"
    words = [f"{count} route{'s' * (count != 1)}", f"{alone} of them for one address"]
    words += [f"{left} of them to a host that is left"] * bool(left) + [least]
    if table["budget"] is not None:
        words.append(f"the budget is {table['budget']}")
    return "; ".join(words) + "."


@app.command(cls=Remote, epilog=example("tenure routes plan --network prod"))
def plan(ctx: Context, network: Network = None, vrf: Vrf = None, limit: Limit = 20) -> None:
    """Show what would save routes in the fabric by being elsewhere: addresses to renumber, blocks to empty.

    First what saves most for each address or block that moves.
    """
    asked = session(ctx)
    found = asked.client.routes_plan(limit=limit or 20, network=network, vrf=vrf)
    if asked.json:
        output.value(found)
    elif found:
        output.table(("saves", "moves", "network", "what", "at", "claim"), [planned(move) for move in found])
        print("To renumber an address where it is, HOST being under at: tenure rebind CLAIM HOST --renumber")
    else:
        print("Nothing would save a route.")


def planned(move: dict[str, Any]) -> dict[str, Any]:
    """A move as a row: of many addresses, places and claims the first few."""
    facts = move["facts"]
    more = f" … and {move['count'] - 1} more" if move["count"] > 1 else ""
    places = list(dict.fromkeys(fact["location"] for fact in facts))
    claims = [fact["claim"] for fact in facts if fact["claim"]]
    shown = {"what": facts[0]["prefix"] + more, "at": _first(places), "claim": _first(claims)}
    return {**move, **shown, "moves": move["count"]}


def _first(names: list[str]) -> str:
    more = f" … and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return ", ".join(names[:_FEW]) + more


@app.command(
    cls=Remote,
    epilog=example(
        "tenure routes follow rack-3",
        "tenure routes follow rack-3 --format bird --exec 'cat >/etc/bird/tenure.conf && birdc configure'",
    ),
)
def follow(
    ctx: Context,
    where: Where,
    network: Network = None,
    vrf: Vrf = None,
    command: Annotated[
        str | None,
        Option(
            "--exec", metavar="COMMAND", help="Run this in a shell for each change, with its lines on standard input."
        ),
    ] = None,
    form: Annotated[
        str, Option("--format", metavar="FORM", help="exabgp; with --exec also bird or frr, a whole file each time.")
    ] = "exabgp",
) -> None:
    """Announce and withdraw routes as the ledger moves: the lines of ExaBGP's process API, from all that there are on.

    It goes on while the service is away, be it from the start, and ends with its reader, or if the first answer is no.
    """
    from tenure.cli.route_feed import Feed, ends_with_its_reader, run_with, tell

    if form not in _FORMS[1:]:
        raise BadParameter(f"it is one of {', '.join(_FORMS[1:])}", param_hint="--format")
    if form != "exabgp" and not command:
        raise BadParameter("a file is given to a command: --exec", param_hint="--format")
    asked = session(ctx)
    with ends_with_its_reader():
        Feed(asked.client, where, network, vrf, form).follow(run_with(command) if command else tell)
