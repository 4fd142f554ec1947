"""`tenure serve`: everything on one machine."""

import os
import sys
from functools import partial
from typing import Annotated

import typer

from tenure.errors import InvalidValue

EXAMPLES = """Examples:

  tenure serve

  tenure serve --data /var/lib/tenure --dns 192.0.2.53:53 --dhcp4 eno2,eno3

  tenure serve --dns 192.0.2.53:53,198.51.100.53:53=customer-a

  TENURE_DATABASE=postgresql://tenure@db/tenure tenure serve --roles api,dns
"""


app = typer.Typer()


@app.command(epilog=EXAMPLES)
def serve(
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help="The embedded store and the keys; tenure-data.")
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="PostgreSQL instead of the embedded store.")
    ] = None,
    api: Annotated[str | None, typer.Option(metavar="ADDR:PORT", help="The REST API; 127.0.0.1:8080.")] = None,
    api_socket: Annotated[
        str | None, typer.Option(metavar="PATH", help="The same API on a Unix socket, for plug-ins here.")
    ] = None,
    dns: Annotated[
        str | None, typer.Option(metavar="ADDR:PORT[=VRF],…", help="DNS, UDP and TCP; 127.0.0.1:5353.")
    ] = None,
    transfer_from: Annotated[
        str | None, typer.Option(metavar="PREFIX,…", help="Who may take whole zones unsigned; nobody.")
    ] = None,
    dhcp4: Annotated[str | None, typer.Option(metavar="IFACE,…", help="Serve DHCPv4 on these interfaces.")] = None,
    roles: Annotated[
        str | None, typer.Option(metavar="ROLE,…", help="Of api, dhcp and dns; all. The writer always runs.")
    ] = None,
    clock_margin: Annotated[
        int | None, typer.Option(metavar="SECONDS", help="Between the last DHCP promise and reuse; 5.")
    ] = None,
    queue: Annotated[int | None, typer.Option(metavar="USES", help="How many may wait for the writer; 10000.")] = None,
    retention_days: Annotated[
        int | None, typer.Option(metavar="DAYS", help="How long DHCP's promises of given-back addresses are kept; all.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
    config: Annotated[str | None, typer.Option(metavar="FILE", help="TOML file with the same settings.")] = None,
) -> None:
    """Serve the API, DNS and DHCP from one ledger, until SIGTERM; see docs/reference/settings.md."""
    flags: dict[str, object] = dict(locals())
    from tenure import settings
    from tenure.app import supervise

    try:
        read = settings.read(flags, os.environ)
    except InvalidValue as refused:
        print(refused.message, file=sys.stderr)
        raise typer.Exit(2) from None
    raise typer.Exit(supervise.serve(read, partial(print, flush=True)))
