"""The verbs of every day against a running service: what people and programs read, and the exit status."""

import json
from pathlib import Path

from tests.cli.conftest import Command
from tests.lab.processes import free_port
from tests.whole.serving import Serving


def test_allocate_prints_the_address_for_people_and_one_value_for_programs(tenure: Command) -> None:
    claim = tenure.json("allocate", "prod", "--host", "compute-7", "--hostname", "vm-1", "--handle", "a/1")
    address = claim["addresses"][0]
    text = tenure("allocate", "prod", "--host", "compute-7", "--hostname", "vm-1", "--handle", "a/1")
    assert text.startswith(f"{address['ip']}/16  vm-1.prod.example.  block {address['block']}")
    assert claim["id"] in text


def test_a_claim_is_bound_moved_and_released_by_id_handle_and_address(tenure: Command) -> None:
    pending = tenure.json("allocate", "prod", "--defer", "--handle", "later")
    assert (pending["state"], pending["addresses"]) == ("pending", [])
    bound = tenure.json("bind", "later", "compute-7")
    assert tenure.json("rebind", bound["addresses"][0]["ip"], "compute-8")["host"] == "compute-8"
    assert tenure.json("claim", "show", "later")["id"] == tenure.json("claim", "show", pending["id"])["id"]
    assert tenure.json("release", "later")["state"] == "released"
    assert tenure.json("release", pending["id"])["state"] == "released"
    ip = tenure.json("allocate", "prod")["addresses"][0]["ip"]
    assert tenure.json("release", ip)["state"] == "released"
    assert "no open claim 'later'" in tenure.refused(1, "release", "later")


def test_reserve_keeps_several_addresses_for_a_purpose(tenure: Command) -> None:
    claim = tenure.json("reserve", "prod", "--count", "5", "--for", "landscape")
    assert (len(claim["addresses"]), claim["purpose"]) == (5, "landscape")


def test_why_history_find_and_capacity_answer(tenure: Command) -> None:
    ip = tenure.json("allocate", "prod", "--host", "compute-8", "--hostname", "asked")["addresses"][0]["ip"]
    assert tenure.json("why", ip)["strategy"] == "topology"
    assert f"{ip} was given at" in tenure("why", ip)
    assert [event["kind"] for event in tenure.json("history", ip)][-1] == "tenure.address.allocated"
    heading, line = tenure("history", ip).splitlines()
    assert heading.split() == ["time", "what", "who", "name", "mac", "by"]
    assert "given" in line and "asked.prod.example." in line and "compute-8" in line
    assert tenure.json("find", ip)[0]["label"] == ip
    assert "asked" in tenure("find", "asked")
    counts = tenure.json("capacity", "prod", "--by", "location")
    v4 = counts["v4"]
    assert v4["capacity"] == v4["in_use"] + v4["reserved"] + v4["cooling"] + v4["available"]
    assert "compute-8" in tenure("capacity", "prod", "--by", "location")


def test_who_held_an_address_is_told_after_everything_is_gone(tenure: Command) -> None:
    mac = "52:54:00:0a:00:01"
    held = tenure.json("allocate", "prod", "--hostname", "past", "--mac", mac, "--handle", "past")
    ip, machine = held["addresses"][0]["ip"], held["machine"]
    time = tenure.json("history", ip)[-1]["time"]
    tenure("release", "past")
    tenure("machine", "delete", machine)
    then = tenure.json("history", ip, "--at", time)
    assert (then["handle"], then["state"], then["name"]) == ("past", "allocated", "past.prod.example.")
    assert (then["machines"], [port["mac"] for port in then["interfaces"]]) == ([machine], [mac])
    assert tenure.json("address", "show", ip, "--at", time) == then
    assert then in tenure.json("address", "list", "--at", time, "--q", ip)
    assert "handle         past\n" in tenure("history", ip, "--at", time)
    first, *_, last = [line.split() for line in tenure("history", ip).splitlines()[1:]]
    assert (first[1], last[1]) == ("given", "released")
    assert mac in first and mac in last
    assert "in the future" in tenure.refused(2, "history", ip, "--at", "2999-01-01T00:00")
    assert "no vrf 'default'" in tenure.refused(1, "history", ip, "--at", "2001-01-01T00:00")
    assert "2026-11-24T15:00" in tenure.refused(2, "history", ip, "--at", "noon")
    for said in ("2h", "1d", "yesterday", "2001-01-01"):
        assert "no vrf 'default'" in tenure.refused(1, "history", ip, "--at", said)
    assert tenure.json("history", ip, "--at", "0s")["state"] == "cooling"
    assert tenure("history", "10.0.200.200") == "Nothing is known of 10.0.200.200.\n"


