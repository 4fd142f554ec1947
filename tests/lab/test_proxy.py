"""The proxy that cuts: a COMMIT that was never heard, and one whose answer was lost."""

import psycopg
import pytest

from tests.lab.proxy import COMMIT, Cut, Proxy


@pytest.mark.parametrize(("when", "kept"), [(Cut.BEFORE, 0), (Cut.AFTER, 1)])
def test_a_commit_is_cut(postgres_url: str, when: Cut, kept: int) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as direct, Proxy(postgres_url) as proxy:
        direct.execute("CREATE TABLE mark (n int)")
        connection = psycopg.connect(proxy.url)
        connection.execute("INSERT INTO mark VALUES (1)")
        proxy.cut_at(COMMIT, when)
        with pytest.raises(psycopg.OperationalError):
            connection.commit()
        connection.close()
        assert proxy.cuts == 1
        assert direct.execute("SELECT count(*) FROM mark").fetchone() == (kept,)


def test_only_once(postgres_url: str) -> None:
    with Proxy(postgres_url) as proxy:
        proxy.cut_at(COMMIT, Cut.BEFORE)
        for _ in range(2):
            with psycopg.connect(proxy.url) as connection:
                connection.execute("SELECT 1")
                if proxy.cuts == 0:
                    with pytest.raises(psycopg.OperationalError):
                        connection.commit()
        assert proxy.cuts == 1


def test_a_database_that_is_away_and_comes_back(postgres_url: str) -> None:
    with Proxy(postgres_url) as proxy:
        connection = psycopg.connect(proxy.url)
        proxy.refuse()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
        connection.close()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(proxy.url)
        proxy.refuse(False)
        with psycopg.connect(proxy.url) as again:
            assert again.execute("SELECT 1").fetchone() == (1,)
