"""The data directory: held by one `tenure serve` at a time, for life."""

import fcntl
import os
from pathlib import Path
from typing import Final

from tenure.errors import InUse, NotPermitted

LEDGER_SOCKET: Final = "ledger.sock"
VIEWS_SOCKET: Final = "views.sock"
ADMIN_TOKEN: Final = "admin-token"
_LOCK: Final = "lock"


class DataDirectory:
    """A data directory, and the lock on it.

    The lock is one open file, which the processes inherit: it is free when the last of them has ended.

    Attributes:
        lock: Descriptor of the lock; -1 before it is taken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = -1
        self._made = False
        self._found: set[str] = set()

    def check(self) -> None:
        """Take the lock if there is something to lock; writes nothing.

        Raises:
            InUse: Another one has it.
            NotPermitted: The directory cannot be used.
        """
        try:
            here = (self.path / _LOCK).exists()
        except OSError as error:
            raise self._refusal(error) from None
        if here:
            self.take()

    def take(self) -> None:
        """Make the directory if it is not there, and take the lock; it may be taken already. Raises as `check`."""
        if self.lock >= 0:
            return
        try:
            if not self.path.is_dir():
                _make(self.path)
                self._made = True
            self._found = {each.name for each in self.path.iterdir()}
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._refusal(error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise self._in_use() from None
        if not self._is_here(lock):
            os.close(lock)
            raise self._in_use()
        self.lock = lock

    def undo(self) -> None:
        """Leave no trace of a start that came to nothing: what was made for it and stayed empty is removed."""
        if _LOCK in self._found or not {each.name for each in self.path.iterdir()} <= {*self._found, _LOCK}:
            return
        (self.path / _LOCK).unlink()
        if self._made:
            self.path.rmdir()

    def _is_here(self, lock: int) -> bool:
        """Whether what was locked is still what is in the directory: a start that came to nothing removes it."""
        try:
            return os.path.samestat(os.fstat(lock), (self.path / _LOCK).stat())
        except FileNotFoundError:
            return False

    def _in_use(self) -> InUse:
        return InUse(f"Another tenure serve uses the data directory {self.path}.", holders=[str(self.path)], count=1)

    def _refusal(self, error: OSError) -> NotPermitted:
        return NotPermitted(f"The data directory {self.path} cannot be used: {error.strerror}.")


def keep_names(directory: Path) -> None:
    """Make the names in a directory outlive a loss of power, as `fsync` of a file does not."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _make(path: Path) -> None:
    """Make a directory and those above it, for good: what is synced in a directory whose name is lost is lost."""
    absolute = path.absolute()
    missing = [each for each in (absolute, *absolute.parents) if not each.is_dir()]
    absolute.mkdir(mode=0o700, parents=True)
    for each in missing:
        keep_names(each.parent)
