"""What is made of runs: means and worst cases, a table, a picture, and the same on any number of processes."""

import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest
from matplotlib.figure import Figure

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
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'tenure[picture]'" in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_who_ends_the_command_ends_its_processes_and_hears_no_complaint(sent: signal.Signals) -> None:
    program = (
        "import os, sys\nfrom tenure.cli.main import main\n"
        "if __name__ == '__main__':\n"
        "    sys.argv = ['tenure', 'simulate', '--hours', '9000', '--processes', '2']\n"
        "    from tenure.simulate import runs\n"
        f"    wait = runs.wait\n    runs.wait = lambda *all: (os.kill(os.getpid(), {int(sent)}), wait(*all))[1]\n"
        "    main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, start_new_session=True
    )
    assert done.returncode == (130 if sent == signal.SIGINT else 128 + sent)
    assert "semaphore" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_small_world_has_numbers_on_its_axes() -> None:
    figure = Figure()
    for number, (low, high) in enumerate([(71, 79), (9, 11), (60, 90), (31, 640)], start=1):
        axes = figure.add_subplot(4, 1, number)
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        picture._number(axes)
        figure.draw_without_rendering()
        ticks = [*axes.yaxis.get_major_ticks(), *axes.yaxis.get_minor_ticks()]
        told = {tick.label1.get_text() for tick in ticks if low <= tick.get_loc() <= high} - {""}
        assert len(told) >= 2, (low, high, told)


def test_only_a_site_that_still_fills_is_rising(rows: list[Row]) -> None:
    assert report.rising(rows[1:2]) is None  # it rises because that is asked
    early = runs.rows([STEADY._replace(hours=4.0, warm_up=1.0)], SEEDS, FixedBlocks)
    assert report.rising(early) == 12.0
    rest = STEADY._replace(load=Load(levels=(Level(0, 0.5),), populated=True), hours=8.0, warm_up=1.0)
    assert report.rising(runs.rows([rest], SEEDS, FixedBlocks)) is None


def test_a_world_that_ends_early_has_told_all_its_hours() -> None:
    hours: list[int] = []
    runs.rows([RAMP], [1], FixedBlocks, 1, hours.append)
    assert sum(hours) == runs.hours([RAMP], [1])
