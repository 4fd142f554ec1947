"""What is made of runs: means and worst cases, a table, a picture, and the same on any number of processes."""

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest

from tenure.errors import InvalidValue
from tenure.simulate import picture, report, runs
from tenure.simulate.replay import Sample
from tenure.simulate.runs import Row
from tenure.simulate.world import Level, Load, Policy, Site, Span, World
from tests.simulate.fixed_blocks import FixedBlocks

SITE = Site(50, 5, "skewed")
STEADY = World(Policy("host_block", 28), "10.0.0.0/20", SITE, Load(levels=(Level(0, 0.5),)), hours=24.0)
RAMP = World(
    Policy("host_block", 28),
    "10.0.0.0/22",
    SITE,
    Load(levels=(Level(0, 0.08), Level(20, 1.0)), populated=True),
    hours=40.0,
    warm_up=0.0,
    marks=(0.1, 0.5, 0.9),
)
SPANS = STEADY._replace(spans=(Span("early", 0.0, 8.0), Span("late", 16.0, 24.0)), drained=True, note="spans")
WORLDS = STEADY, RAMP, SPANS
SEEDS = range(1, 4)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return runs.rows(WORLDS, SEEDS, FixedBlocks)


def test_processes_change_nothing(rows: list[Row]) -> None:
    hours: list[int] = []
    assert runs.rows(WORLDS, SEEDS, FixedBlocks, 2, hours.append) == rows
    assert sum(hours) == runs.hours(WORLDS, SEEDS)


def test_progress_is_told_by_the_hour() -> None:
    hours: list[int] = []
    runs.rows([STEADY], [1], FixedBlocks, 1, hours.append)
    assert hours == [1] * 24


def test_a_fault_in_another_process_is_a_fault_here(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        runs.rows([STEADY._replace(trace=str(tmp_path / "nothing.csv"))], SEEDS, FixedBlocks, 2)


def test_figures_are_means_and_worst_cases_over_the_seeds(rows: list[Row]) -> None:
    told = report.values("own", "?", SEEDS, rows)["rows"][0]
    ends = [result.samples[-1] for result in rows[0].results]
    fabric = [end.figures.fabric for end in ends]
    assert told["fabric"]["end"] == {"mean": round(fmean(fabric), 2), "worst": max(fabric)}
    assert told["free"]["end"]["worst"] == min(end.figures.free for end in ends)
    assert told["fabric_bound"]["end"]["mean"] == round(fmean(end.fabric_bound for end in ends), 2)
    over_time = [fmean(each.figures.spine for each in result.samples[16:]) for result in rows[0].results]
    assert told["spine"]["time"] == {"mean": round(fmean(over_time), 2), "worst": round(max(over_time), 2)}
    assert told["counts"]["arrived"]["mean"] == round(fmean(result.counts.arrived for result in rows[0].results), 2)
    assert (told["strategy"], told["hosts"], told["cooldown"]) == ("host_block", 50, 0)


def test_a_span_is_a_row_of_its_own(rows: list[Row]) -> None:
    told = report.values(None, "?", SEEDS, rows)["rows"]
    assert [row["span"]["name"] for row in told] == ["", "", "early", "late"]
    hour = _mean_at(rows[2], 8, lambda sample: sample.figures.live)
    assert told[2]["live"]["end"]["mean"] == round(hour, 2)
    assert told[3]["drained"]["live"]["worst"] == 0
    assert told[3]["drained"]["free"]["worst"] == 4096


def _mean_at(row: Row, hour: int, read: Callable[[Sample], float]) -> float:
    return fmean(read(result.samples[hour]) for result in row.results)


def test_a_ramp_has_its_points_and_its_steepest_part(rows: list[Row]) -> None:
    told = report.values(None, "?", SEEDS, rows)["rows"][1]
    ramp = told["ramp"]
    assert [point["utilization"] for point in ramp] == [0.1, 0.5, 0.9]
    assert [point["live"] for point in ramp] == [103, 512, 922]
    slopes = [(b["fabric"] - a["fabric"]) / (b["live"] - a["live"]) for a, b in pairwise(ramp)]
    assert told["steepest"]["routes_a_workload"] == round(max(slopes), 4)


def test_the_table_has_columns_for_what_differs(rows: list[Row]) -> None:
    drawn = report.table(rows)
    assert drawn.alike == "block /28, boundary soft, prefer spine, skew skewed, 50 hosts, 5 racks"
    assert drawn.columns[:4] == ["strategy", "subnet", "note", "span"]
    assert drawn.columns[-1] == "steepest"
    assert len(drawn.rows) == 4
    assert set(drawn.columns) <= set(drawn.rows[0])
    alone = report.table(rows[:1])
    assert alone.columns == ["strategy", "live", "fabric", "spine", "loose", "refused"]
    assert "subnet 10.0.0.0/20" in alone.alike


def test_curves_are_means_by_hour_and_by_mark(rows: list[Row]) -> None:
    live = report.FIGURES["live"]
    assert report.by_hour(rows[0], live)[24] == (24.0, _mean_at(rows[0], 24, live))
    assert [mark for mark, _ in report.by_mark(rows[1], live)] == [0.1, 0.5, 0.9]


@pytest.mark.parametrize("chosen", [slice(0, 1), slice(1, 2), slice(0, 3)], ids=["hours", "ramp", "both"])
def test_a_picture_has_a_line_for_each_world(rows: list[Row], chosen: slice, tmp_path: Path) -> None:
    file = tmp_path / "routes.svg"
    picture.draw(file, "What is asked", rows[chosen])
    drawn = file.read_text()
    assert drawn.count("host_block /28, ") == len(rows[chosen])
    assert "What is asked" in drawn
    picture.draw(file, "What is asked", rows[chosen])
    assert file.read_text() == drawn


def test_a_picture_may_be_a_png(rows: list[Row], tmp_path: Path) -> None:
    picture.draw(tmp_path / "routes.png", "What is asked", rows[:1])
    assert (tmp_path / "routes.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_cannot_be_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"an \.svg or a \.png file, not routes\.gif"):
        picture.check(tmp_path / "routes.gif")
    with pytest.raises(InvalidValue, match="There is no directory"):
        picture.check(tmp_path / "nowhere" / "routes.svg")


def test_without_matplotlib_it_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from tenure.cli.main import main\n"
        f"sys.argv = ['tenure', 'simulate', '--picture', {str(tmp_path / 'routes.svg')!r}]\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'tenure[picture]'" in done.stderr
