"""Moving, evacuating and draining from the command line."""

from collections.abc import Iterator

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def hosts_of_its_own(tenure: Command, request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Two hosts that no other test uses, not draining at the end."""
    names = f"from-{request.node.name[:40]}", f"to-{request.node.name[:40]}"
    for name in names:
        tenure("location", "create", name, "--kind", "host", "--parent", "rack-3")
    yield names
    for name in names:
        tenure("location", "drain", name, "--off")


def test_a_claim_is_moved_with_a_hand_over_and_settled(tenure: Command, hosts_of_its_own: tuple[str, str]) -> None:
    old, new = hosts_of_its_own
    claim = tenure.json("allocate", "prod", "--host", old, "--handle", "settles")
    shown = tenure("rebind", "settles", new, "--handover", "2m")
    assert f"leaving  {old}" in shown
    assert "(borrowed)" in shown
    stays = tenure.json("allocate", "prod", "--host", new)
    assert "(new)" not in tenure("rebind", stays["id"], new)
    assert tenure.json("claim", "settle", claim["id"])["leaving"] is None
    assert "leaving" not in tenure("claim", "settle", "settles")


def test_a_host_is_drained_and_evacuated(tenure: Command, hosts_of_its_own: tuple[str, str]) -> None:
    old, new = hosts_of_its_own
    for n in range(2):
        tenure("allocate", "prod", "--host", old, "--handle", f"evacuated-{n}")
    shown = tenure("location", "drain", old)
    assert "evacuated-0" in shown
    assert f"Location {old} is draining; 2 claims there." in shown
    assert "is draining" in tenure.refused(1, "allocate", "prod", "--host", old)
    assert "2 claims would be moved." in tenure("location", "evacuate", old, new, "--dry-run")
    assert "2 claims were moved." in tenure("location", "evacuate", old, new)
    assert tenure.json("location", "drain", old)["count"] == 0
    shown = tenure("location", "drain", old)
    assert f"Location {old} is draining; 0 claims there." in shown
    assert "2 claims left, and are announced here too." in shown
    for n in range(2):
        tenure("claim", "settle", f"evacuated-{n}")
    assert "announced" not in tenure("location", "drain", old)
    assert tenure("location", "drain", old, "--off") == f"Location {old} is open again; 0 claims there.\n"
    assert [each["host"] for each in tenure.json("location", "evacuate", new, old, "--renumber")] == [old, old]


def test_a_subnet_is_drained_by_its_prefix(tenure: Command) -> None:
    tenure("network", "create", "drained")
    tenure("subnet", "create", "drained", "10.76.0.0/24")
    tenure("allocate", "drained", "--handle", "stays")
    assert "Subnet 10.76.0.0/24 is draining; 1 claim there." in tenure("subnet", "drain", "10.76.0.0/24")
    assert "no IPv4 address" in tenure.refused(1, "allocate", "drained")
    tenure("subnet", "drain", "10.76.0.0/24", "--off")
    tenure("allocate", "drained")
