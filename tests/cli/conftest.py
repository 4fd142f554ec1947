"""A service to a run of the command's tests, and the command in process."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tenure.cli.main import app
from tests.whole.serving import Serving


class Command:
    """`tenure`, run in this process against one service.

    Attributes:
        env: Variables that it sees.
    """

    def __init__(self, env: dict[str, str]) -> None:
        self.env = env

    def tried(self, *words: str, stdin: str | None = None) -> Any:
        """Run it; the result has exit_code, stdout and stderr."""
        return CliRunner().invoke(app, list(words), env=self.env, input=stdin, prog_name="tenure")

    def __call__(self, *words: str) -> str:
        """What it prints; it must succeed."""
        done = self.tried(*words)
        assert done.exit_code == 0, f"{words}: {done.stderr}"
        return str(done.stdout)

    def json(self, *words: str) -> Any:
        """The one JSON value that it prints; it must succeed."""
        return json.loads(self(*words, "--json"))

    def refused(self, status: int, *words: str) -> str:
        """What it says on standard error; it must end with `status` and print nothing else."""
        done = self.tried(*words)
        assert (done.exit_code, done.stdout) == (status, ""), (words, done.stdout, done.stderr)
        return str(done.stderr)


@pytest.fixture(scope="session")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A running service with a site: a rack, two hosts, and the network `prod`."""
    with Serving(tmp_path_factory.mktemp("cli") / "data", "--roles", "api,dns") as running:
        tenure = Command({"TENURE_URL": running.url, "TENURE_DATA": str(running.data)})
        tenure("location", "create", "rack-3", "--kind", "rack")
        for host in ("compute-7", "compute-8"):
            tenure("location", "create", host, "--kind", "host", "--parent", "rack-3")
        tenure("network", "create", "prod", "--domain", "prod.example.", "--cooldown", "0")
        tenure("subnet", "create", "prod", "10.0.0.0/16", "--gateway", "10.0.0.1")
        yield running
        assert running.terminate() == 0


@pytest.fixture
def tenure(serving: Serving) -> Command:
    """The command, told by variables where the service is."""
    return Command({"TENURE_URL": serving.url, "TENURE_DATA": str(serving.data)})


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """A file with the hosts of the site."""
    file = tmp_path / "hosts.txt"
    file.write_text("# the rack\ncompute-7\n\ncompute-8\n")
    return file
