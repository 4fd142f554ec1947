"""Machines at work: their lives, labels, configuration, and what a deletion would take along."""

import json

import pytest

from tests.cli.conftest import Command
from tests.whole.serving import Serving


@pytest.fixture(scope="module")
def lab(serving: Serving) -> Command:
    """The command, with a network that gives its machines addresses, and three new machines on it."""
    tenure = Command({"TENURE_URL": serving.url, "TENURE_DATA": str(serving.data), "COLUMNS": "200"})
    tenure("network", "create", "lives", "--domain", "lives.example.", "--cooldown", "0", "--ttl", "0")
    subnet = ("10.77.0.0/24", "--gateway", "10.77.0.1", "--dns-servers", "10.77.0.2")
    tenure("subnet", "create", "lives", *subnet)
    for number in range(3):
        port = f"mac=52:54:00:77:00:0{number},name=eth0,network=lives,boot"
        tenure("machine", "create", f"node-{number}", "--interface", port, "--tags", "spare", "--custom", "height=2")
    return tenure


def test_a_life_in_words(lab: Command) -> None:
    names = ("node-0", "node-1")
    assert "commissioning" in lab("machine", "commission", *names)
    ready = lab("machine", "ready", *names)
    assert "node-0.lives.example." in ready
    assert "10.77.0.3" in ready
    ip = lab.json("machine", "show", "node-0")["addresses"][0]["ip"]
    shown = lab("machine", "show", "node-0")
    assert "52:54:00:77:00:00" in shown
    assert ip in shown
    assert ip in lab("machine", "list", "--state", "ready", "--tag", "spare", "--custom", "height:2")
    assert "deployed" in lab("machine", "deploy", "node-0")
    lab("machine", "seen", "node-0")
    assert lab.json("machine", "show", "node-0")["seen"]
    assert "ready" in lab("machine", "release", "node-0")
    gone = f"node-0: {ip} (node-0.lives.example.)"
    assert f"{gone} would be released.\nA dry run" in lab("machine", "retire", "node-0", "--dry-run")
    assert f"{gone} was released.\n" in lab("machine", "retire", "node-0")
    assert lab.json("machine", "show", "node-0")["addresses"] == []


def test_all_of_a_state_at_once(lab: Command) -> None:
    for name in ("x-0", "x-1"):
        lab("machine", "create", name, "--kind", "instance", "--tags", "all-test")
    tried = lab("machine", "deploy", "--all", "--tag", "all-test", "--dry-run")
    assert "A dry run" in tried
    assert {each["state"] for each in lab.json("machine", "list", "--tag", "all-test")} == {"ready"}
    done = lab.json("machine", "deploy", "--all", "--tag", "all-test")
    assert [each["machine"]["state"] for each in done] == ["deployed", "deployed"]


def test_a_deployment_with_a_reservation(lab: Command) -> None:
    lab("machine", "create", "web", "--interface", "mac=52:54:00:77:01:00,name=eth0,network=lives")
    own = lab.json("machine", "ready", "web")[0]["machine"]["addresses"][0]["ip"]
    lab("reserve", "lives", "--handle", "vip")
    assert f"web: {own} would be shelved." in lab("machine", "deploy", "web", "--from", "vip", "--dry-run")
    told = lab("machine", "deploy", "web", "--from", "vip")
    assert f"web: {own} was shelved." in told
    assert f"web: {own} was restored." in lab("machine", "release", "web")


def test_what_a_deployment_brought_is_told_when_it_goes(lab: Command) -> None:
    lab("machine", "create", "own", "--interface", "mac=52:54:00:77:01:10,name=eth0,network=lives")
    lab("machine", "ready", "own")
    lab("machine", "deploy", "own", "--address", "10.77.0.99")
    released = lab.tried("machine", "release", "own", "--dry-run").stdout
    assert "own: 10.77.0.99 (own.lives.example.) would be released.\n" in released
    assert "own: 10.77.0.99 (own.lives.example.) was released.\n" in lab("machine", "release", "own")
    several = lab.tried("machine", "commission", "own", "node-2", "--dry-run")
    assert several.stderr == "2 would be done, 0 would be refused.\n"


