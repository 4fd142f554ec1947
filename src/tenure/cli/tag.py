"""`tenure tag`: tags and custom fields of many things at once."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

from typer import Argument, BadParameter, Context, Exit, Option, Typer

from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.options import CustomFilter, LocationFilter, NetworkFilter, TagFilter, VrfFilter, Words, custom_field
from tenure.cli.remote import REFUSED, Change, Session, session

app = Typer()

_NOUNS = ("networks", "subnets", "machines", "claims")


@app.command(
    "tag",
    cls=Change,
    epilog=example(
        "tenure tag machines --state ready --add rack-a --dry-run",
        "tenure tag claims --network prod --tag old --remove old --set owner=alice --unset until",
    ),
)
def tag(
    ctx: Context,
    noun: Annotated[str, Argument(metavar="WHAT", help="networks, subnets, machines or claims.", show_default=False)],
    add: Annotated[
        list[str] | None, Option(metavar="TAG", help="A tag that each gets. Repeatable.", show_default=False)
    ] = None,
    remove: Annotated[
        list[str] | None, Option(metavar="TAG", help="A tag that each loses. Repeatable.", show_default=False)
    ] = None,
    set_: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="A custom field of each. Repeatable.", show_default=False),
    ] = None,
    unset: Annotated[
        list[str] | None, Option(metavar="NAME", help="A custom field that goes. Repeatable.", show_default=False)
    ] = None,
    vrf: VrfFilter = None,
    network: NetworkFilter = None,
    location: LocationFilter = None,
    kind: Annotated[str | None, Option(metavar="KIND", help="Only machines of this kind.")] = None,
    state: Annotated[str | None, Option(metavar="STATE", help="Only machines, or claims, in this state.")] = None,
    host: Annotated[str | None, Option(metavar="HOST", help="Only claims bound to this host.")] = None,
    machine: Annotated[str | None, Option(metavar="MACHINE", help="Only claims of this machine.")] = None,
    project: Annotated[str | None, Option(metavar="PROJECT", help="Only claims of this project.")] = None,
    handle: Annotated[str | None, Option(metavar="TEXT", help="Only the claim under this handle.")] = None,
    tag_: TagFilter = None,
    custom: CustomFilter = None,
    q: Words = None,
    all_: Annotated[bool, Option("--all", help="All there are: without a filter that is meant only if said.")] = False,
) -> None:
    """Change tags and custom fields of all that the filters let pass; try it with --dry-run first."""
    if noun not in _NOUNS:
        raise BadParameter(f"one of {', '.join(_NOUNS)}", param_hint="WHAT")
    if not (add or remove or set_ or unset):
        raise BadParameter("say what shall change: --add, --remove, --set or --unset", param_hint="--add")
    asked = session(ctx)
    filters = {"vrf": vrf, "network": network, "location": location, "kind": kind, "state": state, "host": host}
    filters |= {"machine": machine, "project": project, "handle": handle, "tag": tag_, "custom": custom, "q": q}
    if any(filters.values()) == all_:
        raise BadParameter("say which by a filter, or --all for all of them", param_hint="--all")
    fields: dict[str, Any] = {**dict.fromkeys(unset or ()), **dict(custom_field(each) for each in set_ or ())}
    edit = {"tags": {"add": add or [], "remove": remove or []}, "custom": fields}
    _report(asked, noun, getattr(asked.client, noun).label(edit, dry_run=asked.dry_run, **filters))


def _report(asked: Session, noun: str, done: Mapping[str, Any]) -> None:
    if asked.json:
        output.value(done)
    else:
        would = "would be" if asked.dry_run else "were"
        names = ": " + ", ".join(done["first"]) if done["first"] else ""
        more = " …" if done["changed"] > len(done["first"]) else ""
        print(f"{done['count']:,} {noun} pass, {done['changed']:,} {would} changed{names}{more}.")
    for each in done["refused"]:
        print(f"{each['name']}: {each['detail']}", file=sys.stderr)
    if done["refused_count"]:
        raise Exit(REFUSED)
