"""Reverse zones of prefixes of every kind, through a resolver that knows nothing but what Tenure printed for it.

A BIND serves `in-addr.arpa.` and `ip6.arpa.` with the lines that each zone's delegation says, and resolves.
"""

import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.lab.namespaces import Namespace, Topology
from tests.whole.resolving import Resolver
from tests.whole.serving import SERVE, Serving, until

pytestmark = [pytest.mark.whole, pytest.mark.root]

PREFIXES = (
    "11.0.0.0/8", "12.0.0.0/9", "13.1.0.0/16", "14.0.4.0/22", "14.1.2.0/23", "14.2.3.0/24", "14.3.1.128/25",
    "14.4.1.64/26", "14.5.1.8/29", "14.6.1.4/30", "14.7.1.2/31", "14.8.1.7/32",
    "3fff:100::/32", "2001:db8:48::/48", "2001:db8:56:100::/56", "2001:db8:62:4::/62", "2001:db8:64:1::/64",
    "2001:db8:112::1:0/112", "2001:db8:126::4/126", "2001:db8:127::2/127",
)  # fmt: skip
CLASSLESS = {"128-25.1.3.14.in-addr.arpa.", "64-26.1.4.14.in-addr.arpa.", "8-29.1.5.14.in-addr.arpa."} | {
    "4-30.1.6.14.in-addr.arpa.", "2-31.1.7.14.in-addr.arpa.", "7-32.1.8.14.in-addr.arpa."
}  # fmt: skip
ZONES = {"14.0.4.0/22": 4, "14.1.2.0/23": 2, "12.0.0.0/9": 128, "2001:db8:62:4::/62": 4}
"""How many zones a prefix has, where it is not one."""
DOMAIN = "hosts.example."
EVERY, SOME = 1024, 1000
"""Prefixes of so many addresses are asked whole; of larger ones so many addresses, and those at the cuts."""
_TENURE, _BIND = "127.0.0.1", "127.0.0.2"
_PARENTS = ("in-addr.arpa.", "ip6.arpa.")

Prefix = IPv4Network | IPv6Network


def test_every_prefix_resolves_through_the_printed_delegations(
    topology: Topology, tmp_path: Path, rng: random.Random
) -> None:
    if not all(map(shutil.which, ("named", "named-checkzone"))):
        pytest.skip("needs named and named-checkzone")
    host = topology.namespace("names")
    host.up("lo", f"{_BIND}/8")
    serving = Serving(
        tmp_path / "data",
        *("--api-socket", str(tmp_path / "api.sock"), "--dns", f"{_TENURE}:53"),
        command=["ip", "netns", "exec", host.name, *SERVE],
    )
    with serving, _client(serving, tmp_path / "api.sock") as client:
        expected = _site(client, rng)
        zones = _reverse_zones(client)
        _zones_are_those_of_the_prefixes(zones)
        lines = [line for zone in zones.values() for line in _delegation(client, zone)]
        for name, zone in zones.items():
            _checked_by_bind(tmp_path, name, client.get(f"/v1/zones/{zone['id']}/file").text)
        named = _parent(host, tmp_path, lines)
        with named, Resolver(host.name, _BIND) as resolver:
            until(lambda: resolver.asks(_PARENTS[-1], "SOA"))
            wrong = {ip: (name, found) for ip, name, found in _resolved(resolver, expected) if found != {name}}
            assert not wrong, f"{len(wrong)} of {len(expected)}, for instance {next(iter(wrong.items()))}"


def _client(serving: Serving, socket: Path) -> httpx.Client:
    token = (serving.data / "admin-token").read_text().strip()
    return httpx.Client(
        transport=httpx.HTTPTransport(uds=str(socket)),
        base_url="http://tenure",
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
    )


def _site(client: httpx.Client, rng: random.Random) -> dict[str, str]:
    """A subnet a prefix; the names that some addresses must have."""
    _made(client, "/v1/networks", {"name": "all", "domain": DOMAIN, "strategy": "first_free"})
    expected: dict[str, str] = {}
    for cidr in PREFIXES:
        prefix = ip_network(cidr)
        templated = prefix.version == 6 or prefix.prefixlen >= 16
        template = {"name_template": "ip-{ip-dashed}"} if templated else {"use_all_addresses": True}
        _made(client, "/v1/networks/all/subnets", {"cidr": cidr, **template})
        asked = {str(ip): f"{_named(str(ip))}.{DOMAIN}" for ip in _addresses(prefix, rng)}
        if not templated:
            _claimed(client, asked)
        expected |= asked
    return expected


