"""Secrets as the store keeps them: encrypted, with a key that is a file of the data directory and nowhere else."""

import os
import secrets
from pathlib import Path
from typing import Final

from cryptography.fernet import Fernet, InvalidToken

from tenure.errors import NotPermitted

SECRET_KEY: Final = "secret-key"
"""The file's name. Nodes that share a database need the same one."""


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
    def open_or_make(cls, directory: Path) -> "Sealer":
        """The sealer of a data directory; its key is made, with file mode 0600, where there is none.

        Processes that come at once get the same one.

        Raises:
            NotPermitted: The file cannot be read or made, or is no key.
        """
        path = directory / SECRET_KEY
        try:
            if not path.exists():
                _make(path)
            return cls(path.read_bytes().strip(), path)
        except OSError as error:
            raise NotPermitted(f"The secrets' key {path} cannot be used: {error.strerror}.") from None

    def seal(self, secret: bytes) -> bytes:
        """Encrypt and authenticate a secret; twice the same secret is not twice the same result."""
        return self._fernet.encrypt(secret)

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
