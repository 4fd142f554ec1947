"""The project's own files, read once for the tests about them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tenure"
TOP_FILES = ("*.md", "Makefile", "pyproject.toml", ".gitignore", ".ci/*")
FOLDERS = ("src", "tests", "docs", "bench", "examples", "deploy")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """One Python file: where it is, its text and its syntax tree."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """Its path from the root of the project."""
        return str(self.path.relative_to(ROOT))

    def functions(self) -> Iterator[Function]:
        """Every function and method in it, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Every call in it, by its name as written (`time.sleep`)."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func), node


@cache
def sources(folder: Path) -> tuple[Source, ...]:
    """All Python files below `folder`."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        found.append(Source(path, text, ast.parse(text)))
    return tuple(found)


def text_files() -> Iterator[tuple[str, str]]:
    """Every text file of the project that is kept under version control, by its path from the root."""
    paths = [path for pattern in TOP_FILES for path in ROOT.glob(pattern)]
    paths += [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in sorted(paths):
        kept = path.is_file() and "__pycache__" not in path.parts and ROOT / "bench" / "out" not in path.parents
        if kept and b"\0" not in (content := path.read_bytes()):
            yield str(path.relative_to(ROOT)), content.decode()


def lines_of(function: Function) -> int:
    """How long a function is, its docstring not counted: explaining is free."""
    length = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function, clean=False) is None:
        return length
    explained = function.body[0]
    return length - ((explained.end_lineno or explained.lineno) - explained.lineno + 1)
