"""`tenure import` against a running service, and what is drawn on a terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Command

ROWS = "ip,hostname,host,rack\n10.0.200.5,imported-1,compute-7,rack-3\n10.0.200.6,imported-2,compute-20,rack-20\n"


def test_an_import_is_tried_then_made_and_then_there(tenure: Command, tmp_path: Path) -> None:
    table = tmp_path / "machines.csv"
    table.write_text(ROWS)
    before = tenure.json("event", "list")
    tried = tenure.json("import", str(table), "--dry-run")
    assert tried["dry_run"]
    assert "A dry run: nothing was changed." in tenure("import", str(table), "--dry-run")
    assert tenure.json("event", "list") == before
    made = tenure.json("import", str(table))
    counts = {each["kind"]: (each["new"], each["there"]) for each in made["counts"]}
    assert counts == {"rack": (1, 1), "host": (1, 1), "machine": (2, 0), "claim": (2, 0)}
    assert made["counts"] == tried["counts"]
    held = tenure.json("event", "list")
    again = tenure.json("import", str(table), "--yes")
    assert [(each["kind"], each["new"]) for each in again["counts"]] == [
        *(("rack", 0), ("host", 0), ("machine", 0), ("claim", 0))
    ]
    assert tenure.json("event", "list") == held
    assert tenure.json("address", "show", "10.0.200.5")["name"] == "imported-1.prod.example."


def test_what_is_wrong_is_told_by_row(tenure: Command, tmp_path: Path) -> None:
    table = tmp_path / "machines.csv"
    table.write_text("ip,owner\n10.0.0.9,me\n")
    assert f"{table}: column 'owner' is unknown" in tenure.refused(1, "import", str(table))
    table.write_text("ip\n10.0.0.9\n10.99.0.1\n")
    assert f"{table}, row 3: no subnet here holds 10.99.0.1." in tenure.refused(1, "import", str(table))
    assert tenure.refused(2, "import", str(table), "--kind", "xml")
    assert tenure.refused(1, "import", str(tmp_path / "none.csv"))


def test_on_a_terminal_there_is_a_bar_and_standard_output_stays_clean(tenure: Command, hosts: Path) -> None:
    master, slave = pty.openpty()
    words = ["allocate", "prod", "--count", "3", "--hosts-from", str(hosts), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "tenure.cli.main", *words],
        env={**os.environ, **tenure.env, "TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=slave,
        check=True,
        text=True,
    )
    os.close(slave)
    drawn = os.read(master, 65536).decode()
    os.close(master)
    assert "Claiming" in drawn
    assert "3/3" in drawn
    assert done.stdout.startswith("[\n")
    assert "Claiming" not in done.stdout
