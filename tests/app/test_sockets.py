"""Sockets and the data directory: what is taken, what is refused, and what is left behind."""

import os
import socket
from pathlib import Path

import pytest

from tenure.app import sockets
from tenure.app.directory import DataDirectory
from tenure.errors import InUse, InvalidValue, NotFound, NotPermitted
from tenure.settings import Endpoint


def test_udp_and_tcp_share_a_port() -> None:
    udp, tcp = sockets.udp_and_tcp(Endpoint("127.0.0.1", 0), "DNS server")
    with udp, tcp:
        assert sockets.port_of(udp) == sockets.port_of(tcp) > 0
        with pytest.raises(InUse):
            sockets.tcp(Endpoint("127.0.0.1", sockets.port_of(tcp)), "API")


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(NotFound, match=r"192\.0\.2\.1:80.*no such address"):
        sockets.tcp(Endpoint("192.0.2.1", 80), "API")


def test_ipv6_is_ipv6_alone() -> None:
    with sockets.tcp(Endpoint("::1", 0), "API") as sock:
        assert sock.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == 1


def test_a_socket_that_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "s"
    sockets.unix(path, 0o600, "API").close()
    with sockets.unix(path, 0o660, "API"):
        assert path.stat().st_mode & 0o777 == 0o660
        with pytest.raises(InUse):
            sockets.unix(path, 0o600, "API")
    sockets.remove(path)
    sockets.remove(path)
    assert not path.exists()


def test_a_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("mine")
    with pytest.raises(InUse):
        sockets.unix(tmp_path / "s", 0o600, "API")
    assert (tmp_path / "s").read_text() == "mine"


def test_a_path_too_long_for_a_socket_is_refused_before_the_kernel_cuts_it(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="107"):
        sockets.unix(tmp_path / ("x" * 100) / "s", 0o600, "API")


def test_a_directory_is_held_once_and_freed(tmp_path: Path) -> None:
    first, second = DataDirectory(tmp_path / "a" / "b"), DataDirectory(tmp_path / "a" / "b")
    first.check()
    assert not (tmp_path / "a").exists()
    first.take()
    first.take()
    with pytest.raises(InUse, match="Another tenure serve"):
        second.check()
    os.close(first.lock)
    second.check()
    assert second.lock >= 0
    os.close(second.lock)


def test_a_start_that_came_to_nothing_leaves_no_trace_but_nothing_of_others_is_removed(tmp_path: Path) -> None:
    made, kept = DataDirectory(tmp_path / "made"), DataDirectory(tmp_path)
    for directory in (made, kept):
        directory.take()
        directory.undo()
        os.close(directory.lock)
    assert list(tmp_path.iterdir()) == []
    used = DataDirectory(tmp_path / "used")
    used.take()
    (tmp_path / "used" / "tenure.sqlite").touch()
    used.undo()
    os.close(used.lock)
    assert (tmp_path / "used" / "tenure.sqlite").exists()


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotPermitted, match="cannot be used"):
        DataDirectory(tmp_path / "file").take()
