"""Processes of the lab: heard, awaited and ended."""

import signal
import sys
from pathlib import Path

import pytest

from tests.lab.processes import Process, free_port


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def test_a_line_is_awaited_and_output_kept() -> None:
    with Process([sys.executable, "-c", "print('one'); print('port 17'); input()"]) as process:
        assert process.wait_line(r"port (\d+)")[1] == "17"
        process.wait()
    assert process.output.startswith("one\nport 17")


def test_an_end_before_the_line_is_told_with_the_output() -> None:
    with Process(["sh", "-c", "echo sorry >&2; exit 3"]) as process, pytest.raises(AssertionError, match=r"sorry"):
        process.wait_line("ready")
    assert process.wait() == 3


def test_readiness_is_asked_of_a_url(tmp_path: Path) -> None:
    port = free_port()
    with Process([sys.executable, "-m", "http.server", "-b", "127.0.0.1", str(port)], cwd=tmp_path) as process:
        process.wait_url(f"http://127.0.0.1:{port}/")
        process.kill9()
    assert process.wait() == -signal.SIGKILL


def test_stop_insists() -> None:
    with Process(["sh", "-c", "trap '' TERM; echo up; while :; do read x </dev/zero; done"]) as process:
        process.wait_line("up")
        assert process.stop(timeout=0.1) == -signal.SIGKILL


def test_nothing_outlives_the_block() -> None:
    with Process(["tail", "-f", "/dev/null"]) as process:
        assert process.running
    assert not process.running


def test_children_are_seen_and_a_frozen_process_stands_still(tmp_path: Path) -> None:
    said = tmp_path / "said"
    said.write_text("up\n")
    with Process(["sh", "-c", f"tail -f {said} & wait"]) as process:
        process.wait_line("up")
        (line,) = process.children().values()
        assert line == f"tail -f {said}"
        process.freeze()
        assert _state(process.pid) == "T"
        process.thaw()
        assert _state(process.pid) != "T"
    assert process.wait() == -signal.SIGKILL
