"""Routes as they change: lines of ExaBGP's process API (`announce route …`, `withdraw route …`), or a router's file."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from tenure.cli.remote import sentence
from tenure.client.client import Client
from tenure.errors import OutcomeUnknown, StoreUnavailable, TenureError

_WAIT: Final = 30
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0

_AWAY: Final = (StoreUnavailable, OutcomeUnknown)

Tell = Callable[[list[str]], None]


class Refused(Exception):
    """Whoever is told of changes did not take them."""


class Feed:
    """The routes of one place, and what of them was told.

    For ExaBGP a table is told as its difference to the one before, so that nothing that stays is withdrawn on the way:
    not when the service restarts, nor when a message is lost. Other forms are files, told whole when they differ.

    Args:
        form: `exabgp`, `bird` or `frr`.
        pause: Waits so many seconds.
    """

    def __init__(
        self,
        client: Client,
        where: str,
        network: str | None = None,
        vrf: str | None = None,
        form: str = "exabgp",
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._client = client
        self._where = where
        self._within = {"network": network, "vrf": vrf}
        self._form = form
        self._news = difference if form == "exabgp" else rewriting
        self._pause = pause
        self._told = ""
        self._tag: str | None = None
        self._heard = False

    def follow(self, tell: Tell) -> None:
        """Tell everything, and then every change, for ever; what goes wrong on the way is said on standard error.

        Raises:
            TenureError: The first answer is a refusal; while there is none it is asked again.
        """
        pause, said = _FIRST_PAUSE, ""
        while True:
            try:
                self.step(tell, _WAIT)
                pause, said = _FIRST_PAUSE, ""
            except (TenureError, Refused) as error:
                if not self._heard and not isinstance(error, _AWAY):
                    raise
                words = sentence(error) if isinstance(error, TenureError) else str(error)
                if words != said:
                    print(words, file=sys.stderr, flush=True)
                said = words
                self._pause(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def step(self, tell: Tell, wait: int | None = None) -> None:
        """Ask once, and tell what changed; with `wait` an answer that nothing did may take so many seconds."""
        tag, text = self._client.routes_text(self._where, self._form, known=self._tag, wait=wait, **self._within)
        self._heard = True
        if text is not None:
            lines = self._news(self._told, text)
            if lines:
                tell(lines)
            self._told = text
        self._tag = tag


def rewriting(before: str, after: str) -> list[str]:
    """All lines of a router's file, or none if it differs from the one before only in its first line, a remark."""
    lines = after.splitlines()
    return lines if lines[1:] != before.splitlines()[1:] or not before else []


def difference(before: str, after: str) -> list[str]:
    """The lines that make one table of another; both are texts of announcements."""
    return changes(_by_prefix(before), _by_prefix(after))


def _by_prefix(text: str) -> dict[str, str]:
    return {line.split()[2]: line for line in text.splitlines()}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The lines that make one table of another; both are announcements by prefix.

    What is new comes first, the narrowest at its head, and what is gone last, so that on the way no address is
    without a route that had one and has one.
    """
    new = [prefix for prefix, line in after.items() if before.get(prefix) != line]
    gone = [prefix for prefix in before if prefix not in after]
    announced = [after[prefix] for prefix in sorted(new, key=_length, reverse=True)]
    return announced + [before[prefix].replace("announce", "withdraw", 1) for prefix in sorted(gone, key=_length)]


def _length(prefix: str) -> int:
    return int(prefix.partition("/")[2])


def tell(lines: list[str]) -> None:
    """Write lines to standard output, at once."""
    sys.stdout.write("".join(line + "\n" for line in lines))
    sys.stdout.flush()


def run_with(command: str) -> Tell:
    """Run a command in a shell for each change, with its lines on standard input."""

    def run(lines: list[str]) -> None:
        done = subprocess.run(command, shell=True, input="".join(line + "\n" for line in lines), text=True, check=False)
        if done.returncode:
            raise Refused(f"{command!r} ended with status {done.returncode}: it is told again what it did not take.")

    return run


@contextmanager
def ends_with_its_reader() -> Iterator[None]:
    """End without complaint when told to, when nobody reads any more, or when the pipe on standard input ends.

    ExaBGP answers on that pipe, and closes it when it ends; what it says is of no use here.
    """
    signal.signal(signal.SIGTERM, _end)
    if _is_pipe():
        threading.Thread(target=_drain, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        raise SystemExit(0) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to be flushed into the pipe
        raise SystemExit(0) from None


def _end(number: int, frame: object) -> None:
    raise SystemExit(0)


def _is_pipe() -> bool:
    mode = os.fstat(0).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _drain() -> None:
    while os.read(0, 65536):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
