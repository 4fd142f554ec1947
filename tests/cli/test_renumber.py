"""A subnet renumbered from the command line, and looked at."""

import os
import signal
import subprocess
import sys
from itertools import count

import pytest

from tests.cli.conftest import Command

NUMBERS = count(60)


@pytest.fixture
def subnets(tenure: Command) -> tuple[str, str]:
    """Two subnets of a network that no other test uses; the first holds three reservations, `<first>-0` and so on."""
    number = next(NUMBERS)
    first, second = f"10.{number}.0.0/28", f"10.{number}.1.0/28"
    tenure("network", "create", f"net-{number}")
    tenure("subnet", "create", f"net-{number}", first)
    for n in range(3):
        tenure("reserve", f"net-{number}", "--handle", f"{first}-{n}")
    tenure("subnet", "create", f"net-{number}", second)
    return first, second


def test_a_subnet_is_renumbered_to_its_end(tenure: Command, subnets: tuple[str, str]) -> None:
    first, second = subnets
    assert tenure("renumber", first) == f"{first} is not being renumbered; it holds 3 addresses.\n"
    tried = tenure("renumber", first, "--to", second, "--dry-run")
    assert tried == f"{first} is going to {second}: 0 addresses moved, 3 left.\nA dry run: nothing was changed.\n"
    over = tenure.json("renumber", first, "--to", second)
    assert (over["state"], over["left"]) == ("none", 0)
    assert all(each["subnet"] == tenure.json("subnet", "show", second)["id"] for each in _held(tenure, first))


def test_what_was_written_by_hand_stays_and_is_shown(tenure: Command, subnets: tuple[str, str]) -> None:
    first, second = subnets
    tenure("claim", "set", f"{first}-0", "--static")
    tenure(
        "subnet", "set", first, "--gateway", first.replace("0/28", "13"), "--dns-servers", first.replace("0/28", "14")
    )
    done = tenure.tried("renumber", first, "--to", second)
    over = done.stdout
    assert f"{second} has no DNS servers; {first} has {first.replace('0/28', '14')}.\n" in done.stderr
    assert f"{second} has no gateway; {first} has " in done.stderr
    assert f"{first}: done: 2 addresses moved, 1 left.\n" in over
    assert f"tenure subnet drain {first} --off lets it be used again.\n" in over
    assert f"{first}-0" in over
    assert "1 claim stays, for it was written down by hand; --static-acknowledged moves it too." in over
    assert tenure.json("renumber", first, "--to", second, "--static-acknowledged")["left"] == 0


def test_a_renumbering_is_stopped_resumed_and_cancelled(tenure: Command, subnets: tuple[str, str]) -> None:
    first, second = subnets
    begun = tenure.json("renumber", first, "--to", second, "--wave", "1", "--lease-time", "5m", "--begin")
    assert (begun["state"], begun["wave"], begun["lease_time"]) == ("running", 1, 300)
    assert f"{first} is stopped on its way to {second}: " in tenure("renumber", first, "--stop")
    assert tenure.json("renumber", first, "--resume")["state"] == "running"
    assert f"{first} is going to {second}: " in tenure("renumber", first)
    assert f"{first} is not being renumbered; " in tenure("renumber", first, "--cancel")
    assert "is not being renumbered" in tenure.refused(1, "renumber", first, "--resume")
    assert "one of --to" in tenure.refused(2, "renumber", first, "--to", second, "--stop").replace("\n", " ")


def test_ctrl_c_ends_only_the_looking_on(tenure: Command, subnets: tuple[str, str]) -> None:
    first, second = subnets
    command = "from tenure.cli.main import main; main()"
    words = ["renumber", first, "--to", second, "--wave", "1"]
    looking = subprocess.Popen(
        [sys.executable, "-c", command, *words],
        env={**os.environ, **tenure.env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert looking.stderr is not None
    assert "Ctrl-C ends only the looking on." in looking.stderr.readline()
    looking.send_signal(signal.SIGINT)
    shown, said = looking.communicate(timeout=30)
    assert looking.returncode == 0, said
    assert f"It goes on; tenure renumber {first} shows how far it is, --stop stops it." in said
    assert f"{first} is going to {second}: " in shown
    assert tenure.json("renumber", first)["state"] == "running"
    tenure("renumber", first, "--cancel")


def _held(tenure: Command, first: str) -> list[dict[str, str]]:
    claims = (tenure.json("claim", "show", f"{first}-{n}") for n in range(3))
    return [address for claim in claims for address in claim["addresses"]]
