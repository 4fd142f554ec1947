"""Every example of README and docs runs, against a real service, and prints what the page says."""

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tenure.settings import read as read_settings
from tests.docs import pages
from tests.docs.pages import Block, Command, Page
from tests.docs.stage import Stage, makes_run_so
from tests.house.sources import ROOT
from tests.lab.namespaces import Namespace, Topology

ELSEWHERE = {
    "docs/tutorial/first-site.md": "tests/whole/test_tutorial.py does it",
    "docs/reference/api.md": "made from the operations; tests/surfaces/api sends its examples",
    "docs/reference/cli.md": "made from the commands; tests/cli/test_commands.py reads its examples",
}
"""Pages whose examples another test runs."""

NOT_RUN = {
    "text": "a picture made of letters, or what a file looks like",
    "ini": "a unit of systemd, which is not there in a test",
}
"""Languages of blocks that are not run, and why."""

_PROGRAMS = ("dig", "curl", "jq", "named", "knotd", "nsd", "pdns_server", "sqlite3")
WANTED = [name for name in _PROGRAMS if shutil.which(name) is None]
PAGES = [page for page in map(pages.read, pages.documents()) if page.blocks and page.name not in ELSEWHERE]
PLAYED = [page for page in PAGES if any(block.language in ("console", "python") for block in page.blocks)]


@pytest.mark.whole
@pytest.mark.skipif(bool(WANTED), reason=f"not installed: {WANTED}")
@pytest.mark.parametrize("page", PLAYED, ids=lambda page: page.name)
def test_the_page_is_as_it_is_written(page: Page, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with _set(page, tmp_path, request) as stage:
        for block in page.blocks:
            if block.title:
                stage.write(block.title, block.text)
            elif block.language == "console":
                for command in pages.commands(block):
                    stage.play(command)
            elif block.language == "python":
                _run_python(stage, block)


@contextmanager
def _set(page: Page, directory: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    """The stage with what the page needs."""
    with ExitStack() as held:
        namespaces, database = {}, ""
        if page.needs == "link":
            namespaces = _link(request.getfixturevalue("topology"))
        if page.needs == "postgresql":
            database = request.getfixturevalue("postgres_url")
        stage = held.enter_context(Stage(directory, namespaces=namespaces, database=database))
        if page.needs == "serve":
            stage.play(Command("", "tenure serve &", ["…", "ready"]))
        if page.needs == "demo":
            stage.play(Command("", "tenure demo --data tenure-data &", ["…", "  Ctrl-C stops it."]))
        yield stage


def _link(topology: Topology) -> dict[str, Namespace]:
    """The machine that serves, with `eno2` on a link, and a client on that link."""
    server, client = topology.namespace("server"), topology.namespace("client")
    topology.link(server, "eno2", client, "eth0")
    server.up("eno2", "10.0.1.1/24")
    client.ip("link", "set", "eth0", "address", "52:54:00:0a:0b:0c")
    return {"": server, "client": client}


def _run_python(stage: Stage, block: Block) -> None:
    done = subprocess.run(
        [sys.executable, "-c", stage.real(block.text)],
        env=stage.environment,
        cwd=stage.directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_run_or_is_of_a_language_that_cannot_be(page: Page, tmp_path: Path) -> None:
    checked = {"console", "python", "conf", "toml", "json", "csv"}
    assert {block.language for block in page.blocks} - checked - set(NOT_RUN) == set()
    for block in page.blocks:
        if block.language == "json":
            json.loads(block.text)
        elif block.language == "toml" and block.title in ("", "tenure.toml"):
            tomllib.loads(block.text)
            (tmp_path / "tenure.toml").write_text(block.text)
            read_settings({"config": tmp_path / "tenure.toml"}, {})


def test_make_run_does_what_is_run_for_it() -> None:
    assert makes_run_so()


def test_the_pages_run_elsewhere_are_there_and_the_languages_not_run_are_used() -> None:
    assert [name for name in ELSEWHERE if not (ROOT / name).exists()] == []
    assert NOT_RUN.keys() - {block.language for page in PAGES for block in page.blocks} == set()


def test_an_example_that_is_wrong_is_found(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        stage.play(Command("", "NAME=web-1", []))
        stage.play(Command("", "echo hello $NAME", ["hello …"]))
        for text, expected in (("echo hello", ["hello you"]), ("false", []), ("echo a; echo b", ["a"])):
            with pytest.raises(AssertionError):
                stage.play(Command("", text, expected))