def test_a_history_calls_machines_by_their_names(tenure: Command) -> None:
    vip = tenure.json("reserve", "prod", "--handle", "float", "--shared")["addresses"][0]["ip"]
    for number in (1, 2):
        mac = f"52:54:00:0a:02:0{number}"
        tenure("machine", "create", f"floats-{number}", "--interface", f"mac={mac},name=eth0,network=prod,boot")
        tenure("attach", vip, mac)
    tenure("detach", vip, "52:54:00:0a:02:01")
    assert "detached (floats-1)" in tenure("history", vip)
    own = tenure.json("machine", "ready", "floats-1")[0]["machine"]["addresses"][0]["ip"]
    assert tenure("history", own).splitlines()[-1].split()[1:4] == ["given", "floats-1", "floats-1.prod.example."]
    tenure("move", own, "--to", "floats-2")
    assert "reassigned, from floats-1" in tenure("history", own)
    assert "machine:" not in tenure("history", own)


def test_a_network_says_what_was_changed(tenure: Command) -> None:
    tenure("network", "create", "said")
    assert tenure("network", "set", "said", "--ttl", "10m", "--no-enlist").split() == [
        *("name", "said", "ttl", "600", "enlist", "no"),
    ]


def test_a_refusal_is_a_sentence_and_a_status(tenure: Command) -> None:
    assert tenure.refused(1, "allocate", "nowhere") == "There is no network 'nowhere'.\n"
    wrong = tenure.refused(2, "network", "create", "x", "--strategy", "best")
    assert wrong.startswith("--strategy must be one of topology, ")
    assert wrong.count("first_free") == 1
    assert tenure.refused(2, "allocate", "prod", "--mac", "aa:bb").startswith("--mac must be ")
    assert "not known" in tenure.refused(1, "vrf", "list", "--token", "wrong")


def test_a_sentence_that_begins_with_a_value_leaves_it_as_it_is(tenure: Command) -> None:
    said = tenure.refused(2, "allocate", "prod", "--hostname", "bad_name")
    assert said.startswith("--hostname: bad_name may have")
    assert tenure.refused(1, "why", "nowhere").startswith("nowhere is not an IPv4")
    assert tenure.refused(2, "allocate", "prod", "--hostname", "bad name").startswith("--hostname: 'bad name' may have")


def test_who_has_no_token_is_told_where_one_was_looked_for(tenure: Command, tmp_path: Path) -> None:
    said = tenure.refused(1, "vrf", "list", "--data", str(tmp_path))
    assert said.startswith(f"There is no token: {tmp_path}/admin-token cannot be read: No such file")
    assert "--token" in said


def test_wrong_usage_is_status_2_and_an_absent_service_3(tenure: Command) -> None:
    assert "Did you mean" in tenure.refused(2, "allocat")
    assert "No such option" in tenure.refused(2, "allocate", "prod", "--hots", "x")
    assert "is not a duration" in tenure.refused(2, "network", "create", "x", "--cooldown", "soon")
    assert "no URL" not in tenure.refused(2, "vrf", "list", "--url", "tenure")
    url = f"http://127.0.0.1:{free_port()}"
    assert tenure.refused(3, "vrf", "list", "--url", url).startswith(f"Nobody answers at {url}")


def test_a_dry_run_says_so_and_changes_nothing(tenure: Command) -> None:
    tenure("vrf", "create", "spare")
    before = tenure.json("event", "list")
    assert "A dry run: nothing was changed." in tenure("allocate", "prod", "--dry-run")
    assert tenure.json("allocate", "prod", "--dry-run")["state"] == "bound"
    assert "would be deleted" in tenure("vrf", "delete", "spare", "--dry-run")
    assert tenure.json("event", "list") == before


