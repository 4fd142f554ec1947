"""Zones into the real service: what becomes of each record; twice changes nothing; faults stop nothing else."""

from typing import Any

import pytest

from tenure.errors import InvalidValue, NotFound
from tenure.exchange import zone_importing
from tenure.exchange.zone_plan import ZonePlan, zone_plan
from tenure.exchange.zone_present import zone_present
from tenure.exchange.zone_source import SourceRecord, file_records, origin_name
from tests.client.in_process import client_of
from tests.surfaces.api.site import Site

ZONE = "prod.example."
START = "$TTL 300\n@ 300 SOA ns1.old.example. admin 7 3600 600 1209600 60\n@ NS ns1.old.example.\n"


def _plan(site: Site, text: str, zone: str = ZONE, vrf: str = "default", *, claim: bool = False) -> ZonePlan:
    records = list(file_records(text, origin_name(zone)))
    owners = {each.owner for each in records if isinstance(each, SourceRecord)}
    return zone_plan(zone, records, zone_present(client_of(site), vrf, zone, owners), claim=claim)


def _import(site: Site, text: str, zone: str = ZONE, *, claim: bool = False) -> dict[str, Any]:
    """Try it, which records nothing; do it; and again, which changes nothing."""
    before = site.sequence
    tried = _performed(site, text, zone, claim=claim, dry_run=True)
    assert site.sequence == before
    done = _performed(site, text, zone, claim=claim)
    assert done["counts"] == tried["counts"]
    after = site.sequence
    again = _performed(site, text, zone, claim=claim)
    assert site.sequence == after
    assert (again["named"], again["claimed"], again["record"]) == ([], [], [])
    assert sum(again["counts"].values()) == sum(done["counts"].values())
    return done


def _performed(site: Site, text: str, zone: str, *, claim: bool, dry_run: bool = False) -> dict[str, Any]:
    plan = _plan(site, text, zone, claim=claim)
    told: list[int] = []
    zone_importing.perform(client_of(site), plan, told.append, dry_run=dry_run)
    assert sum(told) == zone_importing.steps(plan)
    return zone_importing.report(plan, dry_run=dry_run)


def _names(report: dict[str, Any], group: str) -> list[tuple[str, str]]:
    return [(each["name"].removesuffix("." + ZONE), each["type"]) for each in report[group]]


def _why(report: dict[str, Any], group: str, line: int) -> str:
    (found,) = [each["why"] for each in report[group] if each["line"] == line]
    return str(found)


def _hold(site: Site, address: str, handle: str, hostname: str | None = None) -> None:
    fields = {"network": "prod", "address": address, "handle": handle}
    site.post("/v1/claims", fields if hostname is None else {**fields, "hostname": hostname})


def _file(site: Site, zone: str = ZONE) -> str:
    answer = site.ask("GET", f"/v1/zones/{zone}/file")
    assert answer.status_code == 200
    return answer.text.replace("\t", " ")


