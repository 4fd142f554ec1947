"""Zones, records, keys and secondaries over the API."""

from base64 import b64decode, b64encode
from typing import Any

import dns.zone
import pytest
from cryptography.fernet import Fernet

from tenure.service.sealing import SECRET_KEY, Sealer
from tests.surfaces.api.site import Site, problem

ZONE = "/v1/zones/prod.example."


def _zone(site: Site, **fields: Any) -> Any:
    return site.post("/v1/zones", {"name": "made.example.", **fields})


def _record(site: Site, name: str, type_: str, data: str, **more: Any) -> Any:
    return _at(site, "prod.example.", name, type_, data, **more)


def _at(site: Site, zone: str, name: str, type_: str, data: str, **more: Any) -> Any:
    return site.post(f"/v1/zones/{zone}/records", {"name": name, "type": type_, "data": data, **more})


def test_a_zone_is_made_shown_changed_and_deleted(site: Site) -> None:
    made = site.ask("POST", "/v1/zones", {"name": "Made.Example", "ttl": 600, "name_servers": ["NS1.example.net"]})
    zone = made.json()
    assert made.headers["location"] == f"/v1/zones/{zone['id']}"
    assert (zone["name"], zone["vrf"], zone["ttl"]) == ("made.example.", "default", 600)
    assert (zone["name_servers"], zone["kept"]) == (["ns1.example.net."], True)
    assert site.get("/v1/zones/made.example.") == site.get("/v1/zones/MADE.example") == zone
    change = {"name_template": "ip-{ip-dashed}", "name_servers": [], "negative_ttl": 30}
    changed = site.ask("PATCH", "/v1/zones/made.example.", change)
    assert changed.headers["etag"] == '"2"'
    assert changed.json() == {
        **zone,
        **change,
        "serial": changed.json()["serial"],
        "floor": changed.json()["floor"],
        "revision": 2,
    }
    problem(site.ask("DELETE", f"/v1/zones/{zone['id']}", headers={"If-Match": '"1"'}), 412, "stale_revision")
    _at(site, "made.example.", "@", "TXT", "one")
    told = site.ask("DELETE", "/v1/zones/made.example.?dry_run=true").json()
    assert told["consequences"]["zones"]["first"] == ["made.example."]
    assert told["consequences"]["records"] == {"count": 1, "first": ["made.example. TXT"]}
    assert told["refused"]["code"] == "in_use"
    (record,) = site.get("/v1/zones/made.example./records")["items"]
    assert site.ask("DELETE", f"/v1/zones/made.example./records/{record['id']}").status_code == 204
    assert site.ask("DELETE", "/v1/zones/made.example.?dry_run=true").json()["refused"] is None
    assert site.ask("DELETE", "/v1/zones/made.example.").status_code == 204
    problem(site.ask("GET", "/v1/zones/made.example."), 404, "not_found")


def test_a_zone_that_a_network_needs_is_not_deleted_alone(site: Site) -> None:
    refused = problem(site.ask("DELETE", ZONE), 409, "in_use")
    assert "network prod" in refused["detail"]


def test_a_zone_of_two_vrfs_is_named_with_its_vrf(site: Site) -> None:
    site.post("/v1/vrfs", {"name": "blue", "name_servers": ["ns1.example.net."]})
    ours, theirs = _zone(site), _zone(site, vrf="blue")
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/file"), ("GET", "/records")):
        body = {"ttl": 60} if method == "PATCH" else None
        refused = problem(site.ask(method, f"/v1/zones/made.example.{path}", body), 422, "invalid_value")
        assert (refused["parameter"], refused["allowed"]) == ("vrf", ["blue", "default"])
    assert site.get("/v1/zones/made.example.?vrf=blue") == theirs
    assert site.ask("PATCH", "/v1/zones/made.example.?vrf=blue", {"ttl": 60}).json()["id"] == theirs["id"]
    made = site.post("/v1/zones/made.example./records?vrf=default", {"name": "@", "type": "TXT", "data": "ours"})
    assert site.get(f"/v1/zones/{ours['id']}/records")["items"] == [made]
    assert site.get("/v1/zones/made.example./records?vrf=blue")["items"] == []
    problem(site.ask("GET", f"/v1/zones/made.example./records/{made['id']}?vrf=blue"), 404, "not_found")
    assert site.ask("DELETE", "/v1/zones/made.example.?vrf=blue").status_code == 204
    assert site.get("/v1/zones/made.example.")["id"] == ours["id"]


