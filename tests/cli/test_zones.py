"""The commands about zones, records, secondaries and keys against a running service."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

import dns.zone
import pytest

from tenure.cli import zone_check
from tenure.cli.secondary_forms import Primary, Source, key_text, secondary_text
from tests.cli.conftest import Command
from tests.lab.secondaries import PowerDns

SOUND = """\
check.example.\t300\tIN\tSOA\tns.check.example. hostmaster.check.example. 1 3600 600 1209600 60
check.example.\t300\tIN\tNS\tns.check.example.
ns.check.example.\t300\tIN\tA\t192.0.2.53
"""
BROKEN = SOUND + "www.check.example.\t300\tIN\tCNAME\ta.example.\nwww.check.example.\t300\tIN\tA\t192.0.2.1\n"


def test_zones(tenure: Command) -> None:
    servers = ("--name-servers", "ns1.example.net.", "--name-servers", "ns2.example.net.")
    made = tenure.json("zone", "create", "cli.example", "--ttl", "10m", *servers)
    assert (made["name"], made["ttl"], len(made["name_servers"])) == ("cli.example.", 600, 2)
    set_ = ("--name-servers", "none", "--name-template", "ip-{ip-hex}", "--negative-ttl", "30")
    changed = tenure.json("zone", "set", "cli.example.", *set_)
    assert (changed["name_servers"], changed["name_template"], changed["negative_ttl"]) == ([], "ip-{ip-hex}", 30)
    assert tenure.json("zone", "set", "cli.example.", "--name-template", "none")["name_template"] is None
    assert "cli.example." in tenure("zone", "list", "--vrf", "default", "--q", "cli")
    assert tenure.json("zone", "show", "cli.example.", "--vrf", "default")["revision"] == 3
    assert "revision" in tenure.refused(1, "zone", "delete", "cli.example.", "--if-match", "1")
    told = tenure("zone", "delete", "cli.example.", "--dry-run")
    assert "Zone cli.example. would be deleted.\nA dry run: nothing was changed.\n" in told
    assert tenure("zone", "delete", "cli.example.") == "Zone cli.example. is deleted.\n"
    assert "/name" not in tenure.refused(2, "zone", "create", "x..example.", "--vrf", "default")


def test_records_by_id_and_by_name(tenure: Command) -> None:
    tenure("zone", "create", "records.example.")
    mx = tenure.json("record", "create", "records.example.", "@", "mx", "10", "mail", "--ttl", "1h")
    assert (mx["data"], mx["ttl"]) == ("10 mail.records.example.", 3600)
    www = tenure.json("record", "create", "records.example.", "www", "CNAME", "web.example.net.")
    for words in (("www", "CNAME"), ("www",), ("WWW.records.example.",), (www["id"],)):
        assert tenure.json("record", "show", "records.example.", *words) == www
    assert tenure.json("record", "show", "records.example.", "@") == mx
    changed = tenure.json("record", "set", "records.example.", "@", "MX", "--to", "20 mail", "--ttl", "none")
    assert (changed["data"], changed["ttl"]) == ("20 mail.records.example.", None)
    tenure("record", "create", "records.example.", "@", "MX", "30 mail")
    refused = tenure.refused(1, "record", "delete", "records.example.", "@", "MX")
    assert "There are 2 records" in refused
    assert mx["id"] in refused
    assert "web.example.net." in tenure("record", "list", "records.example.", "--type", "cname", "--q", "w")
    assert tenure("record", "delete", "records.example.", "www") == "Record www.records.example. CNAME is deleted.\n"
    assert "no record www.records.example. of type A" in tenure.refused(
        1, "record", "show", "records.example.", "www", "A"
    )


def test_people_read_names_in_unicode_and_programs_as_they_are_kept(tenure: Command) -> None:
    tenure("zone", "create", "bücher.example.")
    made = tenure.json("record", "create", "bücher.example.", "straße", "MX", "10 ß-mail")
    assert made["name"] == "xn--strae-oqa.xn--bcher-kva.example."
    (row,) = tenure("record", "list", "bücher.example.").splitlines()[1:]
    assert row.split()[:5] == ["straße.bücher.example.", "MX", "-", "10", "ß-mail.bücher.example."]
    assert "bücher.example." in tenure("zone", "list")
    assert tenure.json("record", "show", "bücher.example.", "straße") == made
    assert "xn--bcher-kva.example." in tenure("zone", "file", "bücher.example.")
    tenure("record", "delete", "bücher.example.", "straße", "MX")
    tenure("zone", "delete", "bücher.example.")


def test_a_file_and_a_delegation(tenure: Command) -> None:
    tenure("zone", "create", "file.example.")
    text = tenure("zone", "file", "file.example.")
    assert dns.zone.from_text(text, "file.example.").get_soa() is not None
    assert tenure.json("zone", "file", "file.example.")["file"] == text
    told = tenure("zone", "delegate", "file.example.").splitlines()
    assert told[0] == "; Lines for the zone example., which is not served here: give them to who does."
    assert [line.split("\t")[3] for line in told[1:]] == ["NS", "A"]
    assert tenure.json("zone", "delegate", "file.example.")["parent"] == "example."


def test_a_check_says_who_made_it(tenure: Command) -> None:
    tenure("zone", "create", "sound.example.")
    found = tenure.json("zone", "check", "sound.example")
    assert (found["zone"], found["sound"]) == ("sound.example.", True)
    assert found["checked_by"] == ("named-checkzone" if shutil.which("named-checkzone") else "tenure")
    assert tenure("zone", "check", "sound.example.").strip()


def test_a_check_tells_of_servers_that_were_named_before_their_zone(tenure: Command) -> None:
    for name in ("user.example.", "new.example.", "sub.new.example."):
        tenure("zone", "create", name)
        if name == "user.example.":
            servers = ("--name-servers", "ns1.new.example.", "--name-servers", "ns.x.sub.new.example.")
            tenure("zone", "set", name, *servers)
    for zone, server in (("new.example.", "ns1.new.example."), ("sub.new.example.", "ns.x.sub.new.example.")):
        tried = tenure.tried("zone", "check", zone, "--json")
        found = json.loads(tried.stdout)
        assert (tried.exit_code, found["sound"]) == (1, False)
        assert found["said"][-1].startswith(f"{server} serves zones and is in {zone}, where")
        tenure("record", "create", zone, server, "AAAA", "2001:db8::1")
        assert tenure.json("zone", "check", zone)["sound"]


@pytest.mark.parametrize("by", ["named-checkzone", "tenure"])
def test_a_check_finds_what_is_wrong(by: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if by == "tenure":
        monkeypatch.setenv("PATH", str(tmp_path))
    elif shutil.which(by) is None:
        pytest.fail("bind9-utils is not installed")
    assert zone_check.checked(SOUND, "check.example.")[:2] == (by, True)
    found = zone_check.checked(BROKEN, "check.example.")
    assert (found.by, found.sound) == (by, False)
    assert any("CNAME" in line for line in found.said)


CHECKS = {"bind": ["named-checkconf"], "knot": ["knotc", "-C", "/dev/null", "conf-check"], "nsd": ["nsd-checkconf"]}


def _accepted(form: str, file: Path) -> str:
    """What the server's own checker says against a configuration; nothing if it is right."""
    command = ["knotc", "-c", str(file), "conf-check"] if form == "knot" else [*CHECKS[form], str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize("form", ["bind", "knot", "nsd"])
@pytest.mark.parametrize("signed", [True, False])
def test_a_secondary_and_its_configuration(tenure: Command, tmp_path: Path, form: str, signed: bool) -> None:
    name = f"{form}-{'signed' if signed else 'unsigned'}"
    key = tenure("tsig-key", "create", name, "--format", form) if signed else ""
    how = ("--key", name) if signed else ("--unsigned",)
    number = str(40000 + hash(name) % 9000)
    made = tenure.json("secondary", "create", name, "127.0.0.1", "--port", number, *how)
    assert made["key"] == (f"{name}." if signed else None)
    assert "--primary" in tenure.refused(2, "secondary", "config", name, "--for", form)  # its port is a free one
    for primary in ("192.0.2.53", "[2001:db8::53]:5353", "2001:db8::53"):
        text = tenure("secondary", "config", name, "--for", form, "--primary", primary)
        file = tmp_path / "server.conf"
        file.write_text(key + text)
        assert _accepted(form, file) == "", file.read_text()
    assert ("prod.example" in text) == (form == "nsd")
    assert ("catalog.tenure.invalid" in text) is True
    assert tenure("secondary", "delete", name) == f"Secondary {name} is deleted.\n"
    if signed:
        assert tenure("tsig-key", "delete", name) == f"TSIG key {name} is deleted.\n"


@pytest.mark.parametrize("signed", [True, False])
def test_the_commands_for_powerdns_do_what_they_say(tmp_path: Path, signed: bool) -> None:
    (tmp_path / "pdns.conf").write_text(f"launch=gsqlite3\ngsqlite3-database={tmp_path}/pdns.db\n")
    database = sqlite3.connect(tmp_path / "pdns.db")
    database.executescript(PowerDns.schema.read_text())
    primaries = (Primary("192.0.2.53"), Primary("2001:db8::53", 5353))
    source = Source(primaries, "ns2." if signed else None, ("catalog.tenure.invalid.", "prod.example."))
    secret = "MDEyMzQ1Njc4OWFiY2RlZg=="
    key = key_text("pdns", "ns2.", "hmac-sha256", secret) if signed else ""
    shell = f'set -eu; pdnsutil() {{ command pdnsutil --config-dir={tmp_path} "$@"; }}\n'
    done = subprocess.run(
        ["bash", "-c", shell + key + secondary_text("pdns", source)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    zones = database.execute("SELECT name, type, master FROM domains").fetchall()
    keys = database.execute("SELECT name, algorithm, secret FROM tsigkeys").fetchall()
    signs = database.execute("SELECT kind, content FROM domainmetadata").fetchall()
    database.close()
    kind = ("prod.example", "SLAVE") if signed else ("catalog.tenure.invalid", "CONSUMER")
    assert zones == [(*kind, "192.0.2.53, [2001:db8::53]:5353")]
    assert keys == ([("ns2", "hmac-sha256", secret)] if signed else [])
    assert signs == ([("AXFR-MASTER-TSIG", "ns2")] if signed else [])


def test_secondaries_are_listed_shown_and_changed(tenure: Command) -> None:
    key = tenure.json("tsig-key", "create", "listed", "--algorithm", "hmac-sha512")
    assert key["secret"]
    assert "listed." in tenure("tsig-key", "list")
    assert "secret" not in tenure.json("tsig-key", "show", "listed")
    assert "--unsigned" in tenure.refused(2, "secondary", "create", "ns2", "192.0.2.54")
    tenure("secondary", "create", "ns2", "192.0.2.54", "--key", "listed", "--no-notify")
    assert "192.0.2.54" in tenure("secondary", "list", "--vrf", "default")
    changed = tenure.json("secondary", "set", "ns2", "--transfer-from", "192.0.2.0/24", "--notify")
    assert (changed["transfer_from"], changed["notify"]) == (["192.0.2.0/24"], True)
    assert tenure.json("secondary", "set", "ns2", "--transfer-from", "none")["transfer_from"] == []
    assert tenure.json("secondary", "set", "ns2", "--unsigned", "--name", "ns3")["key"] is None
    assert "ns3" in tenure("secondary", "show", "ns3")
    script = tenure("secondary", "config", "ns3", "--for", "pdns", "--primary", "192.0.2.53:5353")
    assert "pdnsutil create-secondary-zone catalog.tenure.invalid 192.0.2.53:5353" in script
    assert "one of bind, knot, nsd, pdns" in tenure.refused(2, "secondary", "config", "ns3", "--for", "djbdns")
    tenure("secondary", "delete", "ns3")
    tenure("tsig-key", "delete", "listed")


def test_a_secret_is_read_from_standard_input(tenure: Command) -> None:
    secret = "MDEyMzQ1Njc4OWFiY2RlZg=="
    done = tenure.tried("tsig-key", "create", "piped", "--secret", "-", "--format", "pdns", stdin=secret + "\n")
    assert done.stdout == f"pdnsutil import-tsig-key piped hmac-sha256 {secret}\n"
    tenure("tsig-key", "delete", "piped")


def test_networks_subnets_and_vrfs_have_what_dns_needs(tenure: Command) -> None:
    made = tenure.json("network", "create", "named", "--name-template", "n-{ip-hex}", "--shared-names")
    assert (made["name_template"], made["shared_names"]) == ("n-{ip-hex}", True)
    assert tenure.json("network", "set", "named", "--name-template", "none")["name_template"] is None
    words = ("subnet", "create", "named", "198.51.100.64/26", "--reverse", "rfc2317", "--name-template", "s-{ip-hex}")
    assert tenure.json(*words)["reverse"] == "rfc2317"
    changed = tenure.json("subnet", "set", "198.51.100.64/26", "--reverse", "off", "--name-template", "none")
    assert (changed["reverse"], changed["name_template"]) == ("off", None)
    tenure("subnet", "delete", "198.51.100.64/26")
    tenure("network", "delete", "named")
    made = tenure.json("vrf", "create", "served", "--name-servers", "ns1.example.net")
    assert made["name_servers"] == ["ns1.example.net."]
    assert tenure.json("vrf", "set", "served", "--name-servers", "none")["name_servers"] == []
    tenure("vrf", "delete", "served")
