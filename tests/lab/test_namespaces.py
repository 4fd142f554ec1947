"""Namespaces reach each other and leave nothing behind."""

import subprocess
from pathlib import Path

import pytest

from tests.lab.namespaces import Namespace, Topology
from tests.lab.processes import Process


def _names() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


def test_two_hosts_on_a_switch_reach_each_other(topology: Topology) -> None:
    switch = topology.bridge("switch")
    one, other = topology.namespace("one"), topology.namespace("other")
    topology.plug(one, "eth0", switch, mac="52:54:00:00:00:01")
    topology.plug(other, "eth0", switch)
    one.up("eth0", "192.0.2.1/24")
    other.up("eth0", "192.0.2.2/24")
    assert "1 received" in one.run(["ping", "-c", "1", "-W", "5", "192.0.2.2"])
    assert "52:54:00:00:00:01" in one.ip("link", "show", "eth0")


def test_a_name_server_of_the_host_is_not_seen(topology: Topology) -> None:
    inside = topology.namespace("inside")
    assert "nameserver" not in inside.run(["cat", "/etc/resolv.conf"])


def test_all_is_gone_after_a_failure(topology: Topology) -> None:
    with pytest.raises(ZeroDivisionError), Topology() as failing:
        inside = failing.namespace("inside")
        process = inside.popen(["tail", "-f", "/dev/null"])
        assert inside.name in _names()
        raise ZeroDivisionError
    assert inside.name not in _names()
    assert not process.running
    assert not (Path("/etc/netns") / inside.name).exists()


def test_a_refused_command_is_told(topology: Topology) -> None:
    with pytest.raises(AssertionError, match="nonsense"):
        topology.namespace("inside").run(["sh", "-c", "echo nonsense >&2; exit 4"])


def test_what_a_killed_run_left_is_swept(topology: Topology) -> None:
    with Process(["true"]) as gone:
        gone.wait()
    left = Namespace(f"tn{gone.pid}x1-left")
    with Topology():
        assert left.name not in _names()
        assert not left.settings.exists()
    assert topology.namespace("mine").name in _names()
