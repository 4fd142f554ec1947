"""What runs showed: means and worst cases over the seeds, as values for programs and as a table for people."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import pairwise
from statistics import fmean
from typing import Any, Final, NamedTuple

from tenure.simulate.replay import Counts, Result, Sample
from tenure.simulate.runs import Row
from tenure.simulate.world import HOUR, Span, World, boundary_text

Read = Callable[[Sample], float]

FIGURES: Final[dict[str, Read]] = {
    "live": lambda sample: sample.figures.live,
    "fabric": lambda sample: sample.figures.fabric,
    "spine": lambda sample: sample.figures.spine,
    "blocks": lambda sample: sample.figures.blocks,
    "loose": lambda sample: sample.figures.loose,
    "free": lambda sample: sample.figures.free,
    "least_fabric": lambda sample: sample.figures.least_fabric,
    "least_spine": lambda sample: sample.figures.least_spine,
    "fabric_bound": lambda sample: sample.fabric_bound,
    "spine_bound": lambda sample: sample.spine_bound,
}
"""What is read of every sample. `least_`: the smallest table for the blocks as they are; the bounds are of what is
held, whoever gave it."""

_SETTINGS: Final = (
    "subnet",
    "block",
    "rack_block",
    "boundary",
    "prefer",
    "cap",
    "skew",
    "hosts",
    "racks",
    "note",
    "span",
)
_FIGURES: Final = ("live", "fabric", "spine", "loose", "refused")
_SOMETIMES: Final = ("with_room", "steepest")
"""Shown where they are anything: refused while a usable address was free; new routes for a new workload, on ramps."""


class Table(NamedTuple):
    """What people read.

    Attributes:
        alike: A line of what all rows have alike.
        columns: What they differ in, and their figures.
        rows: A cell for each column.
    """

    alike: str
    columns: list[str]
    rows: list[dict[str, Any]]


def values(scenario: str | None, asks: str, seeds: Sequence[int], rows: Sequence[Row]) -> dict[str, Any]:
    """Everything, as one JSON value: an item of `rows` for each world and span.

    Of a figure, `end` is its value at the end of the span and `time` its mean
    over the span's hours; of both, `mean` over the seeds and `worst`, the
    largest (of `free` the smallest). `counts` are from the end of the warm-up on.
    """
    return {
        "scenario": scenario,
        "asks": asks,
        "seeds": list(seeds),
        "rows": [_row(row, span) for row in rows for span in row.world.reported],
    }


def table(rows: Sequence[Row]) -> Table:
    """A row for each world and span: figures at the end of the span, means over the seeds.

    Of routes, in brackets: the worst of the seeds, the smallest table for the same blocks, and the lower bound of any
    policy.
    """
    drawn = [_line(row.world, _row(row, span)) for row in rows for span in row.world.reported]
    differing = [name for name in _SETTINGS if len({line[name] for line in drawn}) > 1]
    alike = [_alike(name, drawn[0][name]) for name in _SETTINGS if name not in differing and drawn[0][name]]
    sometimes = [name for name in _SOMETIMES if any(line[name] not in (None, "0") for line in drawn)]
    return Table(", ".join(alike), ["strategy", *differing, *_FIGURES, *sometimes], drawn)


def rising(rows: Sequence[Row]) -> float | None:
    """Hours to run instead, where a site with one load had not come to rest by its end; None where all had.

    It had not where it has less than 95 % of what shall live and more than at three quarters of its hours, or where
    the fabric's routes rose by more than 5 % since then.
    """
    hours = max((row.world.hours for row in rows if _still(row)), default=None)
    return None if hours is None else 3 * hours


def by_hour(row: Row, read: Read) -> list[tuple[float, float]]:
    """A figure over the hours, the mean over the seeds."""
    samples = [_hourly(result.samples) for result in row.results]
    return [(each[0].time / HOUR, fmean(map(read, each))) for each in zip(*samples, strict=False)]


def by_mark(row: Row, read: Read) -> list[tuple[float, float]]:
    """A figure over the shares of the subnet that are held, the mean over the seeds that came so far."""
    points = []
    for mark in row.world.marks:
        found = [read(sample) for result in row.results for sample in result.samples if sample.mark == mark]
        if found:
            points.append((mark, fmean(found)))
    return points


def policy_text(world: World) -> str:
    """A world's policy in a few words, as in the key of a picture."""
    policy = world.policy
    parts: list[str] = [policy.strategy]
    parts += [f"/{policy.block_length}"] if policy.block_length is not None else []
    parts += [boundary_text(policy.boundary)] if policy.boundary != "soft" else []
    return " ".join(parts)


def _still(row: Row) -> bool:
    """Whether a row is of a site that fills to one load, and was filling yet."""
    world = row.world
    if world.trace is not None or world.marks or world.load.first_requests or len(world.load.levels) > 1:
        return False
    live, fabric = (by_hour(row, FIGURES[name]) for name in ("live", "fabric"))
    before = len(live) * 3 // 4
    short = live[before][1] < live[-1][1] < 0.95 * world.amount(world.load.levels[0])
    return short or fabric[-1][1] > 1.05 * fabric[before][1]


