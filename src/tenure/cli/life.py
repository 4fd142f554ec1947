"""The steps of a machine's life, for one or for many: `tenure machine commission|ready|deploy|release|retire|seen`."""

import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Context, Exit, Option, Typer

from tenure.cli import claims as c
from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.moves import StaticAcknowledged
from tenure.cli.options import CustomFilter, LocationFilter, TagFilter, Words
from tenure.cli.remote import REFUSED, Change, Session, session

_PIECE: Final = 500
_COLUMNS: Final = ("machine", "state", "address", "name", "standing")
_BEFORE: Final = {"commission": "new", "ready": "commissioning", "deploy": "ready", "release": "deployed"}
"""The state of the machines that `--all` means, where nobody says another."""

Names = Annotated[list[str] | None, Argument(metavar="NAME…", help="Machines, by name or id.", show_default=False)]
All = Annotated[bool, Option("--all", help="Every machine that the filters let pass, instead of names.")]
State = Annotated[str | None, Option(metavar="STATE", help="With --all: those in this state.")]
Kind = Annotated[str | None, Option(metavar="KIND", help="With --all: only managed ones or instances.")]


def offer_life(app: Typer) -> None:
    """Add the steps."""
    for act, text, more in (
        ("commission", "Begin to commission machines, new or ready ones.", "--all --state new"),
        ("ready", "Say that machines passed commissioning: they get the addresses that they keep.", "--all"),
        ("release", "Take deployed machines back: what they got for it goes, their own addresses stay.", "--tag lab"),
        ("retire", "End machines' lives: everything that they hold is released.", "--all --tag scrap"),
    ):
        _offer(app, act, text, more)
    _offer_deploy(app)
    _offer_seen(app)


def _offer(app: Typer, act: str, text: str, more: str) -> None:
    several = f"tenure machine {act} {more}" if "--all" in more else f"tenure machine {act} --all {more}"

    @app.command(act, cls=Change, help=text, epilog=example(f"tenure machine {act} node-17 node-18", several))
    def step(
        ctx: Context,
        names: Names = None,
        all_: All = False,
        state: State = None,
        kind: Kind = None,
        location: LocationFilter = None,
        tag: TagFilter = None,
        custom: CustomFilter = None,
        q: Words = None,
    ) -> None:
        asked = session(ctx)
        filters = {"state": state, "kind": kind, "location": location, "tag": tag, "custom": custom, "q": q}
        _report(asked, _batched(asked, act, _meant(asked, act, names, all_, filters)))


def _offer_deploy(app: Typer) -> None:
    @app.command(
        "deploy",
        cls=Change,
        epilog=example(
            "tenure machine deploy node-17 --from web:vip-1",
            "tenure machine deploy node-17 node-18",
            "tenure machine deploy --all --tag lab",
        ),
    )
    def deploy(
        ctx: Context,
        names: Names = None,
        host: Annotated[str | None, Option(metavar="HOST", help="Where it runs; its own location.")] = None,
        from_: Annotated[
            str | None, Option("--from", metavar="RESERVATION", help="Use a reserved address: its id or handle.")
        ] = None,
        address: Annotated[str | None, Option(metavar="IP", help="Use this address.")] = None,
        on_override: Annotated[
            str | None, Option(metavar="WHAT", help="And what it has: shelve, release or keep it; as the network says.")
        ] = None,
        static_acknowledged: StaticAcknowledged = False,
        project: Annotated[str | None, Option(metavar="PROJECT", help="Whose reservation; default.")] = None,
        all_: All = False,
        state: State = None,
        kind: Kind = None,
        location: LocationFilter = None,
        tag: TagFilter = None,
        custom: CustomFilter = None,
        q: Words = None,
    ) -> None:
        """Give ready machines to their users. Nothing automatic changes their addresses until they are released."""
        asked = session(ctx)
        filters = {"state": state, "kind": kind, "location": location, "tag": tag, "custom": custom, "q": q}
        said = {"host": host, "from": from_, "address": address, "on_override": on_override, "project": project}
        flags = {"static_acknowledged": static_acknowledged or None}
        body = {name: value for name, value in {**said, **flags}.items() if value is not None}
        meant = _meant(asked, "deploy", names, all_, filters)
        if body and (all_ or len(meant) != 1):
            raise BadParameter("it is for one machine", param_hint="--" + next(iter(body)).replace("_", "-"))
        _report(asked, _single(asked, "deploy", meant, body) if body else _batched(asked, "deploy", meant))


