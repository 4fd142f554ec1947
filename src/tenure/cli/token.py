"""`tenure token`: who may ask."""

from typing import Annotated

from typer import Argument, Context, Option

from tenure.cli.group import example, group, made, offer_delete, offer_show, show_list
from tenure.cli.options import Limit
from tenure.cli.remote import Change, Remote, session

app = group("token", "Tokens: who may ask, and for what.")


@app.command(cls=Change, epilog=example("tenure token create ci --role admin"))
def create(
    ctx: Context,
    name: Annotated[str, Argument(metavar="NAME", help="Its name.", show_default=False)],
    role: Annotated[str, Option(metavar="ROLE", help="admin or viewer.", show_default=False)],
) -> None:
    """Make a token; its secret is shown this once."""
    asked = session(ctx)
    made(asked, asked.client.tokens.create(name=name, role=role, **asked.change))


@app.command("list", cls=Remote, epilog=example("tenure token list"))
def list_(ctx: Context, limit: Limit = None) -> None:
    """List tokens, without their secrets."""
    show_list(session(ctx), session(ctx).client.tokens, ("name", "role", "since", "id"), limit)


offer_show(app, lambda asked: asked.client.tokens, "token", "ci")
offer_delete(app, lambda asked: asked.client.tokens, "token", "ci", "Revoke a token at once.")
