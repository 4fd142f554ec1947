"""Each noun's commands against a running service."""

from tests.cli.conftest import Command


def test_vrfs(tenure: Command) -> None:
    tenure("vrf", "create", "blue")
    assert tenure.json("vrf", "set", "blue", "--name", "green")["name"] == "green"
    assert "green" in tenure("vrf", "list")
    assert tenure.json("vrf", "list", "--q", "green")[0]["name"] == "green"
    assert tenure.json("vrf", "show", "green")["revision"] == 2
    assert "revision" in tenure.refused(1, "vrf", "delete", "green", "--if-match", "1")
    assert tenure("vrf", "delete", "green", "--if-match", "2") == "Vrf green is deleted.\n"


def test_locations(tenure: Command) -> None:
    made = tenure.json("location", "create", "h-1", "--kind", "host", "--relay", "circuit_id=0006000A,remote_id=aa")
    assert made["relay"] == {"circuit_id": "0006000a", "remote_id": "aa"}
    changed = tenure.json("location", "set", "h-1", "--parent", "rack-3", "--relay", "none")
    assert (changed["parent"], changed["relay"]) == ("rack-3", None)
    assert "h-1" in tenure("location", "list", "--kind", "host", "--parent", "rack-3")
    assert "h-1" in tenure("location", "show", "h-1")
    assert tenure.json("location", "delete", "h-1") == {"deleted": True}
    assert tenure.refused(2, "location", "create", "h-2", "--kind", "host", "--relay", "port=1")


def test_networks_subnets_and_ranges(tenure: Command) -> None:
    dhcp = ("--dhcp-lease-time", "2h", "--dhcp-option", "ntp_servers=10.9.0.4,10.9.0.5", "--no-dhcp-authoritative")
    made = tenure.json("network", "create", "lab", "--model", "clustered", "--cooldown", "5m", "--ttl", "1h", *dhcp)
    assert (made["model"], made["cooldown"], made["ttl"]) == ("clustered", 300, 3600)
    assert made["dhcp"]["lease_time"] == 7200
    assert made["dhcp"]["authoritative"] is False
    changed = tenure.json("network", "set", "lab", "--dhcp-option", "mtu=1400", "--dhcp-option", "ntp_servers=none")
    assert (changed["dhcp"]["lease_time"], changed["dhcp"]["options"]) == (7200, {"mtu": "1400"})
    assert tenure.json("network", "set", "lab", "--dhcp-lease-time", "none")["dhcp"]["lease_time"] is None
    assert tenure.json("network", "set", "lab", "--domain", "lab.example.")["domain"] == "lab.example."
    assert tenure.json("network", "set", "lab", "--domain", "none")["domain"] is None
    assert "lab" in tenure("network", "list", "--vrf", "default")
    servers = ("--dns-servers", "10.9.0.2", "--dns-servers", "10.9.0.3")
    subnet = tenure.json("subnet", "create", "lab", "10.9.0.0/24", "--locations", "rack-3", *servers)
    assert (subnet["locations"], subnet["dns_servers"]) == (["rack-3"], ["10.9.0.2", "10.9.0.3"])
    changed = tenure.json("subnet", "set", "10.9.0.0/24", "--gateway", "10.9.0.1", "--locations", "none")
    assert (changed["gateway"], changed["locations"]) == ("10.9.0.1", [])
    assert "10.9.0.0/24" in tenure("subnet", "list", "--network", "lab")
    made = tenure.json("range", "create", "10.9.0.0/24", "10.9.0.100", "10.9.0.199", "--role", "dynamic")
    assert tenure.json("range", "set", made["id"], "--end", "10.9.0.149", "--note", "less")["end"] == "10.9.0.149"
    assert "less" in tenure("range", "list", "--subnet", "10.9.0.0/24")
    assert "less" in tenure("range", "show", made["id"])
    assert "10.9.0.100-10.9.0.199" in tenure("event", "list", "--kinds", "tenure.range.created")
    assert "0.9.10.in-addr.arpa." in tenure("event", "list", "--kinds", "tenure.zone.created")
    tenure("range", "delete", made["id"])
    assert tenure.json("subnet", "show", "10.9.0.0/24")["id"] == subnet["id"]
    tenure("subnet", "delete", "10.9.0.0/24")
    tenure("network", "delete", "lab")


def test_machines(tenure: Command) -> None:
    made = tenure.json("machine", "create", "switch-1", "--kind", "device", "--interfaces", "5254.000A.0B0D=mgmt")
    assert [(each["mac"], each["name"]) for each in made["interfaces"]] == [("52:54:00:0a:0b:0d", "mgmt")]
    assert tenure.json("machine", "set", "switch-1", "--location", "rack-3")["interfaces"] == made["interfaces"]
    assert "52:54:00:0a:0b:0d" in tenure("machine", "list", "--location", "rack-3")
    assert "switch-1" in tenure("find", "52-54-00-0A-0B-0D")
    assert tenure.json("machine", "set", "switch-1", "--interfaces", "none")["interfaces"] == []
    assert "switch-1" in tenure("machine", "show", "switch-1")
    tenure("machine", "delete", "switch-1")


def test_claims_addresses_blocks_zones_and_events(tenure: Command) -> None:
    claim = tenure.json("claim", "create", "prod", "--host", "compute-7", "--hostname", "listed", "--handle", "listed")
    ip = claim["addresses"][0]["ip"]
    assert tenure.json("claim", "show", claim["id"], "--wait", "1") == claim
    assert tenure.json("claim", "list", "--handle", "listed") == [claim]
    assert ip in tenure("claim", "list", "--host", "compute-7")
    assert tenure.json("address", "show", ip)["claim"] == claim["id"]
    assert "listed.prod.example." in tenure("address", "list", "--network", "prod", "--q", "listed")
    assert "compute-7" in tenure("block", "list", "--network", "prod", "--location", "compute-7")
    assert "prod.example." in tenure("zone", "list")
    assert tenure.json("zone", "show", "prod.example.")["serial"] > 0
    assert ip in tenure("event", "list", "--kinds", "tenure.address.allocated")
    assert tenure("claim", "delete", claim["id"]) == f"Claim {claim['id']} is released.\n"
    assert tenure.json("claim", "show", claim["id"])["state"] == "released"


def test_tokens(tenure: Command) -> None:
    made = tenure.json("token", "create", "eyes", "--role", "viewer")
    assert tenure.json("vrf", "list", "--token", made["token"])
    assert tenure.refused(1, "vrf", "create", "seen", "--token", made["token"])
    assert "eyes" in tenure("token", "list")
    assert "viewer" in tenure("token", "show", "eyes")
    tenure("token", "delete", "eyes")
    assert tenure.refused(1, "vrf", "list", "--token", made["token"])


def test_limits_cut_lists(tenure: Command) -> None:
    assert len(tenure.json("event", "list", "--limit", "3")) == 3
    assert len(tenure.json("location", "list", "--limit", "2")) == 2
    assert len(tenure("location", "list", "--limit", "2").splitlines()) == 3
