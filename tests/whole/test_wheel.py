"""The wheel: built, put into an environment that has only its dependencies, and run from there."""

import os
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.lab.processes import Process
from tests.whole.serving import Serving

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    where = tmp_path_factory.mktemp("wheel")
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(where), str(ROOT))
    (made,) = where.glob("tenure-*.whl")
    return made


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tenure` as installed; the dependencies are those of the environment of the tests, this tree is not."""
    home = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True, timeout=60)
    packages = next((home / "lib").glob("python*/site-packages"))
    _pip("install", "--no-deps", "--no-compile", "--target", str(packages), str(wheel))
    # Only the folder, and none of its .pth files: the editable install of this tree is one of these.
    (packages / "dependencies.pth").write_text("".join(f"{path}\n" for path in site.getsitepackages()))
    script = home / "bin" / "tenure"
    script.write_text(f"#!{home / 'bin' / 'python'}\nfrom tenure.cli.main import main\n\nmain()\n")
    script.chmod(0o755)
    return script


def _pip(*words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr


def test_the_wheel_has_all_that_the_package_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = set(packed.namelist())
    for folder, place in ((ROOT / "src", ""), (ROOT / "examples" / "site", "tenure/cli/site/")):
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and ".egg-info" not in str(path):
                assert place + str(path.relative_to(folder)) in names, path
    assert not [name for name in names if name.startswith(("tests/", "bench/"))]


def test_it_tells_its_version_from_where_it_is_installed(command: Path, tmp_path: Path) -> None:
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True)
    assert done.stdout.split()[-1] == "0.1.0"
    python = command.with_name("python")
    code = "import tenure; print(tenure.__file__)"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True)
    assert Path(found.stdout.strip()).is_relative_to(command.parents[1])


def test_it_serves_and_makes_its_tables(command: Path, tmp_path: Path) -> None:
    with Serving(tmp_path / "data", command=[command, "serve"]) as serving, serving.client() as client:
        assert client.post("/v1/networks", json={"name": "prod"}).status_code == 201
        assert serving.terminate() == 0


def test_the_demo_starts(command: Path, tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path), "HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    options = [*("--api", "127.0.0.1:0"), *("--dns", "127.0.0.1:0")]
    with Process([command, "demo", *options], env=env, cwd=tmp_path) as demo:
        demo.wait_line("allocate prod --host", 120)
        assert f"{command} allocate" in demo.output or "bin/tenure allocate" in demo.output