def _offer_seen(app: Typer) -> None:
    @app.command("seen", cls=Change, epilog=example("tenure machine seen node-17 --at 2026-11-24T15:00:00Z"))
    def seen(
        ctx: Context,
        names: Annotated[list[str], Argument(metavar="NAME…", help="Machines, by name or id.", show_default=False)],
        at: Annotated[str | None, Option(metavar="TIME", help="When, with its zone; now.")] = None,
    ) -> None:
        """Say that machines use their networks: they are not harvested for a while. DHCP says so by itself."""
        asked = session(ctx)
        _report(asked, _single(asked, "seen", names, {"at": at} if at else {}))


def _meant(
    asked: Session, act: str, names: list[str] | None, everyone: bool, filters: dict[str, str | None]
) -> list[str]:
    """The machines that a command is about."""
    if bool(names) == everyone or (names and any(filters.values())):
        raise BadParameter("name the machines, or say --all and filters", param_hint="NAME…")
    if names:
        return list(dict.fromkeys(names))
    filters["state"] = filters["state"] or _BEFORE.get(act)
    if not any(filters.values()):
        raise BadParameter("say which, by --state or another filter", param_hint="--all")
    return [machine["id"] for machine in asked.client.machines.list(**filters)]


def _batched(asked: Session, act: str, names: list[str]) -> Iterator[Mapping[str, Any]]:
    run, machines = uuid.uuid4().hex, asked.client.machines
    with output.progress(act.capitalize(), len(names)) as advance:
        for first in range(0, len(names), _PIECE):
            piece = names[first : first + _PIECE]
            yield from machines.batch(act, piece, key=f"{run}-{first}", dry_run=asked.dry_run)
            advance(len(piece))


def _single(asked: Session, act: str, names: list[str], body: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
    with output.progress(act.capitalize(), len(names)) as advance:
        for name in names:
            yield {"status": 200, "machine": asked.client.machines.step(name, act, body, **asked.change)}
            advance(1)


def _report(asked: Session, results: Iterable[Mapping[str, Any]]) -> None:
    """Print what came of each; the exit status tells whether any was refused."""
    items = list(results)
    refused = [item["problem"] for item in items if "problem" in item]
    machines = [item["machine"] for item in items if "machine" in item]
    if asked.json:
        output.value(items)
    else:
        output.table(_COLUMNS, (row for machine in machines for row in _rows(machine)))
        _tell(machines, would=asked.dry_run)
        if asked.dry_run:
            print("A dry run: nothing was changed.")
    for problem in refused[:20]:
        print(problem["detail"], file=sys.stderr)
    if len(items) != 1 and not asked.json:
        did = ("would be done", "would be refused") if asked.dry_run else ("done", "refused")
        print(f"{len(machines):,} {did[0]}, {len(refused):,} {did[1]}.", file=sys.stderr)
    if refused:
        raise Exit(REFUSED)


def _rows(machine: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each address; a machine without any has one too."""
    for held in machine["addresses"] or [{"ip": None, "name": None, "standing": None}]:
        yield {
            "machine": machine["name"],
            "state": machine["state"],
            "address": held["ip"],
            "name": held["name"],
            "standing": held["standing"],
        }


def _tell(machines: Iterable[Mapping[str, Any]], *, would: bool) -> None:
    """What goes, what becomes of other addresses, and what is not decided yet."""
    was = "would be" if would else "was"
    for machine in machines:
        for gone in machine["released"]:
            print(f"{machine['name']}: {c.called(gone)} {was} released.")
        for other in machine["displaced"]:
            print(f"{machine['name']}: {other['ip']} {was} {other['became']}.")
        for port in machine["interfaces"] if machine["state"] == "ready" else ():
            _tell_of_port(machine, port)
        if machine["pending"]:
            print(f"{machine['name']}: an address will be decided when it is known where it runs.")


def _tell_of_port(machine: Mapping[str, Any], port: Mapping[str, Any]) -> None:
    """Of an interface that is plugged into a network and has no address there: that it gets none, where that is why."""
    here = (port["name"], port["mac"])
    if port["network"] is None or any(held["interface"] in here for held in machine["addresses"]):
        return
    name = f"{port['name'] or port['mac']} ({port['network']})"
    if port["allocate"] == "never":
        print(f"{machine['name']}: {name} gets none: allocate=never.")
    elif port["allocate"] == "inherit" and not port["boot"]:
        print(f"{machine['name']}: {name} gets none: it does not boot; allocate=always gives it one.")