def test_each_record_ends_in_one_group(site: Site) -> None:
    _hold(site, "10.0.3.10", "nameless")
    _hold(site, "10.0.3.11", "named", "web-2")
    _hold(site, "10.0.3.12", "other", "other")
    text = START + (
        "web-1 A 10.0.3.10\n"  # line 4: names it
        "web-2 A 10.0.3.11\n"
        "web-3 A 10.0.3.12\n"  # held under another name
        "web-4 A 10.0.3.13\n"  # free
        "far A 192.0.2.1\n"
        "@ MX 10 web-1\n"
        "_sip._tcp 60 SRV 0 0 5060 web-1\n"
        "www CNAME web-1\n"
        'txt TXT "a b" c\n'
        "txt TXT c\n"
        "txt TXT c\n"
        "loc LOC 51 30 12.748 N 0 7 39.612 W 0.00m\n"  # line 15
        "web-1 RRSIG A 8 3 300 20300101000000 20200101000000 1 prod.example. AAAA\n"
        "x.other. A 192.0.2.2\n"
        "bad A 10.0.3\n"
        "$INCLUDE /etc/passwd\n"
    )
    report = _import(site, text)
    assert _names(report, "named") == [("web-1", "A")]
    assert _names(report, "claimed") == []
    assert sorted(_names(report, "record")) == sorted(
        [("web-3", "A"), ("web-4", "A"), ("far", "A"), (ZONE, "MX"), ("_sip._tcp", "SRV"), ("www", "CNAME")]
        + [("txt", "TXT")] * 2
    )
    assert _names(report, "already") == [("web-2", "A"), ("txt", "TXT")]
    assert [each["type"] for each in report["left out"]] == ["SOA", "NS", "RRSIG"]
    assert [each["line"] for each in report["refused"]] == [15, 17, 18, 19]
    assert _why(report, "refused", 15) == "Tenure has no records of type LOC"
    assert _why(report, "refused", 17) == "it is not in the zone prod.example."
    assert "$INCLUDE' is not allowed" in _why(report, "refused", 19)
    lines = _file(site)
    for line in ("web-1.prod.example. 300 IN A 10.0.3.10", "_sip._tcp.prod.example. 60 IN SRV 0 0 5060 web-1.prod"):
        assert line in lines
    held = site.get("/v1/zones/prod.example./records")["items"]
    assert {each["type"] for each in held if each["ttl"] == 60} == {"SRV"}


def test_free_addresses_are_claimed_if_that_is_said(site: Site) -> None:
    text = START + (
        "web-1 A 10.0.3.20\nweb-1 A 10.0.3.21\n"  # one of a family in a claim
        "gate A 10.0.3.1\n_odd A 10.0.3.22\n* A 10.0.3.23\n@ A 10.0.3.24\n"
    )
    report = _import(site, text, claim=True)
    assert _names(report, "claimed") == [("web-1", "A")]
    assert _names(report, "record") == [("web-1", "A"), ("gate", "A"), ("*", "A"), (ZONE, "A")]
    assert "no name of a host" in _why(report, "refused", 7)
    held = site.get("/v1/addresses/10.0.3.20")
    assert (held["name"], held["handle"], held["project"]) == ("web-1.prod.example.", "import:prod:10.0.3.20", "import")


def test_a_claim_has_an_address_of_each_family(site: Site) -> None:
    site.post("/v1/networks/prod/subnets", {"cidr": "2001:db8::/64"})
    report = _import(site, START + "web A 10.0.3.20\nweb AAAA 2001:db8::20\n", claim=True)
    assert report["counts"]["claimed"] == 2
    one, two = (site.get(f"/v1/addresses/{ip}") for ip in ("10.0.3.20", "2001:db8::20"))
    assert one["claim"] == two["claim"]
    assert one["name"] == two["name"] == "web.prod.example."


def test_a_new_zone_is_made_with_the_ttl_of_most(site: Site) -> None:
    text = "$TTL 3600\n@ SOA ns a 1 2 3 4 900\n@ NS ns\nns A 192.0.2.53\nwww A 192.0.2.80\nold 60 A 192.0.2.81\n"
    report = _import(site, text, "corp.example.")
    assert report["zone_made"]
    zone = site.get("/v1/zones/corp.example.")
    assert (zone["ttl"], zone["negative_ttl"], zone["kept"]) == (3600, 900, True)
    ttls = {each["name"]: each["ttl"] for each in site.get("/v1/zones/corp.example./records")["items"]}
    assert ttls == {"ns.corp.example.": None, "www.corp.example.": None, "old.corp.example.": 60}


def test_a_zone_of_which_nothing_can_be_made_is_not_made(site: Site) -> None:
    text = (
        "$TTL 300\n@ SOA ns a 1 2 3 4 900\n@ NS ns\nloc LOC 51 30 12.748 N 0 7 39.612 W 0.00m\nx.wrong. A 192.0.2.1\n"
    )
    for more, zone in (("a..b A 192.0.2.1\n@ CNAME x\n", "right.example."), ("*.prod 60 A 192.0.2.1\n", "example.")):
        report = _import(site, text + more, zone)
        assert not report["zone_made"]
        assert len(report["record"]) == (zone == "example.")  # in the zone prod.example.
        assert site.ask("GET", f"/v1/zones/{zone}").status_code == 404


