"""Routes as router software reads them: BIRD 2, FRR, and the lines of ExaBGP's process API.

During a hand-over two hosts announce an address. BIRD gets both, the one that is left with a worse preference. FRR and
ExaBGP get one a prefix: given two static routes at once, FRR (8.4 for one) may lose either, whatever their distances;
and without ADD-PATH (RFC 7911) a second announcement takes the place of the first.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, Literal

from tenure.errors import InvalidValue
from tenure.net.addresses import covering, number_of, prefix_text, width
from tenure.service.route_answers import Table, TableRoute

Form = Literal["bird", "frr", "exabgp"]

PREFERENCE: Final = 50
"""BGP's local preference (RFC 4271) of the host that an address leaves; others have none said, which is 100."""
_SHOWN: Final = 20
_LOCAL: Final = "local"
_UNREACHABLE: Final = "unreachable"


def text_of(form: Form, table: Table) -> str:
    """A table as text.

    Raises:
        InvalidValue: Some next hops have no router's address of the family; `locations` names them.
    """
    return "".join(line + "\n" for line in _FORMS[form](table))


def _version(route: TableRoute) -> int:
    return 6 if ":" in route.prefix else 4


def _routable(table: Table, routes: Iterable[TableRoute]) -> list[TableRoute]:
    """The same, if each next hop has an address.

    Raises:
        InvalidValue: As for `text_of`.
    """
    found = list(routes)
    lacking = {(route.via.name or _above(table), _version(route)) for route in found if not _addressed(route)}
    if lacking:
        names = sorted({name for name, _ in lacking})
        versions = " and ".join(f"IPv{version}" for version in sorted({version for _, version in lacking}))
        raise InvalidValue(
            f"Next hops without a router for {versions}: {', '.join(names[:_SHOWN])}{' …' * (len(names) > _SHOWN)}. "
            + _cure(table, *min(lacking)),
            parameter="format",
            locations=names[:_SHOWN],
            count=len(names),
        )
    return found


def _above(table: Table) -> str:
    return f"the place above {table.place}"


def _cure(table: Table, name: str, version: int) -> str:
    """What to do about a next hop that has no router."""
    option = "--router" if version == 4 else "--router-v6"
    if name != _above(table):
        return f"Set it: tenure location set {name} {option} IP."
    return (
        f"There is none: make one (tenure location create NAME --kind site {option} IP), and put {table.place} there "
        f"(tenure location set {table.place} --parent NAME)."
    )


def _far(table: Table) -> Iterator[TableRoute]:
    """What a router's file has: all, but on a rack's switch nothing of its own, which is on its links."""
    return (route for route in table.routes if table.where != "rack" or route.via.kind != _LOCAL)


def _addressed(route: TableRoute) -> bool:
    return route.via.kind in (_LOCAL, _UNREACHABLE) or route.via.router is not None


def _about(table: Table, routes: list[TableRoute]) -> str:
    return f"{len(routes)} route{'s' * (len(routes) != 1)} for {table.place}, as of {table.sequence}; made by Tenure"


def _bird(table: Table) -> Iterator[str]:
    """A file to include: a static protocol a family, and another one for what is being left."""
    routes = _routable(table, _far(table))
    yield f"# {_about(table, routes)}"
    for version in (4, 6):
        mine = [route for route in routes if _version(route) == version]
        yield from _bird_protocol(f"tenure_ipv{version}", f"ipv{version};", [each for each in mine if each.preferred])
        left = [each for each in mine if not each.preferred]
        if left:
            yield from _bird_protocol(f"tenure_ipv{version}_left", f"ipv{version} {{ preference 190; }};", left)


def _bird_protocol(name: str, channel: str, routes: list[TableRoute]) -> Iterator[str]:
    yield f"protocol static {name} {{"
    yield f"\t{channel}"
    for route in routes:
        via = _BIRD_WORDS.get(route.via.kind) or f"via {route.via.router}"
        more = "" if route.preferred else f" {{ bgp_local_pref = {PREFERENCE}; }}"
        name = f"  # {route.via.name}" if route.via.name else ""
        yield f"\troute {route.prefix} {via}{more};{name}"
    yield "}"


