"""`make run`: the sample site is served, and the lines on the screen work as they are printed."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.processes import Process

missing = [name for name in ("dig", "curl") if shutil.which(name) is None]
pytestmark = [pytest.mark.whole, pytest.mark.skipif(bool(missing), reason=f"not installed: {missing}")]

DEMO = [str(Path(sys.executable).with_name("tenure")), "demo", "--api", "127.0.0.1:0", "--dns", "127.0.0.1:0"]


class Running(Process):
    """A `tenure demo` that has said what to type."""

    def __init__(self, cwd: Path, *options: str) -> None:
        super().__init__([*DEMO, *options], cwd=cwd)
        self._cwd = cwd
        self.wait_line("Ctrl-C stops it", timeout=60)

    @property
    def lines(self) -> list[str]:
        """The commands on the screen, in order."""
        return [line.strip() for line in self.output.splitlines() if line.startswith("    ")]

    def typed(self, line: str) -> str:
        """What a line prints when it is pasted into a shell; it must succeed."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        done = subprocess.run(["bash", "-c", line], cwd=self._cwd, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return done.stdout

    def end(self, number: signal.Signals) -> None:
        """End it with a signal; it must end well, and nothing may be left."""
        below = self.children()
        self.signal(number)
        assert self.wait(20) == 0, self.output
        assert [pid for pid in below if Path(f"/proc/{pid}").exists()] == []


def _check_lines(running: Running) -> str:
    """Paste each line; the address that the first one gave."""
    allocate, forward, reverse, machines, curl = running.lines
    ip = running.typed(allocate).partition("/")[0]
    assert running.typed(forward).split() == [ip]
    assert running.typed(reverse).split() == ["hello.prod.example."]
    listed = running.typed(machines)
    assert [listed.count(f" {state} ") for state in ("deployed", "ready", "new")] == [2, 2, 2]
    assert json.loads(running.typed(curl))["v4"]["in_use"] == 121
    return ip


def test_the_printed_lines_work_and_the_data_is_there_the_next_time(tmp_path: Path) -> None:
    with Running(tmp_path, "--data", "tenure-data") as running:
        running.wait_line(r"sample site was imported: 3 racks, 36 hosts, 12 subnets, 200 machines\.")
        running.wait_line(r"DHCP: +off \(name an interface with --dhcp4\)")
        ip = _check_lines(running)
        asked = running.lines[0].replace("allocate prod", "address list --network prod --q hello").split(" --host")[0]
        where = running.lines[0].partition("--url")[2]
        rows = json.loads(running.typed(f"{asked} --json --url {where}"))
        assert rows[0]["block"].startswith(ip.rpartition(".")[0])
        assert running.typed(f"curl -sS {where.split()[0]}/docs").lstrip().startswith("<!")
        running.end(signal.SIGINT)
    with Running(tmp_path, "--data", "tenure-data") as again:
        again.wait_line("The data that is there is served")
        assert _check_lines(again) == ip
        again.end(signal.SIGTERM)


def test_a_demo_of_its_own_leaves_nothing(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        data = Path(running.wait_line(r"admin token: +(\S+)/admin-token")[1])
        assert data.exists()
        _check_lines(running)
        running.end(signal.SIGINT)
    assert not data.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_cannot_serve_says_why_and_fails(tmp_path: Path) -> None:
    with Running(tmp_path, "--data", "d") as running, Process([*DEMO, "--data", "d"], cwd=tmp_path) as second:
        assert second.wait() == 1
        assert "Another tenure serve uses the data directory" in second.output
        running.end(signal.SIGTERM)
