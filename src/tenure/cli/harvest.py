"""`tenure harvest`: taking back what machines were given by themselves and do not use."""

from collections.abc import Mapping
from typing import Annotated, Any

from typer import BadParameter, Context, Option, Typer

from tenure.cli import claims as c
from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.options import seconds
from tenure.cli.remote import Edit, Session, session

app = Typer()


@app.command(
    cls=Edit, epilog=example("tenure harvest prod --dry-run --after 30d --below 12", "tenure harvest prod --limit 100")
)
def harvest(
    ctx: Context,
    network: c.Network,
    limit: Annotated[int, Option(min=1, max=10_000, metavar="COUNT", help="How many addresses at most.")] = 256,
    after: Annotated[
        int | None,
        Option(
            metavar="DURATION",
            parser=seconds,
            help="Try it: unseen for so long, instead of what the network says.",
            show_default=False,
        ),
    ] = None,
    below: Annotated[
        int | None,
        Option(min=0, metavar="ADDRESSES", help="Try it: until so many are available, instead of what it says."),
    ] = None,
) -> None:
    """Take addresses back from machines that were not seen for long, oldest unseen first, as the network says.

    Only what machines were given by themselves, and never of a deployed one.
    With --dry-run it shows which addresses would go; with --after and --below
    also for a network that does not harvest yet.
    """
    asked = session(ctx)
    said = {name: value for name, value in (("after", after), ("below", below)) if value is not None}
    if said and not asked.dry_run:
        raise BadParameter(
            "it is for trying, with --dry-run; tenure network set changes it", param_hint=f"--{next(iter(said))}"
        )
    policy = {"allowed": True, **said} if said else {}
    done = asked.client.networks.harvest(network, limit, policy, **asked.edit)
    if asked.json:
        output.value(done)
        return
    output.table(("ip", "machine", "seen", "claim"), done["taken"])
    _tell(asked, network, done, tried=bool(policy))


def _tell(asked: Session, network: str, done: Mapping[str, Any], *, tried: bool) -> None:
    count = len(done["taken"])
    known = {} if tried or count else asked.client.networks.show(network)
    if known and not known["harvest"]:
        print(f"Network {known['name']} does not harvest; see with --dry-run, --after and --below what would go.")
    elif known and not known["harvest_below"]:
        print(f"Network {known['name']} never harvests: --harvest-below of it is 0.")
    else:
        would = "would be" if asked.dry_run else "was" if count == 1 else "were"
        print(f"{done['available']} available, {done['wanted']} too few: {count} {would} taken back.")
    if asked.dry_run:
        print("A dry run: nothing was changed.")
