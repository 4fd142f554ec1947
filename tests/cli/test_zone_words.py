"""What the commands about zones say to people: refusals in the command's own words, and what they should be told."""

from pathlib import Path

import pytest

from tenure.cli import zone_check
from tenure.cli.demo import lines, listened
from tenure.cli.secondary_forms import Primary, Source, secondary_text
from tests.cli.conftest import Command

ZONE = "words.example."

_CREATE = ("record", "create", ZONE)
WRONG: dict[str, list[tuple[str, ...]]] = {
    "DATA": [(*_CREATE, "www", "A", "not-an-address"), (*_CREATE, "www", "MX", "mail"), (*_CREATE, "a", "CAA", "1")],
    "TYPE": [(*_CREATE, "www", "NOPE", "x"), (*_CREATE, "@", "CNAME", "x."), ("record", "show", ZONE, "www", "NOPE")],
    "NAME": [
        (*_CREATE, "a..b", "A", "192.0.2.1"),
        (*_CREATE, "www.elsewhere.", "A", "192.0.2.1"),
        (*_CREATE, "a_b", "A", "192.0.2.1"),
        ("zone", "create", "a..example."),
        ("secondary", "create", "", "192.0.2.9", "--unsigned"),
        ("tsig-key", "create", "a..b"),
    ],
    "IP": [("secondary", "create", "wrong", "192.0.2", "--unsigned"), ("secondary", "create", "w", "::", "--unsigned")],
    "--transfer-from": [("secondary", "create", "w", "192.0.2.9", "--unsigned", "--transfer-from", "192.0.2.1/24")],
    "--key": [("secondary", "create", "w", "192.0.2.9")],
    "--secret": [("tsig-key", "create", "short", "--secret", "c2hvcnQ=")],
    "--algorithm": [("tsig-key", "create", "old", "--algorithm", "hmac-md5")],
    "--type": [("record", "list", ZONE, "--type", "NOPE")],
    "--to": [("record", "set", ZONE, "fine", "A", "--to", "not-an-address")],
    "--name-template": [("zone", "set", ZONE, "--name-template", "no-address")],
    "--name-servers": [("zone", "set", ZONE, "--name-servers", "a..b.")],
    "--primary": [
        ("secondary", "config", "any", "--for", "nsd", "--primary", primary)
        for primary in ("0.0.0.0", "0.0.0.0:53", "::", "[::]:53", "224.0.0.1")
    ],
}
"""Commands with something wrong, by where it was typed."""


@pytest.fixture
def zone(tenure: Command) -> str:
    """A zone with one record."""
    if tenure.tried("zone", "show", ZONE).exit_code:
        tenure("zone", "create", ZONE)
        tenure("record", "create", ZONE, "fine", "A", "192.0.2.1")
    return ZONE


@pytest.mark.parametrize(("where", "words"), [(where, each) for where, some in WRONG.items() for each in some])
def test_what_is_wrong_is_told_where_it_was_typed(
    tenure: Command, zone: str, where: str, words: tuple[str, ...]
) -> None:
    said = tenure.refused(2, *words)
    assert where in said
    for foreign in ("--data", "/name", "/type", "/data", "/address", "/transfer_from", "In the query", "msgspec"):
        assert foreign not in said


def test_a_zone_of_several_vrfs_is_asked_for_by_the_option(tenure: Command) -> None:
    tenure("vrf", "create", "words")
    for more in ("default", "words"):
        tenure("zone", "create", "twice.example.", "--vrf", more)
    said = tenure.refused(2, "zone", "show", "twice.example.")
    assert said == (
        "Several address spaces have a zone twice.example.: say whose with --vrf. Allowed: default, words.\n"
    )
    for more in ("default", "words"):
        tenure("zone", "delete", "twice.example.", "--vrf", more)
    tenure("vrf", "delete", "words")


def test_names_that_look_absolute_and_are_not_are_told_of(tenure: Command, zone: str) -> None:
    done = tenure.tried("record", "create", ZONE, "a.b", "MX", "10", "mail.example.net")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.splitlines() == [
        "a.b has no dot at its end, so it is in the zone: a.b.words.example.",
        "mail.example.net has no dot at its end, so it is in the zone: mail.example.net.words.example.",
    ]
    done = tenure.tried("record", "set", ZONE, "a.b", "MX", "--to", "10 mx.example.net")
    assert "mx.example.net has no dot at its end" in done.stderr
    done = tenure.tried("record", "set", ZONE, "a.b", "MX", "--to", "10 mx.example.net.")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [("_sip._tcp", "SRV", "0 5 5060 fine"), ("t", "TXT", "a.example"), ("x.words.example.", "A", "192.0.2.7")],
)
def test_names_that_are_meant_so_are_not_told_of(tenure: Command, zone: str, words: tuple[str, ...]) -> None:
    assert tenure.tried("record", "create", ZONE, *words).stderr == ""


def test_an_event_of_a_record_says_which(tenure: Command, zone: str) -> None:
    since = tenure.json("event", "list")[-1]["sequence"]
    tenure("record", "create", ZONE, "told", "TXT", '"v=1"')
    tenure("record", "set", ZONE, "told", "--to", '"v=2"')
    tenure("record", "delete", ZONE, "told", "TXT")
    shown = tenure("event", "list", "--after", str(since), "--kinds", _RECORDS).splitlines()[1:]
    about = [f'told.words.example. TXT "v={number}"' for number in (1, 2, 2)]
    assert [line.partition("  told")[1].strip() + line.partition("  told")[2] for line in shown] == about


