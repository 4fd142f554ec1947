"""A month of a small site, as its people live it; told once, played on whatever stage it is given.

A stage has an API, machines that boot from its link, and time that passes. After each step the addresses
and names of everybody else are what they were.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

Json = dict[str, Any]
Holdings = dict[str, set[tuple[str, str | None]]]
"""Of each machine, reservation or other holder: its addresses, each with its name."""

DOMAIN = "site.example."
MACS = {f"node-{n}": f"52:54:00:00:01:{n:02x}" for n in range(1, 9)} | {"switch-2": "52:54:00:00:02:02"}
LAN, OLD_STORAGE, NEW_STORAGE = "192.0.2.0/26", "198.51.100.0/28", "203.0.113.0/28"


class Stage(Protocol):
    """Where the month is played.

    Attributes:
        week: Seconds that a machine must have been away to be harvested.
    """

    week: int

    def in_a_moment(self) -> str:
        """A time that comes soon."""

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the API answers, which must be a success."""

    def refused(self, method: str, path: str, body: Any = None) -> Json:
        """The problem that the API answers."""

    def boot(self, mac: str) -> str | None:
        """Power on: what DHCP gives to a client that remembers what it was given last."""

    def power_off(self, mac: str) -> None:
        """Without a word to anybody."""

    def week_passes(self) -> None:
        """Nothing happens, for long."""

    def comes_true(self, what: Any) -> None:
        """Time passes until `what()` is true."""

    def names(self) -> dict[str, set[str]]:
        """The addresses of each absolute name in the forward zone, as DNS says."""

    def pointers(self) -> dict[str, set[str]]:
        """The names of each address in the reverse zones, as DNS says."""


