"""`tenure simulate`: options become worlds, and what cannot be is refused before the work."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from typer.testing import CliRunner

from tenure.cli.main import app
from tenure.cli.simulate import worlds
from tenure.model.policy import Boundaries, StrategyName
from tenure.simulate.scenarios import NAMES, scenario
from tenure.simulate.world import Level, Load, Policy, Site, World


def told(*words: str) -> Any:
    return CliRunner().invoke(app, ["simulate", *words], prog_name="tenure")


def test_scenarios_are_listed() -> None:
    done = told("--scenario", "list", "--json")
    assert [each["name"] for each in json.loads(done.stdout)] == list(NAMES)
    assert "ramp" in told("--scenario", "list").stdout


def test_without_options_it_is_the_first_world_with_the_default_policy() -> None:
    assert worlds({})[1] == [World()]


def test_options_make_a_world_for_each_strategy() -> None:
    given = {
        "strategy": ["topology", "host_block"],
        "subnet": "10.4.0.0/18",
        "hosts": 200,
        "racks": 8,
        "skew": "uniform",
        "block_length": 27,
        "boundary": "rack=hard",
        "prefer": "fabric",
        "live": 0.7,
        "lifetime": 7200,
        "hours": 24.0,
        "burst": 5.0,
    }
    _, made = worlds(given)
    assert [world.policy.strategy for world in made] == ["topology", "host_block"]
    assert made[0].policy == Policy("topology", 27, boundary=Boundaries(rack="hard"), prefer="fabric")
    assert made[0].site == Site(200, 8, "uniform")
    assert made[0].load == Load(levels=(Level(0.0, 0.7),), lifetime=Load().lifetime._replace(hours=2.0), burst=5.0)
    assert (made[0].hours, made[0].warm_up, made[0].subnet) == (24.0, 8.0, "10.4.0.0/18")


def test_options_change_the_worlds_of_a_scenario_and_what_is_then_alike_is_one() -> None:
    asks, made = worlds(
        {"scenario": "fill", "subnet": "10.0.0.0/17", "hosts": 100, "strategy": ["topology", "first_free"]}
    )
    assert asks == scenario("fill").asks
    assert [(world.policy.strategy, world.policy.block_length, world.site.hosts) for world in made] == [
        ("topology", None, 100),
        ("topology", 26, 100),
        ("first_free", None, 100),
    ]
    assert len(worlds({"scenario": "lengths", "block_length": 27})[1]) == 3


def test_a_trace_brings_its_site(tmp_path: Path) -> None:
    file = tmp_path / "life.csv"
    file.write_text("time,event,workload,host\n0,arrive,w,r1/a\n9000,arrive,v,r2/b\n")
    _, made = worlds({"trace": file, "subnet": "10.0.0.0/24"})
    assert (made[0].site.hosts, made[0].site.racks, made[0].hours) == (2, 2, 3.0)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--scenario", "weather"), 2, "reference"),
        (("--strategy", "alphabet"), 2, "topology"),
        (("--scenario", "migration", "--strategy", "first_free"), 2, "no world"),
        (("--skew", "askew"), 2, "uniform"),
        (("--boundary", "rack=wet"), 2, "soft"),
        (("--prefer", "peace"), 2, "fabric"),
        (("--hosts", "5", "--racks", "6"), 2, "6 racks for 5 hosts"),
        (("--hosts", "5"), 2, "--racks is 20 unless you say otherwise"),
        (("--subnet", "10.0.0.1/16"), 2, "host bits"),
        (("--block-length", "12"), 2, "16 to 32; --subnet is 10.0.0.0/16 unless you say otherwise"),
        (("--rack-block-length", "15", "--subnet", "10.0.0.0/16"), 2, "'--rack-block-length': a block of 10.0.0.0/16"),
        (("--live", "70000"), 2, "65,536"),
        (("--subnet", "10.99.0.0/22"), 2, "1,024 addresses; --live is 12,000 unless you say otherwise: give --live 0."),
        (("--live", "most"), 2, "a share of the subnet, as 0.7 or 70%"),
        (("--live", "170%"), 2, "a share of the subnet, as 0.7 or 70%"),
        (("--lifetime", "8"), 2, "8 has no unit; write 8h"),
        (("--cooldown", "300"), 2, "300 has no unit; write 300h"),
        (("--block-length", "26", "--block-length", "27"), 2, "--block-length is given twice"),
        (("--picture", "routes.gif"), 2, "routes.gif"),
        (("--trace", "nowhere.csv"), 2, "nowhere.csv cannot be read"),
    ],
)
def test_what_cannot_be_is_refused(words: tuple[str, ...], status: int, said: str) -> None:
    done = told(*words)
    assert (done.exit_code, done.stdout) == (status, "")
    assert said in " ".join(done.stderr.replace("│", " ").split())


TINY = ("--hosts", "12", "--racks", "3", "--live", "0.8", "--subnet", "10.0.0.0/24", "--hours", "6", "--seeds", "2")
BOTH = ("--strategy", "topology", "--strategy", "host_block", "--cap", "20")


def rows_of(*words: str, processes: int = 1) -> list[dict[str, Any]]:
    done = told(*TINY, *BOTH, "--processes", str(processes), "--json", *words)
    assert done.exit_code == 0, done.output
    rows: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return rows


def test_a_site_is_simulated_by_strategies_and_blocks_and_by_whole_plans_alike() -> None:
    alone, whole = rows_of(), rows_of("--plans")
    assert alone == whole
    assert [row["strategy"] for row in alone] == ["topology", "host_block"]
    for row in alone:
        assert (row["counts"]["refused_with_room"]["worst"], row["hosts"]) == (0, 12)
        for level in ("fabric", "spine"):
            bound, least, routes = (row[name]["end"]["mean"] for name in (f"{level}_bound", f"least_{level}", level))
            assert 0 < bound <= least <= routes


def test_a_share_may_be_written_in_percent() -> None:
    words = "--hosts", "12", "--racks", "3", "--subnet", "10.0.0.0/24", "--hours", "1", "--seeds", "1", "--json"
    loads = [json.loads(told(*words, "--live", live).stdout)["rows"][0]["load"]["levels"] for live in ("0.8", "80%")]
    assert loads == [[{"hour": 0.0, "amount": 0.8}]] * 2


def test_a_site_that_still_fills_says_how_long_to_run() -> None:
    small = "--hosts", "12", "--racks", "3", "--subnet", "10.0.0.0/24", "--live", "80%", "--processes", "1"
    done = told(*small, "--seeds", "2", "--hours", "6", "--lifetime", "8h")
    assert done.stdout.splitlines()[-1] == "Still rising after 6 h: give --hours 18."
    done = told(*small, "--seeds", "2", "--hours", "24", "--lifetime", "1h", "--strategy", "first_free")
    assert "at the end of the run" in done.stdout
    assert "tenure routes fabric" in done.stdout


def test_other_processes_give_the_same() -> None:
    assert rows_of(processes=2) == rows_of()


def test_a_scenario_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "fill.svg"
    fast = "--hosts", "12", "--racks", "3", "--subnet", "10.0.0.0/24", "--seeds", "1", "--processes", "1"
    done = told("--scenario", "fill", *fast, "--picture", str(file), "--json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {row["strategy"] for row in rows} == set(get_args(StrategyName))
    assert all(len(row["ramp"]) == 45 for row in rows)
    assert "lower bound of any policy" in file.read_text()


def test_a_trace_is_simulated_and_shown(tmp_path: Path) -> None:
    file = tmp_path / "life.csv"
    file.write_text("time,event,workload,host\n0,arrive,w,r1/a\n60,arrive,v,r2/b\n90,move,w,r2/b\n9000,leave,v,\n")
    done = told("--trace", str(file), "--subnet", "10.0.0.0/24", "--seeds", "1", "--processes", "1", "--plans")
    assert done.exit_code == 0, done.output
    assert "Means over 1 seed at the end of the run;" in done.stdout
    assert done.stdout.splitlines()[-1].split()[0] == "topology"
