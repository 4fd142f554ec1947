"""Starts that are refused: one clear sentence, exit status 1, and everything as it was before, byte by byte."""

import socket
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.lab.postgres import Cluster
from tests.lab.processes import free_port
from tests.whole.serving import SERVE, Serving

pytestmark = pytest.mark.whole

POWERLESS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-chown,-fowner", "--", *SERVE]
"""Root whom file modes bind, as they bind everybody else."""

Tree = dict[str, tuple[int, bytes]]


def tree(path: Path) -> Tree:
    """Modes and contents of everything below a path."""
    found: Tree = {}
    for each in [path, *path.rglob("*")]:
        mode = each.lstat().st_mode
        found[str(each.relative_to(path))] = (mode, each.read_bytes() if stat.S_ISREG(mode) else b"")
    return found


def refused(place: Path, *options: str, said: str, data: Path | None = None, command: list[str] = SERVE) -> None:
    """A start is refused with one sentence that has `said` in it, and everything in `place` is as it was."""
    before = tree(place)
    with Serving(data or place / "data", *options, ready=False, command=command) as serving:
        assert serving.wait() == 1, serving.output
    (sentence,) = serving.output.splitlines()
    assert said in sentence
    assert sentence[0].isupper() and sentence.endswith(".") and "Traceback" not in sentence
    assert tree(place) == before


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the data directory is, or would be."""
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


@pytest.fixture
def served(place: Path) -> Path:
    """A place with the data of a site that was served before."""
    with Serving(place / "data") as serving, serving.client() as client:
        client.post("/v1/networks", json={"name": "prod"}).raise_for_status()
        assert serving.terminate() == 0
    return place


def _newer(database: Path) -> None:
    connection = sqlite3.connect(database)
    with connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def test_data_of_a_newer_release(served: Path) -> None:
    _newer(served / "data" / "tenure.sqlite")
    refused(served, said="format 99, made by a newer release")


def test_a_file_that_is_no_database(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "tenure.sqlite").write_bytes(b"not a database, but a letter to a friend" * 100)
    refused(place, said="tenure.sqlite cannot be used")


def test_data_that_another_one_serves(place: Path) -> None:
    with Serving(place / "data") as first:
        with Serving(place / "data", ready=False) as second:
            assert second.wait() == 1
        assert second.output == f"Another tenure serve uses the data directory {place / 'data'}."
        with first.client() as client:
            assert client.get("/readyz").json()["ready"]


@pytest.mark.root
@pytest.mark.parametrize("there", [False, True], ids=["to be made", "there already"])
def test_a_data_directory_that_cannot_be_written(place: Path, there: bool) -> None:
    data = place / "shut" / "data" if not there else place / "shut"
    (place / "shut").mkdir(mode=0o500)
    refused(place, said=f"The data directory {data} cannot be used: Permission denied", data=data, command=POWERLESS)


@pytest.mark.root
def test_a_data_directory_that_cannot_be_looked_into(place: Path) -> None:
    (place / "shut").mkdir(mode=0o000)
    refused(place, said="cannot be used: Permission denied", data=place / "shut" / "data", command=POWERLESS)


def test_a_data_directory_that_is_a_file(place: Path) -> None:
    (place / "data").write_text("a file")
    refused(place, said="cannot be used")


@pytest.mark.root
def test_an_admin_token_that_cannot_be_read(place: Path) -> None:
    (place / "data").mkdir(mode=0o700)
    (place / "data" / "admin-token").write_text("tnr_0123456789abcdef\n")
    (place / "data" / "admin-token").chmod(0)
    refused(place, said="admin-token cannot be used: Permission denied", command=POWERLESS)


@pytest.mark.parametrize("content", [b"", b"\n", b"two words and more\n", b"\xff" * 40, b"short"])
def test_an_admin_token_that_is_none(place: Path, content: bytes) -> None:
    (place / "data").mkdir(mode=0o700)
    (place / "data" / "admin-token").write_bytes(content)
    refused(place, said="has no token in it")


def _taken(kind: socket.SocketKind, family: socket.AddressFamily = socket.AF_INET) -> socket.socket:
    taken = socket.socket(family, kind)
    taken.bind(("127.0.0.1", 0))
    if kind is socket.SOCK_STREAM:
        taken.listen()
    return taken


@pytest.mark.parametrize(
    ("option", "kind"),
    [("--api", socket.SOCK_STREAM), ("--dns", socket.SOCK_STREAM), ("--dns", socket.SOCK_DGRAM)],
    ids=["api", "dns tcp", "dns udp"],
)
@pytest.mark.parametrize("fresh", [True, False], ids=["first start", "later start"])
def test_a_port_in_use(
    request: pytest.FixtureRequest, place: Path, option: str, kind: socket.SocketKind, fresh: bool
) -> None:
    where = place if fresh else request.getfixturevalue("served")
    with _taken(kind) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        refused(where, option, address, said=f"cannot use {address}: it is in use")


def test_a_unix_socket_in_use(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(place / "api.sock"))
        taken.listen()
        refused(place, "--api-socket", str(place / "api.sock"), said="api.sock: it is in use")


def test_an_address_that_is_not_here(place: Path) -> None:
    refused(place, "--api", "192.0.2.1:0", said="this machine has no such address")


@pytest.mark.root
def test_the_dhcp_port_in_use(place: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        taken.bind(("0.0.0.0", 67))
        refused(place, "--dhcp4", "lo", said="port 67")


def test_a_database_server_that_is_not_there(place: Path) -> None:
    url = f"postgresql://nobody:s3cret-word@127.0.0.1:{free_port()}/nothing"
    refused(place, "--database", url, said="PostgreSQL at 127.0.0.1, database nothing cannot be used")


@pytest.fixture(scope="module")
def locked() -> Iterator[Cluster]:
    """A server that asks for passwords over TCP."""
    cluster = Cluster()
    try:
        hba = cluster.directory / "data" / "pg_hba.conf"
        hba.write_text("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n")
        cluster.start()
        with psycopg.connect(host=str(cluster.directory), port=cluster.port, user="postgres", autocommit=True) as admin:
            admin.execute("CREATE ROLE tenure LOGIN PASSWORD 'right'")
            admin.execute("CREATE DATABASE tenure OWNER tenure")
            admin.execute("CREATE DATABASE other")
            admin.execute("REVOKE CONNECT ON DATABASE other FROM PUBLIC")
        yield cluster
    finally:
        cluster.remove()


def _schema(cluster: Cluster, database: str = "tenure") -> list[tuple[object, ...]]:
    """Every table, column and index, and how many rows each table has."""
    where = {"host": str(cluster.directory), "port": str(cluster.port), "user": "postgres", "dbname": database}
    with psycopg.connect(**where) as connection:  # type: ignore[arg-type]
        columns = connection.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'public' ORDER BY 1, 2"
        ).fetchall()
        indexes = connection.execute(
            "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
        ).fetchall()
        tables = sorted({row[0] for row in columns})
        rows = [(name, connection.execute(f"SELECT t.* FROM {name} t ORDER BY t::text").fetchall()) for name in tables]
    return [*columns, *indexes, *rows]


@pytest.mark.parametrize(
    ("user", "database", "said"),
    [
        ("tenure:wr0ng-word", "tenure", "password authentication failed"),
        ("tenure:right", "nowhere", "There is no database nowhere"),
        ("tenure:right", "other", "permission denied"),
        ("nobody:wr0ng-word", "tenure", "password authentication failed"),
    ],
)
def test_a_database_that_does_not_let_us_in(place: Path, locked: Cluster, user: str, database: str, said: str) -> None:
    before = _schema(locked)
    url = f"postgresql://{user}@127.0.0.1:{locked.port}/{database}"
    refused(place, "--database", url, said=said)
    assert _schema(locked) == before == []


def test_a_database_of_a_newer_release(place: Path, locked: Cluster) -> None:
    url = f"postgresql://tenure:right@127.0.0.1:{locked.port}/tenure"
    with Serving(place / "data", "--database", url) as first:
        assert first.terminate() == 0
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'format'")
    before = _schema(locked)
    refused(place, "--database", url, said="format 99, made by a newer release")
    refused(place, "--database", url, said="format 99, made by a newer release", data=place / "other")
    assert _schema(locked) == before
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")


@pytest.mark.parametrize(
    "url", ["postgresql://u:s3cret-word@h:xx/d", "postgresql://u:s3cret-word@[::1/d", "mysql://u:s3cret-word@h/d"]
)
def test_a_url_that_is_none_is_wrong_usage_and_is_not_repeated(place: Path, url: str) -> None:
    before = tree(place)
    with Serving(place / "data", "--database", url, ready=False) as serving:
        assert serving.wait() == 2
    assert len(serving.output.splitlines()) == 1 and "s3cret-word" not in serving.output
    assert tree(place) == before
