"""The private PostgreSQL: fresh databases, real durability, hard deaths."""

import psycopg
import pytest

from tests.lab.postgres import Cluster


def test_each_database_is_fresh(postgres_cluster: Cluster) -> None:
    first, second = postgres_cluster.create_database(), postgres_cluster.create_database()
    with psycopg.connect(first) as connection:
        connection.execute("CREATE TABLE mark (n int)")
    with psycopg.connect(second) as connection:
        assert connection.execute("SELECT to_regclass('mark')").fetchone() == (None,)


def test_commits_are_synced(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)


def test_committed_rows_survive_kill9_and_open_connections_do_not(postgres_cluster: Cluster, postgres_url: str) -> None:
    connection = psycopg.connect(postgres_url)
    connection.execute("CREATE TABLE kept AS SELECT generate_series(1, 100) n")
    connection.commit()
    postgres_cluster.kill9()
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    connection.close()
    postgres_cluster.start()
    with psycopg.connect(postgres_url) as again:
        assert again.execute("SELECT count(*) FROM kept").fetchone() == (100,)


def test_restart_keeps_the_port(postgres_cluster: Cluster, postgres_url: str) -> None:
    postgres_cluster.restart()
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