def test_a_record_is_made_listed_changed_and_deleted(site: Site) -> None:
    answer = site.ask("POST", f"{ZONE}/records", {"name": "@", "type": "MX", "data": "10 mail"})
    made = answer.json()
    assert site.get(answer.headers["location"]) == made
    assert (made["name"], made["zone"], made["data"]) == ("prod.example.", "prod.example.", "10 mail.prod.example.")
    assert (made["display"], made["ttl"], made["revision"]) == (None, None, 1)
    other = _record(site, "bücher", "CNAME", "web.example.net.", ttl=60)
    assert (other["name"], other["display"]) == ("xn--bcher-kva.prod.example.", "bücher.prod.example.")
    listed = site.get(f"{ZONE}/records")["items"]
    assert sorted(listed, key=str) == sorted([made, other], key=str)
    assert site.get(f"{ZONE}/records?type=MX")["items"] == [made]
    assert site.get(f"{ZONE}/records?q=bücher")["items"] == site.get(f"{ZONE}/records?q=XN--B")["items"] == [other]
    where = f"{ZONE}/records/{made['id']}"
    changed = site.ask("PATCH", where, {"data": "20 mail", "ttl": 30}, headers={"If-Match": '"1"'})
    assert (changed.json()["data"], changed.json()["ttl"]) == ("20 mail.prod.example.", 30)
    assert changed.headers["etag"] == '"2"'
    assert site.ask("PATCH", where, {"ttl": None}).json()["ttl"] is None
    problem(site.ask("DELETE", where, headers={"If-Match": '"1"'}), 412, "stale_revision")
    problem(site.ask("DELETE", f"/v1/zones/3.0.10.in-addr.arpa./records/{made['id']}"), 404, "not_found")
    assert site.ask("DELETE", where).status_code == 204
    assert site.get(f"{ZONE}/records")["items"] == [other]


def test_a_record_is_tried_and_repeated_as_all_changes_are(site: Site) -> None:
    body = {"name": "www", "type": "A", "data": "192.0.2.1"}
    before = site.sequence
    assert site.post(f"{ZONE}/records?dry_run=true", body)["name"] == "www.prod.example."
    assert site.sequence == before
    first = site.ask("POST", f"{ZONE}/records", body, headers={"Idempotency-Key": "one"})
    again = site.ask("POST", f"{ZONE}/records", body, headers={"Idempotency-Key": "one"})
    assert (again.json(), again.headers["idempotency-replayed"]) == (first.json(), "true")


REFUSED = [
    (f"{ZONE}/records", {"name": "-x", "type": "A", "data": "192.0.2.1"}, 422, "/name"),
    (f"{ZONE}/records", {"name": "x.", "type": "A", "data": "192.0.2.1"}, 422, "/name"),
    (f"{ZONE}/records", {"name": "x", "type": "SOA", "data": "192.0.2.1"}, 422, "/type"),
    (f"{ZONE}/records", {"name": "x", "type": "A", "data": "2001:db8::1"}, 422, "/data"),
    (f"{ZONE}/records", {"name": "x", "type": "MX", "data": "mail"}, 422, "/data"),
    (f"{ZONE}/records", {"name": "x", "type": "TXT", "data": "a\nb"}, 422, "/data"),
    (f"{ZONE}/records", {"name": "x", "type": "A", "data": "192.0.2.1", "ttl": 2**31}, 422, "/ttl"),
    (f"{ZONE}/records", {"name": "x", "type": "A"}, 422, "/data"),
    ("/v1/zones", {"name": "a..b."}, 422, "/name"),
    ("/v1/zones", {"name": "catalog.tenure.invalid."}, 422, "/name"),
    ("/v1/zones", {"name": "prod.example."}, 409, "/name"),
    ("/v1/zones", {"name": "z.example.", "name_servers": ["ok.example.", "-no"]}, 422, "/name_servers/1"),
    ("/v1/zones", {"name": "z.example.", "name_template": "ip-{n}"}, 422, "/name_template"),
    ("/v1/zones", {"name": "z.example.", "kept": True}, 422, "/kept"),
    ("/v1/vrfs", {"name": "blue", "name_servers": ["-no"]}, 422, "/name_servers/0"),
    ("/v1/networks", {"name": "n", "name_template": "{ip-dashed}{ip-hex}"}, 422, "/name_template"),
    ("/v1/networks/prod/subnets", {"cidr": "10.9.0.0/24", "name_template": "a"}, 422, "/name_template"),
    ("/v1/networks/prod/subnets", {"cidr": "10.9.0.0/24", "reverse": "rfc2317"}, 422, "/reverse"),
    ("/v1/secondaries", {"name": "s", "address": "192.0.2.54"}, 422, "/key"),
    ("/v1/secondaries", {"name": "s", "address": "192.0.2.54", "key": None}, 422, "/key"),
    ("/v1/secondaries", {"name": "s", "address": "192.0.2.54", "key": "k", "unsigned": True}, 422, "/unsigned"),
    ("/v1/secondaries", {"name": "s", "address": "192.0.2.54", "key": "k"}, 404, "/key"),
    ("/v1/secondaries", {"name": "s", "address": "ns2", "unsigned": True}, 422, "/address"),
    ("/v1/secondaries", {"name": "s", "unsigned": True}, 422, "/address"),
    ("/v1/secondaries", {"name": "s", "address": "192.0.2.54", "unsigned": True, "port": 0}, 422, "/port"),
    (
        "/v1/secondaries",
        {"name": "s", "address": "192.0.2.54", "unsigned": True, "transfer_from": ["192.0.2.1/24"]},
        422,
        "/transfer_from/0",
    ),
    ("/v1/tsig-keys", {"name": "k k"}, 422, "/name"),
    ("/v1/tsig-keys", {"name": "k", "algorithm": "hmac-md5"}, 422, "/algorithm"),
    ("/v1/tsig-keys", {"name": "k", "secret": "not base64"}, 422, "/secret"),
    ("/v1/tsig-keys", {"name": "k", "secret": b64encode(bytes(15)).decode()}, 422, "/secret"),
    ("/v1/tsig-keys", {"name": "k", "vrf": "nowhere"}, 404, "/vrf"),
]


