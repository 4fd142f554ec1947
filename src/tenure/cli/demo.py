"""`tenure demo`: a made-up site to look at."""

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final

from typer import Exit, Option, Typer

from tenure.cli.group import example
from tenure.cli.remote import REFUSED, complained
from tenure.client.client import Client, connect
from tenure.errors import TenureError

app = Typer()

FILES: Final = ("site.toml", "machines.csv", "hosts", "dnsmasq.conf", "servers.toml")
_READY: Final = ("front-1", "front-2", "front-3", "front-4")
_DEPLOYED: Final = ("front-1", "front-2")
_VRF: Final = "default"
_PR_SET_PDEATHSIG: Final = 1
_PATIENCE: Final = 15.0
"""Seconds that the service has to end."""


@app.command(epilog=example("tenure demo", "tenure demo --data tenure-data --dhcp4 eno2"))
def demo(
    data: Annotated[
        Path | None,
        Option(metavar="DIR", help="Keep the data here; else in a temporary directory that goes at the end."),
    ] = None,
    api: Annotated[str | None, Option(metavar="ADDR:PORT", help="The REST API; 127.0.0.1:8080.")] = None,
    dns: Annotated[str | None, Option(metavar="ADDR:PORT[=VRF],…", help="DNS, UDP and TCP; 127.0.0.1:5353.")] = None,
    dhcp4: Annotated[str | None, Option(metavar="IFACE,…", help="Serve DHCPv4 on these interfaces; on none.")] = None,
) -> None:
    """Serve a sample site of 3 racks, 12 subnets and 200 machines, and say where to look; Ctrl-C ends it.

    A directory that has networks already is served as it is.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    with _directory(data) as directory, _served(directory, {"--api": api, "--dns": dns, "--dhcp4": dhcp4}) as service:
        try:
            told = _heard(service)
            _furnish(told["api"], directory)
            print("\n".join(lines(told, directory)), flush=True)
            service.wait()
        except KeyboardInterrupt:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)  # once is enough
            print("Stopping.", flush=True)
        except TenureError as error:
            raise complained(error, REFUSED) from None
    if service.returncode:
        raise Exit(REFUSED)


def lines(told: dict[str, str], directory: Path) -> list[str]:
    """What to look at and what to type, each line as it can be pasted here.

    Args:
        told: What the service said that it listens on: `api` (a URL), `dns` (address and port), `dhcp`.
    """
    tenure, data = shlex.quote(_shown(_command())), shlex.quote(_shown(directory))
    url = "" if told["api"] == "http://127.0.0.1:8080" else f" --url {told['api']}"
    where = url + ("" if data == "tenure-data" else f" --data {data}")
    address, _, port = told["dns"].rpartition(":")
    dig = f"dig @{address.strip('[]')} -p {port} +short"
    return [
        "",
        f"  The API and its documents:  {told['api']}/docs",
        f"  The admin token:            {data}/admin-token",
        f"  DHCP:                       {told['dhcp']}",
        "",
        "  An address near a host, its name and its pointer in DNS, servers and what they hold, and what is left:",
        "",
        f"    {tenure} allocate prod --host compute-203 --hostname hello --handle hello{where}",
        f"    {dig} hello.prod.example. A",
        f"    {dig} -x $({dig} hello.prod.example. A)",
        f"    {tenure} machine list --tag front{where}",
        f'    curl -sS -H "Authorization: Bearer $(cat {data}/admin-token)" {told["api"]}/v1/networks/prod/capacity',
        "",
        "  Ctrl-C stops it.",
    ]


def sample() -> Path:
    """The directory of the sample site: in the package, or in the source tree.

    Raises:
        TenureError: It is nowhere.
    """
    for place in (Path(__file__).with_name("site"), Path(__file__).parents[3] / "examples" / "site"):
        if (place / FILES[0]).is_file():
            return place
    raise TenureError("The sample site is not installed with this package.")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def _directory(data: Path | None) -> Iterator[Path]:
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix="tenure-demo-") as made:
        yield Path(made)


@contextmanager
def _served(directory: Path, flags: dict[str, str | None]) -> Iterator["subprocess.Popen[str]"]:
    """The service as a child that ends with this command, whatever ends it."""
    given = [word for flag, value in flags.items() if value for word in (flag, value)]
    command = [sys.executable, "-m", "tenure.cli.main", "serve", "--data", str(directory), *given]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=_end_with_parent)  # noqa: PLW1509
    try:
        yield service
    finally:
        service.terminate()
        try:
            service.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            service.kill()
            service.wait()


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _heard(service: "subprocess.Popen[str]") -> dict[str, str]:
    """What the service says that it listens on, once it is ready."""
    assert service.stdout is not None
    said: list[str] = []
    for line in service.stdout:
        if line.strip() == "ready":
            return listened(said)
        said.append(line.strip())
    service.wait()
    raise Exit(REFUSED)  # and why is on standard error


def listened(said: Iterable[str]) -> dict[str, str]:
    """Where the service listens, by what for, from its own lines; for DNS where the sample site's names are.

    Args:
        said: `api http://…`, `dns ADDR:PORT (udp, tcp)` or with ` vrf NAME` behind it, `dhcp …`.
    """
    told: dict[str, str] = {}
    for line in sorted(said, key=lambda each: " vrf " in each and not each.endswith(f" vrf {_VRF}")):
        what, _, where = line.partition(" ")
        told.setdefault(what, where if what == "dhcp" else where.partition(" ")[0])
    return told


def _furnish(url: str, directory: Path) -> None:
    """Import the sample site, unless there is a network already."""
    token = (directory / "admin-token").read_text("ascii").strip()
    with connect(url, token) as client:
        if client.networks.page(limit=1)["items"]:
            print("The data that is there is served.", flush=True)
            return
        made = _imported(client, [sample() / name for name in FILES])
        _live(client)
        print(f"A sample site was imported: {made}.", flush=True)


def _live(client: Client) -> None:
    """Some of its servers are deployed, one of them with an address that was reserved; others are ready, or new."""
    machines = client.machines
    for name in _READY:
        machines.step(name, "ready")
    client.claims.create(network="edge", handle="front:vip", purpose="the next release")
    machines.step(_DEPLOYED[0], "deploy", {"from": "front:vip"})
    for name in _DEPLOYED[1:]:
        machines.step(name, "deploy")


def _imported(client: Client, files: list[Path]) -> str:
    from tenure.cli.output import progress
    from tenure.exchange import files as foreign
    from tenure.exchange import importing, planning, present, reading

    read = reading.joined(foreign.read(path) for path in files)
    plan = planning.plan(read, present.present(client, _VRF))
    with progress("Importing", len(plan.items)) as advance:
        importing.perform(client, plan.items, advance)
    return ", ".join(_counted(plan.items))


def _counted(items: list[Any]) -> Iterator[str]:
    for one, many in (("rack", "racks"), ("host", "hosts"), ("subnet", "subnets"), ("device", "machines")):
        count = sum(item.kind == one for item in items)
        yield f"{count} {many}"


def _command() -> Path:
    """The `tenure` that runs, as a path."""
    beside = Path(sys.executable).with_name("tenure")
    return beside if beside.exists() else Path(shutil.which("tenure") or sys.argv[0])


def _shown(path: Path) -> str:
    """A path as it can be typed here: relative if it is below."""
    whole = Path(os.path.abspath(path))
    return str(whole.relative_to(Path.cwd())) if whole.is_relative_to(Path.cwd()) else str(whole)