def _row(row: Row, span: Span) -> dict[str, Any]:
    told = {**_settings(row.world), "span": {"name": span.name, "from": span.start, "to": span.end}}
    for name, read in FIGURES.items():
        told[name] = _figure(row.results, span, read, min if name == "free" else max)
    told["updates_an_hour"] = _spread([_pace(result, span) for result in row.results])
    told["counts"] = {
        each.name: _spread([getattr(result.counts, each.name) for result in row.results]) for each in fields(Counts)
    }
    if row.world.marks:
        told["ramp"] = list(_ramp(row))
        told["steepest"] = _steepest(told["ramp"])
    if row.world.drained:
        told["drained"] = _drained(row.results)
    return told


def _settings(world: World) -> dict[str, Any]:
    site, load, policy = world.site, world.load, world.policy
    return {
        **policy._asdict(),
        "boundary": boundary_text(policy.boundary),
        "subnet": world.subnet,
        "hosts": site.hosts,
        "racks": site.racks,
        "skew": site.skew,
        "load": {
            **load._asdict(),
            "levels": [level._asdict() for level in load.levels],
            "lifetime": load.lifetime._asdict(),
        },
        "trace": world.trace,
        "hours": world.hours,
        "warm_up": world.warm_up,
        "note": world.note,
    }


def _hourly(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.mark is None]


def _within(result: Result, span: Span) -> list[Sample]:
    """The samples of a span; the last one of the run, if it ended before."""
    samples = [each for each in result.samples if span.start * HOUR <= each.time <= span.end * HOUR]
    return samples or [result.samples[-1]]


def _figure(
    results: Sequence[Result], span: Span, read: Read, worst: Callable[[list[float]], float]
) -> dict[str, dict[str, float]]:
    seen = [[read(sample) for sample in _within(result, span)] for result in results]
    return {
        "end": _spread([each[-1] for each in seen], worst),
        "time": _spread([fmean(each) for each in seen], worst),
    }


def _spread(numbers: list[float], worst: Callable[[list[float]], float] = max) -> dict[str, float]:
    return {"mean": round(fmean(numbers), 2), "worst": round(worst(numbers), 2)}


def _pace(result: Result, span: Span) -> float:
    """Changes of the fabric's routes an hour."""
    samples = _within(result, span)
    took = (samples[-1].time - samples[0].time) / HOUR
    return (samples[-1].figures.updates - samples[0].figures.updates) / took if took else 0.0


def _ramp(row: Row) -> Iterator[dict[str, float]]:
    columns = {name: dict(by_mark(row, read)) for name, read in FIGURES.items()}
    for mark in columns["live"]:
        yield {"utilization": mark, **{name: round(points[mark], 2) for name, points in columns.items()}}


def _steepest(ramp: list[dict[str, float]]) -> dict[str, float] | None:
    """Between which points the most routes come for each workload that comes."""
    slopes = [
        {
            "routes_a_workload": round((after["fabric"] - before["fabric"]) / (after["live"] - before["live"]), 4),
            "from": before["utilization"],
            "to": after["utilization"],
        }
        for before, after in pairwise(ramp)
    ]
    return max(slopes, key=lambda slope: slope["routes_a_workload"], default=None)


def _drained(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    """What is left when everybody has gone; all but `free` should be nothing."""
    left = [result.drained for result in results if result.drained is not None]
    return {
        name: _spread([getattr(each, name) for each in left], min if name == "free" else max)
        for name in ("fabric", "spine", "blocks", "loose", "live", "free")
    }


def _alike(name: str, value: Any) -> str:
    return f"{value} {name}" if name in ("hosts", "racks") else f"{name.replace('_', ' ')} {value}"


def _line(world: World, row: dict[str, Any]) -> dict[str, Any]:
    policy, counts = world.policy, row["counts"]
    return {
        **row,
        "block": _length(policy.block_length),
        "rack_block": _length(policy.rack_block_length),
        "span": row["span"]["name"],
        "live": _whole(row["live"]["end"]["mean"]),
        "fabric": _routes(row, "fabric"),
        "spine": _routes(row, "spine"),
        "loose": _whole(row["loose"]["end"]["mean"]),
        "refused": _whole(counts["refused"]["mean"]),
        "with_room": _whole(counts["refused_with_room"]["mean"]),
        "steepest": (row.get("steepest") or {}).get("routes_a_workload"),
    }


def _routes(row: dict[str, Any], level: str) -> str:
    end = row[level]["end"]
    least, bound = (row[name]["end"]["mean"] for name in (f"least_{level}", f"{level}_bound"))
    return f"{_whole(end['mean'])} ({_whole(end['worst'])}; {_whole(least)}; {_whole(bound)})"


def _length(length: int | None) -> str | None:
    return None if length is None else f"/{length}"


def _whole(number: float) -> str:
    return f"{number:,.0f}"
