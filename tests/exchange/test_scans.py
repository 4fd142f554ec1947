"""Scans as the programs printed them in two network namespaces, and as they should not be."""

import json
from pathlib import Path

import pytest

from tenure.errors import InvalidValue
from tenure.exchange import scans
from tenure.exchange.scanning import Scan, Sighted

SCANS = Path(__file__).parent / "scans"
MAC = "52:54:00:0a:0b:0c"


def _read(name: str) -> Scan:
    return scans.read(name, (SCANS / name).read_text())


@pytest.mark.parametrize(
    ("name", "source", "seen"),
    [
        ("neigh.json", "neighbours", [("10.9.0.5", MAC), ("2001:db8:9::5", MAC)]),
        ("neigh.txt", "neighbours", [("10.9.0.5", MAC), ("2001:db8:9::5", MAC)]),
        ("arp-scan.txt", "arp-scan", [("10.9.0.5", MAC), ("10.9.0.6", MAC)]),
        ("arp-scan-plain.txt", "arp-scan", [("10.9.0.5", MAC), ("10.9.0.6", MAC)]),
        ("nmap.txt", "nmap", [("10.9.0.5", MAC), ("10.9.0.6", MAC), ("10.9.0.1", None)]),
        ("nmap.xml", "nmap", [("10.9.0.5", MAC), ("10.9.0.6", MAC), ("10.9.0.1", None)]),
        ("nmap-named.txt", "nmap", [("10.9.0.5", MAC)]),
        ("nmap-v6.txt", "nmap", [("2001:db8:9::5", MAC)]),
        ("nmap-verbose.txt", "nmap", [("10.9.0.5", MAC), ("10.9.0.6", MAC)]),
    ],
)
def test_a_scan_says_who_was_seen_where(name: str, source: str, seen: list[tuple[str, str | None]]) -> None:
    scan = _read(name)
    assert scan.sighted == [Sighted(ip, mac, source) for ip, mac in seen]
    assert scan.notes == []


def _neighbour(**more: object) -> str:
    return json.dumps([{"dst": "10.9.0.5", "dev": "eth0", "lladdr": MAC, **more}])


@pytest.mark.parametrize(
    ("more", "seen"),
    [
        ({"state": ["REACHABLE"]}, True),
        ({"state": ["PROBE"]}, True),
        ({"state": ["STALE"], "confirmed": 600}, True),
        ({"state": ["STALE"], "confirmed": 601}, False),
        ({"state": ["STALE"]}, False),
    ],
)
def test_a_neighbour_that_was_not_confirmed_lately_is_left_out_and_noted(more: dict[str, object], seen: bool) -> None:
    scan = scans.read("neighbours", _neighbour(**more))
    assert [each.ip for each in scan.sighted] == ["10.9.0.5"] * seen
    assert scan.notes == ["neighbours: 1 entry was not confirmed lately; it is left out."] * (not seen)


@pytest.mark.parametrize("state", ["PERMANENT", "NOARP", "FAILED", "INCOMPLETE", "NONE"])
def test_a_neighbour_that_nobody_heard_says_nothing(state: str) -> None:
    scan = scans.read("neighbours", _neighbour(state=[state]))
    assert (scan.sighted, scan.notes) == ([], [])


def test_lines_of_neighbours_with_statistics_say_when_they_were_confirmed() -> None:
    line = f"10.9.0.5 dev eth0 lladdr {MAC} ref 1 used {{}} probes 1 STALE\n"
    assert scans.read("n", line.format("900/30/20")).sighted == [Sighted("10.9.0.5", MAC, "neighbours")]
    assert scans.read("n", line.format("900/3000/20")).sighted == []


def test_what_never_leaves_a_link_is_passed_over_and_what_cannot_be_is_noted() -> None:
    scan = scans.read("s", f"fe80::1 dev e lladdr {MAC} REACHABLE\n10.0.0.7 dev e lladdr 01:00:5e:00:00:01 REACHABLE\n")
    assert scan.sighted == []
    assert scan.notes == [
        "s, line 2: 01:00:5e:00:00:01 is a multicast address, which is no interface's MAC address; it is left out."
    ]


def test_two_that_answer_for_one_address_are_two_sightings() -> None:
    other = "52:54:00:00:00:99"
    text = f"10.9.0.5\t{MAC}\tQEMU\n10.9.0.5\t{other}\tQEMU (DUP: 2)\n10.9.0.5\t{MAC}\tQEMU (DUP: 3)\n"
    assert [each.mac for each in scans.read("a", text).sighted] == [MAC, other]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello\n", "x does not look like the output of ip neigh, arp-scan or nmap -sn; say --kind"),
        ("", "x does not look like"),
        ("[{]", "x is no JSON of `ip -json neigh`: "),
        ("[7]", "x, entry 1 is no neighbour"),
        ('[{"dst": 7, "state": []}]', "x, entry 1 has no dst or state"),
        ("10.0.0.1 dev e REACHABLE\nnonsense\n", "x, line 2 is no neighbour"),
        ("<nmaprun>", "x is no XML of `nmap -oX`: no element found"),
        ('<!DOCTYPE n [<!ENTITY a "b">]><n>&a;</n>', "x declares an entity, as no output of nmap does"),
    ],
)
def test_what_is_no_scan_is_refused_by_name(text: str, said: str) -> None:
    with pytest.raises(InvalidValue) as found:
        scans.read("x", text)
    assert found.value.message.startswith(said)
