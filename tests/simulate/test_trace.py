"""A site's own life from a file: what it says happens, and what it cannot mean is refused by row."""

from pathlib import Path

import pytest

from tenure.errors import InvalidValue
from tenure.simulate import runs, trace
from tenure.simulate.workload import Arrive, Leave, Move, Replace
from tenure.simulate.world import World
from tests.simulate.fixed_blocks import FixedBlocks

HEADER = "time,event,workload,host\n"
LIFE = """\
2026-03-01T00:00:00Z,arrive,web-1,rack-1/host-1
2026-03-01T00:00:30+00:00,arrive,db,rack-2/host-9
2026-03-01T00:30:00,move,web-1,rack-1/host-2
2026-03-01T00:40:00,renumber,db,rack-1/host-1
2026-03-01T01:00:00,leave,web-1,
2026-03-01T01:00:00,arrive,web-1,rack-1/host-1
2026-03-01T01:30:00,replace,,rack-2/host-9
"""


def written(folder: Path, rows: str, header: str = HEADER) -> Path:
    file = folder / "trace.csv"
    file.write_text(header + rows)
    return file


def test_names_become_numbers_and_times_seconds(tmp_path: Path) -> None:
    read = trace.read(written(tmp_path, LIFE))
    assert read.events == (
        Arrive(0.0, 0, 0),
        Arrive(30.0, 1, 1),
        Move(1800.0, 0, 2, False),
        Move(2400.0, 1, 0, True),
        Leave(3600.0, 0),
        Arrive(3600.0, 2, 0),
        Replace(5400.0, 1),
    )
    assert [read.site.rack_of(host) for host in range(read.site.hosts)] == [0, 1, 0]
    assert (read.site.racks, read.hours) == (2, 2.0)


def test_columns_in_any_order_and_hosts_without_a_rack(tmp_path: Path) -> None:
    read = trace.read(written(tmp_path, "a,w,10,arrive\nb,x,11.5,arrive\n", "host,workload,time,event\n"))
    assert read.events == (Arrive(0.0, 0, 0), Arrive(1.5, 1, 1))
    assert read.site.racks == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", "has no events"),
        ("0,arrive,w,a\n1,sleep,w,a\n", "row 3: 'sleep' is no event"),
        ("0,arrive,w,\n", "row 2: arrive needs a host"),
        ("0,leave,w,\n", "row 2: w has not arrived"),
        ("0,arrive,w,a\n1,arrive,w,a\n", "row 3: w has arrived already"),
        ("5,arrive,w,a\n4,leave,w,\n", "row 3: it is earlier"),
        ("soon,arrive,w,a\n", "row 2: Invalid isoformat string"),
        ("nan,arrive,w,a\n", "row 2: nan is no time"),
        ("0,arrive,w,a,more\n", "row 2: it has more values than the header"),
        ('0,arrive,"w,a\n', "cannot be read"),
    ],
)
def test_what_it_cannot_mean_is_refused(tmp_path: Path, rows: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        trace.read(written(tmp_path, rows))


def test_another_header_or_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="its header must be time,event,workload,host"):
        trace.read(written(tmp_path, LIFE, "time,event,workload,node\n"))
    with pytest.raises(InvalidValue, match="cannot be read"):
        trace.read(tmp_path / "nowhere.csv")


def test_a_trace_is_run(tmp_path: Path) -> None:
    file = written(tmp_path, LIFE)
    read = trace.read(file)
    world = World(site=read.site, hours=read.hours, warm_up=0.0, trace=str(file))
    result = runs.run(world, 1, FixedBlocks)
    assert (result.counts.arrived, result.counts.moved, result.counts.refused) == (3, 2, 0)
    assert result.samples[-1].figures.live == 2
