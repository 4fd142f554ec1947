"""Secondaries set up by what `tenure secondary config` prints: without Tenure they start again with what they had."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

import pytest

from tests.cli.conftest import Command
from tests.lab.processes import free_port
from tests.lab.secondaries import At, Bind, Feed, Knot, Nsd, Secondary
from tests.whole.serving import Serving

pytestmark = pytest.mark.whole
ZONE: Final = "prod.example."


class _Printed(Secondary):
    """A server that has, besides where it listens and keeps its files, only what is printed for it."""

    file: ClassVar[str]
    own: ClassVar[str]
    printed = ""

    def _configure(self) -> None:
        own = self.own.format(here=self.directory, address=self.at.address, port=self.at.port)
        (self.directory / self.file).write_text(self.joined(own, self.printed))

    def joined(self, own: str, printed: str) -> str:
        """The whole file."""
        return printed + own


class _Bind(_Printed, Bind):
    file = "named.conf"
    own = """\
    directory "{here}"; pid-file none; session-keyfile none; recursion no;
    listen-on port {port} {{ {address}; }}; listen-on-v6 {{ none; }};
"""

    def joined(self, own: str, printed: str) -> str:
        """One block of options."""
        return "controls { };\n" + printed.replace("options {\n", "options {\n" + own)


class _Knot(_Printed, Knot):
    file = "knot.conf"
    own = """\
server:
    rundir: {here}
    listen: {address}@{port}
database:
    storage: {here}/knot
"""

    def joined(self, own: str, printed: str) -> str:
        """Its files are here."""
        (self.directory / "knot").mkdir(exist_ok=True)
        return own + printed.replace("/var/lib/knot", f"{self.directory}/knot")


class _Nsd(_Printed, Nsd):
    file = "nsd.conf"
    own = """\
server:
    ip-address: {address}@{port}
    username: ""
    chroot: ""
    zonesdir: {here}
    zonelistfile: {here}/zone.list
    database: ""
    xfrdfile: {here}/xfrd.state
    xfrdir: {here}
    pidfile: ""
    zonefiles-write: 1
"""


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """A service with a zone."""
    with Serving(tmp_path / "data", "--roles", "api,dns") as running:
        tenure = Command({"TENURE_URL": running.url, "TENURE_DATA": str(running.data)})
        tenure("network", "create", "prod", "--domain", ZONE)
        tenure("subnet", "create", "prod", "10.0.2.0/24")
        yield running


@pytest.mark.parametrize(("form", "kind"), [("bind", _Bind), ("knot", _Knot), ("nsd", _Nsd)])
def test_it_starts_without_tenure(tmp_path: Path, serving: Serving, form: str, kind: type[_Printed]) -> None:
    assert kind.available(), f"{form} is not installed"
    tenure = Command({"TENURE_URL": serving.url, "TENURE_DATA": str(serving.data)})
    at = At("127.0.0.1", free_port())
    key = tenure("tsig-key", "create", "second", "--format", form)
    tenure("secondary", "create", "second", at.address, "--port", str(at.port), "--key", "second")
    primary = f"127.0.0.1:{serving.dns[1]}"
    with kind(tmp_path / form, at, Feed(At(*serving.dns))) as server:
        server.printed = key + tenure("secondary", "config", "second", "--for", form, "--primary", primary)
        server.start()
        tenure("allocate", "prod", "--hostname", "web-1")
        server.wait(ZONE, tenure.json("zone", "show", ZONE)["serial"])
        if isinstance(server, Nsd):
            server.written(ZONE.rstrip("."), "web-1")
        assert serving.terminate() == 0
        server.stop()
        server.start()
        assert "10.0.2.1" in server.ask(f"web-1.{ZONE}", "A").to_text()
