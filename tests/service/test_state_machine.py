"""The service beside a plain dictionary, at least 10,000 steps on each store."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tenure.store.interface import Store
from tests.lab.postgres import Cluster
from tests.service.machine import Later, Machine
from tests.service.world import World

STEPS = 10_000


def walk(machine: type[Machine], start: int, least: int = STEPS, examples: int = 20) -> None:
    """Run examples until there were `least` steps; another seed each round, and all of them follow from `start`."""
    machine.steps = round_ = 0
    quiet = settings(
        max_examples=examples,
        stateful_step_count=150,
        deadline=None,
        database=None,
        phases=(Phase.generate,),  # a failure prints its steps; to make them fewer takes longer than to read them
        suppress_health_check=list(HealthCheck),
    )
    while machine.steps < least:
        print(f"state machine: seed {start + round_}, {machine.steps} steps so far")
        seed(start + round_)(machine)
        run_state_machine_as_test(machine, settings=quiet)
        round_ += 1


def _furnished(world: World) -> None:
    Machine.furnish(world.node())
    world.close()


class OnSqlite(Machine):
    """Each world a file in `directory`, its chance made of `number`."""

    directory: ClassVar[Path]
    number: ClassVar[int]

    def make_world(self) -> World:
        """A copy of a ledger that was prepared once."""
        directory = Path(tempfile.mkdtemp(dir=self.directory))
        prepared = self.directory / "tenure.sqlite"
        if not prepared.exists():
            _furnished(World(self.directory, self.number))
        shutil.copy(prepared, directory)
        return World(directory, self.number)


class _OnPostgres(Machine):
    directory: ClassVar[Path]
    number: ClassVar[int]
    fresh: ClassVar[Callable[[], str]]

    def make_world(self) -> World:
        """A copy of a ledger that was prepared once."""
        return World(Path(tempfile.mkdtemp(dir=self.directory)), self.number, type(self).fresh())

    def wrap(self, store: Store) -> Store:
        """PostgreSQL has a clock of its own."""
        return Later(store, self.world)


@pytest.mark.timeout(1200)
def test_on_sqlite(seed: int, tmp_path: Path) -> None:
    OnSqlite.directory, OnSqlite.number = tmp_path, seed
    walk(OnSqlite, seed)


@pytest.mark.timeout(1200)
def test_on_postgres(seed: int, tmp_path: Path, postgres_cluster: Cluster) -> None:
    template = postgres_cluster.create_database()
    _furnished(World(tmp_path, seed, template))
    made = iter(range(10**6))

    def fresh() -> str:
        name = f"machine_{next(made)}"
        with psycopg.connect(postgres_cluster.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template.rpartition('/')[2]}")
        return postgres_cluster.url(name)

    _OnPostgres.directory, _OnPostgres.number = tmp_path, seed
    _OnPostgres.fresh = staticmethod(fresh)
    walk(_OnPostgres, seed)
