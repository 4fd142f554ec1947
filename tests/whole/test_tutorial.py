"""The tutorial, done as it is written: each command in a shell, its output beside the page's."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lab.processes import Process, free_port
from tests.whole.console import Step, steps

pytestmark = [pytest.mark.whole, pytest.mark.skipif(shutil.which("dig") is None, reason="dig is not installed")]

ADDRESS = re.compile(r"10\.0\.0\.[0-9]+(?:/28)?")
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
        given: dict[str, str] = {}
        for step in others:
            command = _replaced(step.command, given).replace("-p 5353", f"-p {dns}")
            output = page_ports(_typed(command, env, tmp_path))
            if "allocate" in command:
                given |= _given(step.expected[0], output)
            Step(command, [_replaced(line, given) for line in step.expected]).check(output)
        assert serving.stop() == 0
    assert len(others) > 20


def _given(written: str, printed: str) -> dict[str, str]:
    """The addresses and blocks of the page, and those that were really given: which they are is not promised."""
    return dict(zip(ADDRESS.findall(written), ADDRESS.findall(printed.splitlines()[0]), strict=True))


def _replaced(text: str, given: dict[str, str]) -> str:
    return ADDRESS.sub(lambda found: given.get(found[0], found[0]), text)


def _typed(command: str, env: dict[str, str], cwd: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, **env},
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}"
    return done.stdout


def test_an_output_that_is_not_as_written_would_be_found() -> None:
    step = Step("x", ["a  b", "…", "c … d"])
    step.check("a  b\nanything\nat all\nc 1 d\n")
    step.check("a  b\nc 1 d")
    for other in ("a  b\nc 1 e", "a b\nc 1 d", "a  b\nc 1 d\nmore"):
        with pytest.raises(AssertionError):
            step.check(other)
