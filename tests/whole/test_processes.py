"""`tenure serve` as processes: who listens, who comes back, who is refused, how it ends."""

import os
import signal
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import dns.message
import dns.rcode
import httpx
import pytest

from tests.lab.processes import Process, free_port
from tests.whole.serving import SERVE, Serving, children_of, owner_of, soa, until

pytestmark = pytest.mark.whole

ROLES = {"ledger", "api", "dns"}


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    with Serving(tmp_path / "data") as running:
        yield running


def test_every_listener_has_a_process_of_its_own(serving: Serving) -> None:
    roles = serving.roles
    assert set(roles) == ROLES
    assert len({serving.pid, *roles.values()}) == 4
    port = httpx.URL(serving.url).port
    assert port is not None
    for kind, number, role in (("tcp", port, "api"), ("tcp", serving.dns[1], "dns"), ("udp", serving.dns[1], "dns")):
        assert owner_of(number, kind) == {serving.pid, roles[role]}


def test_a_process_knows_only_what_it_needs(serving: Serving) -> None:
    roles = serving.roles
    assert "pydantic" in _maps(roles["api"])
    assert "pydantic" not in _maps(roles["ledger"])
    assert "pydantic" not in _maps(roles["dns"])
    assert "sqlalchemy" not in _maps(serving.pid)
    assert "uvloop" not in _maps(serving.pid)