_BIRD_WORDS: Final = {_LOCAL: "blackhole", _UNREACHABLE: "unreachable"}
"""What is a host's own, and more narrowly routed to nobody, goes nowhere else."""


def _frr(table: Table) -> Iterator[str]:
    routes = _routable(table, (route for route in _far(table) if route.preferred))
    yield f"! {_about(table, routes)}"
    for route in routes:
        word = "ip" if _version(route) == 4 else "ipv6"
        via = _FRR_WORDS.get(route.via.kind) or route.via.router
        yield f"{word} route {route.prefix} {via}"


_FRR_WORDS: Final = {_LOCAL: "blackhole", _UNREACHABLE: "reject"}


def _exabgp(table: Table) -> Iterator[str]:
    """What is announced: by a host what is local, for others everything; of two next hops the preferred one.

    ExaBGP refuses `self` for the family that its session does not run over: it stands for a host without a router only.
    """
    routes = [route for route in table.routes if table.where != "host" or route.via.kind == _LOCAL]
    best = {route.prefix: route for route in sorted(routes, key=lambda route: route.preferred)}
    whole = _without_holes(best[prefix] for prefix in dict.fromkeys(route.prefix for route in routes))
    for route in _routable(table, whole):
        via = route.via.router or "self"
        more = "" if route.preferred else f" local-preference {PREFERENCE}"
        yield f"announce route {route.prefix} next-hop {via}{more}"


_FORMS: Final[dict[Form, Callable[[Table], Iterator[str]]]] = {"bird": _bird, "frr": _frr, "exabgp": _exabgp}


def _without_holes(routes: Iterable[TableRoute]) -> Iterator[TableRoute]:
    """The same without unreachable routes, which nobody can announce: what is around one is cut to what is left of it.

    Args:
        routes: In order of addresses, wider first, one a prefix.
    """
    found = list(routes)
    taken = {route.prefix for route in found}
    holes: dict[TableRoute | None, list[TableRoute]] = {}
    for route, around in reversed(_nested(found)):
        if route.via.kind == _UNREACHABLE or route in holes:  # who is cut leaves a hole in what is around it, too
            holes.setdefault(around, []).insert(0, route)
    for route in found:
        if route.via.kind != _UNREACHABLE:
            pieces = _cut(route, holes[route]) if route in holes else [route]
            yield from (piece for piece in pieces if piece is route or piece.prefix not in taken)


def _nested(routes: list[TableRoute]) -> list[tuple[TableRoute, TableRoute | None]]:
    """Each route with the narrowest one around it."""
    found: list[tuple[TableRoute, TableRoute | None]] = []
    open_: list[TableRoute] = []
    for route in routes:
        while open_ and not _inside(route, open_[-1]):
            open_.pop()
        found.append((route, open_[-1] if open_ else None))
        open_.append(route)
    return found


def _cut(route: TableRoute, holes: list[TableRoute]) -> Iterator[TableRoute]:
    """A route's prefix without its holes, in as few prefixes as can be."""
    version = _version(route)
    first, last = _ends(route)
    for start, end in chain(map(_ends, holes), [(last + 1, last + 1)]):
        for piece in covering(version, first, start - 1):
            yield TableRoute(prefix_text(version, *piece), route.via, route.kind, route.preferred)
        first = end + 1


def _inside(route: TableRoute, other: TableRoute) -> bool:
    first, last = _ends(other)
    return _version(route) == _version(other) and first <= _ends(route)[0] <= last


def _ends(route: TableRoute) -> tuple[int, int]:
    text, _, length = route.prefix.partition("/")
    first = number_of(text)
    return first, first + (1 << width(_version(route)) - int(length)) - 1
