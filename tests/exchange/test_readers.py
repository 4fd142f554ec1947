"""Files as they are and as they should not be; each fault names the file and the line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.errors import InvalidValue
from tenure.exchange import csv_file, dnsmasq, files, hosts_file, reading, site_file
from tenure.exchange.reading import Reading, Row, Thing

SITE = Path(__file__).parents[2] / "examples" / "site"


def test_a_table_has_its_columns_in_any_order_and_empty_ones_are_none() -> None:  # netbox 22561
    read = csv_file.read("m.csv", "Rack, hostname,IP,mac\nr1,vm-1,10.0.0.5,5254.000A.0B0C\n\n,vm-2,2001:DB8::5,\n")
    assert read.faults == []
    assert read.rows == [
        Row("m.csv, row 2", "10.0.0.5", "52:54:00:0a:0b:0c", ("vm-1",), rack="r1"),
        Row("m.csv, row 4", "2001:db8::5", names=("vm-2",)),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ip,owner\n10.0.0.5,me\n", "m.csv: column 'owner' is unknown; the columns are ip, mac"),
        ("ip,ip\n", "m.csv: column 'ip' stands twice"),
        ("", "m.csv: there is no header"),
        ("ip\n10.0.0.256\n", "m.csv, row 2, column ip: "),
        ("ip\n10.0.0.1\n10.0.0.01\n", "m.csv, row 3, column ip: "),
        ("mac\nff:ff:ff:ff:ff:ff\n", "m.csv, row 2, column mac: "),
        ("subnet\n10.0.0.1/24\n", "m.csv, row 2, column subnet: "),
        ("ip\n10.0.0.1,extra\n", "m.csv, row 2: it has 2 values for 1 columns"),
        ('ip\n"10.0.0.1\n', "m.csv, row 2: unexpected end of data"),
    ],
)
def test_a_table_that_is_wrong_names_row_and_column(text: str, fault: str) -> None:
    read = csv_file.read("m.csv", text)
    assert [each[: len(fault)] for each in read.faults] == [fault]


def test_a_hosts_file_leaves_out_the_machine_itself() -> None:
    local = "127.0.0.1 localhost\n::1 ip6-localhost\nff02::1 ip6-allnodes\nfe00:: ip6-localnet\n"
    text = local + "10.0.0.5\tdb1.x db1 # the database\n\n"
    assert hosts_file.read("hosts", text).rows == [Row("hosts, line 5", "10.0.0.5", names=("db1.x", "db1"))]


def test_a_hosts_file_that_is_wrong_names_the_line() -> None:
    read = hosts_file.read("hosts", "10.0.0.5 a\n10.0.5 b\n10.0.0.6\nfe80::1%eth0 c\n")
    assert [fault.partition(":")[0] for fault in read.faults] == ["hosts, line 2", "hosts, line 3", "hosts, line 4"]


def test_dnsmasq_hosts_ranges_and_names() -> None:
    text = (
        "# made by hand\n"
        "dhcp-range=set:lan,10.0.0.50,10.0.0.150,255.255.255.0,12h\n"
        "dhcp-host=52:54:00:0A:0B:0C,10.0.0.7,vm-7\n"
        "dhcp-host=52:54:00:0a:0b:0d,vm-8\n"
        "host-record=db,db.x,10.0.0.8,2001:db8::8\n"
        "address=/printer/10.0.0.9\n"
    )
    read = dnsmasq.read("d.conf", text)
    assert (read.faults, read.notes) == ([], [])
    assert read.things == [
        Thing("subnet", {"cidr": "10.0.0.0/24", "dhcp": {"lease_time": 43200}}, "d.conf, line 2"),
        Thing(
            "range",
            {"subnet": "10.0.0.0/24", "start": "10.0.0.50", "end": "10.0.0.150", "role": "dynamic", "note": "dnsmasq"},
            "d.conf, line 2",
        ),
    ]
    assert read.rows == [
        Row("d.conf, line 3", "10.0.0.7", "52:54:00:0a:0b:0c", ("vm-7",)),
        Row("d.conf, line 4", None, "52:54:00:0a:0b:0d", ("vm-8",)),
        Row("d.conf, line 5", "10.0.0.8", names=("db", "db.x")),
        Row("d.conf, line 5", "2001:db8::8", names=("db", "db.x")),
        Row("d.conf, line 6", "10.0.0.9", names=("printer",)),
    ]


def test_dnsmasq_ipv6_ranges() -> None:
    read = dnsmasq.read("d.conf", "dhcp-range=2001:db8::100,2001:db8::1ff,64,1h\ndhcp-range=2001:db8:1::,ra-only\n")
    assert [thing.kind for thing in read.things] == ["subnet", "range", "subnet"]
    assert read.things[2].fields == {"cidr": "2001:db8:1::/64"}
    assert len(read.notes) == 1


@pytest.mark.parametrize(
    "line",
    [
        "server=9.9.9.9",
        "domain-needed",
        "dhcp-host=*:*:*:*:*:*,ignore",
        "address=/ads.x/",
        "dhcp-host=vm-1,12h",
        "=",
        "x",
    ],
)
def test_what_is_not_understood_of_dnsmasq_is_told_by_its_line(line: str) -> None:
    read = dnsmasq.read("d.conf", f"\n{line}\n")
    assert (read.rows, read.faults) == ([], [])
    assert [note.partition(":")[0] for note in read.notes][-1] == "d.conf, line 2"


@pytest.mark.parametrize(
    "line",
    ["dhcp-range=10.0.0.5", "dhcp-range=10.0.0.5,10.0.0.9,255.0.255.0", "host-record=a", "dhcp-host=x,10.0.0.999"],
)
def test_what_is_wrong_in_dnsmasq_names_the_line(line: str) -> None:
    assert [fault.partition(":")[0] for fault in dnsmasq.read("d.conf", line).faults] == ["d.conf, line 1"]


def test_a_site_is_the_same_in_toml_and_json() -> None:
    toml = '[[networks]]\nname = "prod"\n[[networks.subnets]]\ncidr = "10.0.0.0/24"\n'
    toml += '[[locations]]\nname = "r"\nkind = "rack"\n'
    value = {"networks": [{"name": "prod", "subnets": [{"cidr": "10.0.0.0/24"}]}]} | {
        "locations": [{"name": "r", "kind": "rack"}]
    }
    read = site_file.read("s", toml)
    assert read == site_file.read("s", json.dumps(value))
    assert [thing.kind for thing in read.things] == ["rack", "network", "subnet"]
    assert read.things[2].fields == {"cidr": "10.0.0.0/24", "network": "prod"}
    assert read.things[2].where == "s, networks 1 (prod), subnets 1 (10.0.0.0/24)"


@pytest.mark.parametrize(
    "text",
    [
        *("racks = []", "networks = 1", "networks = [1]", "[[networks", "{", '{"a": 1}', "vrfs = " + "[" * 5000),
        *('{"vrfs":' + "[" * 5000, '{"vrfs": [{"name": "\\ud800"}]}'),
    ],
)
def test_a_site_that_is_wrong_is_a_fault(text: str) -> None:
    assert len(site_file.read("s", text).faults) == 1


@pytest.mark.parametrize(
    ("subnet", "fault"),
    [
        ("{}", ": cidr is missing."),
        ("{cidr = [1]}", " ([1]): cidr is text."),
        ('{cidr = "10.0.0.1/24"}', " (10.0.0.1/24): cidr: 10.0.0.1/24 has host bits set; the subnet is 10.0.0.0/24."),
        ('{cidr = "::/64", dns_servers = "::1"}', " (::/64): dns_servers is a list."),
        ('{cidr = "::/64", ranges = [{start = "::1"}]}', " (::/64), ranges 1 (::1): end is missing."),
    ],
)
def test_what_cannot_be_placed_is_a_fault_with_its_place(subnet: str, fault: str) -> None:
    read = site_file.read("s", f'networks = [{{name = "n", subnets = [{subnet}]}}]')
    assert read.faults == ["s, networks 1 (n), subnets 1" + fault]


def test_an_entry_is_of_a_kind_of_its_table() -> None:
    (fault,) = site_file.read("s", '[[machines]]\nname = "r"\nkind = "range"\n').faults
    assert fault == "s, machines 1 (r): its kind is none of managed, instance, device."


def test_files_are_guessed_by_name_and_content(tmp_path: Path) -> None:
    assert files.guessed("a.csv", "") == "csv"
    assert files.guessed("table", "hostname,ip\n") == "csv"
    assert files.guessed("site.json", "{}") == "site"
    assert files.guessed("dnsmasq.d-lan", "") == "dnsmasq"
    assert files.guessed("lan.conf", "# x\ndhcp-host=a\n") == "dnsmasq"
    assert files.guessed("hosts", "# x\n\n127.0.0.1 a\n") == "hosts"
    for name, content in (("hosts", b"\xff"), ("hosts", b"10.0.0.1 a\0"), ("notes.txt", b"hello\n")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidValue):
            files.read(tmp_path / name)
    with pytest.raises(InvalidValue):
        files.read(tmp_path / "none")


def test_the_example_site_reads_without_a_fault_or_a_note() -> None:
    whole = reading.joined(files.read(SITE / name) for name in ("site.toml", "machines.csv", "hosts", "dnsmasq.conf"))
    assert whole.notes == []
    assert len(whole.rows) == 200


def test_faults_of_all_files_are_told_together() -> None:
    with pytest.raises(InvalidValue) as refused:
        reading.joined([Reading(faults=[f"a, line {n}: x." for n in range(30)]), Reading(faults=["b: y."])])
    assert len(refused.value.facts["errors"]) == 31
    assert refused.value.message.endswith("and 11 more")


TEXT = st.text(st.sampled_from("10.2:a/,=#[] \t\n\"'{}-xdhcp-hostrangeimcsubne"), max_size=200)


@given(st.one_of(TEXT, st.text(max_size=200)))
def test_readers_read_anything_or_say_what_is_wrong(text: str) -> None:
    for read in (csv_file.read, hosts_file.read, dnsmasq.read, site_file.read):
        made = read("f", text)
        assert all(said.startswith("f") for said in made.faults + made.notes)


MACS = st.integers(0, 2**24 - 1).map(lambda number: "52:54:00:" + number.to_bytes(3, "big").hex(":"))
ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6, network="2001:db8::/32")).map(str)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z0-9]", fullmatch=True)


@given(st.lists(st.tuples(ADDRESSES, MACS, NAMES)), st.permutations(["ip", "mac", "hostname"]))
def test_a_table_that_is_written_is_read_back(values: list[tuple[str, str, str]], order: list[str]) -> None:
    rows = [dict(zip(("ip", "mac", "hostname"), each, strict=True)) for each in values]
    text = "\n".join([",".join(order), *(",".join(row[column] for column in order) for row in rows)]) + "\n"
    read = csv_file.read("f", text)
    assert read.faults == []
    assert [(row.ip, row.mac, row.names[0]) for row in read.rows] == values