def _maps(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def test_the_first_start_makes_a_space_and_an_administrator_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with Serving(data) as first:
        token = data / "admin-token"
        secret = token.read_text()
        assert secret.startswith("tenure_") and stat.S_IMODE(token.stat().st_mode) == 0o600
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        with first.client() as client:
            assert [vrf["name"] for vrf in client.get("/v1/vrfs").json()["items"]] == ["default"]
            assert [each["name"] for each in client.get("/v1/tokens").json()["items"]] == ["admin"]
        assert first.terminate() == 0
    with Serving(data) as again, again.client() as client:
        assert token.read_text() == secret
        assert len(client.get("/v1/vrfs").json()["items"]) == len(client.get("/v1/tokens").json()["items"]) == 1


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_process_that_is_killed_comes_back_and_serves(serving: Serving, role: str) -> None:
    with serving.client() as client:
        client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
        client.post("/v1/networks/prod/subnets", json={"cidr": "10.0.0.0/24"}).raise_for_status()
        for round_ in range(3):
            _kill(serving, client, role, f"{role}-{round_}")


def _kill(serving: Serving, client: httpx.Client, role: str, handle: str) -> None:
    """Kill one process; see that it is back, that claims and DNS are answered, and that no other one was touched."""
    before = serving.roles
    os.kill(before[role], signal.SIGKILL)
    until(lambda: serving.roles.get(role) not in (None, before[role]))
    until(lambda: _claimed(client, handle))
    until(lambda: soa(serving.dns, "prod.example."))
    after = serving.roles
    assert {**after, role: 0} == {**before, role: 0}


def _claimed(client: httpx.Client, handle: str) -> bool:
    try:
        return client.post("/v1/claims", json={"network": "prod", "handle": handle}).status_code in (200, 201)
    except httpx.TransportError:
        return False


def test_while_the_ledger_is_away_the_api_says_so_and_dns_answers_from_memory(serving: Serving) -> None:
    with serving.client() as client:
        client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
        until(lambda: soa(serving.dns, "prod.example.") is not None)  # DNS may have been dropped and load again
        ledger = serving.roles["ledger"]
        os.kill(serving.pid, signal.SIGSTOP)  # so that nobody starts it again
        os.kill(ledger, signal.SIGKILL)
        until(lambda: client.get("/readyz").status_code == 503)
        until(lambda: _knows(serving, "prod.example."))
        refused = client.post("/v1/networks", json={"name": "other"})
        assert refused.status_code == 503 and refused.json()["code"] == "store_unavailable"
        os.kill(serving.pid, signal.SIGCONT)
        until(lambda: client.get("/readyz").status_code == 200)


def _knows(serving: Serving, zone: str) -> bool:
    """Whether DNS answered; a busy machine may need a second question, but no answer may be a wrong one."""
    answer = soa(serving.dns, zone)
    assert answer is None or answer[3] & 15 == 0
    return answer is not None


def test_dns_that_stood_still_answers_nothing_that_is_over(serving: Serving) -> None:
    """Its queries wait beside the news that it was let go; the name was claimed before it was asked for."""
    with serving.client() as client, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        client.post("/v1/networks", json={"name": "prod", "domain": "prod.example."}).raise_for_status()
        client.post("/v1/networks/prod/subnets", json={"cidr": "10.0.0.0/24"}).raise_for_status()
        asker.connect(serving.dns)
        asker.settimeout(0.5)
        for handle in ("vm-1", "vm-2", "vm-3"):
            os.kill(serving.roles["dns"], signal.SIGSTOP)
            try:
                claim = {"network": "prod", "handle": handle, "hostname": handle}
                assert client.post("/v1/claims", json=claim).status_code == 201
                query = dns.message.make_query(f"{handle}.prod.example.", "A")
                asker.send(query.to_wire())
            finally:
                os.kill(serving.roles["dns"], signal.SIGCONT)
            until(lambda query=query: _address_from(asker, query))  # type: ignore[misc]


def _address_from(asker: socket.socket, query: dns.message.Message) -> bool:
    """Ask again where nothing came; what came must be right."""
    try:
        answer = dns.message.from_wire(asker.recv(4096))
    except TimeoutError:
        asker.send(query.to_wire())
        return False
    assert answer.rcode() == dns.rcode.NOERROR and answer.answer, answer
    return answer.id == query.id


def test_a_second_one_on_the_same_data_is_refused(serving: Serving) -> None:
    before = _contents(serving.data)
    with Serving(serving.data, ready=False) as second:
        assert second.wait() == 1
        assert second.output == f"Another tenure serve uses the data directory {serving.data}."
    assert _contents(serving.data) == before


def _contents(data: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in data.iterdir() if not path.name.startswith("tenure.sqlite")}


@pytest.mark.parametrize(("option", "kind"), [("--api", "stream"), ("--dns", "stream"), ("--dns", "dgram")])
def test_a_port_in_use_is_one_sentence_and_nothing_is_written(tmp_path: Path, option: str, kind: str) -> None:
    with socket.socket(type=socket.SOCK_STREAM if kind == "stream" else socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        if kind == "stream":
            taken.listen()
        with Serving(tmp_path / "data", option, where, ready=False) as refused:
            assert refused.wait() == 1
        what = "API" if option == "--api" else "DNS server"
        assert refused.output == f"The {what} cannot use {where}: it is in use."
    assert not (tmp_path / "data").exists()


def test_an_interface_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with Serving(tmp_path / "data", "--dhcp4", "nowhere0", ready=False) as refused:
        assert refused.wait() == 1
    assert refused.output == "There is no network interface nowhere0 here."
    assert not (tmp_path / "data").exists()


def test_a_setting_that_makes_no_sense_is_wrong_usage(tmp_path: Path) -> None:
    with Serving(tmp_path / "data", "--clock-margin", "4000", ready=False) as refused:
        assert refused.wait() == 2
    assert refused.output == "--clock-margin: '4000' is not a whole number from 0 to 3600."


def test_a_database_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    with Serving(tmp_path / "data", "--database", url, ready=False) as refused:
        assert refused.wait() == 1
    assert len(refused.output.splitlines()) == 1
    assert not (tmp_path / "data").exists()


def test_the_api_is_on_a_unix_socket_too(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with Serving(tmp_path / "data", "--api-socket", str(path)) as serving:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://tenure") as client:
            assert client.get("/readyz").status_code == 200
        assert serving.terminate() == 0
    assert not path.exists()


def test_only_the_roles_that_are_named_run(tmp_path: Path) -> None:
    with Process([*SERVE, "--data", tmp_path / "data", "--api", "127.0.0.1:0", "--roles", "api"]) as serving:
        serving.wait_line("^ready$")
        assert len(children_of(serving.pid)) == 2
        assert "dns" not in serving.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly(serving: Serving, number: signal.Signals) -> None:
    pids = list(serving.roles.values())
    serving.signal(number)
    assert serving.wait(10) == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not [each.name for each in serving.data.iterdir() if each.is_socket()]
    assert "error" not in serving.output.lower()


def test_it_ends_in_time_though_a_process_is_stuck(serving: Serving) -> None:
    os.kill(serving.roles["dns"], signal.SIGSTOP)
    assert serving.terminate(10) == 0


def test_the_processes_die_with_their_supervisor_and_the_data_is_free(serving: Serving) -> None:
    pids = list(serving.roles.values())
    os.kill(serving.pid, signal.SIGKILL)
    until(lambda: not any(_alive(pid) for pid in pids))
    with Serving(serving.data) as again:
        assert again.roles.keys() == ROLES


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_nothing_is_printed_but_what_is_listened_on(serving: Serving) -> None:
    host = httpx.URL(serving.url)
    assert serving.output.splitlines() == [
        f"api http://127.0.0.1:{host.port}  (docs at /docs)",
        f"dns 127.0.0.1:{serving.dns[1]} (udp, tcp)",
        "dhcp off (name an interface with --dhcp4)",
        f"data {serving.data}  (admin token in admin-token)",
        "ready",
    ]


def test_the_command_does_not_load_what_it_does_not_run() -> None:
    code = "import sys, tenure.cli.main; print(*sys.modules)"
    loaded = subprocess.run([SERVE[0], "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"uvicorn", "fastapi", "sqlalchemy", "uvloop", "tenure.engine", "tenure.store"} & set(loaded)
