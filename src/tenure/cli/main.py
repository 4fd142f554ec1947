"""The `tenure` command; each command loads what it needs when it runs."""

import typer

from tenure.cli.serve import EXAMPLES, serve

app = typer.Typer(no_args_is_help=True, add_completion=True, pretty_exceptions_enable=False)
app.command(epilog=EXAMPLES)(serve)


@app.callback()
def tenure() -> None:
    """Tenure owns the IP addresses of the networks it manages."""


def main() -> None:
    """Run the command."""
    app()
