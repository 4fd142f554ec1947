"""`tenure zone import`: a zone that another server has, or had."""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Context, Exit, Option, Typer

from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.remote import REFUSED, Change, Session, session

SECRET: Final = "TENURE_TSIG_SECRET"
_SHOWN: Final = 20


def offer_import(app: Typer) -> None:
    """Add `import`."""
    app.command(
        "import",
        cls=Change,
        epilog=example(
            "tenure zone import prod.example.db --zone prod.example. --dry-run",
            "tenure zone import axfr://192.0.2.53 --zone prod.example. --tsig-key move:hmac-sha256:move.key",
        ),
    )(import_)


def import_(
    ctx: Context,
    source: Annotated[
        str, Argument(metavar="SOURCE", help="A zone file, or axfr://ADDRESS[:PORT].", show_default=False)
    ],
    zone: Annotated[str, Option(metavar="ZONE", help="The zone's name.", show_default=False)],
    vrf: Annotated[str, Option(metavar="VRF", help="Its address space.")] = "default",
    claim: Annotated[
        bool, Option("--claim", help="Claim free addresses of networks with these names, in the project import.")
    ] = False,
    tsig_key: Annotated[
        str | None,
        Option(
            metavar="NAME:ALGORITHM[:FILE]",
            help=f"Sign the transfer; the secret, in base64, is in FILE, else in {SECRET}.",
        ),
    ] = None,
    report: Annotated[str, Option(metavar="FORM", help="text or json, as --json.")] = "text",
) -> None:
    """Import a zone: names of addresses, claims, records; tell of each line what became of it, and of refusals why.

    A second import of the same changes nothing. The exit status is 1 if anything was refused.
    """
    if report not in ("text", "json"):
        raise BadParameter("text or json", param_hint="--report")
    asked = session(ctx)
    asked.json = asked.json or report == "json"
    if not run(asked, source, zone, vrf, tsig_key, claim=claim):
        raise Exit(REFUSED)


def run(asked: Session, source: str, zone: str, vrf: str, tsig_key: str | None, *, claim: bool) -> bool:
    """Read, plan, make or try, and print what came of it; whether nothing was refused."""
    from tenure.exchange import zone_importing, zone_plan, zone_present, zone_source

    origin = zone_source.origin_name(zone)
    records = list(_read(source, origin, tsig_key))
    owners = {each.owner for each in records if isinstance(each, zone_source.SourceRecord)}
    present = zone_present.zone_present(asked.client, vrf, origin.to_text(), owners)
    plan = zone_plan.zone_plan(origin.to_text(), records, present, claim=claim)
    with output.progress("Importing", zone_importing.steps(plan)) as advance:
        zone_importing.perform(asked.client, plan, advance, dry_run=asked.dry_run)
    told = zone_importing.report(plan, dry_run=asked.dry_run)
    if asked.json:
        output.value(told)
    else:
        _print(told, zone_importing.refusals(plan))
    return not told["counts"]["refused"]


def _read(source: str, origin: Any, tsig_key: str | None) -> Iterable[Any]:
    from tenure.exchange import zone_source

    if source.startswith(zone_source.SCHEME):
        return zone_source.transferred(source, origin, _key(tsig_key) if tsig_key else None)
    if tsig_key:
        raise BadParameter("only a transfer is signed", param_hint="--tsig-key")
    return zone_source.file_records(zone_source.file_text(Path(source)), origin)


def _key(said: str) -> Any:
    from tenure.exchange.zone_source import ALGORITHMS, TransferKey

    name, algorithm, file = (*said.split(":", 2), "", "")[:3]
    if not name or algorithm not in ALGORITHMS:
        raise BadParameter(
            f"NAME:ALGORITHM[:FILE]; the algorithm is {' or '.join(ALGORITHMS)}", param_hint="--tsig-key"
        )
    try:
        secret = Path(file).read_text("ascii") if file else os.environ.get(SECRET, "")
    except (OSError, UnicodeDecodeError) as error:
        raise BadParameter(f"{file} cannot be read: {error}", param_hint="--tsig-key") from None
    if not secret.strip():
        raise BadParameter(f"the secret is neither in a file nor in {SECRET}", param_hint="--tsig-key")
    return TransferKey(name, algorithm, secret.strip())


def _print(told: dict[str, Any], refusals: Iterable[str]) -> None:
    rows = [{"what": name, "records": count} for name, count in told["counts"].items()]
    output.table(("what", "records"), rows)
    for why, count in Counter(each["why"] for each in told["left out"]).items():
        print(f"Left out: {count:,}, because {why}.")
    if told["serial"] is not None:
        print(f"The zone goes on from serial {told['serial']}, the next after the source's.")
    refused = list(refusals)
    for sentence in refused[:_SHOWN]:
        print(sentence, file=sys.stderr)
    if len(refused) > _SHOWN:
        print(f"And {len(refused) - _SHOWN:,} more; --json has them all.", file=sys.stderr)
    if told["dry_run"]:
        print("A dry run: nothing was changed.")
