"""A picture of runs: routes over the hours, or over how full the subnet is, one line for each world."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenure.errors import InvalidValue
from tenure.simulate.report import FIGURES, by_hour, by_mark, policy_text
from tenure.simulate.runs import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = (".svg", ".png")
_PANELS: Final = (("fabric", "routes in the fabric"), ("spine", "routes at the spine"))
_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's, which colour-blind people tell apart."""

_STYLES: Final = ("-", "--", ":", "-.")
_BOUND: Final = "lower bound of any policy"


def check(path: Path) -> None:
    """See, before hours of work, that a picture can be drawn there.

    Raises:
        InvalidValue: matplotlib is not installed; the name ends in neither `.svg` nor `.png`; its directory is not
            there.
    """
    if path.suffix.lower() not in FORMATS:
        raise InvalidValue(f"A picture is an {' or a '.join(FORMATS)} file, not {path.name}.", value=str(path))
    if not path.absolute().parent.is_dir():
        raise InvalidValue(f"There is no directory {path.parent}.", value=str(path))
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InvalidValue("A picture needs matplotlib: pip install 'tenure[picture]'.") from None


def draw(path: Path, title: str, rows: Sequence[Row]) -> None:
    """Draw rows into a file: over utilization those with marks, else over the hours.

    The same rows give the same SVG, byte by byte.

    Raises:
        InvalidValue: As for `check`.
    """
    check(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "tenure", "svg.fonttype": "none", "font.size": 9.0}):
        figure = Figure(figsize=(10, 4.5), layout="constrained")
        figure.suptitle(title)
        for place, (name, text) in enumerate(_PANELS, start=1):
            _panel(figure.add_subplot(1, len(_PANELS), place), name, text, rows)
        _key(figure)
        figure.savefig(path, dpi=144, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _panel(axes: "Axes", name: str, text: str, rows: Sequence[Row]) -> None:
    filling = any(row.world.marks for row in rows)
    for number, row in enumerate(rows):
        style = _STYLES[number // len(_COLORS) % len(_STYLES)]
        axes.plot(*_points(row, name), style, color=_COLORS[number % len(_COLORS)], linewidth=1.5, label=_label(row))
    for number, points in enumerate(_bounds(name, rows)):
        axes.plot(*points, color="0.6", linewidth=1, label="" if number else _BOUND)
    axes.set_yscale("log")
    _number(axes)
    axes.set_ylabel(text)
    axes.set_xlabel("share of the subnet in use, %" if filling else "hours")
    axes.grid(alpha=0.3)


def _number(axes: "Axes") -> None:
    """Numbers at powers of ten and between them; on a short axis, which may have none of these, at even steps."""
    from matplotlib.ticker import MaxNLocator, NullLocator

    if _small(axes):
        axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(_plain)
    axes.yaxis.set_minor_formatter(_sparse)


def _small(axes: "Axes") -> bool:
    """Whether the axis has fewer than two of the numbers that a logarithmic one is labelled with."""
    low, high = axes.get_ylim()
    labelled = [first * 10**power for power in range(7) for first in (1, 2, 5)]
    return len([number for number in labelled if low <= number <= high]) < 2


def _bounds(name: str, rows: Sequence[Row]) -> list[tuple[list[float], list[float]]]:
    """The lower bound of each site and load; of rows that refused differently, the highest."""
    bounds: dict[object, tuple[list[float], list[float]]] = {}
    for row in rows:
        world, points = row.world, _points(row, f"{name}_bound")
        alike = (world.subnet, world.site, world.load)
        bounds[alike] = max(points, bounds.get(alike, points), key=lambda each: max(each[1], default=0))
    return [*bounds.values()]


def _points(row: Row, name: str) -> tuple[list[float], list[float]]:
    read = FIGURES[name]
    points = [(100 * mark, y) for mark, y in by_mark(row, read)] if row.world.marks else by_hour(row, read)
    shown = [(x, y) for x, y in points if y > 0]
    return [x for x, _ in shown], [y for _, y in shown]


def _label(row: Row) -> str:
    world = row.world
    skew = "" if world.site.skew == "uniform" else f" {world.site.skew}"
    return f"{policy_text(world)}, {world.subnet}{skew}" + (f", {world.note}" if world.note else "")


def _plain(value: float, position: float = 0.0) -> str:
    return f"{value:,.0f}"


def _sparse(value: float, position: float = 0.0) -> str:
    """Between powers of ten, 2 and 5 are written."""
    return _plain(value) if f"{value:.0f}"[0] in "25" else ""


def _key(figure: "Figure") -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(labels)), frameon=False)
