"""Who was seen, and what is harvested, from the command line."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.lab.namespaces import Topology
from tests.whole.serving import Serving

SCANS = Path(__file__).parents[1] / "exchange" / "scans"
HOLDER, STRANGER = "52:54:00:0a:0b:0c", "52:54:00:00:00:77"


@pytest.fixture(scope="module")
def link(serving: Serving) -> str:
    """The network of the scans, and a machine there that holds 10.9.0.5."""
    tenure = Command({"TENURE_URL": serving.url, "TENURE_DATA": str(serving.data)})
    tenure("network", "create", "scanned")
    tenure("subnet", "create", "scanned", "10.9.0.0/28", "--gateway", "10.9.0.1")
    tenure("machine", "create", "seen-5", "--kind", "device", "--interfaces", HOLDER)
    tenure("allocate", "scanned", "--mac", HOLDER, "--address", "10.9.0.5", "--handle", "seen-5")
    return "scanned"


@pytest.mark.parametrize("name", ["arp-scan.txt", "nmap.txt", "nmap.xml", "neigh.json", "neigh.txt"])
def test_a_scan_is_read_as_what_it_is(tenure: Command, link: str, name: str) -> None:
    seen = {each["ip"]: each["outcome"] for each in tenure.json("observe", str(SCANS / name), "--dry-run")}
    assert seen["10.9.0.5"] == "holder"
    assert seen.get("10.9.0.6", "holder") in ("stranger", "holder")
    assert seen.get("10.9.0.1", "known") == "known"


def test_standard_input_is_a_scan_and_conflicts_name_both(tenure: Command, link: str) -> None:
    done = tenure.tried("observe", "-", stdin=f"10.9.0.5\t{STRANGER}\tQEMU\n10.9.0.9\t{STRANGER}\tQEMU\n")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split("  ")[0] == "ip"
    assert lines[1].split() == ["10.9.0.5", STRANGER, "conflict", "-", "seen-5", HOLDER]
    assert lines[2].split()[:3] == ["10.9.0.9", STRANGER, "stranger"]
    assert lines[3] == "2 seen: 1 conflict, 1 stranger."
    assert f"Disputed: {STRANGER} was seen there, first " in tenure("address", "show", "10.9.0.5")
    refused = tenure.refused(1, "reserve", link, "--address", "10.9.0.9")
    assert STRANGER in refused
    assert "10.9.0.9" in tenure("address", "list", "--network", link, "--state", "observed")
    found = tenure.json("find", STRANGER)
    assert {each["label"] for each in found if each["kind"] == "observation"} == {"10.9.0.5", "10.9.0.9"}


def test_who_is_still_there_is_told_again(tenure: Command, link: str) -> None:
    scan = f"10.9.0.5\t{STRANGER}\tQEMU\n10.9.0.8\t{STRANGER}\tQEMU\n10.9.0.1\t{STRANGER}\tQEMU\n"
    tenure.tried("observe", "-", stdin=scan)
    again = json.loads(tenure.tried("observe", "-", "--json", stdin=scan).stdout)
    assert [each["outcome"] for each in again] == ["conflict", "stranger", "known"]
    assert [each["since"] is None for each in again] == [False, False, True]
    assert again[0]["holder"]["machines"] == ["seen-5"]


def test_what_is_no_scan_is_refused(tenure: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("hello\n")
    assert "does not look like the output of ip neigh" in tenure.refused(1, "observe", str(file))
    assert "cannot be read" in tenure.refused(1, "observe", str(tmp_path / "none"))
    assert "arp-scan" in tenure.refused(2, "observe", str(file), "--kind", "guess")


def test_nobody_seen_is_said(tenure: Command, tmp_path: Path) -> None:
    file = tmp_path / "neigh.json"
    file.write_text("[]")
    assert tenure("observe", str(file)) == "Nobody was seen.\n"


def test_the_neighbour_table_of_this_machine_is_read(tenure: Command, link: str, topology: Topology) -> None:
    here, there = topology.namespace("here"), topology.namespace("there")
    topology.link(here, "eth0", there, "eth0")
    here.up("eth0", "10.9.0.1/28")
    there.ip("link", "set", "eth0", "address", HOLDER)
    there.up("eth0", "10.9.0.5/28")
    here.run(["ping", "-c1", "-W5", "10.9.0.5"])
    read = "from tenure.cli.observe import _neighbours; print(_neighbours('eth0'))"
    table = here.run([sys.executable, "-c", read])
    assert [(each["dst"], each["lladdr"]) for each in json.loads(table)] == [("10.9.0.5", HOLDER)]
    done = tenure.tried("observe", "-", "--all", stdin=table)
    assert "10.9.0.5" in done.stdout
    assert done.stdout.endswith("1 seen: 1 holder.\n"), done.stdout
    assert isinstance(tenure.json("observe", "--dry-run"), list)
    assert "neighbour table cannot be read" in tenure.refused(1, "observe", "--dev", "none-such")


def test_a_harvest_says_what_would_be_taken(tenure: Command) -> None:
    tenure("network", "create", "harvested")
    tenure("subnet", "create", "harvested", "10.46.0.0/28")
    assert tenure.json("harvest", "harvested", "--dry-run") == {"taken": [], "available": 14, "wanted": 0}
    said = tenure("harvest", "harvested")
    assert said == "Network harvested does not harvest; see with --dry-run, --after and --below what would go.\n"
    tenure("machine", "create", "idle", "--interface", "mac=52:54:00:46:00:01,network=harvested")
    ip = tenure.json("machine", "ready", "idle")[0]["machine"]["addresses"][0]["ip"]
    tried = tenure.json("harvest", "harvested", "--dry-run", "--after", "30d", "--below", "14")
    assert tried == {"taken": [], "available": 13, "wanted": 1}
    assert "--dry-run" in tenure.refused(2, "harvest", "harvested", "--below", "14")
    tenure("network", "set", "harvested", "--harvest")
    assert tenure("harvest", "harvested") == "Network harvested never harvests: --harvest-below of it is 0.\n"
    assert ip in tenure("machine", "show", "idle")
