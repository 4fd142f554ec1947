"""`tenure routes`: shown, planned, and followed as ExaBGP's helper process does."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.cli.options import then
from tenure.cli.route_feed import changes
from tenure.cli.routes import planned
from tests.cli.conftest import Command
from tests.whole.serving import Serving


@pytest.fixture(scope="module")
def rows(serving: Serving) -> Command:
    """Two racks with routers, a host in each, and the network `fabric-7` with an address at each host."""
    tenure = Command({"TENURE_URL": serving.url, "TENURE_DATA": str(serving.data)})
    tenure("network", "create", "fabric-7", "--cooldown", "0", "--route-budget", "9", "--prefer", "fabric")
    tenure("subnet", "create", "fabric-7", "10.7.0.0/16")
    for rack in (7, 8):
        tenure("location", "create", f"row-{rack}", "--kind", "rack", "--router", f"10.255.0.{rack}")
        tenure("location", "create", f"node-{rack}", "--kind", "host", "--parent", f"row-{rack}")
        tenure("allocate", "fabric-7", "--host", f"node-{rack}")
    return tenure


def test_routes_are_a_table_and_what_follows_from_it(rows: Command) -> None:
    lines = rows("routes", "fabric", "--network", "fabric-7").splitlines()
    assert lines[0].split() == ["prefix", "via", "router", "kind", "preferred"]
    assert [line.split()[1:] for line in lines[1:3]] == [
        [f"row-{rack}", f"10.255.0.{rack}", "aggregate", "yes"] for rack in (7, 8)
    ]
    assert lines[-1] == "2 routes; 0 of them for one address; the smallest table has 2; the budget is 9."
    assert rows("routes", "spine", "--network", "fabric-7").splitlines() == lines, "another word for it"
    table = rows.json("routes", "fabric", "--network", "fabric-7")
    assert len(table["routes"]) == 2
    assert rows.json("routes", "show", "fabric", "--network", "fabric-7")["routes"] == table["routes"]
    assert [route["via"]["kind"] for route in rows.json("routes", "node-7")["routes"]] == ["local"]


def test_routes_are_written_as_router_software_reads_them(rows: Command) -> None:
    written = rows("routes", "fabric", "--network", "fabric-7", "--format", "frr").splitlines()
    assert [line.split()[-1] for line in written[1:]] == ["10.255.0.7", "10.255.0.8"]
    assert "--format" in rows.refused(2, "routes", "fabric", "--format", "cisco")
    assert "--format" in rows.refused(2, "routes", "follow", "fabric", "--format", "json")
    assert "a command" in rows.refused(2, "routes", "follow", "fabric", "--format", "bird")
    assert "There is no location 'row-9'" in rows.refused(1, "routes", "row-9")
    rows("location", "set", "row-8", "--router", "none")
    refused = rows.refused(1, "routes", "fabric", "--network", "fabric-7", "--format", "bird")
    said = "Next hops without a router for IPv4: row-8. Set it: tenure location set row-8 --router IP.\n"
    assert refused == said
    rows("location", "set", "row-8", "--router", "10.255.0.8")


def test_a_plan_says_what_would_save_routes(rows: Command) -> None:
    assert rows("routes", "plan", "--network", "fabric-7") == "Nothing would save a route.\n"
    held = rows.json("allocate", "fabric-7", "--host", "node-7")
    rows("rebind", held["id"], "node-8")
    line, advice = rows("routes", "plan", "--network", "fabric-7").splitlines()[1:]
    assert line.split() == ["1", "1", "fabric-7", f"{held['addresses'][0]['ip']}/32", "node-8", held["id"]]
    assert "tenure rebind CLAIM HOST --renumber" in advice
    assert rows.json("routes", "plan", "--network", "fabric-7")[0]["saves"] == 1
    rows("rebind", held["id"], "node-8", "--renumber")
    assert rows("routes", "plan", "--network", "fabric-7") == "Nothing would save a route.\n"
    rows("release", held["id"])


def test_a_long_plan_is_cut() -> None:
    facts = [{"prefix": f"10.7.0.{n}/32", "location": f"node-{n}", "claim": f"c{n}"} for n in range(20)]
    row = planned({"saves": 1, "network": "prod", "count": 27, "facts": facts})
    assert row["what"] == "10.7.0.0/32 … and 26 more"
    assert row["claim"] == "c0, c1, c2 … and 17 more"


def test_a_table_of_another_day_needs_a_time_that_was(rows: Command) -> None:
    for unclear in ("yesterday", "2026-11-24", "2026-11-24T15:00:00"):
        assert "2026-11-24T15:00:00Z" in rows.refused(2, "routes", "fabric", "--at", unclear)
    assert rows.refused(1, "routes", "fabric", "--at", "2001-01-01T00:00:00Z").startswith("Nothing was recorded before")
    assert then("2026-11-24T16:00:00+01:00") == "2026-11-24T15:00:00Z"
    assert "in the future" in rows.refused(2, "routes", "fabric", "--at", "2999-01-01T00:00:00Z")


def test_a_boundary_by_level_and_a_budget_are_said_in_words(rows: Command) -> None:
    changed = rows.json("network", "set", "fabric-7", "--boundary", "rack=hard", "--route-budget", "none")
    assert (changed["boundary"], changed["route_budget"], changed["prefer"]) == ({"rack": "hard"}, None, "fabric")
    assert rows.json("network", "set", "fabric-7", "--boundary", "soft", "--route-budget", "9")["boundary"] == "soft"
    assert "--boundary" in rows.refused(2, "network", "set", "fabric-7", "--boundary", "rack=")
    assert "--route-budget" in rows.refused(2, "network", "set", "fabric-7", "--route-budget", "many")


@contextmanager
def following(rows: Command, *words: str, **pipes: Any) -> Iterator["subprocess.Popen[str]"]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "tenure.cli.main", "routes", "follow", *words]
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **pipes}
    with subprocess.Popen(command, env={**os.environ, **rows.env}, text=True, **given) as process:
        try:
            yield process
        finally:
            process.kill()


def lines(process: "subprocess.Popen[str]", count: int) -> list[str]:
    """The next lines that it writes."""
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


def test_a_follower_announces_everything_and_then_what_changes(rows: Command) -> None:
    with following(rows, "fabric", "--network", "fabric-7") as process:
        first = lines(process, 2)
        assert [line.split()[-1] for line in first] == ["10.255.0.7", "10.255.0.8"]
        held = rows.json("allocate", "fabric-7", "--host", "node-7")
        rows("rebind", held["id"], "node-8")
        moved = f"route {held['addresses'][0]['ip']}/32 next-hop 10.255.0.8"
        assert lines(process, 1) == [f"announce {moved}"]
        rows("release", held["id"])
        assert lines(process, 1) == [f"withdraw {moved}"]
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def test_a_follower_ends_with_its_reader(rows: Command) -> None:
    with following(rows, "fabric", "--network", "fabric-7", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write("done\n")
        process.stdin.flush()
        assert len(lines(process, 2)) == 2
        process.stdin.close()
        assert process.wait() == 0
    with following(rows, "fabric", "--network", "fabric-7", stderr=subprocess.PIPE) as process:
        lines(process, 2)
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        held = rows.json("allocate", "fabric-7", "--host", "node-7")
        rows("rebind", held["id"], "node-8")
        assert process.wait() == 0
        assert process.stderr.read() == ""
        rows("release", held["id"])


def test_a_command_is_run_with_each_change(rows: Command, tmp_path: Path) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    with following(rows, "fabric", "--network", "fabric-7", "--exec", f"cat > {told}", stdout=subprocess.DEVNULL):
        assert [line.split()[-1] for line in told.read_text().splitlines()] == ["10.255.0.7", "10.255.0.8"]
        held = rows.json("allocate", "fabric-7", "--host", "node-7")
        rows("rebind", held["id"], "node-8")
        assert told.read_text() == f"announce route {held['addresses'][0]['ip']}/32 next-hop 10.255.0.8\n"
        rows("release", held["id"])
        assert told.read_text().startswith("withdraw")


def test_a_follower_outlives_the_service_and_tells_only_what_changed(tmp_path: Path) -> None:
    with Serving(tmp_path / "data", "--roles", "api,dns") as serving:
        rows = Command({"TENURE_URL": serving.url, "TENURE_DATA": str(serving.data)})
        rows("network", "create", "prod")
        rows("subnet", "create", "prod", "10.7.0.0/16")
        for rack in ("7", "8"):
            rows("location", "create", f"row-{rack}", "--kind", "rack", "--router", f"10.255.0.{rack}")
            rows("location", "create", f"node-{rack}", "--kind", "host", "--parent", f"row-{rack}")
        rows("allocate", "prod", "--host", "node-7")
        with following(rows, "fabric", stderr=subprocess.PIPE) as process:
            assert len(lines(process, 1)) == 1
            assert serving.terminate() == 0
            assert process.stderr is not None
            assert process.stderr.readline()
            place = serving.url.removeprefix("http://")
            with Serving(tmp_path / "data", "--roles", "api,dns", "--api", place):
                rows("allocate", "prod", "--host", "node-8")
                (line,) = lines(process, 1)
                assert line.startswith("announce") and line.endswith("next-hop 10.255.0.8")


def test_a_follower_says_at_once_what_is_wrong(rows: Command) -> None:
    with following(rows, "row-9", stderr=subprocess.PIPE) as process:
        assert process.wait() == 1
        assert process.stderr is not None
        assert process.stderr.read() == "There is no location 'row-9'.\n"


def test_what_is_new_comes_before_what_is_gone_and_the_narrow_first() -> None:
    def table(*routes: str) -> dict[str, str]:
        return {route.split()[0]: f"announce route {route}" for route in routes}

    before = table("10.0.0.0/27 next-hop a", "10.0.0.32/27 next-hop a", "10.0.0.5/32 next-hop b local-preference 50")
    after = table("10.0.0.0/26 next-hop a", "10.0.0.5/32 next-hop c", "10.0.0.9/32 next-hop c")
    assert changes(before, after) == [
        "announce route 10.0.0.5/32 next-hop c",
        "announce route 10.0.0.9/32 next-hop c",
        "announce route 10.0.0.0/26 next-hop a",
        "withdraw route 10.0.0.0/27 next-hop a",
        "withdraw route 10.0.0.32/27 next-hop a",
    ]
    assert changes(after, after) == []
