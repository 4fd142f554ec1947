"""A group of commands for one noun, and what all nouns have alike: list, show, create, set, delete."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from typer import Context, Typer

from tenure.cli import output
from tenure.cli.options import Thing, merged
from tenure.cli.remote import Edit, Remote, Session, session
from tenure.client.things import Things

Find = Callable[[Session], Things]


def group(name: str, text: str) -> Typer:
    """A group of commands, empty yet."""
    return Typer(name=name, help=text, no_args_is_help=True)


def example(*lines: str) -> str:
    """What `--help` shows below a command: how it is used."""
    return "Example:\n\n" + "\n\n".join(lines)


def offer_show(app: Typer, find: Find, one: str, sample: str) -> None:
    """Add `show`."""

    @app.command("show", cls=Remote, help=f"Show one {one}.", epilog=example(f"tenure {app.info.name} show {sample}"))
    def show(ctx: Context, name: Thing) -> None:
        show_one(session(ctx), find(session(ctx)).show(name))


def offer_delete(app: Typer, find: Find, one: str, sample: str, text: str = "") -> None:
    """Add `delete`."""
    what = one[:1].upper() + one[1:]

    @app.command(
        "delete",
        cls=Edit,
        help=text or f"Delete a {one} that holds nothing.",
        epilog=example(f"tenure {app.info.name} delete {sample}"),
    )
    def delete(ctx: Context, name: Thing) -> None:
        asked = session(ctx)
        deleted(asked, f"{what} {name}", find(asked).delete(name, **asked.edit))


def deleted(asked: Session, what: str, told: Mapping[str, Any] | None) -> None:
    """Say that something is deleted; of a dry run, what would go."""
    if told and asked.dry_run:
        show_consequences(asked, f"{what} would be deleted.", told)
    else:
        done(asked, what, "deleted")


def show_consequences(asked: Session, done: str, told: Mapping[str, Any]) -> None:
    """Print what a dry run of a deletion or a resizing tells: what would go, and whether it would be refused."""
    if asked.json:
        output.value(told)
        return
    rows = [{"what": what, **some} for what, some in told["consequences"].items() if some["count"]]
    for row in rows:
        row["first"] = output.some(row["first"], row["count"])
    output.table(("what", "count", "first"), rows)
    refused = told["refused"]
    print(f"It would be refused: {refused['detail'].rstrip('.')}." if refused else done)
    print("A dry run: nothing was changed.")


def show_one(asked: Session, thing: Any) -> None:
    """Print one thing."""
    output.value(thing) if asked.json else output.fields(thing)


def show_list(asked: Session, things: Things, columns: Sequence[str], limit: int | None, **filters: Any) -> None:
    """Print a list."""
    output.listed(columns, things.list(**filters), limit, asked.json)


def changed(
    asked: Session, things: Things, name: str, fields: dict[str, Any], *, shown: Sequence[str] | None = None
) -> None:
    """Change a thing, and print it: of a thing with many fields those that are `shown`, and those said.

    The API takes DHCP settings as a whole: those that are not named are sent again.
    """
    edit = asked.edit
    if "dhcp" in fields:
        known = things.show(name)
        fields["dhcp"] = merged(known["dhcp"], fields["dhcp"])
        edit["if_match"] = edit["if_match"] or known["revision"]
    now = things.change(name, fields, **edit)
    few = now if asked.json or shown is None else {each: now[each] for each in dict.fromkeys([*shown, *fields])}
    made(asked, few)


def made(asked: Session, thing: Any) -> None:
    """Print what was made or changed; of a dry run, say that nothing was, and what would go."""
    if "consequences" in thing and not asked.json:
        shape = thing.get("cidr") or f"{thing['start']}-{thing['end']}"
        show_consequences(asked, f"It would be {shape}.", thing)
        return
    show_one(asked, thing)
    if asked.dry_run and not asked.json:
        print("A dry run: nothing was changed.")


def done(asked: Session, what: str, verb: str) -> None:
    """Say that something without a result is done."""
    if asked.json:
        output.value({verb: not asked.dry_run})
    else:
        print(f"{what} would be {verb}." if asked.dry_run else f"{what} is {verb}.")