def test_an_interface_that_gets_nothing_is_told(lab: Command) -> None:
    boots = "mac=52:54:00:77:01:20,name=eth0,network=lives,boot"
    beside = "mac=52:54:00:77:01:21,name=eth1,network=lives"
    lab("machine", "create", "cards", "--interface", boots, "--interface", beside)
    said = lab("machine", "ready", "cards")
    assert "cards: eth1 (lives) gets none: it does not boot; allocate=always gives it one.\n" in said
    lab("machine", "set", "cards", "--interface", boots, "--interface", beside + ",allocate=always")
    said = lab("machine", "ready", "cards")
    assert "gets none" not in said
    assert len(lab.json("machine", "show", "cards")["addresses"]) == 2


def test_a_static_address_says_so(lab: Command) -> None:
    lab("machine", "create", "hand", "--kind", "device", "--interface", "52:54:00:77:01:30=mgmt")
    assert "static   yes\n" in lab("allocate", "lives", "--mac", "52:54:00:77:01:30", "--static", "--handle", "hand")
    assert lab("machine", "show", "hand").splitlines()[-1].split()[-2] == "yes"
    assert "10.77.0." in lab("release", "hand", "--dry-run").partition(" (hand.lives.example.) would be released.\n")[0]


def test_one_that_is_refused_stops_nobody_else(lab: Command) -> None:
    lab("machine", "create", "lone", "--kind", "instance")
    done = lab.tried("machine", "deploy", "lone", "nobody")
    assert done.exit_code == 1
    assert "deployed" in done.stdout
    assert "nobody" in done.stderr
    assert "1 done, 1 refused." in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("machine", "ready"),
        ("machine", "ready", "node-0", "--all"),
        ("machine", "retire", "--all"),
        ("machine", "deploy", "node-0", "node-1", "--address", "10.77.0.9"),
        ("machine", "create", "n", "--interface", "mac=52:54:00:77:00:09,colour=red"),
        ("machine", "create", "n", "--interface", "name=eth0,boot"),
        ("tag", "tokens", "--add", "x"),
        ("tag", "machines", "--set", "owner"),
        ("tag", "machines", "--add", "x"),
        ("tag", "machines", "--tag", "spare"),
        ("tag", "machines", "--tag", "spare", "--all", "--add", "x"),
        ("machine", "create", "n", "--interface", "mac=52:54:00:77:00:09,boot=maybe"),
    ],
    ids=" ".join,
)
def test_what_says_too_little_or_too_much_is_wrong_usage(lab: Command, words: tuple[str, ...]) -> None:
    assert lab.refused(2, *words)


def test_interfaces_as_they_are_written(lab: Command) -> None:
    text = "mac=52:54:00:77:02:00,name=eth1,network=lives,boot=no,allocate=never,duid=00:03:00:01:aa:bb"
    (port,) = lab.json("machine", "create", "ports", "--interface", text)["interfaces"]
    assert (port["name"], port["network"], port["boot"], port["allocate"]) == ("eth1", "lives", False, "never")
    changed = lab.json("machine", "set", "ports", "--interface", "mac=52:54:00:77:02:01,name=eth1,duid=none")
    assert changed["interfaces"] == [{**port, "mac": "52:54:00:77:02:01", "duid": None}]


def test_labels_of_many(lab: Command) -> None:
    for name in ("t-0", "t-1"):
        lab("machine", "create", name, "--tags", "old", "--custom", "owner=bob")
    words = ("tag", "machines", "--tag", "old", "--add", "new", "--set", "height=3", "--unset", "owner")
    assert "2 would be changed: t-0, t-1." in lab(*words, "--dry-run")
    assert "2 machines pass, 2 were changed" in lab(*words)
    (first, second) = lab.json("machine", "list", "--tag", "old,new")
    assert first["custom"] == second["custom"] == {"height": 3}
    assert "limit" not in lab.refused(2, "tag", "networks", "--state", "ready", "--add", "x")