def test_a_zone_is_made_with_the_first_record_that_can_be(site: Site) -> None:
    text = "$TTL 300\n@ SOA ns a 1 2 3 4 900\n@ CNAME x\na CNAME b\na CNAME c\n@ CNAME y\n"
    report = _import(site, text, "right.example.")
    assert (report["zone_made"], report["counts"]["record"], report["counts"]["refused"]) == (True, 1, 3)


def test_delegations_come_with_their_glue_and_those_of_zones_here_are_left_out(site: Site) -> None:
    text = "$TTL 300\n@ SOA ns a 1 2 3 4 900\n@ NS ns.x.\nlab NS ns.lab\nns.lab A 192.0.2.1\n"
    text += "prod NS old.prod\nold.prod A 192.0.2.2\n"
    report = _import(site, text, "example.")
    assert [(each["name"], each["type"]) for each in report["record"]] == [
        ("lab.example.", "NS"),
        ("ns.lab.example.", "A"),
    ]
    assert [each["line"] for each in report["left out"]] == [2, 3, 6, 7]
    assert "Tenure delegates by itself" in _why(report, "left out", 7)


def test_what_is_delegated_comes_with_all_its_servers_and_without_what_it_hides(site: Site) -> None:
    text = START + (
        "ns2.lab A 192.0.2.2\nns1.lab A 192.0.2.1\nwww.lab A 192.0.2.3\n"
        "lab NS ns3.lab\nlab NS ns1.lab\nlab NS NS2.lab\nfar NS ns.far\nfar NS ns.else.\nns.far A 192.0.2.4\n"
    )
    report = _import(site, text)
    assert [each["line"] for each in report["refused"]] == [6]
    assert "lab.prod.example. is delegated" in _why(report, "refused", 6)
    assert report["counts"]["record"] == 8


def test_glue_is_known_to_a_dry_run_that_was_refused_something_in_between(site: Site) -> None:
    text = START + "ns.lab A 192.0.2.1\na A 192.0.2.2\na CNAME b\nlab NS ns.lab\n"
    report = _import(site, text)
    assert [each["line"] for each in report["refused"]] == [6]
    assert _names(report, "record") == [("ns.lab", "A"), ("a", "A"), ("lab", "NS")]


def test_what_the_service_refuses_stops_nothing_else(site: Site) -> None:
    text = START + "a A 192.0.2.1\na CNAME b\nb CNAME a\nc CNAME b\nc A 192.0.2.3\nd A 192.0.2.4\n"
    report = _import(site, text)
    assert report["counts"]["record"] == 4
    assert [each["line"] for each in report["refused"]] == [5, 8]
    assert "an alias is alone" in _why(report, "refused", 5)
    assert "/items/" not in str(report)


def test_pointers_that_follow_from_names_are_there_already(site: Site) -> None:
    _hold(site, "10.0.3.10", "one", "web-1")
    text = "$TTL 300\n@ SOA ns.x. a.x. 1 2 3 4 5\n@ NS ns.x.\n10 PTR web-1.prod.example.\n11 PTR printer.example.\n"
    report = _import(site, text, "3.0.10.in-addr.arpa.")
    assert [(each["line"], each["type"]) for each in report["already"]] == [(4, "PTR")]
    assert [each["line"] for each in report["record"]] == [5]


def test_what_a_template_says_is_there_already(site: Site) -> None:
    site.ask("PATCH", "/v1/zones/prod.example.", {"name_template": "ip-{ip-dashed}"})
    report = _import(site, START + "ip-10-0-3-9 A 10.0.3.9\n")
    assert _names(report, "already") == [("ip-10-0-3-9", "A")]


def test_the_zone_file_of_tenure_is_there_already(site: Site) -> None:
    _hold(site, "10.0.3.10", "one", "web-1")
    report = _import(site, _file(site))
    assert report["counts"]["already"] == 3  # the addresses of ns.prod.example., and web-1
    assert report["counts"]["left out"] == 2


