"""Routers say what is wrong with a file, and do what a right one says."""

import subprocess
from pathlib import Path

import pytest

from tests.lab import routers
from tests.lab.namespaces import Topology
from tests.lab.routers import Bird, Frr, Node, narrow
from tests.whole.serving import until

pytestmark = pytest.mark.skipif(not routers.available(), reason="needs bird2, frr, frr-pythontools and exabgp")

PREFIX = "198.51.100.0/24"


def test_a_wrong_file_is_complained_about(tmp_path: Path) -> None:
    assert "syntax error" in Bird.check(f"protocol static {{ ipv4; route {PREFIX} vai 192.0.2.2; }}", tmp_path)
    assert "Unknown command" in Frr.check(f"ip rroute {PREFIX} 192.0.2.2\n", tmp_path)


@pytest.mark.root
@pytest.mark.parametrize("kind", ["bird", "frr"])
def test_a_file_that_is_loaded_is_in_the_kernel_and_what_it_lacks_is_not(
    topology: Topology, tmp_path: Path, kind: str
) -> None:
    one, other = Node(topology, "one", "192.0.2.1", "fd00::1"), Node(topology, "other", "192.0.2.2", "fd00::2")
    one.join(other)
    other.add(["198.51.100.1"])
    other.default(one)
    with Frr(one) as frr:
        router = Bird(one, tmp_path / "bird") if kind == "bird" else frr
        files = {
            "bird": f"protocol static tenure {{ ipv4; route {PREFIX} via 192.0.2.2; route 10.0.0.0/8 unreachable; }}\n",
            "frr": f"ip route {PREFIX} 192.0.2.2\nip route 10.0.0.0/8 reject\n",
        }
        _load(router, files[kind])
        until(lambda: one.routes() == {PREFIX: "192.0.2.2", "10.0.0.0/8": "unreachable"})
        assert (one.ping("198.51.100.1"), other.echoes()) == ("answered", 1)
        assert "unreachable" in other.ping("10.0.0.1").lower()
        assert narrow("198.51.100.1") in other.held()
        _load(router, {"bird": "# none\n", "frr": "! none\n"}[kind])
        until(lambda: one.routes() == {})


def _load(router: Bird | Frr, text: str) -> None:
    router.file.write_text(text)
    subprocess.run(["sh", "-c", router.load], check=True, capture_output=True, timeout=20)
