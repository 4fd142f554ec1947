"""Files into the real service: what is made, that a second import changes nothing, and that a refusal does neither."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure import errors
from tenure.exchange import csv_file, dnsmasq, files, hosts_file, importing, planning, reading, site_file
from tenure.exchange.planning import Plan, Wishes
from tenure.exchange.present import Present, present
from tenure.exchange.reading import Reading, Row, Thing
from tests.client.in_process import client_of
from tests.surfaces.api.site import Site

EXAMPLE = Path(__file__).parents[2] / "examples" / "site"
NAMES = ("site.toml", "machines.csv", "hosts", "dnsmasq.conf")


def _import(site: Site, *readings: Reading, wishes: Wishes = Wishes()) -> Plan:
    client = client_of(site)
    plan = planning.plan(reading.joined(readings), present(client, wishes.vrf), wishes)
    before = site.sequence
    importing.attempt(client, plan.items)
    assert site.sequence == before
    importing.perform(client, plan.items, lambda more: None)
    return plan


def _csv(text: str) -> Reading:
    return csv_file.read("m.csv", text)


def test_the_example_site_is_imported_once(bare: Site) -> None:
    bare.post("/v1/vrfs", {"name": "default"})
    readings = [files.read(EXAMPLE / name) for name in NAMES]
    _import(bare, *readings)
    client = client_of(bare)
    assert len(list(client.machines.list())) == 200
    assert len(list(client.subnets.list())) == 12
    assert [each["name"] for each in client.locations.list(kind="rack")] == ["rack-1", "rack-2", "rack-3"]
    assert {each["role"] for each in client.ranges.list()} == {"dynamic", "reserved"}
    assert client.addresses.show("10.20.0.11")["name"] == "compute-101.prod.example."
    assert client.addresses.show("10.40.0.1")["name"] == "border-1-uplink.net.example."
    assert client.addresses.show("2001:db8:20:1::11")["machines"] == ["ceph-101"]
    held = bare.sequence
    again = _import(bare, *readings)
    assert bare.sequence == held
    assert {item.kind for item in again.items} == {"claim"}
    assert again.there == {"site": 1, "rack": 3, "host": 36, "network": 6, "subnet": 12, "range": 4, "machine": 200}


def test_machines_with_all_that_can_be_said_of_them_are_imported_once(site: Site) -> None:
    port = '{ mac = "52:54:00:00:00:01", name = "eth0", network = "prod", boot = true, allocate = "always" }'
    text = f"""
        [[networks]]
        name = "lab"
        allocate_on = "deploy"
        harvest_after = 86400
        tags = ["b", "a"]
        custom = {{ owner = "alice" }}
        [[machines]]
        name = "node-1"
        harvest = "never"
        interfaces = [{port}]
        tags = ["gpu"]
        custom = {{ height = 2 }}
        """
    _import(site, site_file.read("s.toml", text))
    made = site.get("/v1/machines/node-1")
    assert (made["state"], made["harvest"], made["tags"], made["custom"]) == ("new", "never", ["gpu"], {"height": 2})
    assert made["interfaces"][0]["allocate"] == "always"
    network = site.get("/v1/networks/lab")
    assert (network["allocate_on"], network["harvest_after"], network["tags"]) == ("deploy", 86400, ["a", "b"])
    again = _import(site, site_file.read("s.toml", text))
    assert (again.items, again.notes) == ([], [])
    other = _import(site, site_file.read("s.toml", text.replace("00:00:01", "00:00:02")))
    assert ["interfaces" in note for note in other.notes] == [True]


def test_rows_without_a_subnet_go_to_the_longest_match(site: Site) -> None:  # phpipam 2596
    site.post("/v1/networks/prod/subnets", {"cidr": "10.0.3.128/25"})
    _import(site, _csv("ip,hostname,host\n10.0.3.9,a,compute-7\n10.0.3.200,b,\n"))
    client = client_of(site)
    inner = client.subnets.show("10.0.3.128/25")["id"]
    assert client.addresses.show("10.0.3.200")["subnet"] == inner
    assert client.addresses.show("10.0.3.9")["subnet"] != inner
    assert client.addresses.show("10.0.3.9")["host"] == "compute-7"


def test_rows_make_racks_hosts_and_machines_and_define_a_subnet_with_its_network(site: Site) -> None:
    text = "ip,mac,hostname,network,subnet,host,rack\n10.7.0.5,52:54:00:00:00:01,n1,lab,10.7.0.0/24,h9,r9\n"
    _import(site, _csv(text), wishes=Wishes(machine_kind="managed"))
    client = client_of(site)
    assert client.locations.show("h9")["parent"] == "r9"
    machine = client.machines.show("n1")
    assert (machine["kind"], machine["location"]) == ("managed", "h9")
    assert machine["interfaces"][0]["mac"] == "52:54:00:00:00:01"
    known = client.addresses.show("10.7.0.5")
    assert (known["network"], known["handle"], known["machines"]) == ("lab", "import:lab:10.7.0.5", ["n1"])


def test_a_row_without_an_address_gets_one_of_its_network(site: Site) -> None:
    row = "hostname,network,host\nn1,prod,compute-7\n"
    _import(site, _csv(row))
    _import(site, _csv(row))
    (claim,) = client_of(site).claims.list()
    assert (claim["handle"], claim["host"], len(claim["addresses"])) == ("import:prod:n1", "compute-7", 1)


def test_several_files_about_one_address_are_one_row(site: Site) -> None:
    hosts = hosts_file.read("hosts", "10.0.3.9 db1.prod.example db1\n")
    _import(site, _csv("ip,mac,host\n10.0.3.9,52:54:00:00:00:01,compute-7\n"), hosts)
    known = client_of(site).addresses.show("10.0.3.9")
    assert (known["name"], known["host"], known["machines"]) == ("db1.prod.example.", "compute-7", ["db1"])


def test_a_dynamic_range_goes_around_what_is_held(site: Site) -> None:
    text = "dhcp-range=10.0.3.50,10.0.3.60,255.255.255.0,1h\ndhcp-host=52:54:00:00:00:01,10.0.3.55,a\n"
    plan = _import(site, dnsmasq.read("d", text))
    ends = [(each["start"], each["end"]) for each in client_of(site).ranges.list()]
    assert sorted(ends) == [("10.0.3.50", "10.0.3.54"), ("10.0.3.56", "10.0.3.60")]
    assert len(plan.notes) == 1


def test_a_dhcp_range_makes_its_subnet_in_the_network_that_is_said(site: Site) -> None:
    text = "dhcp-range=10.8.0.50,10.8.0.60,255.255.255.0,1h\n"
    with pytest.raises(errors.InvalidValue, match="--network"):
        _import(site, dnsmasq.read("d", text))
    _import(site, dnsmasq.read("d", text), wishes=Wishes(network="prod"))
    assert client_of(site).subnets.show("10.8.0.0/24")["dhcp"]["lease_time"] == 3600


def test_a_dhcp_host_without_an_address_is_a_machine(site: Site) -> None:
    _import(site, dnsmasq.read("d", "dhcp-host=52:54:00:00:00:01,printer\n"))
    client = client_of(site)
    assert client.machines.show("printer")["interfaces"][0]["mac"] == "52:54:00:00:00:01"
    assert list(client.claims.list()) == []


def test_a_second_address_of_a_name_is_claimed_without_it_and_said(site: Site) -> None:
    plan = _import(site, hosts_file.read("hosts", "10.0.3.9 db\n10.0.3.10 db\n10.0.3.1 gw\n"))
    assert [note.partition(":")[0] for note in plan.notes] == ["hosts, line 2", "hosts, line 3"]
    client = client_of(site)
    assert client.addresses.show("10.0.3.9")["name"] == "db.prod.example."
    assert client.addresses.show("10.0.3.10")["name"] is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ip\n10.99.0.1\n", "m.csv, row 2: no subnet here holds 10.99.0.1"),
        ("ip,subnet\n10.99.0.1,10.99.0.0/24\n", "m.csv, row 2: 10.99.0.0/24 is no subnet here"),
        ("ip,network\n10.0.3.9,lab\n", "m.csv, row 2: 10.0.3.0/24 is of network prod, not lab"),
        ("ip,subnet\n10.0.4.9,10.0.3.0/24\n", "m.csv, row 2: 10.0.4.9 is not in 10.0.3.0/24"),
        ("hostname\nx\n", "m.csv, row 2: it has no address"),
        ("hostname,network\nx,lab\n", "m.csv, row 2: there is no network 'lab'"),
        ("ip,host\n10.0.3.9,rack-3\n", "m.csv, row 2: rack-3 is a rack, not a host"),
        ("ip,host,rack\n10.0.3.9,compute-7,rack-9\n", "m.csv, row 2: compute-7 is in rack-3, not in rack-9"),
        ("ip,mac\n10.0.3.9,52:54:00:00:00:01\n10.0.3.9,52:54:00:00:00:02\n", "m.csv, row 3: 10.0.3.9 has mac"),
    ],
)
def test_what_contradicts_itself_is_refused_by_row_before_anything_is_sent(site: Site, text: str, said: str) -> None:
    before = site.sequence
    with pytest.raises(errors.InvalidValue) as refused:
        _import(site, _csv(text))
    assert refused.value.message.startswith(said)
    assert site.sequence == before


def test_what_the_service_refuses_names_the_row_and_nothing_is_made(site: Site) -> None:
    site.post("/v1/claims", {"network": "prod", "address": "10.0.3.9"})
    before = site.sequence
    with pytest.raises(errors.AlreadyAllocated) as refused:
        _import(site, _csv("ip,hostname\n10.0.3.8,a\n10.0.3.9,b\n"))
    assert refused.value.message.startswith("m.csv, row 3: ")
    with pytest.raises(errors.TenureError) as wrong:
        _import(site, site_file.read("s", '[[networks]]\nname = "lab"\ncooldown = "long"\n'))
    assert wrong.value.message.startswith("s, networks 1 (lab): ")
    assert site.sequence == before


def test_what_is_there_already_and_differs_is_left_and_said(site: Site) -> None:
    plan = _import(site, site_file.read("s", '[[networks]]\nname = "prod"\ncooldown = 7\ndomain = "prod.example"\n'))
    assert plan.notes == ["s, networks 1 (prod): it is there already with another cooldown; left so."]
    assert (plan.items, plan.there) == ([], {"network": 1})


def test_large_imports_go_in_several_transactions() -> None:
    items = [Thing("vrf", {"name": str(number)}, "f") for number in range(25_000)]
    assert [len(piece) for piece in importing.pieces(items)] == [10_000, 10_000, 5_000]


def test_vrfs_do_not_mix(site: Site) -> None:
    site.post("/v1/vrfs", {"name": "blue"})
    text = '[[networks]]\nname = "b"\nvrf = "blue"\n[[networks.subnets]]\ncidr = "10.0.3.0/24"\n'
    with pytest.raises(errors.InvalidValue, match="--vrf blue"):
        _import(site, site_file.read("s", text))
    _import(site, site_file.read("s", text), _csv("ip\n10.0.3.9\n"), wishes=Wishes(vrf="blue"))
    assert client_of(site).addresses.show("10.0.3.9", vrf="blue")["network"] == "b"


def _world() -> Present:
    subnet = {"id": "s", "cidr": "10.0.0.0/24", "network": "prod", "gateway": "10.0.0.1"}
    network = {"id": "n", "name": "prod", "domain": "prod.example.", "vrf": "default"}
    return Present({"default": {"id": "v"}}, {}, {"prod": network}, {"10.0.0.0/24": subnet}, {}, {})


ROWS: Any = st.lists(
    st.builds(
        Row,
        where=st.just("f"),
        ip=st.integers(2, 40).map(lambda number: f"10.0.0.{number}"),
        names=st.sampled_from(["a", "b", "c.prod.example", "d.other"]).map(lambda name: (name,)),
    ),
    max_size=30,
)
RANGES = st.tuples(st.integers(2, 40), st.integers(0, 20)).map(
    lambda pair: Thing(
        "range",
        {"start": f"10.0.0.{pair[0]}", "end": f"10.0.0.{sum(pair)}", "role": "dynamic", "note": "dnsmasq"},
        "f",
    )
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.one_of(st.none(), RANGES))
def test_a_plan_names_nothing_twice_and_no_range_holds_a_row(rows: list[Row], range_: Thing | None) -> None:
    plan = planning.plan(Reading(things=[range_] if range_ else [], rows=rows), _world())
    claims = [item.fields for item in plan.items if item.kind == "claim"]
    assert {claim["address"] for claim in claims} == {row.ip for row in rows}
    assert len({claim["handle"] for claim in claims}) == len(claims)
    names = [claim["hostname"] for claim in claims if "hostname" in claim]
    assert len(set(names)) == len(names)
    held = {int(str(row.ip).rpartition(".")[2]) for row in rows}
    free: set[int] = set()
    for item in plan.items:
        if item.kind == "range":
            low, high = (int(item.fields[end].rpartition(".")[2]) for end in ("start", "end"))
            assert low <= high
            free |= set(range(low, high + 1))
    assert free & held == set()
    if range_ is not None:
        low, high = (int(range_.fields[end].rpartition(".")[2]) for end in ("start", "end"))
        assert free | held >= set(range(low, high + 1))
