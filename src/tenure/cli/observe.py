"""`tenure observe`: who is really there, from the neighbour table or from a scan."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from typer import Argument, BadParameter, Context, Option, Typer

from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.options import InVrf
from tenure.cli.remote import Change, Session, session
from tenure.errors import InvalidValue

app = Typer()

_PIECE: Final = 1000
_NOTES: Final = 20
_LARGEST: Final = 256 * 2**20
_COLUMNS: Final = ("ip", "mac", "outcome", "since", "held by", "its mac")
_ORDER: Final = ("conflict", "stranger", "elsewhere", "holder", "known")
"""What needs somebody first."""


@app.command(
    cls=Change,
    epilog=example("tenure observe", "arp-scan --localnet | tenure observe -", "tenure observe scan.xml --dry-run"),
)
def observe(
    ctx: Context,
    file: Annotated[
        str | None,
        Argument(
            metavar="[FILE]",
            help="Output of arp-scan, of nmap -sn (or its -oX), or of ip neigh; - is standard input.",
            show_default=False,
        ),
    ] = None,
    kind: Annotated[
        str | None, Option(metavar="KIND", help="What the file is: arp-scan, nmap or neighbours; guessed.")
    ] = None,
    dev: Annotated[
        str | None, Option("--dev", metavar="IFACE", help="Only neighbours on this interface; on all.")
    ] = None,
    every: Annotated[bool, Option("--all", help="Show also those who are where they belong.")] = False,
    vrf: InVrf = None,
) -> None:
    """Tell the service who was seen where, and print strangers and conflicts.

    Without a file it reads this machine's neighbour table, which needs no
    privileges. A stranger's address is given to nobody while it is seen, and
    for a day after; a conflict is an address that two use, one of whom holds it.
    Both are told as long as they are seen; `since` says when that began, new ones
    have none. With --all also: holder, who is where it belongs; known, a gateway,
    a DNS server or an edge of a subnet. elsewhere is in no subnet of Tenure's.
    """
    from tenure.exchange import scans

    if kind is not None and kind not in scans.KINDS:
        raise BadParameter(f"one of {', '.join(scans.KINDS)}", param_hint="--kind")
    if file is None:
        scan = scans.read("the neighbour table", _neighbours(dev), "neighbours")
    else:
        scan = scans.read("standard input" if file == "-" else file, _text(file), kind)
    for note in scan.notes[:_NOTES]:
        print(note, file=sys.stderr)
    asked = session(ctx)
    sightings = [{"ip": each.ip, "mac": each.mac, "source": each.source} for each in scan.sighted]
    _show(asked, _observed(asked, sightings, vrf), every)


def _neighbours(dev: str | None) -> str:
    from tenure.exchange.neighbours import COMMAND

    command = [*COMMAND, *(("dev", dev) if dev else ())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidValue(f"the neighbour table cannot be read: {error}; give a file instead") from None
    if done.returncode:
        raise InvalidValue(f"the neighbour table cannot be read: {done.stderr.strip()}")
    return done.stdout or "[]"


def _text(file: str) -> str:
    try:
        octets = sys.stdin.buffer.read(_LARGEST + 1) if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read: {error.strerror}") from None
    if len(octets) > _LARGEST:
        raise InvalidValue(f"{file} is larger than {_LARGEST // 2**20} MiB; split it")
    return octets.decode("utf-8", "replace")


def _observed(asked: Session, sightings: Sequence[dict[str, Any]], vrf: str | None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    with output.progress("Observing", len(sightings)) as advance:
        for first in range(0, len(sightings), _PIECE):
            piece = sightings[first : first + _PIECE]
            items += asked.client.observe(piece, vrf=vrf, **asked.change)
            advance(len(piece))
    return items


def _show(asked: Session, items: list[dict[str, Any]], every: bool) -> None:
    if asked.json:
        output.value(items)
        return
    shown = [each for each in items if every or each["outcome"] in ("conflict", "stranger", "elsewhere")]
    output.table(_COLUMNS, map(_row, sorted(shown, key=lambda each: _ORDER.index(each["outcome"]))))
    counts = Counter(each["outcome"] for each in items)
    said = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _ORDER if counts[outcome]) or "nobody"
    print(f"{len(items)} seen: {said}." if items else "Nobody was seen.")
    if asked.dry_run:
        print("A dry run: nothing was changed.")


def _row(item: dict[str, Any]) -> dict[str, Any]:
    holder = item.get("holder") or {}
    by = holder.get("machines") or [holder[name] for name in ("name", "handle") if holder.get(name)][:1]
    return {**item, "held by": by or item["claim"], "its mac": holder.get("macs")}