def _addresses(prefix: Prefix, rng: random.Random) -> set[Any]:
    if prefix.num_addresses <= EVERY:
        return set(prefix)
    whole: Any = prefix
    step = 8 if prefix.version == 4 else 4
    cuts: list[Any] = list(prefix.subnets(new_prefix=-(-prefix.prefixlen // step) * step))
    sides = {side for cut in cuts for side in (cut[0], cut[-1])}
    return sides | {whole[rng.randrange(prefix.num_addresses)] for _ in range(SOME)}


def _named(ip: str) -> str:
    address = ip_address(ip)
    if address.version == 4:
        return "ip-" + ip.replace(".", "-")
    return "ip-" + "-".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))


def _claimed(client: httpx.Client, names: Mapping[str, str]) -> None:
    claims = [
        {"network": "all", "handle": ip, "address": ip, "hostname": name.partition(".")[0]}
        for ip, name in names.items()
    ]
    for at in range(0, len(claims), 500):
        for item in _made(client, "/v1/claims/batch", {"claims": claims[at : at + 500]})["items"]:
            assert item.get("claim"), item


def _made(client: httpx.Client, path: str, body: Any) -> Any:
    answer = client.post(path, json=body)
    assert answer.is_success, (path, answer.text)
    return answer.json()


def _reverse_zones(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = {}
    after = None
    while True:
        page = client.get("/v1/zones", params={"limit": 1000} | ({"after": after} if after else {})).json()
        found |= {zone["name"]: zone for zone in page["items"] if zone["name"].endswith(".arpa.")}
        after = page["next"]
        if after is None:
            return found


def _zones_are_those_of_the_prefixes(zones: Mapping[str, Any]) -> None:
    assert len(zones) == sum(ZONES.get(cidr, 1) for cidr in PREFIXES), sorted(zones)
    assert zones.keys() >= CLASSLESS


def _delegation(client: httpx.Client, zone: Mapping[str, Any]) -> list[str]:
    lines: list[str] = client.get(f"/v1/zones/{zone['id']}/delegation").json()["lines"]
    assert lines
    return lines


def _checked_by_bind(directory: Path, name: str, text: str) -> None:
    """`named-checkzone` loads it, and warns of nothing."""
    file = directory / "zone.txt"
    file.write_text(text)
    done = subprocess.run(["named-checkzone", name, str(file)], capture_output=True, text=True, check=False)
    said = (done.stdout + done.stderr).strip().splitlines()
    assert done.returncode == 0, said
    assert said[-1] == "OK", said
    assert len(said) == 2, said  # "zone …/IN: loaded serial …" and "OK": no warning between


def _parent(host: Namespace, directory: Path, lines: list[str]) -> Any:
    home = directory / "bind"
    home.mkdir()
    declared = []
    for parent in _PARENTS:
        head = "$TTL 300\n@ IN SOA localhost. root.localhost. 1 3600 600 86400 60\n@ IN NS localhost.\n"
        own = [line for line in lines if line.split()[0].endswith("." + parent)]
        (home / parent).write_text(head + "\n".join(own) + "\n")
        declared.append(f'zone "{parent}" {{ type primary; file "{home / parent}"; }};')
    (home / "named.conf").write_text(
        f"""options {{
            directory "{home}"; pid-file none; session-keyfile "{home}/session.key";
            listen-on port 53 {{ {_BIND}; }}; listen-on-v6 {{ none; }}; query-source address {_BIND};
            recursion yes; allow-recursion {{ any; }}; dnssec-validation no; empty-zones-enable no; notify no;
        }};
        controls {{ }};
        {" ".join(declared)}
        """
    )
    return host.popen(["named", "-g", "-n", "1", "-c", str(home / "named.conf")])


def _resolved(resolver: Resolver, expected: Mapping[str, str]) -> Iterator[tuple[str, str, set[str]]]:
    """Each address, the name that it must have, and those that it has; and the name leads back to it."""
    for ip, name in expected.items():
        yield ip, name, resolver.names(ip_address(ip).reverse_pointer + ".")
        kind = "A" if "." in ip else "AAAA"
        assert resolver.asks(name, kind, at=_TENURE) == {ip}, (name, ip)
