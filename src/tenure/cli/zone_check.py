"""What is wrong in a zone's file: BIND's named-checkzone says it where it is installed, else our own checks."""

import shutil
import subprocess
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from tenure.client import Client

_CHECKER: Final = "named-checkzone"
_SECONDS: Final = 300
_FINE: Final = "OK"
_LOADED: Final = ": loaded serial "


class Checked(NamedTuple):
    """What a check came to, and who made it.

    Attributes:
        said: Lines, as they were said.
    """

    by: str
    sound: bool
    said: list[str]

    def besides(self, more: list[str]) -> "Checked":
        """The same with more that is wrong; then the end is not that all is well."""
        if not more:
            return self
        return Checked(self.by, False, [*(line for line in self.said if not line.startswith(_FINE)), *more])


def checked(text: str, origin: str) -> Checked:
    """Look a zone's file over.

    Args:
        text: All of it.
        origin: The zone's name, absolute.
    """
    program = shutil.which(_CHECKER)
    return _by_bind(program, text, origin) if program is not None else _by_ourselves(text, origin)


def strangers(client: "Client", zone: dict[str, Any]) -> list[str]:
    """Servers of other zones, or of the vrf, whose names are in a zone and have no address there, a sentence each.

    Tenure refuses to name such a server; but the zone may have come after it was named. No zone's file tells of it.

    Args:
        zone: As the API shows it.
    """
    others = [each for each in client.zones.list() if each["vrf"] == zone["vrf"]]
    of_vrf = client.vrfs.show(zone["vrf"])["name_servers"]
    said = dict.fromkeys([*of_vrf, *(server for each in others for server in each["name_servers"])])
    names = {each["name"] for each in others}
    own = {f"ns.{zone['name']}"}.intersection(zone["name_servers"] or of_vrf or [f"ns.{zone['name']}"])
    inside = [server for server in said if _home(server, names) == zone["name"] and server not in own]
    return [
        f"{server} serves zones and is in {zone['name']}, where it has no address:"
        f" `tenure record create {zone['name']} {server} A ADDRESS`"
        for server in inside
        if not any(_addresses(client, zone["id"], server))
    ]


def _home(server: str, zones: set[str]) -> str | None:
    """The innermost zone that a name is in."""
    while server and server not in zones:
        server = server.partition(".")[2]
    return server or None


def _addresses(client: "Client", zone: str, server: str) -> Iterator[bool]:
    for type_ in ("A", "AAAA"):
        yield any(record["name"] == server for record in client.records.list(zone, type=type_, q=server))


def _by_bind(program: str, text: str, origin: str) -> Checked:
    done = subprocess.run(
        [program, "-i", "local", origin, "/dev/stdin"],  # asks no other server about names elsewhere
        input=text,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    said = (done.stdout + done.stderr).splitlines()
    return Checked(_CHECKER, done.returncode == 0, said if done.returncode else _counted(said))


def _counted(said: list[str]) -> list[str]:
    """What was said of a zone that is good enough, where the end counts what was said of it all the same."""
    remarks = sum(line != _FINE and _LOADED not in line for line in said)
    some = f"{_FINE}, with {remarks} remark{'s' * (remarks > 1)}"
    return [*(line for line in said if line != _FINE), some if remarks else _FINE]


def _by_ourselves(text: str, origin: str) -> Checked:
    from tenure.exchange.zone_check import problems

    found = problems(text, origin)
    return Checked("tenure", not found, found or [f"zone {origin} is sound"])