def test_names_that_two_may_share_are_names_of_both(site: Site) -> None:
    for ip in ("10.0.3.10", "10.0.3.11", "10.0.3.12"):
        _hold(site, ip, ip)
    assert _import(site, START + "one A 10.0.3.10\none A 10.0.3.11\n")["counts"]["named"] == 1
    site.ask("PATCH", "/v1/networks/prod", {"shared_names": True})
    assert _import(site, START + "two A 10.0.3.11\ntwo A 10.0.3.12\n")["counts"]["named"] == 2


def test_a_zone_is_that_of_its_vrf(site: Site) -> None:
    site.post("/v1/vrfs", {"name": "lab"})
    site.post("/v1/networks", {"name": "lab-net", "vrf": "lab", "domain": ZONE})
    site.post("/v1/networks/lab-net/subnets", {"cidr": "10.0.3.0/24"})
    site.post("/v1/claims", {"network": "lab-net", "address": "10.0.3.10", "handle": "lab"})
    plan = _plan(site, START + "web A 10.0.3.10\nfar A 192.0.2.1\n", vrf="lab")
    zone_importing.perform(client_of(site), plan, lambda more: None)
    report = zone_importing.report(plan, dry_run=False)
    assert (_names(report, "named"), _names(report, "record")) == ([("web", "A")], [("far", "A")])
    assert site.get("/v1/addresses/10.0.3.10?vrf=lab")["name"] == "web.prod.example."
    assert site.get("/v1/zones/prod.example./records?vrf=default")["items"] == []


def test_a_long_zone_is_made_in_pieces(site: Site) -> None:
    hosts = "".join(f"h{number} A 192.0.2.{number % 250}\n" for number in range(1100))
    report = _import(site, START + "h7 CNAME x\n" + hosts + "h1050 CNAME x\n")
    assert (report["counts"]["record"], report["counts"]["refused"]) == (1100, 2)


def test_names_that_cannot_be_are_told(site: Site) -> None:
    with pytest.raises(InvalidValue, match="the root"):
        origin_name(".")
    with pytest.raises(NotFound):
        _plan(site, START, vrf="none")


def _serial(site: Site, zone: str = ZONE) -> int:
    return int(site.get(f"/v1/zones/{zone}")["serial"])


def test_a_new_zone_goes_on_from_the_serial_of_its_source(site: Site) -> None:
    text = "$TTL 60\n@ SOA ns a 2024010101 2 3 4 900\nwww A 192.0.2.80\n"
    assert _import(site, text, "corp.example.")["serial"] == 2024010102
    assert _serial(site, "corp.example.") == 2024010102


def test_a_zone_that_a_network_brought_goes_on_from_the_serial_of_its_source(site: Site) -> None:
    text = START.replace(" 7 ", " 2024010101 ") + "www A 192.0.2.80\n"
    assert _import(site, text)["serial"] == 2024010102
    assert _serial(site) == 2024010103


@pytest.mark.parametrize("source", [4294967295, 4294967290, 1])
def test_a_serial_at_the_end_of_the_circle(site: Site, source: int) -> None:
    """0 is never used; 1 comes after 4294967295 (RFC 1982), and the zone that has it does not follow."""
    report = _import(site, START.replace(" 7 ", f" {source} ") + "www A 192.0.2.80\n", "corp.example.")
    assert report["serial"] == _serial(site, "corp.example.") == (1 if source == 4294967295 else source + 1)


def test_a_zone_of_a_later_serial_keeps_it(site: Site) -> None:
    site.ask("PATCH", f"/v1/zones/{ZONE}", {"serial": 2024010101})
    assert _import(site, START + "www A 192.0.2.80\n")["serial"] is None
    assert _serial(site) == 2024010102


def test_the_serial_of_another_zone_is_not_this_ones(site: Site) -> None:
    text = "$TTL 60\nother.example. SOA ns a 2024010101 2 3 4 900\nwww A 192.0.2.80\n"
    assert _import(site, text)["serial"] is None
