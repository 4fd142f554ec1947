"""What a follower of routes tells, and when: over the API in process, with a service that is away."""

from collections.abc import Callable

import pytest

from tenure.cli.route_feed import Feed, Refused, run_with
from tenure.client import Client, Request, Response
from tenure.client.problems import Unreachable
from tenure.errors import InvalidValue
from tests.client.in_process import InProcess
from tests.surfaces.api.conftest import bare, site
from tests.surfaces.api.site import Site

__all__ = ["bare", "site"]


class Enough(Exception):
    """The test has seen what it waits for."""


class Told:
    """Takes lines, and has enough after so many changes; the first `refuse` of them are not taken."""

    def __init__(self, enough: int, refuse: int = 0) -> None:
        self.changes: list[list[str]] = []
        self.refused: list[list[str]] = []
        self._enough = enough
        self._refuse = refuse

    def __call__(self, lines: list[str]) -> None:
        """Be told."""
        if len(self.refused) < self._refuse:
            self.refused.append(lines)
            raise Refused("not now")
        self.changes.append(lines)
        if len(self.changes) == self._enough:
            raise Enough


def furnish(site: Site) -> None:
    """The rack has a router, and a host an address."""
    site.ask("PATCH", "/v1/locations/rack-3", {"router": "10.255.0.3"})
    site.post("/v1/claims", {"network": "prod", "host": "compute-7"})


class Away(InProcess):
    """A service that is not there for some time.

    Attributes:
        absent: How often it is still asked in vain.
    """

    absent = 0

    def send(self, request: Request) -> Response:
        """Ask the application, if it is there."""
        if self.absent:
            self.absent -= 1
            raise Unreachable("Nobody answers.")
        return super().send(request)


def feed_of(site: Site, pause: Callable[[float], object]) -> tuple[Feed, Away]:
    """A feed of the fabric, and its way to the service."""
    carrier = Away(site)
    return Feed(Client(carrier), "fabric", pause=pause), carrier


def test_while_the_service_is_away_nothing_is_withdrawn(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    furnish(site)
    paused: list[float] = []

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 3:
            site.ask("PATCH", "/v1/locations/rack-3", {"router": "10.255.0.4"})

    feed, carrier = feed_of(site, pause)
    told = Told(enough=2)
    feed.step(told)
    carrier.absent = 3
    with pytest.raises(Enough):
        feed.follow(told)
    assert [[line.split()[0::4] for line in lines] for lines in told.changes] == [
        [["announce", "10.255.0.3"]],
        [["announce", "10.255.0.4"]],
    ]
    assert paused == [0.25, 0.5, 1.0]
    assert capsys.readouterr().err == "Nobody answers.\n", "said once"


def test_what_was_not_taken_is_told_again(site: Site) -> None:
    furnish(site)
    feed, _ = feed_of(site, lambda seconds: None)
    told = Told(enough=1, refuse=2)
    with pytest.raises(Enough):
        feed.follow(told)
    assert told.refused == [told.changes[0]] * 2


def test_a_file_is_told_whole_and_only_when_it_differs(site: Site) -> None:
    furnish(site)
    feed = Feed(Client(InProcess(site)), "fabric", form="frr")
    told = Told(enough=9)
    feed.step(told)
    site.post("/v1/claims", {"network": "prod", "host": "compute-7"})  # of the block that has a route already
    feed.step(told)
    site.ask("PATCH", "/v1/locations/rack-3", {"router": "10.255.0.4"})
    feed.step(told)
    assert [[line.split()[-1] for line in lines] for lines in told.changes] == [
        ["Tenure", "10.255.0.3"],
        ["Tenure", "10.255.0.4"],
    ]


def test_the_first_refusal_is_the_callers(site: Site) -> None:
    site.post("/v1/claims", {"network": "prod", "host": "compute-7"})
    feed, _ = feed_of(site, lambda seconds: None)
    with pytest.raises(InvalidValue, match="without a router for IPv4: rack-3"):
        feed.follow(Told(enough=1))


def test_a_service_that_is_away_at_first_is_asked_again(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    furnish(site)
    paused: list[float] = []
    feed, carrier = feed_of(site, paused.append)
    carrier.absent = 2
    with pytest.raises(Enough):
        feed.follow(Told(enough=1))
    assert paused == [0.25, 0.5]
    assert capsys.readouterr().err == "Nobody answers.\n"


def test_a_command_that_fails_has_not_taken_its_lines() -> None:
    run_with("cat > /dev/null")(["announce route 10.0.0.0/24 next-hop self"])
    with pytest.raises(Refused, match="status 3"):
        run_with("exit 3")(["announce route 10.0.0.0/24 next-hop self"])
