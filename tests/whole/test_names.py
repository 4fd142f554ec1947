"""A thousand claims: each name can be asked the moment the claim is answered, and is gone when the release is."""

from ipaddress import ip_address, ip_network
from pathlib import Path

import httpx
import pytest

from tests.whole.serving import Serving
from tests.whole.site import (
    DOMAIN,
    HOSTS,
    Asker,
    Json,
    build,
    events,
    faults_of,
    listed,
    made,
    open_claims,
    reverse_name,
)

pytestmark = pytest.mark.whole

CLAIMS = 1000


def test_a_thousand_names_are_right_both_ways_at_once_and_for_good(tmp_path: Path) -> None:
    with Serving(tmp_path / "data") as serving, serving.client() as client, Asker(serving.dns) as ask:
        build(client, cidrs=("10.0.0.0/16", "2001:db8::/64"), cooldown=300)
        claims = [_claimed(client, ask, number) for number in range(CLAIMS)]
        _near(client, claims)
        gone = claims[::10]
        for claim in gone:
            _released(client, ask, claim)
        kept = [claim for number, claim in enumerate(claims) if number % 10]
        for claim in kept[::71]:
            _explained(client, claim)
        before = open_claims(client), events(client), _spoken(ask, kept)
        assert serving.terminate() == 0
    with Serving(tmp_path / "data") as serving, serving.client() as client, Asker(serving.dns) as ask:
        assert (open_claims(client), events(client), _spoken(ask, kept)) == before
        assert not any(ask.exists(claim["addresses"][0]["name"]) for claim in gone)
        for claim in kept[::71]:
            _explained(client, claim)
        again = made(client, "/v1/claims", network="prod", handle="vm-1", host=HOSTS[1], hostname="vm-1")
        assert again["addresses"] == claims[1]["addresses"]
        assert faults_of(tmp_path / "data" / "tenure.sqlite") == []


def _claimed(client: httpx.Client, ask: Asker, number: int) -> Json:
    """One claim; the first question after its answer, without another try, is answered right, both ways."""
    name, host = f"vm-{number}", HOSTS[number % len(HOSTS)]
    claim = made(client, "/v1/claims", network="prod", handle=name, host=host, hostname=name)
    given = {address["ip"] for address in claim["addresses"]}
    assert len(given) == 2
    assert ask.addresses(f"{name}.{DOMAIN}") == given
    for ip in given:
        assert ask.names(ip) == {f"{name}.{DOMAIN}"}
    return claim


def _near(client: httpx.Client, claims: list[Json]) -> None:
    """Each address is in a block of its host's rack."""
    for rack in ("r1", "r2"):
        blocks = [
            ip_network(each["block"]) for each in listed(client, "/v1/blocks", location=rack) if each["kind"] == "rack"
        ]
        here = [claim for claim in claims if claim["host"].startswith(rack)]
        assert here
        for address in (address for claim in here for address in claim["addresses"]):
            assert any(ip_address(address["ip"]) in block for block in blocks), (address, blocks)


def _released(client: httpx.Client, ask: Asker, claim: Json) -> None:
    made(client, f"/v1/claims/{claim['id']}/release")
    assert not ask.exists(claim["addresses"][0]["name"])
    assert not any(ask.exists(reverse_name(address["ip"])) for address in claim["addresses"])


def _explained(client: httpx.Client, claim: Json) -> None:
    for address in claim["addresses"]:
        why = client.get(f"/v1/addresses/{address['ip']}/why").raise_for_status().json()
        assert why["strategy"] == "topology" and why["actor"] == "token:admin"
        assert why["request"]["hostname"] == claim["hostname"]
        assert why["title"] == address["title"]
        looked = [(each["block"], each["owner"]) for each in why["blocks"]]
        assert looked[-1] == (address["block"], claim["host"])


def _spoken(ask: Asker, claims: list[Json]) -> list[tuple[set[str], set[str]]]:
    said = [(ask.addresses(c["addresses"][0]["name"]), ask.names(c["addresses"][0]["ip"])) for c in claims]
    return [*said, ({str(ask.serial(DOMAIN))}, {str(ask.serial("0.10.in-addr.arpa."))})]
