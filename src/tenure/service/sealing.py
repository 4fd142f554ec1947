"""Secrets as the store keeps them: encrypted, with a key that is a file of the data directory and nowhere else."""

import logging
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken

from tenure.errors import Conflict, NotPermitted
from tenure.store.interface import Store

log = logging.getLogger(__name__)

SECRET_KEY: Final = "secret-key"
"""The file's name. Nodes that share a database need the same one."""
_OTHERS: Final = 0o077
"""Rights of others than the owner."""


class Sealer:
    """Seals and opens secrets.

    Args:
        key: 32 random octets in URL-safe base64.
        path: Where it is from, for what is said when something cannot be opened.
    """

    def __init__(self, key: bytes, path: Path) -> None:
        self._path = path
        try:
            self._fernet = Fernet(key)
        except ValueError:
            raise NotPermitted(f"{path} is no key: it has to hold 32 octets in URL-safe base64.") from None

    @classmethod
    def existing(cls, directory: Path) -> "Sealer":
        """The sealer of a data directory. Where others could read its file, they cannot any more.

        Raises:
            NotPermitted: The file is missing, cannot be used or be kept from others, or is no key.
        """
        path = directory / SECRET_KEY
        try:
            if stat.S_IMODE(path.stat().st_mode) & _OTHERS:
                path.chmod(0o600)
                log.warning("others had rights on the secrets' key; its mode is 0600 now", extra={"path": str(path)})
            return cls(path.read_bytes().strip(), path)
        except FileNotFoundError:
            raise NotPermitted(
                f"The secrets' key {path} is missing: put the file back, "
                "or delete the TSIG keys that were sealed with it and make them anew."
            ) from None
        except OSError as error:
            raise NotPermitted(f"The secrets' key {path} cannot be used: {error.strerror}.") from None

    @classmethod
    def open_or_make(cls, directory: Path) -> "Sealer":
        """The sealer of a data directory of a store that has no secrets yet.

        Its key is made, with file mode 0600, where there is none. Processes that come at once get the same one.

        Raises:
            NotPermitted: As of `existing`, or the file cannot be made.
        """
        path = directory / SECRET_KEY
        try:
            if not path.exists():
                _make(path)
        except OSError as error:
            raise NotPermitted(f"The secrets' key {path} cannot be used: {error.strerror}.") from None
        return cls.existing(directory)

    def seal(self, secret: bytes) -> bytes:
        """Encrypt and authenticate a secret; twice the same secret is not twice the same result."""
        return self._fernet.encrypt(secret)

    def opens(self, sealed: bytes) -> bool:
        """Whether that was sealed with this key."""
        try:
            self._fernet.decrypt(sealed)
        except InvalidToken:
            return False
        return True

    def open(self, sealed: bytes) -> bytes:
        """What was sealed.

        Raises:
            NotPermitted: It was sealed with another key, or is no seal.
        """
        try:
            return self._fernet.decrypt(sealed)
        except InvalidToken:
            raise NotPermitted(
                f"A secret was sealed with another key than that in {self._path}: "
                "copy that file from the node that made the secret, or make the secret anew."
            ) from None


def seal_among(directory: Path, store: Store, secret: bytes) -> bytes:
    """Seal a secret that joins those of a store: one key opens all of them, so none is made where there are some.

    Raises:
        Conflict: There are some, and the data directory's key is missing, or does not open them all.
        NotPermitted: There is none, and the key cannot be made.
    """
    others = dict(_sealed(store))
    if not others:
        return Sealer.open_or_make(directory).seal(secret)
    try:
        sealer = Sealer.existing(directory)
    except NotPermitted as refused:
        raise Conflict(refused.message) from None
    for name, sealed in others.items():
        if not sealer.opens(sealed):
            raise Conflict(
                f"The TSIG key {name} was sealed with another key than that in {directory / SECRET_KEY}: "
                f"put back the file of the node that made {name}, or delete {name}."
            )
    return sealer.seal(secret)


def _sealed(store: Store) -> Iterator[tuple[str, bytes]]:
    """The names of a store's TSIG keys, with their secrets."""
    after: str | None = ""
    while after is not None:
        page = store.reads.tsig_keys(after)
        for key in page.items:
            sealed = store.reads.sealed(key.id)
            if sealed is not None:
                yield key.name, sealed
        after = page.next


def _make(path: Path) -> None:
    """Whole or not at all, and never over one that another process made meanwhile."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(Fernet.generate_key() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        draft.unlink()
