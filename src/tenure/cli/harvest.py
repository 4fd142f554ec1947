"""`tenure harvest`: taking back what machines were given by themselves and do not use."""

from typing import Annotated

from typer import Context, Option, Typer

from tenure.cli import claims as c
from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.remote import Edit, session

app = Typer()


@app.command(cls=Edit, epilog=example("tenure harvest prod --dry-run", "tenure harvest prod --limit 100"))
def harvest(
    ctx: Context,
    network: c.Network,
    limit: Annotated[int, Option(min=1, max=10_000, metavar="COUNT", help="How many addresses at most.")] = 256,
) -> None:
    """Take addresses back from machines that were not seen for long, oldest unseen first, as the network says.

    Only what machines were given by themselves, and never of a deployed one.
    With --dry-run it shows which addresses would go.
    """
    asked = session(ctx)
    done = asked.client.networks.harvest(network, limit, **asked.edit)
    if asked.json:
        output.value(done)
        return
    output.table(("ip", "machine", "seen", "claim"), done["taken"])
    count = len(done["taken"])
    would = "would be" if asked.dry_run else "was" if count == 1 else "were"
    print(f"{done['available']} available, {done['wanted']} too few: {count} {would} taken back.")
    if asked.dry_run:
        print("A dry run: nothing was changed.")
