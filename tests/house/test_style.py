"""Sizes, names, docstrings, clocks: what a reader of the code may count on."""

import ast
import asyncio
import re
from collections.abc import Iterator
from statistics import median

import pytest

from tests.house.sources import PACKAGE, ROOT, Function, Source, lines_of, sources, text_files

FILE_LINES, FUNCTION_LINES, MEDIAN_LINES = 500, 60, 10
EMPTY_WORDS = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc"}
CLOCKS = re.compile(r"(^|\.)(datetime\.(now|utcnow|today)|date\.today|time\.time(_ns)?)$")
WITH_A_CLOCK = ("app/", "cli/", "testing/")

# One letter of each is in brackets, so that this file does not hold them itself.
PLACES = re.compile(r"/wor[k]/|/far[m]\b|/roo[t]/|pyp[i]\.(org|python)|pythonhoste[d]|npmj[s]")

# What asyncio calls is explained there.
CALLED_BY_ASYNCIO = {*dir(asyncio.Protocol), *dir(asyncio.DatagramProtocol)}

PRODUCT = sources(PACKAGE)
TESTS = sources(ROOT / "tests")


def test_no_file_is_long() -> None:
    long = {source.name: source.text.count("\n") for source in PRODUCT if source.text.count("\n") > FILE_LINES}
    assert long == {}


def test_no_function_is_long() -> None:
    long = {
        f"{source.name}:{function.lineno} {function.name}": lines_of(function)
        for source in PRODUCT
        for function in source.functions()
        if lines_of(function) > FUNCTION_LINES
    }
    assert long == {}


def test_most_functions_are_short() -> None:
    assert median(lines_of(function) for source in PRODUCT for function in source.functions()) < MEDIAN_LINES


def test_every_module_has_a_telling_name() -> None:
    names = {part for source in PRODUCT for part in source.path.relative_to(PACKAGE).with_suffix("").parts}
    assert names & EMPTY_WORDS == set()


def _public(source: Source) -> Iterator[tuple[str, ast.Module | ast.ClassDef | Function]]:
    if source.text.strip():
        yield source.name, source.tree
    yield from _public_in(source.name, source.tree)


def _public_in(place: str, parent: ast.Module | ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef | Function]]:
    for node in parent.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            name = f"{place}:{node.lineno} {node.name}"
            if not _is_explained_elsewhere(node):
                yield name, node
            if isinstance(node, ast.ClassDef):
                yield from _public_in(place, node)


def _is_explained_elsewhere(node: ast.ClassDef | Function) -> bool:
    marks = [ast.unparse(mark) for mark in node.decorator_list]
    if node.name.startswith("test_"):
        return True  # a test of the public test kit: its name is its sentence
    return node.name in CALLED_BY_ASYNCIO or any(mark.endswith(("overload", ".setter", "override")) for mark in marks)


def test_every_public_name_has_a_docstring() -> None:
    silent = [name for source in PRODUCT for name, node in _public(source) if ast.get_docstring(node) is None]
    assert silent == []


def test_only_the_outermost_rooms_read_a_clock() -> None:
    found = [
        f"{source.name}:{call.lineno} {name}"
        for source in PRODUCT
        for name, call in source.calls()
        if CLOCKS.search(name) and not str(source.path.relative_to(PACKAGE)).startswith(WITH_A_CLOCK)
    ]
    assert found == []


def test_tests_do_not_sleep() -> None:
    found = [
        f"{source.name}:{call.lineno}"
        for source in TESTS
        for name, call in source.calls()
        if name.rsplit(".")[-1] == "sleep" and [ast.unparse(word) for word in call.args] != ["0"]
    ]
    assert found == []


def test_tests_mock_nothing() -> None:
    imported = re.compile(r"^\s*(from|import) (unittest(\.| import )|mock\b|pytest_mock)", re.MULTILINE)
    assert [source.name for source in TESTS if imported.search(source.text)] == []


def test_no_file_names_a_place_on_one_machine_or_a_registry() -> None:
    found = {name: match[0] for name, text in text_files() if (match := PLACES.search(text))}
    assert found == {}


@pytest.mark.parametrize(
    "text", ["cd /wor-k/main", "see https://pyp-i.org/simple", "/far-m/x", "files.pythonhoste-d.org"]
)
def test_such_a_place_would_be_found(text: str) -> None:
    assert PLACES.search(text.replace("-", ""))


@pytest.mark.parametrize(
    "name", ["datetime.now", "datetime.datetime.now", "time.time", "datetime.utcnow", "dt.date.today"]
)
def test_such_a_clock_would_be_found(name: str) -> None:
    assert CLOCKS.search(name)


def test_a_docstring_does_not_count_as_length() -> None:
    tree = ast.parse('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n')
    assert isinstance(tree.body[0], ast.FunctionDef)
    assert lines_of(tree.body[0]) == 2
