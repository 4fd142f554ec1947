"""`tenure simulate`: the allocator on a made-up site, to choose lengths and policies before anything is bought."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from signal import SIGTERM, signal
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, get_args

from typer import BadParameter, Option, Typer
from typer.core import TyperCommand

from tenure.cli import output
from tenure.cli.group import example
from tenure.cli.options import seconds
from tenure.cli.remote import REFUSED, complained
from tenure.errors import InvalidValue, TenureError

if TYPE_CHECKING:
    from tenure.simulate.drive import Make
    from tenure.simulate.report import Table
    from tenure.simulate.runs import Row
    from tenure.simulate.world import World

app = Typer()

_POLICY: Final = ("block_length", "rack_block_length", "boundary", "prefer", "cap", "cooldown")
_SITE: Final = ("hosts", "racks", "skew")
_LOAD: Final = ("burst", "migration", "renumber")
_ENDED: Final = 128 + SIGTERM
_HOURS_AT_MOST: Final = 10_000


class Once(TyperCommand):
    """A command that refuses an option given twice, where only one of them would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of a command line."""
        seen = set()
        for parameter in self.make_parser(ctx).parse_args(args=[*args])[2]:
            if parameter in seen and not getattr(parameter, "multiple", False):
                ctx.fail(f"{parameter.opts[0]} is given twice; a run has one.")
            seen.add(parameter)
        return super().parse_args(ctx, args)


def _lasting(text: str) -> int:
    """A duration with its unit: beside options in hours, a bare number would be taken for hours."""
    if text.isdecimal() and int(text):
        raise BadParameter(f"{text} has no unit; write {text}h for hours, {text}m for minutes or {text}s for seconds")
    return seconds(text)


def _amount(text: str) -> float:
    """A number of workloads, or a share of the subnet: `0.7` and `70%` are the same."""
    number, percent, rest = text.partition("%")
    try:
        amount = float(number) / (100 if percent else 1)
    except ValueError:
        amount = -1.0
    if rest or not isfinite(amount) or amount < 0 or (percent and amount > 1):
        raise BadParameter(f"{text} is neither a number of workloads nor a share of the subnet, as 0.7 or 70%")
    return amount


_LEGEND: Final = """\
Means over {runs} at the end of {what}; of routes (the worst; the smallest table; the lower bound)
fabric: every host is a next hop (tenure routes hosts); spine: every rack is (tenure routes fabric)"""

Scenario = Annotated[
    str | None, Option(metavar="NAME", help="A set of worlds, else a site of the other options. `list` lists them.")
]
Seeds = Annotated[int, Option(min=1, max=1000, metavar="COUNT", help="Runs of each world.")]
Strategies = Annotated[
    list[str] | None, Option(metavar="NAME", help="Strategies to compare; of a scenario, only these. Repeatable.")
]
Subnet = Annotated[str | None, Option(metavar="CIDR", help="What the addresses come from; 10.0.0.0/16.")]
Hosts = Annotated[int | None, Option(min=1, max=100_000, metavar="COUNT", help="Hosts; 500.")]
Racks = Annotated[int | None, Option(min=1, max=100_000, metavar="COUNT", help="Racks; 20. 1 is a flat site.")]
Skewed = Annotated[str | None, Option(metavar="SKEW", help="How unequal they are: uniform, skewed or racks; skewed.")]
BlockLength = Annotated[
    int | None, Option(min=1, max=128, metavar="LENGTH", help="Of a host's block; the strategy's own.")
]
RackBlockLength = Annotated[
    int | None, Option(min=1, max=128, metavar="LENGTH", help="Of a rack's block; from the subnet.")
]
InBoundary = Annotated[str | None, Option(metavar="BOUNDARY", help="soft, hard, or by level as rack=hard; soft.")]
Preferred = Annotated[str | None, Option(metavar="LEVEL", help="Whose routes to spare: spine or fabric; spine.")]
Cap = Annotated[int | None, Option(min=1, metavar="COUNT", help="Blocks of a host, at most; no cap.")]
Cooldown = Annotated[
    int | None, Option(metavar="DURATION", parser=_lasting, help="Rest of a released address; 0.", show_default=False)
]
Live = Annotated[
    float | None,
    Option(
        metavar="COUNT",
        parser=_amount,
        help="Workloads alive; up to 1, or with %, a share of the subnet; 12000.",
        show_default=False,
    ),
]
Lives = Annotated[
    int | None, Option(metavar="DURATION", parser=_lasting, help="Mean life of a workload; 8h.", show_default=False)
]
Hours = Annotated[float | None, Option(min=1, max=_HOURS_AT_MOST, metavar="HOURS", help="How long; 48.")]
Burst = Annotated[float | None, Option(min=1, metavar="COUNT", help="Mean size of a deployment; 1.")]
Migration = Annotated[float | None, Option(min=0, max=1, metavar="SHARE", help="Of the workloads, how many move; 0.")]
Renumber = Annotated[
    bool | None, Option("--renumber/--keep", help="Whether who moves gets a new address.", show_default=False)
]
Traced = Annotated[
    Path | None, Option(metavar="FILE", help="A CSV file (time,event,workload,host) that happens instead.")
]
Plans = Annotated[bool, Option("--plans", help="Drive whole plans instead of strategies and blocks alone.")]
Processes = Annotated[int | None, Option(min=1, max=256, metavar="COUNT", help="Runs at once; one a processor.")]
Picture = Annotated[Path | None, Option(metavar="FILE", help="Draw it: an .svg or .png. Needs the extra `picture`.")]
Json = Annotated[bool, Option("--json", help="Print one JSON value.")]


@app.command(
    cls=Once,
    epilog=example(
        "tenure simulate --scenario reference",
        "tenure simulate --hosts 200 --racks 8 --subnet 10.4.0.0/18 --live 0.7 --block-length 28",
        "tenure simulate --scenario ramp --seeds 1 --picture ramp.svg",
        "tenure simulate --trace last-week.csv --subnet 10.4.0.0/18 --block-length 27 --json",
    ),
)
def simulate(
    scenario: Scenario = None,
    seeds: Seeds = 5,
    strategy: Strategies = None,
    subnet: Subnet = None,
    hosts: Hosts = None,
    racks: Racks = None,
    skew: Skewed = None,
    block_length: BlockLength = None,
    rack_block_length: RackBlockLength = None,
    boundary: InBoundary = None,
    prefer: Preferred = None,
    cap: Cap = None,
    cooldown: Cooldown = None,
    live: Live = None,
    lifetime: Lives = None,
    hours: Hours = None,
    burst: Burst = None,
    migration: Migration = None,
    renumber: Renumber = None,
    trace: Traced = None,
    plans: Plans = False,
    processes: Processes = None,
    picture: Picture = None,
    json: Json = False,
) -> None:
    """Run the allocator on a made-up site, and count routes. No service is asked."""
    given = {name: value for name, value in locals().items() if value is not None}
    try:
        if scenario == "list":
            _list(json)
        else:
            _run(given)
    except TenureError as error:
        raise complained(error, REFUSED) from None


def _list(json: bool) -> None:
    from tenure.simulate.scenarios import NAMES, scenario

    told = [{"name": name, "rows": len(scenario(name).worlds), "asks": scenario(name).asks} for name in NAMES]
    output.value(told) if json else output.table(("name", "rows", "asks"), told)


def _run(given: Mapping[str, Any]) -> None:
    from tenure.simulate import report, runs

    name, drawn = given.get("scenario"), given.get("picture")
    asks, asked = worlds(given)
    if drawn is not None:
        from tenure.simulate import picture

        with _wrong("--picture"):
            picture.check(drawn)
    seeds = range(1, given["seeds"] + 1)
    processes = min(given.get("processes") or os.cpu_count() or 1, len(asked) * len(seeds))
    with _ending(), output.progress("Simulated hours", runs.hours(asked, seeds)) as advance:
        rows = runs.rows(asked, seeds, _make(given["plans"]), processes, advance)
    if drawn is not None:
        picture.draw(drawn, asks, rows)
    if given["json"]:
        output.value(report.values(name, asks, seeds, rows))
    else:
        _show(asks, seeds, report.table(rows))
        _hint(rows)


@contextmanager
def _ending() -> Iterator[None]:
    """Whoever ends the command meanwhile ends its other processes too."""
    before = signal(SIGTERM, lambda *_: sys.exit(_ENDED))
    try:
        yield
    finally:
        signal(SIGTERM, before)


def _show(asks: str, seeds: Sequence[int], drawn: "Table") -> None:
    runs = f"{len(seeds)} seed{'s' * (len(seeds) > 1)}"
    what = "each span" if "span" in drawn.columns else "the run"
    print(f"{asks}\n{drawn.alike}\n{_LEGEND.format(runs=runs, what=what)}\n")
    output.table(drawn.columns, drawn.rows)


def _hint(rows: "Sequence[Row]") -> None:
    """Say so where figures at the end are not those of a site at rest."""
    from tenure.simulate.report import rising

    longer = rising(rows)
    if longer is not None and longer <= _HOURS_AT_MOST:
        print(f"\nStill rising after {longer / 3:g} h: give --hours {longer:g}.")


def _make(plans: bool) -> "Make":
    """What is driven; whole plans are much to load, and are loaded when they are wanted."""
    if plans:
        from tenure.simulate.plans import drive as whole

        return whole
    from tenure.simulate.blocks import drive as alone

    return alone


def worlds(given: Mapping[str, Any]) -> tuple[str, "list[World]"]:
    """The question, and the worlds of a scenario or of the options.

    Args:
        given: Options by the names of their parameters, those that were given; they change every world of a scenario.

    Raises:
        BadParameter: An option has a word or a number that it cannot have, a prefix or a trace cannot be read, or a
            block has no place in the subnet.
    """
    from tenure.model.policy import StrategyName
    from tenure.simulate.scenarios import NAMES, scenario
    from tenure.simulate.world import Policy, World

    known = get_args(StrategyName)
    strategies = [_one_of(each, known, "--strategy") for each in given.get("strategy") or ()]
    if "scenario" not in given:
        policies = [Policy(cast("StrategyName", each)) for each in strategies or ["topology"]]
        return "How many routes does this site need?", [_changed(World(policy), given) for policy in policies]
    found = scenario(_one_of(given["scenario"], NAMES, "--scenario"))
    chosen = [world for world in found.worlds if not strategies or world.policy.strategy in strategies]
    if not chosen:
        raise BadParameter("the scenario has no world with it", param_hint="'--strategy'")
    return found.asks, [*dict.fromkeys(_changed(world, given) for world in chosen)]


def _changed(world: "World", given: Mapping[str, Any]) -> "World":
    """A world with what was given in place of its own."""
    world = _at_hours(world, given)
    policy = {name: given[name] for name in _POLICY if name in given}
    if "boundary" in policy:
        policy["boundary"] = _boundary(policy["boundary"])
    if "prefer" in policy:
        _one_of(policy["prefer"], ("spine", "fabric"), "--prefer")
    world = world._replace(policy=world.policy._replace(**policy), subnet=given.get("subnet", world.subnet))
    world = _loaded(_sited(world, given), given)
    _check(world, given)
    return world


def _sited(world: "World", given: Mapping[str, Any]) -> "World":
    from tenure.simulate.world import SKEWS

    if "trace" in given:
        return _traced(world, given["trace"])
    site = world.site._replace(**{name: given[name] for name in _SITE if name in given})
    _one_of(site.skew, tuple(SKEWS), "--skew")
    if site.racks > site.hosts:
        said = f"{site.racks} racks for {site.hosts} hosts"
        raise BadParameter(said + _unless("racks", site.racks, given), param_hint="'--racks'")
    return world._replace(site=site)


def _traced(world: "World", path: Path) -> "World":
    from tenure.simulate import trace

    with _wrong("--trace"):
        read = trace.read(path)
    return world._replace(
        trace=str(path), site=read.site, hours=read.hours, warm_up=0.0, spans=(), marks=(), note=path.name
    )


def _loaded(world: "World", given: Mapping[str, Any]) -> "World":
    from tenure.simulate.world import Level, Lifetime

    load = world.load._replace(**{name: given[name] for name in _LOAD if name in given})
    if "live" in given:
        load = load._replace(levels=(Level(0.0, given["live"]),))
    if "lifetime" in given:
        load = load._replace(lifetime=Lifetime(hours=given["lifetime"] / 3600))
    return world._replace(load=load)


def _at_hours(world: "World", given: Mapping[str, Any]) -> "World":
    if "hours" not in given:
        return world
    return world._replace(hours=given["hours"], warm_up=min(world.warm_up, given["hours"] // 3))


def _check(world: "World", given: Mapping[str, Any]) -> None:
    """What shall live has room, and blocks lie in the subnet."""
    with _wrong("--subnet"):
        prefix = world.prefix
    _check_live(world, given)
    for name in ("block_length", "rack_block_length"):
        length = getattr(world.policy, name)
        if length is not None and not prefix.prefixlen <= length <= prefix.max_prefixlen:
            said = f"a block of {prefix} has a length of {prefix.prefixlen} to {prefix.max_prefixlen}"
            option = "--" + name.replace("_", "-")
            raise BadParameter(said + _unless("subnet", world.subnet, given), param_hint=f"'{option}'")


def _check_live(world: "World", given: Mapping[str, Any]) -> None:
    most = max(map(world.amount, world.load.levels))
    if world.trace is not None or world.load.first_requests or most <= world.addresses:
        return
    said = f"{world.prefix} has {world.addresses:,} addresses" + _unless("live", f"{most:,.0f}", given)
    raise BadParameter(said + ("" if "live" in given else ": give --live 0.7"), param_hint="'--live'")


def _unless(name: str, value: object, given: Mapping[str, Any]) -> str:
    """Who is refused for what they did not say is told what it was."""
    return "" if name in given else f"; --{name} is {value} unless you say otherwise"


@contextmanager
def _wrong(option: str) -> Iterator[None]:
    """A value that cannot be read is wrong usage of its option, as every other one is."""
    try:
        yield
    except InvalidValue as error:
        raise BadParameter(error.message.rstrip("."), param_hint=f"'{option}'") from None


def _boundary(text: str) -> Any:
    """`soft`, `hard`, or levels: `rack=hard,site=soft`."""
    from tenure.model.policy import Boundaries

    if text in ("soft", "hard"):
        return text
    known = ("host", "rack", "site", "region")
    levels = dict(each.partition("=")[::2] for each in text.split(","))
    for level, word in levels.items():
        if level not in known or word not in ("soft", "hard"):
            raise BadParameter(f"soft, hard, or LEVEL=hard for any of {', '.join(known)}", param_hint="'--boundary'")
    return Boundaries(**cast("Any", levels))


def _one_of(word: str, known: Sequence[str], option: str) -> str:
    if word not in known:
        raise BadParameter(f"one of {', '.join(known)}", param_hint=f"'{option}'")
    return word