def test_a_configuration_for_an_image(lab: Command) -> None:
    lab("machine", "create", "image", "--interface", "mac=52:54:00:77:03:00,name=eth0,network=lives")
    ip = lab.json("machine", "ready", "image")[0]["machine"]["addresses"][0]["ip"]
    assert f'addresses: ["{ip}/24"]' in lab("machine", "network-config", "image")
    assert f"address {ip}/24" in lab("machine", "network-config", "image", "--format", "eni")
    data = json.loads(lab("machine", "network-config", "image", "--format", "network_data"))
    assert data["networks"][0]["ip_address"] == ip
    assert lab.json("machine", "network-config", "image")["format"] == "netplan"
    refused = lab.refused(2, "machine", "network-config", "image", "--format", "ifcfg")
    assert refused == "--format must be one of netplan, eni, network_data.\n"
    assert lab.refused(2, "machine", "create", "n", "--interface", "mac=zz").startswith("--interface: ")


def test_what_a_deletion_or_a_resizing_would_take_along(lab: Command) -> None:
    lab("machine", "create", "kept", "--interface", "mac=52:54:00:77:04:00,name=eth0,network=lives")
    ip = lab.json("machine", "ready", "kept")[0]["machine"]["addresses"][0]["ip"]
    told = lab("subnet", "delete", "10.77.0.0/24", "--dry-run")
    assert " more\n" in told
    assert "77.10.in-addr.arpa." in told
    assert "It would be refused: " in told
    tried = lab.json("subnet", "delete", "10.77.0.0/24", "--dry-run")
    assert ip in tried["consequences"]["addresses"]["first"]
    assert "kept.lives.example." in tried["consequences"]["names"]["first"]
    assert tried["refused"]["code"] == "in_use"
    told = lab("subnet", "set", "10.77.0.0/24", "--cidr", "10.77.0.0/30", "--dry-run")
    assert ip in told
    assert "nothing was changed" in told
    lab("subnet", "create", "lives", "10.78.0.0/24")
    assert "would be deleted" in lab("subnet", "delete", "10.78.0.0/24", "--dry-run")
    assert "10.78.0.0/25" in lab("subnet", "set", "10.78.0.0/24", "--cidr", "10.78.0.0/25", "--dry-run")
    assert lab("subnet", "delete", "10.78.0.0/24") == "Subnet 10.78.0.0/24 is deleted.\n"


def test_what_rests_is_told_with_whose_it_was(lab: Command) -> None:
    lab("network", "create", "rests", "--domain", "rests.example.", "--cooldown", "1h")
    lab("subnet", "create", "rests", "10.79.0.0/28")
    for number in (1, 2):
        lab("machine", "create", f"rest-{number}", "--kind", "instance", "--interface", f"52:54:00:79:00:0{number}")
    lab("allocate", "rests", "--mac", "52:54:00:79:00:01", "--address", "10.79.0.5", "--handle", "rest")
    refused = lab.refused(1, "machine", "delete", "rest-1")
    assert refused == "Machine rest-1 still holds 1: 10.79.0.5; retire it first.\n"
    lab("move", "10.79.0.5", "--to", "10.79.0.6")
    lab("move", "10.79.0.6", "--to", "rest-2")
    (resting,) = lab.json("address", "list", "--network", "rests", "--state", "cooling")
    assert (resting["ip"], resting["machines"]) == ("10.79.0.5", ["rest-1"])
    told = lab("subnet", "delete", "10.79.0.0/28", "--dry-run")
    assert "resting    1      10.79.0.5 " in told
    lab("release", "rest")
    lab("subnet", "delete", "10.79.0.0/28")
    resting = lab.json("address", "list", "--network", "rests", "--state", "cooling")
    assert {each["ip"] for each in resting} == {"10.79.0.5", "10.79.0.6"}
