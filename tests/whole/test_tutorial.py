"""The tutorial, done as it is written: each command in a shell, its output beside the page's."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.processes import Process, free_port
from tests.whole.console import Step, steps

pytestmark = pytest.mark.whole

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "first-site.md"


def test_the_first_site_is_as_it_is_written(tmp_path: Path) -> None:
    first, *others = steps(PAGE)
    api, dns = free_port(), free_port()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "TENURE_API": f"127.0.0.1:{api}", "TENURE_DNS": f"127.0.0.1:{dns}"}

    def page_ports(text: str) -> str:
        return text.replace(str(api), "8080").replace(str(dns), "5353")

    with Process(first.command.removesuffix("&").split(), env=env, cwd=tmp_path) as serving:
        serving.wait_line("^ready$")
        first.check(page_ports(serving.output))
        for step in others:
            step.check(page_ports(_typed(step.command.replace("-p 5353", f"-p {dns}"), env, tmp_path)))
        assert serving.stop() == 0
    assert len(others) > 20


def _typed(command: str, env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command], env={**os.environ, **env}, cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def test_an_output_that_is_not_as_written_would_be_found() -> None:
    step = Step("x", ["a  b", "…", "c … d"])
    step.check("a  b\nanything\nat all\nc 1 d\n")
    step.check("a  b\nc 1 d")
    for other in ("a  b\nc 1 e", "a b\nc 1 d", "a  b\nc 1 d\nmore"):
        with pytest.raises(AssertionError):
            step.check(other)
