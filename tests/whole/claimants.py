"""Clients that claim and release without rest, and never lose count of what they were promised."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from tests.whole.site import Json

AGAIN = (429, 502, 503, 504)
"""Refusals that say: ask again, under the same handle."""


class Claimants:
    """Clients in threads of their own, each with handles of its own; a context manager that ends them.

    What was not answered, or not for good, is asked again under the same handle until it is.

    Args:
        make: A new HTTP client to the node that client number n asks.
        seed: Of what they do; each client has its own generator.
        releases: Of a hundred calls, how many release something.
        name: How their handles begin.

    Attributes:
        answered: Calls that were answered for good.
        retried: Calls that had to be repeated.
        faults: What went wrong beyond that.
    """

    def __init__(
        self,
        make: Callable[[int], httpx.Client],
        number: int,
        seed: int,
        *,
        releases: int = 30,
        name: str = "client",
    ) -> None:
        self.answered = 0
        self.retried = 0
        self.faults: list[str] = []
        self._make, self._seed, self._releases, self._name = make, seed, releases, name
        self._held: list[dict[str, Json]] = [{} for _ in range(number)]
        self._news = threading.Condition()
        self._resting = 0
        self._pausing = self._ending = False
        self._threads = [threading.Thread(target=self._live, args=(n,), daemon=True) for n in range(number)]

    @property
    def held(self) -> dict[str, Json]:
        """Every claim that was answered and whose release was not, by handle; only while all rest."""
        return {handle: claim for held in self._held for handle, claim in held.items()}

    def work(self, calls: int, timeout: float = 60) -> None:
        """Return when `calls` more have been answered."""
        with self._news:
            goal = self.answered + calls
            self._wait(lambda: self.answered >= goal, timeout, f"{calls} answers")

    def rest(self, timeout: float = 60) -> dict[str, Json]:
        """Let each finish what it does, and wait until told to go on; what they hold now."""
        with self._news:
            self._pausing = True
            self._wait(lambda: self._resting == len(self._threads), timeout, "all to rest")
            return self.held

    def go_on(self) -> None:
        """End the rest."""
        with self._news:
            self._pausing = False
            self._news.notify_all()

    def _wait(self, enough: Callable[[], bool], timeout: float, what: str) -> None:
        self._news.wait_for(lambda: enough() or bool(self.faults), timeout)
        assert not self.faults, self.faults
        assert enough(), f"waited {timeout} s for {what}; seed {self._seed}"

    def _live(self, number: int) -> None:
        rng, held = random.Random(self._seed * 1000 + number), self._held[number]
        made = 0
        try:
            with self._make(number) as client:
                while self._may_go_on():
                    if held and rng.randrange(100) < self._releases:
                        self._release(client, held, rng.choice(sorted(held)))
                    else:
                        made += 1
                        self._claim(client, held, f"{self._name}-{number}/{made}", rng)
        except Exception as error:
            with self._news:
                self.faults.append(f"client {number}, seed {self._seed}: {error!r}")
                self._news.notify_all()

    def _may_go_on(self) -> bool:
        with self._news:
            self._resting += 1
            self._news.notify_all()
            self._news.wait_for(lambda: not self._pausing or self._ending)
            self._resting -= 1
            return not self._ending

    def _claim(self, client: httpx.Client, held: dict[str, Json], handle: str, rng: random.Random) -> None:
        name = handle.replace("/", "-")
        hosts: Sequence[str] = ("r1-a", "r1-b", "r2-a", "r2-b")
        body = {"network": "prod", "handle": handle, "hostname": name, "host": rng.choice(hosts)}
        claim = self._insist(client, "/v1/claims", body)
        assert claim["addresses"], claim
        held[handle] = claim
        self._count()

    def _release(self, client: httpx.Client, held: dict[str, Json], handle: str) -> None:
        claim = self._insist(client, "/v1/claims/release", {"handle": handle, "id": held[handle]["id"]})
        assert claim["state"] == "released", claim
        del held[handle]
        self._count()

    def _insist(self, client: httpx.Client, path: str, body: dict[str, Any]) -> Json:
        while not self._ending:
            try:
                answer = client.post(path, json=body)
            except httpx.TransportError:
                self._wait_a_little()
                continue
            if answer.is_success:
                said: Json = answer.json()
                return said
            assert answer.status_code in AGAIN, f"{path} {body}: {answer.status_code} {answer.text}"
            self._wait_a_little()
        raise InterruptedError("the test has ended")

    def _wait_a_little(self) -> None:
        with self._news:
            self.retried += 1
            self._news.wait_for(lambda: self._ending, 0.02)

    def _count(self) -> None:
        with self._news:
            self.answered += 1
            self._news.notify_all()

    def __enter__(self) -> "Claimants":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        with self._news:
            self._ending = True
            self._news.notify_all()
        end = time.monotonic() + 30
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