def test_many_claims_go_round_the_hosts(tenure: Command, hosts: Path) -> None:
    items = tenure.json("allocate", "prod", "--count", "1200", "--hosts-from", str(hosts), "--purpose", "load")
    claims = [item["claim"] for item in items]
    assert len({claim["addresses"][0]["ip"] for claim in claims}) == 1200
    assert [claim["host"] for claim in claims[:3]] == ["compute-7", "compute-8", "compute-7"]
    done = tenure.tried("allocate", "prod", "--hosts-from", str(hosts))
    assert (done.exit_code, done.stderr) == (0, "2 granted, 0 refused.\n")
    assert "compute-8" in done.stdout


def test_a_batch_from_a_table_says_what_came_of_each_row(tenure: Command, tmp_path: Path) -> None:
    table = tmp_path / "claims.csv"
    table.write_text("handle,host,static,count\nrow/1,compute-7,yes,\nrow/2,nowhere,,\nrow/3,,,3\n")
    done = tenure.tried("allocate", "prod", "--batch", str(table), "--json")
    items = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [item["status"] for item in items] == [201, 404, 201]
    assert items[0]["claim"]["static"]
    assert len(items[2]["claim"]["addresses"]) == 3


def test_a_batch_that_cannot_be_read_is_wrong_usage(tenure: Command, tmp_path: Path, hosts: Path) -> None:
    table = tmp_path / "claims.csv"
    for text, word in (("handle,rack\na,b\n", "'rack'"), ("handle\na,b\n", "row 2"), ("count\nmany\n", "row 2")):
        table.write_text(text)
        assert word in " ".join(tenure.refused(2, "allocate", "prod", "--batch", str(table)).split())
    assert tenure.refused(2, "allocate", "prod", "--batch", str(tmp_path / "none.csv"))
    assert tenure.refused(2, "allocate", "prod", "--batch", str(table), "--hosts-from", str(hosts))
    assert tenure.refused(2, "allocate", "prod", "--handle", "a", "--hosts-from", str(hosts))


def test_watch_follows_from_a_place(tenure: Command) -> None:
    epoch = tenure.json("event", "list", "--limit", "1")
    assert epoch[0]["sequence"] == 1
    last = tenure.json("event", "list")[-1]["sequence"]
    name = tenure.json("vrf", "create", "watched")["name"]
    position = _position(tenure, last)
    event = tenure.json("watch", "--after", position, "--count", "1")
    assert (event["sequence"], event["kind"]) == (last + 1, "tenure.vrf.created")
    assert tenure.json("event", "list", "--after", str(last), "--limit", "1") == [event]
    assert name in tenure("watch", "--after", position, "--count", "1", "--kinds", "tenure.vrf.created")
    assert "new epoch" in tenure.refused(1, "watch", "--after", "other:1", "--count", "1")


def _position(tenure: Command, sequence: int) -> str:
    from tenure.client import connect

    token = (Path(tenure.env["TENURE_DATA"]) / "admin-token").read_text().strip()
    with connect(tenure.env["TENURE_URL"], token) as client:
        return f"{client.now().partition(':')[0]}:{sequence}"


def test_flags_win_over_variables_and_variables_over_the_file(serving: Serving, tmp_path: Path) -> None:
    file = tmp_path / "tenure.toml"
    file.write_text(f'api = "{serving.url.removeprefix("http://")}"\ndata = "{serving.data}"\n')
    nowhere = f"http://127.0.0.1:{free_port()}"
    assert Command({"TENURE_CONFIG": str(file)}).json("vrf", "list")
    assert Command({}).json("vrf", "list", "--config", str(file))
    assert nowhere in Command({"TENURE_CONFIG": str(file), "TENURE_URL": nowhere}).refused(3, "vrf", "list")
    assert Command({"TENURE_URL": nowhere}).json("vrf", "list", "--url", serving.url, "--data", str(serving.data))
    assert "token" in Command({}).refused(1, "vrf", "list", "--url", serving.url, "--data", str(tmp_path)).lower()
    file.write_text('apy = "127.0.0.1:1"\n')
    assert "'apy'" in Command({}).refused(2, "vrf", "list", "--config", str(file))
