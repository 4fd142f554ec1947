"""Imports run one way, and what starts often starts light."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import PACKAGE, ROOT

LIGHT = ("client", "exchange", "plugins")
HEAVY = ("tenure.engine", "tenure.store", "tenure.service", "sqlalchemy")

PLANTED = {
    "net/addresses.py": "from tenure.service import writer",
    "engine/__init__.py": "import time",
    "surfaces/dns/__init__.py": "import tenure.surfaces.api",
    "service/__init__.py": "import tenure.store.sql",
    "client/__init__.py": "import sqlalchemy",
    "cli/__init__.py": "import tenure.engine",
    "simulate/__init__.py": "import tenure.store",
    "strange_room.py": "",
}


def _lint(source: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            Path(sys.executable).with_name("lint-imports"),
            "--no-logo",
            "--no-cache",
            "--config",
            ROOT / "pyproject.toml",
        ],
        cwd=source,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contracts_are_kept() -> None:
    done = _lint(ROOT / "src")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_copy_keeps_them_too(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "src" / "tenure")
    done = _lint(tmp_path / "src")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("place", PLANTED)
def test_a_planted_import_breaks_a_contract(tmp_path: Path, place: str) -> None:
    source = tmp_path / "src"
    shutil.copytree(PACKAGE, source / "tenure")
    with (source / "tenure" / place).open("a") as file:
        file.write(f"\n{PLANTED[place]}\n")
    if place.startswith("net"):
        (source / "tenure" / "service" / "writer.py").touch()
    done = _lint(source)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout or "strange_room" in done.stdout


def _light_modules() -> list[str]:
    files = [path for room in LIGHT for path in (PACKAGE / room).rglob("*.py")] + [*PACKAGE.glob("cli/main.py")]
    names = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in files]
    return sorted(name.removesuffix(".__init__") for name in names)


def test_clients_start_without_engine_or_database() -> None:
    modules = _light_modules()
    assert "tenure.client" in modules
    program = f"import sys, {', '.join(modules)}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