class Month:
    """The story. Each step checks itself; `play` tells it from beginning to end."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.ask = stage.ask

    def play(self) -> None:
        """Everything that happens."""
        self.site_is_set_up()
        self.three_machines_are_enlisted()
        self.machines_are_commissioned()
        self.a_machine_gets_aliases()
        self.four_machines_are_deployed()
        self.everything_reboots_three_times()
        self.a_week_without_power()
        self.addresses_move_while_machines_are_off()
        self.a_static_switch_is_left_alone()
        self.a_switch_that_asks_by_dhcp_moves()
        self.deployments_end()
        self.a_reservation_expires()
        self.the_pool_runs_low()
        self.storage_is_renumbered()
        self.a_machine_is_retired()

    # The story

    def site_is_set_up(self) -> None:
        """Two networks: one to boot from, with a range for strangers, and one for storage."""
        self.ask("POST", "/v1/locations", {"name": "rack-1", "kind": "rack"})
        policies = {"cooldown": 0, "ttl": 1, "harvest_after": self.stage.week, "allocate_on": "commission"}
        self.ask("POST", "/v1/networks", {"name": "lan", "domain": DOMAIN, "strategy": "first_free", **policies})
        storage = {"name": "storage", "domain": "storage.example.", "interfaces": "all", "strategy": "first_free"}
        self.ask("POST", "/v1/networks", storage | policies)
        lan = self.ask("POST", "/v1/networks/lan/subnets", {"cidr": LAN, "gateway": "192.0.2.1"})
        dynamic = {"start": "192.0.2.50", "end": "192.0.2.60", "role": "dynamic"}
        self.ask("POST", f"/v1/subnets/{lan['id']}/ranges", dynamic)
        self.old_storage = self.ask("POST", "/v1/networks/storage/subnets", {"cidr": OLD_STORAGE})["id"]

    def three_machines_are_enlisted(self) -> None:
        """Unknown machines boot: they get leases, and appear as new machines, which a person names."""
        for name in ("node-1", "node-2", "node-3"):
            given = self.stage.boot(MACS[name])
            assert given is not None and 50 <= int(given.rpartition(".")[2]) <= 60
        new = self.ask("GET", "/v1/machines?state=new")["items"]
        assert {m["interfaces"][0]["mac"] for m in new} == {MACS[f"node-{n}"] for n in (1, 2, 3)}
        for machine in new:
            name = next(name for name, mac in MACS.items() if mac == machine["interfaces"][0]["mac"])
            self.ask("PATCH", f"/v1/machines/{machine['id']}", {"name": name, "location": "rack-1"})
            self.stage.power_off(MACS[name])
        for n in range(4, 9):
            port = {"mac": MACS[f"node-{n}"], "name": "eth0", "network": "lan"}
            self.ask("POST", "/v1/machines", {"name": f"node-{n}", "location": "rack-1", "interfaces": [port]})
        second = {"mac": "52:54:00:00:03:02", "name": "eth1", "network": "storage"}
        first = self._machine("node-2")["interfaces"][0]
        ports = [{"mac": first["mac"], "name": "eth0", "network": "lan", "boot": True}, second]
        self.ask("PATCH", "/v1/machines/node-2", {"interfaces": ports})

    def machines_are_commissioned(self) -> None:
        """Static addresses appear, and their names with them."""
        for n in range(1, 9):
            with self.only(f"node-{n}"):
                self._step(f"node-{n}", "commission")
                assert self._machine(f"node-{n}")["state"] == "commissioning"
                machine = self._step(f"node-{n}", "ready")
                (address, *_) = machine["addresses"]
                assert self.stage.names()[f"node-{n}.{DOMAIN}"] == {address["ip"]}
        assert len(self._addresses("node-2")) == 2, "one on each network"

    def a_machine_gets_aliases(self) -> None:
        """Two more addresses on an interface, each with a name of its own; taking one away leaves the rest."""
        with self.only("node-2"):
            for name in ("www", "mail"):
                claim = {"network": "lan", "machine": "node-2", "mac": MACS["node-2"], "hostname": name, "alias": True}
                (made,) = self.ask("POST", "/v1/claims", claim | {"handle": name})["addresses"]
                assert self.stage.names()[f"{name}.{DOMAIN}"] == {made["ip"]}
        with self.only("node-2"):
            self._release("mail")
            assert f"mail.{DOMAIN}" not in self.stage.names()

    def four_machines_are_deployed(self) -> None:
        """As they are, with another address, and with one that was reserved before."""
        self.homes = {name: self._primary(name) for name in ("node-3", "node-4")}
        reserved = {"network": "lan", "handle": "landscape", "count": 2, "purpose": "landscape"}
        self.landscape = [a["ip"] for a in self.ask("POST", "/v1/claims", reserved)["addresses"]]
        with self.only("node-1"):
            self._step("node-1", "deploy")
        with self.only("node-2"):
            self._step("node-2", "deploy")
        with self.only("node-3"):
            machine = self._step("node-3", "deploy", {"address": "192.0.2.40"})
            assert {d["ip"]: d["became"] for d in machine["displaced"]} == {self.homes["node-3"]: "shelved"}
            assert self.stage.names()[f"node-3.{DOMAIN}"] == {"192.0.2.40"}
        with self.only("node-4", "landscape"):
            self._step("node-4", "deploy", {"from": "landscape"})
            assert self._primary("node-4") in self.landscape
            assert self.stage.names()[f"node-4.{DOMAIN}"] == {self._primary("node-4")}

    def everything_reboots_three_times(self) -> None:
        """And each machine has the address that it had."""
        for _ in range(3):
            with self.only():
                for n in range(1, 5):
                    given, right = self.stage.boot(MACS[f"node-{n}"]), self._primary(f"node-{n}")
                    assert given == right, f"node-{n} was given {given} instead of {right}"

    def a_week_without_power(self) -> None:
        """Leases end, and nothing else does."""
        with self.only():
            for n in range(1, 5):
                self.stage.power_off(MACS[f"node-{n}"])
            self.stage.week_passes()
            assert self.stage.boot(MACS["node-1"]) == self._primary("node-1")

    def addresses_move_while_machines_are_off(self) -> None:
        """One machine gets another address, and two change theirs; the names are right at once."""
        with self.only("node-5"):
            before = self._primary("node-5")
            self._reassign(before, address="192.0.2.41")
            assert self._primary("node-5") == "192.0.2.41"
            self._is_called("node-5", "192.0.2.41")
            assert before not in self.stage.pointers()
        five, six = self._primary("node-5"), self._primary("node-6")
        with self.only("node-5", "node-6"):
            self._reassign(five, machine="node-6")
            self._reassign(six, machine="node-5")
            self._is_called("node-6", five)
            self._is_called("node-5", six)
            assert self.stage.boot(MACS["node-6"]) == five
            self.stage.power_off(MACS["node-6"])

    def a_static_switch_is_left_alone(self) -> None:
        """Its address was written into it by hand: it moves when somebody says that he will write again."""
        port = {"mac": "52:54:00:00:02:01", "network": "lan"}
        self.ask("POST", "/v1/machines", {"name": "switch-1", "kind": "device", "interfaces": [port]})
        claim = {"network": "lan", "handle": "switch-1", "machine": "switch-1", "static": True}
        (given,) = self.ask("POST", "/v1/claims", claim)["addresses"]
        with self.only():
            problem = self.stage.refused("POST", f"/v1/addresses/{given['ip']}/reassign", {"address": "192.0.2.42"})
            assert problem["status"] == 409 and problem["pointer"] == "/static_acknowledged"
        with self.only("switch-1"):
            self._reassign(given["ip"], address="192.0.2.42", static_acknowledged=True)
            self._is_called("switch-1", "192.0.2.42")

    def a_switch_that_asks_by_dhcp_moves(self) -> None:
        """It runs: the name follows when it uses the new address, and until then the old one is right."""
        port = {"mac": MACS["switch-2"], "network": "lan"}
        self.ask("POST", "/v1/machines", {"name": "switch-2", "kind": "device", "interfaces": [port]})
        claim = {"network": "lan", "handle": "switch-2", "machine": "switch-2"}
        (given,) = self.ask("POST", "/v1/claims", claim)["addresses"]
        assert self.stage.boot(MACS["switch-2"]) == given["ip"]
        with self.only("switch-2"):
            answer = self._reassign(given["ip"], address="192.0.2.43")
            assert answer["effective_by"] is not None
            self._is_called("switch-2", given["ip"])
            assert self.stage.boot(MACS["switch-2"]) == "192.0.2.43"
            self._is_called("switch-2", "192.0.2.43")
        taken = {"network": "lan", "handle": "too-early", "address": given["ip"]}
        assert self.stage.refused("POST", "/v1/claims", taken)["status"] == 409, "its client was promised it"

    def deployments_end(self) -> None:
        """Each has its own address again, and the reservation its."""
        with self.only("node-3"):
            machine = self._step("node-3", "release")
            assert machine["state"] == "ready"
            self._is_called("node-3", self.homes["node-3"])
        with self.only("node-4", "landscape"):
            self._step("node-4", "release")
            self._is_called("node-4", self.homes["node-4"])
            assert self._holdings()["landscape"] == {(ip, None) for ip in self.landscape}

    def a_reservation_expires(self) -> None:
        """Its end is announced, and then it is over."""
        claim = {
            "network": "lan",
            "handle": "visit",
            "count": 3,
            "purpose": "visitors",
            "expires": self.stage.in_a_moment(),
        }
        self.ask("POST", "/v1/claims", claim)
        with self.only("visit"):
            self.stage.comes_true(lambda: "visit" not in self._holdings())
        assert self._kinds("tenure.claim.expiring") == 1

    def the_pool_runs_low(self) -> None:
        """Who was away for long gives its address back; it gets the same one when it comes."""
        away = {"node-7": self._primary("node-7"), "node-8": self._primary("node-8")}
        self.stage.week_passes()
        for name in ("node-3", "node-4", "node-5", "node-6"):
            self.ask("POST", f"/v1/machines/{name}/seen")
        v4 = self.ask("GET", "/v1/networks/lan/capacity")["v4"]
        self._policy(harvest=True, harvest_below=v4["available"] + v4["cooling"] + 2)
        with self.only("node-7", "node-8"):
            self.stage.comes_true(lambda: not self._addresses("node-8"))
            assert not self._addresses("node-7")
            assert not {f"{name}.{DOMAIN}" for name in away} & self.stage.names().keys()
        self._policy(harvest=False)
        with self.only("node-7"):
            self._step("node-7", "deploy")
            assert self._primary("node-7") == away["node-7"]

    def storage_is_renumbered(self) -> None:
        """Addresses of one subnet are replaced by those of another, names with them."""
        target = self.ask("POST", "/v1/networks/storage/subnets", {"cidr": NEW_STORAGE})["id"]
        with self.only("node-2"):
            self.ask("POST", f"/v1/subnets/{self.old_storage}/renumber", {"to": target})
            self.stage.comes_true(lambda: any(ip.startswith("203.0.113.") for ip in self._ips("node-2")))
            assert not any(ip.startswith("198.51.100.") for ip in self._ips("node-2"))

    def a_machine_is_retired(self) -> None:
        """Nothing of it is left but its history."""
        address = self._primary("node-1")
        with self.only("node-1"):
            self._step("node-1", "retire")
        assert f"node-1.{DOMAIN}" not in self.stage.names()
        self.ask("DELETE", "/v1/machines/node-1")
        told = self.ask("GET", f"/v1/addresses/{address}/history?limit=1000")["items"]
        kinds = [entry["kind"] for entry in told]
        assert "tenure.address.allocated" in kinds and kinds[-1] == "tenure.address.released"

    # Words

    @contextmanager
    def only(self, *touched: str) -> Iterator[None]:
        """Whatever happens within changes the addresses and names of nobody but these."""
        before, names = self._holdings(), self.stage.names()
        yield
        after, now = self._holdings(), self.stage.names()
        for name in (before.keys() | after.keys()) - set(touched):
            assert after.get(name) == before.get(name), f"{name} was touched"
        mine = {name for who in touched for _, name in before.get(who, set()) | after.get(who, set())}
        assert {n: v for n, v in now.items() if n not in mine} == {n: v for n, v in names.items() if n not in mine}
        self._names_agree(after, now)

    def _names_agree(self, holdings: Holdings, names: dict[str, set[str]]) -> None:
        """Forward and reverse say the same, and every holder's name is there."""
        pointers = self.stage.pointers()
        for held in holdings.values():
            for ip, name in held:
                if name is not None and name.endswith(DOMAIN):
                    assert ip in names[name] and pointers[ip] == {name}

    def _holdings(self) -> Holdings:
        """What each machine or reservation holds and uses; leases and what is shelved left out."""
        found: Holdings = {}
        for address in self.ask("GET", "/v1/addresses?limit=1000")["items"]:
            if not address["lease"] and address["standing"] != "shelved":
                holder = (address["machines"] or [address["handle"]])[0]
                found.setdefault(holder, set()).add((address["ip"], address["name"]))
        return found

    def _machine(self, name: str) -> Json:
        machine: Json = self.ask("GET", f"/v1/machines/{name}")
        return machine

    def _addresses(self, name: str) -> list[Json]:
        """What it holds, leases left out."""
        return [address for address in self._machine(name)["addresses"] if not address["lease"]]

    def _ips(self, name: str) -> set[str]:
        return {address["ip"] for address in self._addresses(name)}

    def _primary(self, name: str) -> str:
        """Its address on the lan."""
        (found,) = (
            address["ip"]
            for address in self._addresses(name)
            if address["standing"] == "primary" and address["ip"].startswith("192.0.2.")
        )
        return str(found)

    def _is_called(self, name: str, address: str) -> None:
        assert self.stage.names()[f"{name}.{DOMAIN}"] == {address}
        assert self.stage.pointers()[address] == {f"{name}.{DOMAIN}"}

    def _step(self, name: str, step: str, body: Json | None = None) -> Json:
        machine: Json = self.ask("POST", f"/v1/machines/{name}/{step}", body)
        return machine

    def _reassign(self, ip: str, **how: Any) -> Json:
        answer: Json = self.ask("POST", f"/v1/addresses/{ip}/reassign", how)
        return answer

    def _release(self, handle: str) -> None:
        (claim,) = self.ask("GET", f"/v1/claims?handle={handle}")["items"]
        self.ask("POST", f"/v1/claims/{claim['id']}/release")

    def _policy(self, **changes: Any) -> Json:
        network: Json = self.ask("PATCH", "/v1/networks/lan", changes)
        return network

    def _kinds(self, kind: str) -> int:
        return len(self.ask("GET", f"/v1/events?limit=1000&kinds={kind}")["items"])
