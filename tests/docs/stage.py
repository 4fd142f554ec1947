"""Where the examples of one page are played: a directory, free ports for those of the page, a shell."""

import os
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.docs.pages import Command
from tests.house.sources import ROOT
from tests.lab.namespaces import Namespace
from tests.lab.processes import Process, free_port
from tests.whole.console import Step

PORTS = ("8080", "8081", "5353", "5354", "5300", "5301", "5302")
DATABASES = "postgresql://tenure@db.example"
"""The server of the pages; its database `tenure` is a fresh one."""
RUN = "$(BIN)/tenure demo --data $(DATA)"
"""What `make run` does, from the Makefile: here it is run without make, which would look after the environment too."""

_STATE = ".shell"
_LASTING = re.compile(r"(make run|tenure (demo|serve))\b[^|]*|.*&")
_WRAPPED = """\
set -a
[ -e {state} ] && . ./{state}
{command}
status=$?
export -p > {state}
exit $status
"""


class Stage:
    """Plays commands as a newcomer would type them; a context manager that ends what they started.

    Args:
        directory: Where they are typed.
        namespaces: By machine, where the page is about a network; "" is the one that serves.
        database: The URL of a database that stands for `tenure` of `DATABASES`.
    """

    def __init__(self, directory: Path, *, namespaces: dict[str, Namespace] | None = None, database: str = "") -> None:
        self.directory = directory
        self._namespaces = namespaces or {}
        self._ports = {written: written if namespaces else str(free_port()) for written in PORTS}
        self._database = database
        self._jobs: list[Process] = []
        self._held = ExitStack()

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    @property
    def environment(self) -> dict[str, str]:
        """The test run's, with our commands on the path, and nothing said of the service but its ports."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        env |= {"PATH": f"{Path(sys.executable).parent}:{env['PATH']}", "LC_ALL": "C.UTF-8", "COLUMNS": "120"}
        env |= {"TENURE_API": self.real("127.0.0.1:8080"), "TENURE_DNS": self.real("127.0.0.1:5353")}
        return env | {"TENURE_URL": self.real("http://127.0.0.1:8080"), "HOME": str(self.directory)}

    def real(self, text: str) -> str:
        """Text of the page, with the ports and the database that there are."""
        text = re.sub(rf"\b({'|'.join(PORTS)})\b", lambda found: self._ports[found[0]], text)
        server = self._database.rpartition("/")[0]
        return text.replace(f"{DATABASES}/tenure", self._database).replace(DATABASES, server) if server else text

    def shown(self, text: str) -> str:
        """What was printed, as the page would have it."""
        for written, real in self._ports.items():
            text = re.sub(rf"\b{real}\b", written, text)
        if self._database:
            text = re.sub(rf"\b{self._database.rpartition('/')[2]}\b", "tenure", text)
        return text.replace(str(self.directory), "/srv")

    def write(self, name: str, text: str) -> None:
        """A file of the page."""
        (self.directory / name).write_text(self.real(text))

    def play(self, command: Command) -> str:
        """Do what a page says; what is printed. Fails unless it is what the page expects."""
        text = command.text.replace("make run", RUN.replace("$(BIN)/", "").replace("$(DATA)", "tenure-data"))
        if _LASTING.fullmatch(text):
            return self._begin(command, text.removesuffix("&").rstrip())
        job = re.fullmatch(r"kill %(\d+)", text)
        printed = self._end(int(job[1])) if job else self._typed(command.machine, text)
        Step(command.text, command.expected).check(printed)
        return printed

    def _begin(self, command: Command, text: str) -> str:
        """Start what goes on, and wait for the last line that is expected of it."""
        job = Process(self._argv(command.machine, self.real(text)), env=self.environment, cwd=self.directory)
        self._held.enter_context(job)
        self._jobs.append(job)
        last = next((line for line in reversed(command.expected) if line != "…"), "")
        job.wait_line(".*".join(re.escape(self.real(part)) for part in last.strip().split("…")), 60)
        printed = self.shown(job.output)
        Step(command.text, [*command.expected, "…"]).check(printed)
        return printed

    def _end(self, number: int) -> str:
        job = self._jobs[number - 1]
        assert job.stop(20) in (0, -15), job.output
        return ""

    def _typed(self, machine: str, text: str) -> str:
        script = _WRAPPED.format(state=_STATE, command=self.real(text))
        done = subprocess.run(
            self._argv(machine, script),
            env=self.environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, f"$ {text}\nexit {done.returncode}\n{done.stdout}"
        return self.shown(done.stdout)

    def _argv(self, machine: str, script: str) -> list[str]:
        where = self._namespaces.get(machine)
        inside = ["ip", "netns", "exec", where.name] if where else []
        return [*inside, "bash", "-c", script]


def makes_run_so() -> bool:
    """Whether the Makefile's `run` is what `play` does for it."""
    return RUN in (ROOT / "Makefile").read_text() and "DATA ?= tenure-data" in (ROOT / "Makefile").read_text()
