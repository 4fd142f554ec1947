"""Reservations and what is said of claims, from the command line."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def test_a_reservation_is_side_by_side_by_address_and_ends_by_itself(tenure: Command) -> None:
    five = tenure.json("reserve", "prod", "--count", "5", "--contiguous", "--for", "landscape", "--expires", "7d")
    last = [int(each["ip"].rpartition(".")[2]) for each in five["addresses"]]
    assert last == list(range(last[0], last[0] + 5))
    ends = datetime.fromisoformat(five["expires"]) - datetime.now(UTC)
    assert timedelta(days=6) < ends <= timedelta(days=7)
    shown = tenure("reserve", "prod", "--address", "10.0.40.5", "--address", "10.0.40.9", "--handle", "two")
    assert [line.split()[0] for line in shown.splitlines()[:2]] == ["10.0.40.5/16", "10.0.40.9/16"]
    assert tenure.json("reserve", "prod", "--address", "10.0.40.7")["addresses"][0]["ip"] == "10.0.40.7"


def test_a_reservation_is_used_and_comes_back(tenure: Command) -> None:
    tenure("reserve", "prod", "--address", "10.0.41.5", "--handle", "kept-for-later")
    mac = "52:54:00:00:41:01"
    tenure("allocate", "prod", "--mac", mac, "--handle", "before")
    shown = tenure("allocate", "prod", "--mac", mac, "--handle", "used-1", "--from", "kept-for-later")
    assert shown.startswith("10.0.41.5/16")
    assert "is shelved, and comes back when this is released." in shown
    released = tenure("release", "used-1")
    assert "10.0.41.5 is back with its reservation." in released
    assert " is back." in released


def test_a_claim_is_changed(tenure: Command) -> None:
    tenure("reserve", "prod", "--handle", "changed", "--tags", "a", "--custom", "owner=alice")
    changed = tenure.json("claim", "set", "changed", "--expires", "2030-01-01T00:00:00+02:00", "--static")
    assert (changed["expires"], changed["static"]) == ("2029-12-31T22:00:00Z", True)
    assert "expires  2029" in tenure("claim", "show", "changed")
    changed = tenure.json("claim", "set", "changed", "--expires", "none", "--no-static", "--tags", "none")
    assert (changed["expires"], changed["static"], changed["tags"]) == (None, False, [])
    assert [each["handle"] for each in tenure.json("claim", "list", "--custom", "owner:alice")] == ["changed"]
    assert "changed" not in [each["handle"] for each in tenure.json("claim", "list", "--kept", "life")]
    assert "revision" in tenure.refused(1, "claim", "set", "changed", "--harvest", "never", "--if-match", "1")


@pytest.mark.parametrize("said", ["soon", "2030-01-01", "2030-01-01T00:00:00", "7x"])
def test_an_end_that_is_no_time_is_wrong_usage(tenure: Command, said: str) -> None:
    complaint = re.sub(r"[│\s]+", " ", tenure.refused(2, "reserve", "prod", "--expires", said))
    assert "nor a time with its zone" in complaint


def test_a_batch_says_all_that_a_claim_may(tenure: Command, tmp_path: Path) -> None:
    file = tmp_path / "claims.csv"
    file.write_text(
        "handle,addresses,tags,custom,shared,expires\n"
        "csv-1,10.0.42.1 10.0.42.2,b a,owner=alice u=3,yes,2030-01-01T00:00:00Z\ncsv-2,,,,,\n"
    )
    one, two = (item["claim"] for item in tenure.json("allocate", "prod", "--batch", str(file)))
    assert [each["ip"] for each in one["addresses"]] == ["10.0.42.1", "10.0.42.2"]
    assert (one["tags"], one["custom"], one["shared"]) == (["a", "b"], {"owner": "alice", "u": 3}, True)
    assert one["expires"] == "2030-01-01T00:00:00Z"
    assert (two["tags"], two["custom"], two["shared"], two["expires"]) == ([], {}, False, None)


def test_a_claim_waits_where_there_is_no_room(tenure: Command) -> None:
    tenure("network", "create", "narrow", "--cooldown", "0")
    tenure("subnet", "create", "narrow", "10.45.0.0/31")
    tenure("reserve", "narrow", "--count", "2", "--handle", "all-of-it")
    assert "no IPv4 address" in tenure.refused(1, "allocate", "narrow")
    assert tenure.json("allocate", "narrow", "--queue", "--handle", "waits")["state"] == "pending"
