"""Secrets of tokens: how they are made, and what of them is kept."""

import hashlib
import secrets
from typing import Final

_PREFIX: Final = "tenure_"
_BYTES: Final = 32


def fresh_secret() -> str:
    """A new token's secret: 256 bits of luck, after a word by which scanners of leaked secrets know it."""
    return _PREFIX + secrets.token_urlsafe(_BYTES)


def digest_of(secret: str) -> bytes:
    """All that is kept of a secret: its SHA-256. It is long and random, so that no salt is needed."""
    return hashlib.sha256(secret.encode()).digest()