def test_data_is_as_long_as_it_is_said_to_be(site: Site) -> None:
    most = site.ask("GET", "/openapi.json").json()["components"]["schemas"]["RecordIn"]["properties"]["data"]
    words = '"x" ' * (most["maxLength"] // 4)
    assert len(words) == most["maxLength"] == 4096
    site.post(f"{ZONE}/records", {"name": "long", "type": "TXT", "data": words[:-1] + " "})
    refused = site.ask("POST", f"{ZONE}/records", {"name": "longer", "type": "TXT", "data": words + "x"})
    assert problem(refused, 422, "invalid_value")["pointer"] == "/data"


@pytest.mark.parametrize(("path", "body", "status", "pointer"), REFUSED, ids=str)
def test_what_is_wrong_is_refused_at_its_place(site: Site, path: str, body: Any, status: int, pointer: str) -> None:
    answer = site.ask("POST", path, body)
    code = {404: "not_found", 409: "conflict", 422: "invalid_value"}[status]
    assert problem(answer, status, code)["pointer"] == pointer


def test_a_key_shows_its_secret_once(site: Site) -> None:
    answer = site.ask("POST", "/v1/tsig-keys", {"name": "NS2"}, headers={"Idempotency-Key": "k"})
    made = answer.json()
    secret = made.pop("secret")
    assert len(b64decode(secret)) == 32
    assert (made["name"], made["algorithm"], made["vrf"]) == ("ns2.", "hmac-sha256", None)
    again = site.ask("POST", "/v1/tsig-keys", {"name": "NS2"}, headers={"Idempotency-Key": "k"})
    assert again.json() == {**made, "secret": None}
    for name in ("ns2", "ns2.", made["id"]):
        assert site.get(f"/v1/tsig-keys/{name}") == made
    assert site.get("/v1/tsig-keys")["items"] == [made]
    sealed = site.store.reads.sealed(made["id"])
    assert sealed is not None
    assert Sealer.existing(site.directory).open(sealed) == b64decode(secret)
    assert secret not in site.ask("GET", "/v1/events").text


def test_a_key_is_made_only_with_the_file_that_opens_the_others(site: Site) -> None:
    site.post("/v1/tsig-keys", {"name": "one"})
    file = site.directory / SECRET_KEY
    kept = file.read_bytes()
    file.unlink()
    refused = site.ask("POST", "/v1/tsig-keys", {"name": "two"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "is missing: put the file back" in refused.json()["detail"]
    assert not file.exists()
    file.write_bytes(Fernet.generate_key())
    refused = site.ask("POST", "/v1/tsig-keys", {"name": "two"})
    assert "put back the file of the node that made one., or delete one." in refused.json()["detail"]
    file.write_bytes(kept)
    site.post("/v1/tsig-keys", {"name": "two"})
    file.unlink()
    for name in ("one", "two"):
        assert site.ask("DELETE", f"/v1/tsig-keys/{name}").status_code == 204
    site.post("/v1/tsig-keys", {"name": "two"})
    assert file.exists()


def test_a_key_has_the_secret_that_the_other_side_has(site: Site) -> None:
    secret = b64encode(b"0123456789abcdef").decode()
    body = {"name": "old.example.", "algorithm": "hmac-sha512", "vrf": "default", "secret": secret}
    assert site.post("/v1/tsig-keys?dry_run=true", body)["secret"] is None
    made = site.post("/v1/tsig-keys", body)
    assert (made["secret"], made["vrf"]) == (secret, "default")
    assert len(b64decode(site.post("/v1/tsig-keys", {"name": "x", "algorithm": "hmac-sha512"})["secret"])) == 64


def test_a_secondary_is_made_shown_changed_and_deleted(site: Site) -> None:
    site.post("/v1/tsig-keys", {"name": "ns2"})
    made = site.post("/v1/secondaries", {"name": "ns2", "address": "192.0.2.54", "key": "ns2"})
    assert (made["key"], made["port"], made["vrf"], made["notify"]) == ("ns2.", 53, "default", True)
    assert made["primaries"] == ["192.0.2.53:53", "[2001:db8::53]:53"]
    assert "unsigned" not in made
    assert site.get("/v1/secondaries/ns2") == made
    assert site.get("/v1/secondaries?vrf=default")["items"] == [made]
    assert "catalog.tenure.invalid." in {each["name"] for each in site.get("/v1/zones")["items"]}
    refused = problem(site.ask("PATCH", "/v1/secondaries/ns2", {"key": None}), 422, "invalid_value")
    assert refused["pointer"] == "/key"
    in_use = problem(site.ask("DELETE", "/v1/tsig-keys/ns2"), 409, "in_use")
    assert "secondary ns2" in in_use["detail"]
    change = {"transfer_from": ["192.0.2.0/24"], "notify": False, "unsigned": True}
    changed = site.ask("PATCH", "/v1/secondaries/ns2", change).json()
    assert (changed["key"], changed["notify"], changed["transfer_from"]) == (None, False, ["192.0.2.0/24"])
    assert site.ask("PATCH", "/v1/secondaries/ns2", {"port": 5353}).json()["port"] == 5353
    assert site.ask("DELETE", "/v1/tsig-keys/ns2").status_code == 204
    assert site.ask("DELETE", "/v1/secondaries/ns2").status_code == 204
    assert "catalog.tenure.invalid." not in {each["name"] for each in site.get("/v1/zones")["items"]}


def test_a_file_holds_the_whole_zone(site: Site) -> None:
    ip = site.post("/v1/claims", {"network": "prod", "hostname": "vm-1"})["addresses"][0]["ip"]
    _record(site, "@", "MX", "10 mail.example.net.")
    _record(site, "*.dev", "TXT", '"any; one"')
    answer = site.ask("GET", f"{ZONE}/file")
    assert answer.headers["content-type"] == "text/dns; charset=us-ascii"
    assert answer.headers["tenure-sequence"].endswith(f":{site.sequence}")
    lines = answer.text.splitlines()
    serial = site.get(ZONE)["serial"]
    assert lines[0].split("\t")[3:] == [
        "SOA",
        f"ns.prod.example. hostmaster.prod.example. {serial} 3600 600 1209600 60",
    ]
    assert {tuple(each.split("\t")[i] for i in (0, 3, 4)) for each in lines[1:]} == {
        ("prod.example.", "NS", "ns.prod.example."),
        ("ns.prod.example.", "A", "192.0.2.53"),
        ("ns.prod.example.", "AAAA", "2001:db8::53"),
        ("vm-1.prod.example.", "A", ip),
        ("prod.example.", "MX", "10 mail.example.net."),
        ("*.dev.prod.example.", "TXT", '"any; one"'),
    }
    zone = dns.zone.from_text(answer.text, "prod.example.", relativize=False)
    assert sum(len(rdataset) for _, rdataset in zone.iterate_rdatasets()) == len(lines)


def test_a_file_holds_computed_names_where_nothing_real_is(site: Site) -> None:
    site.ask("PATCH", "/v1/networks/prod", {"name_template": "ip-{ip-dashed}"})
    _record(site, "ip-10-0-3-9", "TXT", "real")
    claim = {"network": "prod", "hostname": "vm-1", "address": "10.0.3.7"}
    site.post("/v1/claims", claim)
    forward = dns.zone.from_text(site.ask("GET", f"{ZONE}/file").text, "prod.example.")
    names = {str(name) for name in forward}
    assert len([name for name in names if name.startswith("ip-")]) == 255
    assert not {"ip-10-0-3-7"} & names
    assert forward.get_rdataset("ip-10-0-3-9", "A") is None
    back = dns.zone.from_text(site.ask("GET", "/v1/zones/3.0.10.in-addr.arpa./file").text, "3.0.10.in-addr.arpa.")
    pointers = {str(name): str(data[0].target) for name in back if (data := back.get_rdataset(name, "PTR"))}
    assert (len(pointers), pointers["7"], pointers["8"]) == (
        256,
        "vm-1.prod.example.",
        "ip-10-0-3-8.prod.example.",
    )


def test_a_zone_is_delegated_by_name_servers_glue_and_cnames(site: Site) -> None:
    told = site.get(f"{ZONE}/delegation")
    assert (told["zone"], told["parent"], told["served"]) == ("prod.example.", "example.", False)
    assert [(each["name"], each["type"], each["data"]) for each in told["records"]] == [
        ("prod.example.", "NS", "ns.prod.example."),
        ("ns.prod.example.", "A", "192.0.2.53"),
        ("ns.prod.example.", "AAAA", "2001:db8::53"),
    ]
    _record(site, "ns1", "A", "198.51.100.1")
    site.ask("PATCH", ZONE, {"name_servers": ["ns1.prod.example.", "ns.example.net."]})
    assert site.get(f"{ZONE}/delegation")["lines"] == [
        "prod.example.\t300\tIN\tNS\tns1.prod.example.",
        "prod.example.\t300\tIN\tNS\tns.example.net.",
        "ns1.prod.example.\t300\tIN\tA\t198.51.100.1",
    ]
    site.post("/v1/networks/prod/subnets", {"cidr": "192.0.2.64/30"})
    told = site.get("/v1/zones/64-30.2.0.192.in-addr.arpa./delegation")
    assert (told["parent"], told["served"]) == ("2.0.192.in-addr.arpa.", False)
    assert [each["name"] for each in told["records"] if each["type"] == "CNAME"] == [
        f"{number}.2.0.192.in-addr.arpa." for number in range(64, 68)
    ]
    _zone(site, name="example.")
    assert site.get(f"{ZONE}/delegation")["served"] is True


def test_many_zones_and_records_come_in_one_import(site: Site) -> None:
    items: list[dict[str, Any]] = [
        {"kind": "zone", "name": "bulk.example.", "ttl": 60},
        {"kind": "record", "zone": "bulk.example", "name": "@", "type": "TXT", "data": "one"},
        {"kind": "record", "zone": "bulk.example.", "name": "www", "type": "CNAME", "data": "@"},
    ]
    made = site.post("/v1/import", {"items": items})["items"]
    assert [each["kind"] for each in made] == ["zone", "record", "record"]
    records = site.get("/v1/zones/bulk.example./records")["items"]
    assert sorted((each["name"], each["data"]) for each in records) == [
        ("bulk.example.", '"one"'),
        ("www.bulk.example.", "bulk.example."),
    ]
    refused = site.ask("POST", "/v1/import", {"items": [*items[:2], {**items[2], "data": "a b"}]})
    assert problem(refused, 409, "conflict")["pointer"] == "/items/0/name"


def test_a_zone_goes_on_from_a_serial(site: Site) -> None:
    made = site.post("/v1/zones", {"name": "made.example.", "serial": 2024010101})
    assert made["serial"] == 2024010101
    path = f"/v1/zones/{made['id']}"
    tried = site.ask("PATCH", f"{path}?dry_run=true", {"serial": 2024010200}).json()
    assert (tried["serial"], site.get(path)["serial"]) == (2024010200, 2024010101)
    assert site.ask("PATCH", path, {"serial": 2024010200}).json()["serial"] == 2024010200
    refused = problem(site.ask("PATCH", path, {"serial": 3}), 422, "invalid_value")
    assert (refused["pointer"], refused["current"]) == ("/serial", 2024010200)
    for wrong in (0, 2**32, "1"):
        problem(site.ask("PATCH", path, {"serial": wrong}), 422, "invalid_value")
