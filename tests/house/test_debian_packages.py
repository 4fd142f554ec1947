"""Every program that a test runs comes with a listed Debian package or with every Debian."""

import ast
from collections.abc import Iterator

from tests.house.sources import ROOT, Source, sources

RUNNERS = ("run", "popen", "Popen", "Process", "which", "check_call", "check_output")

# Essential packages of Debian, and git, which brought this checkout.
EVERYWHERE = {"bash", "cat", "env", "git", "id", "kill", "make", "setpriv", "sh", "tail", "true"}


def _listed() -> set[str]:
    rows = (ROOT / "tests" / "debian-packages.txt").read_text().splitlines()
    return {word for row in rows if not row.startswith("#") for word in row.split("|")[2].split()}


def _programs(source: Source) -> Iterator[str]:
    for name, call in source.calls():
        if name.rsplit(".")[-1] in RUNNERS and call.args:
            first = call.args[0]
            word = first.elts[0] if isinstance(first, ast.List) and first.elts else first
            if isinstance(word, ast.Constant) and isinstance(word.value, str):
                yield word.value.rsplit("/")[-1]


def test_every_program_that_tests_run_is_listed() -> None:
    used = {program: source.name for source in sources(ROOT / "tests") for program in _programs(source)}
    assert "ip" in used
    assert {program: name for program, name in used.items() if program not in _listed() | EVERYWHERE} == {}


def test_every_row_is_complete_and_says_what_is_left_out() -> None:
    rows = (ROOT / "tests" / "debian-packages.txt").read_text().splitlines()
    columns = [[column.strip() for column in row.split("|")] for row in rows if not row.startswith("#")]
    assert all(len(row) == 4 and all(row) and row[1].startswith("/") for row in columns)
