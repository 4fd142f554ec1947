"""`tenure zone import` against a running service: from a file, and from a BIND that wants the transfer signed."""

import base64
import json
from pathlib import Path

import pytest

from tenure.cli.zone_import import SECRET
from tests.cli.conftest import Command
from tests.lab.bind_primary import BindPrimary
from tests.lab.processes import free_port
from tests.lab.secondaries import At, Bind, Key

KEY = Key("move-key", "hmac-sha512", base64.b64encode(bytes(64)).decode())


def _zone(zone: str, more: str = "") -> str:
    start = f"$ORIGIN {zone}.\n$TTL 3600\n@ SOA ns.old.example. admin 7 3600 600 1209600 60\n@ NS ns.old.example.\n"
    return f"{start}www 60 A 192.0.2.80\nmail A 192.0.2.25\n@ MX 10 mail\n{more}"


def test_a_file_is_tried_then_imported_and_then_there(tenure: Command, tmp_path: Path) -> None:
    file = tmp_path / "moved.example.db"
    file.write_text(_zone("moved.example"))
    words = ("zone", "import", str(file), "--zone", "moved.example")
    before = tenure.json("event", "list")
    tried = tenure(*words, "--dry-run")
    assert "A dry run: nothing was changed." in tried
    assert "Left out: 1, because Tenure makes the SOA." in tried
    assert tenure.json("event", "list") == before
    made = tenure.json(*words)
    assert made["zone_made"]
    assert made["counts"] == {"named": 0, "claimed": 0, "record": 3, "already": 0, "left out": 2, "refused": 0}
    shown = tenure.json("zone", "show", "moved.example.")
    assert (shown["ttl"], shown["serial"], made["serial"]) == (3600, 8, 8)
    assert "The zone goes on from serial 8, the next after the source's." in tried
    held = tenure.json("event", "list")
    again = json.loads(tenure(*words, "--report", "json"))
    assert (again["zone_made"], again["counts"]["record"], again["counts"]["already"]) == (False, 0, 3)
    assert tenure.json("event", "list") == held


def test_names_become_those_of_addresses(tenure: Command, tmp_path: Path) -> None:
    tenure("allocate", "prod", "--address", "10.0.77.1", "--handle", "nameless")
    file = tmp_path / "prod.db"
    file.write_text(_zone("prod.example", "held A 10.0.77.1\nfree A 10.0.77.2\n"))
    made = tenure.json("zone", "import", str(file), "--zone", "prod.example.", "--claim")
    assert [each["name"] for each in made["named"] + made["claimed"]] == ["held.prod.example.", "free.prod.example."]
    assert tenure.json("address", "show", "10.0.77.1")["name"] == "held.prod.example."
    assert tenure.json("address", "show", "10.0.77.2")["project"] == "import"


def test_a_refusal_is_told_with_its_line_and_ends_with_1(tenure: Command, tmp_path: Path) -> None:
    file = tmp_path / "bad.db"
    file.write_text(
        _zone("bad.example", "x LOC 51 30 12.748 N 0 7 39.612 W 0.00m\ny A 10.0.300.1\n$INCLUDE /etc/passwd\n")
    )
    done = tenure.tried("zone", "import", str(file), "--zone", "bad.example.")
    assert done.exit_code == 1
    assert "line 8: x.bad.example. LOC" in done.stderr
    assert "Tenure has no records of type LOC" in done.stderr
    assert "line 9: y A 10.0.300.1" in done.stderr
    assert "'$INCLUDE' is not allowed" in done.stderr
    assert len(tenure.json("record", "list", "bad.example.")) == 3


def test_what_is_said_wrongly_is_told(tenure: Command, tmp_path: Path) -> None:
    file = tmp_path / "empty.db"
    file.write_text("")
    words = ("zone", "import", str(file), "--zone", "x.example.")
    assert tenure.refused(2, *words, "--report", "xml")
    assert tenure.refused(2, *words, "--tsig-key", "k:hmac-sha256")
    assert tenure.refused(2, "zone", "import", "axfr://127.0.0.1", "--zone", "x.example.", "--tsig-key", "k:md5")
    assert tenure.refused(
        2, "zone", "import", "axfr://127.0.0.1", "--zone", "x.example.", "--tsig-key", "k:hmac-sha256"
    )
    assert tenure.refused(1, "zone", "import", str(tmp_path / "none"), "--zone", "x.example.")
    assert tenure.refused(1, "zone", "import", str(file), "--zone", "a..b")
    assert "does not transfer" in tenure.refused(1, "zone", "import", "axfr://127.0.0.1:1", "--zone", "x.example.")


@pytest.mark.skipif(not Bind.available(), reason="needs bind9")
def test_a_zone_is_transferred_signed(tenure: Command, tmp_path: Path) -> None:
    at = At("127.0.0.1", free_port())
    secret = tmp_path / "move.key"
    secret.write_text(KEY.secret + "\n")
    source = f"axfr://{at.address}:{at.port}"
    words = ("zone", "import", source, "--zone", "axfr.example.")
    key = f"{KEY.name}:{KEY.algorithm}"
    with BindPrimary(
        tmp_path / "bind", at, {"axfr.example": _zone("axfr.example", "$GENERATE 1-300 h$ A 192.0.2.1\n")}, KEY
    ) as bind:
        bind.start()
        assert f"{source} does not transfer axfr.example." in tenure.refused(1, *words)
        made = tenure.json(*words, "--tsig-key", f"{key}:{secret}")
        assert (made["counts"]["record"], made["counts"]["left out"]) == (303, 2)
        assert {each["line"] for each in made["record"]} == {None}
        again = Command({**tenure.env, SECRET: KEY.secret}).json(*words, "--tsig-key", key)
        assert again["counts"]["already"] == 303