_RECORDS = "tenure.record.created,tenure.record.changed,tenure.record.deleted"


def test_people_are_not_shown_how_far_back_the_journal_goes(tenure: Command, zone: str) -> None:
    assert "floor" not in tenure("zone", "show", ZONE)
    assert "floor" not in tenure("zone", "set", ZONE, "--ttl", "10m")
    assert "floor" in tenure.json("zone", "show", ZONE)


def test_glue_that_nobody_reaches_is_told_of(tenure: Command, zone: str) -> None:
    done = tenure.tried("zone", "delegate", ZONE)
    assert "ns.words.example. has the address 127.0.0.1, which only this machine or network reaches." in done.stderr
    assert "\tA\t127.0.0.1\n" in done.stdout
    tenure("zone", "set", ZONE, "--name-servers", "ns1.example.net.")
    assert tenure.tried("zone", "delegate", ZONE).stderr == ""
    tenure("zone", "set", ZONE, "--name-servers", "none")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        *((address, True) for address in ("10.1.2.3", "172.31.0.1", "192.168.1.1", "169.254.1.1", "100.64.0.1")),
        *((address, True) for address in ("fd00::1", "fe80::1", "::1")),
        *((address, False) for address in ("198.41.0.4", "192.0.2.53", "172.32.0.1", "2001:db8::53")),
    ],
)
def test_addresses_of_servers(tenure: Command, zone: str, address: str, told: bool) -> None:
    type_ = "AAAA" if ":" in address else "A"
    record = tenure.json("record", "create", ZONE, "ns7", type_, address)
    tenure("zone", "set", ZONE, "--name-servers", f"ns7.{ZONE}")
    try:
        assert (f" {address}, which" in tenure.tried("zone", "delegate", ZONE).stderr) == told
    finally:
        tenure("zone", "set", ZONE, "--name-servers", "none")
        tenure("record", "delete", ZONE, record["id"])


def test_the_end_of_a_check_counts_what_was_said(tmp_path: Path) -> None:
    text = (
        "r.example.\t300\tIN\tSOA\tns.r.example. hostmaster.r.example. 1 3600 600 1209600 60\n"
        "r.example.\t300\tIN\tNS\tns.r.example.\n"
        "ns.r.example.\t300\tIN\tA\t192.0.2.53\n"
    )
    assert zone_check.checked(text, "r.example.").said[-1] == "OK"
    remark = "r.example.\t300\tIN\tMX\t10 alias.r.example.\nalias.r.example.\t300\tIN\tCNAME\tns.r.example.\n"
    found = zone_check.checked(text + remark, "r.example.")
    assert (found.sound, found.said[-1], len(found.said)) == (True, "OK, with 1 remark", 3)
    assert found.besides(["more"]).said == [*found.said[:-1], "more"]


def test_the_domain_of_addresses_stays_and_says_what_to_do(tenure: Command) -> None:
    tenure("network", "create", "domains", "--domain", "old.example.")
    tenure("subnet", "create", "domains", "10.99.0.0/24")
    tenure("allocate", "domains", "--hostname", "a", "--handle", "domains-a")
    said = tenure.refused(1, "network", "set", "domains", "--domain", "new.example.")
    assert said == (
        "Network domains keeps its domain while it holds addresses, which are called so: 1 of 10.99.0.0/24; "
        "release them first, or make another network with the other domain.\n"
    )
    tenure("release", "domains-a")


@pytest.mark.parametrize(
    ("said", "port"),
    [
        (["dns 127.0.0.1:15355 (udp, tcp)", "dns 127.0.0.1:15356 (udp, tcp) vrf blue"], "15355"),
        (["dns 127.0.0.1:15356 (udp, tcp) vrf blue", "dns 127.0.0.1:15355 (udp, tcp)"], "15355"),
        (["dns 127.0.0.1:15356 (udp, tcp) vrf blue", "dns 127.0.0.1:15355 (udp, tcp) vrf default"], "15355"),
        (["dns 127.0.0.1:15356 (udp, tcp) vrf blue"], "15356"),
    ],
)
def test_the_demo_asks_dns_where_its_names_are(said: list[str], port: str) -> None:
    told = listened(["api http://127.0.0.1:8080", *said, "dhcp off (name an interface with --dhcp4)"])
    assert told["dhcp"] == "off (name an interface with --dhcp4)"
    digs = [line for line in lines(told, Path("tenure-data")) if "dig" in line]
    assert len(digs) == 2
    assert all(f"dig @127.0.0.1 -p {port} +short" in line for line in digs)


def test_what_is_printed_says_where_zones_are_kept() -> None:
    source = Source((Primary("192.0.2.53"),), None, ("prod.example.",))
    assert '    zonefile: "%s.zone"\n' in secondary_text("nsd", source)
    assert "    zonefiles-write: 60\n" in secondary_text("nsd", source)
    assert "    storage: /var/lib/knot\n" in secondary_text("knot", source)
