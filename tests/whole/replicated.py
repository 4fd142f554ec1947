"""A site whose zones are replicated, and everything that may happen to them, at random."""

import random
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_network
from typing import Any

import httpx

Json = dict[str, Any]

DOMAIN, OFFICE = "prod.example.", "office.example."
_CIDRS = {"prod": ("10.30.0.0/22", "2001:db8:30::/64"), "office": ("10.40.0.0/24", "192.0.2.64/26")}
_TEMPLATED = "10.40.0.0/24"
_BATCH = 20
_OWN_DATA: Mapping[str, Callable[[random.Random, str], str]] = {
    "A": lambda rng, domain: f"198.51.100.{rng.randrange(256)}",
    "AAAA": lambda rng, domain: f"2001:db8:ffff::{rng.randrange(1, 65536):x}",
    "CNAME": lambda rng, domain: f"target-{rng.randrange(50)}.elsewhere.example.",
    "MX": lambda rng, domain: f"{rng.randrange(100)} mail-{rng.randrange(20)}.elsewhere.example.",
    "TXT": lambda rng, domain: f'"said {rng.randrange(10**9)}" "and more"',
    "SRV": lambda rng, domain: f"{rng.randrange(9)} 5 5060 sip.elsewhere.example.",
    "CAA": lambda rng, domain: '0 issue "ca.example.net"',
    "SSHFP": lambda rng, domain: f"4 2 {rng.randbytes(32).hex()}",
    "HTTPS": lambda rng, domain: "1 . alpn=h2,h3 port=8443",
    "SVCB": lambda rng, domain: f"{rng.randrange(1, 9)} svc.elsewhere.example. port=53",
    "NS": lambda rng, domain: f"ns{rng.randrange(3)}.elsewhere.example.",
}


class Site:
    """Claims, releases, moves, names, records and templates, as many as wanted; refusals count for nothing.

    Args:
        rng: Decides what happens.
    """

    def __init__(self, client: httpx.Client, rng: random.Random) -> None:
        self._client, self._rng = client, rng
        self._claims: dict[str, list[str]] = {}
        self._records: list[tuple[str, str]] = []
        self._made = 0
        self.happened = 0

    def build(self) -> None:
        """Networks and their subnets, of every kind that has zones."""
        for name, domain in (("prod", DOMAIN), ("office", OFFICE)):
            policies = {"strategy": "first_free", "cooldown": 0, "domain": domain}
            self.ask("POST", "/v1/networks", {"name": name, **policies})
            for cidr in _CIDRS[name]:
                self.ask("POST", f"/v1/networks/{name}/subnets", {"cidr": cidr})

    def happen(self, changes: int, *, templates: bool) -> None:
        """That many changes; of templates too, where each reshapes zones, if wanted."""
        until = self.happened + changes
        choices = [self._claim] * 8 + [self._release] * 5 + [self._rename, self._move, self._record, self._unrecord] * 3
        while self.happened < until:
            if templates and self._rng.random() < 0.01:
                self._template()
            self._rng.choice(choices)()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers, which must be a success."""
        answer = self._client.request(method, path, json=body)
        assert answer.is_success, (method, path, body, answer.text)
        return answer.json() if answer.content else None

    def _claim(self) -> None:
        claims = []
        for _ in range(self._rng.randrange(1, _BATCH)):
            self._made += 1
            named = {"hostname": f"vm-{self._made}"} if self._rng.random() < 0.8 else {}
            network, family = self._rng.choice((("prod", "dual"), ("prod", "v4"), ("office", "v4")))
            claims.append({"network": network, "handle": f"vm-{self._made}", "family": family, **named})
        for item in self.ask("POST", "/v1/claims/batch", {"claims": claims})["items"]:
            claim = item.get("claim")
            if claim is not None:
                self._claims[claim["id"]] = [address["ip"] for address in claim["addresses"]]
                self.happened += 1

    def _release(self) -> None:
        gone = self._some(list(self._claims), self._rng.randrange(1, _BATCH))
        if not gone:
            return
        releases = [{"id": claim} for claim in gone]
        for item in self.ask("POST", "/v1/claims/release-batch", {"releases": releases})["items"]:
            assert item["status"] == 200, item
            self.happened += 1
        for claim in gone:
            del self._claims[claim]

    def _rename(self) -> None:
        for claim in self._some(list(self._claims), 1):
            self._made += 1
            body = {"hostname": self._rng.choice((f"web-{self._made}", None))}
            self._try("PATCH", f"/v1/addresses/{self._claims[claim][0]}", body)

    def _move(self) -> None:
        for claim in self._some(list(self._claims), 1):
            old = ip_address(self._claims[claim][0])
            homes = [ip_network(cidr) for cidrs in _CIDRS.values() for cidr in cidrs]
            home = next(each for each in homes if old in each)
            new = str(home[self._rng.randrange(2, min(home.num_addresses, 4096) - 1)])
            moved = self._try("POST", f"/v1/addresses/{old}/reassign", {"address": new})
            if moved is not None:
                self._claims[claim] = [address["ip"] for address in moved["addresses"]]

    def _record(self) -> None:
        kind = self._rng.choice(tuple(_OWN_DATA))
        zone = self._rng.choice((DOMAIN, OFFICE))
        name = f"{'_' if kind in ('SRV', 'TXT') else ''}own-{self._rng.randrange(200)}"
        name = self._rng.choice((name, name, f"{name}.below", f"*.{name}"))
        body = {"name": name, "type": kind, "data": _OWN_DATA[kind](self._rng, zone)}
        made = self._try("POST", f"/v1/zones/{zone}/records", body)
        if made is not None:
            self._records.append((zone, made["id"]))

    def _unrecord(self) -> None:
        if self._records:
            zone, record = self._records.pop(self._rng.randrange(len(self._records)))
            self._try("DELETE", f"/v1/zones/{zone}/records/{record}")

    def _template(self) -> None:
        subnets = self.ask("GET", "/v1/networks/office/subnets")["items"]
        (subnet,) = (each for each in subnets if each["cidr"] == _TEMPLATED)
        template = self._rng.choice(("ip-{ip-dashed}", "{ip-hex}.dyn", "h{ip-dashed}-x", None))
        self._try("PATCH", f"/v1/subnets/{subnet['id']}", {"name_template": template})

    def _try(self, method: str, path: str, body: Any = None) -> Any:
        """What a change answers; nothing where it is refused, as some of what chance asks for must be."""
        answer = self._client.request(method, path, json=body)
        assert answer.is_success or answer.status_code in (409, 422), (method, path, body, answer.text)
        if not answer.is_success:
            return None
        self.happened += 1
        return answer.json() if answer.content else {}

    def _some(self, things: list[str], most: int) -> list[str]:
        return self._rng.sample(things, min(most, len(things)))
