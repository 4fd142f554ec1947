"""`tenure tsig-key`: who may transfer zones."""

import sys
from typing import Annotated

from typer import Argument, Context, Option

from tenure.cli.group import example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import Limit, sent
from tenure.cli.remote import Change, Remote, session
from tenure.cli.secondary_forms import Form, form_of, key_text

app = group("tsig-key", "TSIG keys: what secondaries sign with.")


@app.command(cls=Change, epilog=example("tenure tsig-key create ns2", "tenure tsig-key create ns2 --format bind"))
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="As both sides call it.", show_default=False)],
    algorithm: Annotated[
        str | None, Option(metavar="ALGORITHM", help="hmac-sha256 (default) or hmac-sha512.", show_default=False)
    ] = None,
    vrf: Annotated[
        str | None, Option(metavar="VRF", help="Whose zones it shows; else those of the listener that is asked.")
    ] = None,
    secret: Annotated[
        str | None,
        Option(metavar="BASE64", help="One that the other side has already; - reads it. Else one is made."),
    ] = None,
    form: Annotated[
        Form | None,
        Option(
            "--format",
            metavar="SERVER",
            parser=form_of,
            help="Print what a secondary needs to have it: bind, knot, nsd or pdns.",
        ),
    ] = None,
) -> None:
    """Make a key; its secret is shown this once."""
    if secret == "-":
        secret = sys.stdin.readline().strip()
    fields = sent({"name": name, "algorithm": algorithm, "vrf": vrf, "secret": secret})
    asked = session(ctx)
    key = asked.client.tsig_keys.make(fields, **asked.change)
    if form is None or asked.json or asked.dry_run:
        made(asked, key)
    else:
        print(key_text(form, key["name"], key["algorithm"], key["secret"]), end="")


@app.command("list", cls=Remote, epilog=example("tenure tsig-key list"))
def list_(ctx: Context, limit: Limit = None) -> None:
    """List keys, without their secrets."""
    columns = ("name", "algorithm", "vrf", "since", "id")
    show_list(session(ctx), session(ctx).client.tsig_keys, columns, limit)


offer_show(app, lambda asked: asked.client.tsig_keys, "TSIG key", "ns2")
offer_delete(app, lambda asked: asked.client.tsig_keys, "TSIG key", "ns2", "Delete a key that no secondary has.")
