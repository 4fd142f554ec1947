"""Addresses moved, attached, detached and renamed from the command line."""

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def two(tenure: Command, request: pytest.FixtureRequest) -> tuple[str, str, str]:
    """Two machines, `<name>-1` and `<name>-2`, with MACs that no other test uses; the name and the MACs."""
    name = request.node.name[:24].replace("_", "-").strip("-")
    number = sum(request.node.name.encode()) & 0xFFFF
    macs = [f"52:54:00:{number >> 8:02x}:{number & 255:02x}:0{n}" for n in (1, 2)]
    for n, mac in enumerate(macs, 1):
        tenure("machine", "create", f"{name}-{n}", "--kind", "instance", "--interfaces", mac)
    return name, macs[0], macs[1]


def _held(tenure: Command, mac: str, *more: str) -> str:
    return str(tenure.json("allocate", "prod", "--mac", mac, *more)["addresses"][0]["ip"])


def test_move_by_mac_by_machine_and_by_claim(tenure: Command, two: tuple[str, str, str]) -> None:
    name, one, other = two
    ip = _held(tenure, one, "--handle", f"{name}-moved")
    moved = tenure("move", ip, "--to", other)
    assert moved.startswith(f"{ip}/16  {name}-2.prod.example.")
    assert tenure.json("move", ip, "--to", f"{name}-1")["machine"] == f"{name}-1"
    tenure("allocate", "prod", "--mac", other, "--handle", f"{name}-other")
    assert "stays beside it." in tenure("move", ip, "--to", f"{name}-other")
    said = tenure.refused(1, "move", ip, "--to", "nobody-at-all")
    assert said == "There is no machine, interface or claim 'nobody-at-all'.\n"


def test_move_to_another_address(tenure: Command, two: tuple[str, str, str]) -> None:
    ip = _held(tenure, two[1])
    assert tenure.json("move", ip, "--to", "10.0.50.5", "--dry-run")["addresses"][0]["ip"] == "10.0.50.5"
    moved = tenure("move", ip, "--to", "10.0.50.5", "--dns", "now")
    assert moved.startswith("10.0.50.5/16")
    assert "Nobody holds" in tenure.refused(1, "claim", "show", ip)


def test_a_static_address_moves_when_that_is_acknowledged(tenure: Command, two: tuple[str, str, str]) -> None:
    ip = _held(tenure, two[1], "--static")
    assert "--static-acknowledged" in tenure.refused(1, "move", ip, "--to", two[2])
    assert tenure.json("move", ip, "--to", two[2], "--static-acknowledged")["mac"] == two[2]


def test_an_address_is_attached_and_detached(tenure: Command, two: tuple[str, str, str]) -> None:
    name, one, other = two
    ip = tenure.json("reserve", "prod", "--handle", f"{name}-vip", "--hostname", f"{name}-vip", "--shared")
    vip = ip["addresses"][0]["ip"]
    tenure("attach", vip, one)
    tenure("attach", vip, other)
    assert {each["mac"] for each in tenure.json("address", "show", vip)["interfaces"]} == {one, other}
    assert tenure.refused(1, "detach", vip)
    tenure("detach", vip, one)
    assert "machine" not in tenure("detach", vip)


def test_an_address_is_renamed(tenure: Command, two: tuple[str, str, str]) -> None:
    name, one, _ = two
    ip = _held(tenure, one)
    assert f"{name}-db.prod.example." in tenure("rename", ip, f"{name}-db")
    assert f"{name}-1.prod.example." in tenure("rename", ip, "none")
