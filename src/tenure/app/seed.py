"""The first start: an address space and an administrator, once, whichever node comes first."""

import asyncio
import os
import re
from pathlib import Path
from typing import Final

from tenure.app.directory import ADMIN_TOKEN, keep_names
from tenure.errors import NotPermitted
from tenure.model.answers import Failure
from tenure.model.uses import CreateToken, CreateVrf, Submission, Together
from tenure.service.access import digest_of, fresh_secret
from tenure.service.door import Submit
from tenure.service.frames import error_of

_TOKEN: Final = re.compile(rb"[!-~]{16,255}")


async def seed(submit: Submit, directory: Path) -> None:
    """Make the vrf `default` and the token `admin`, whose secret is written to `<data>/admin-token` alone.

    The secret is in its file before its digest is in the ledger, so that a crash between the two locks nobody out; a
    secret that such a crash left is taken again. Where another node was first, its directory has the file.

    Raises:
        NotPermitted: The file cannot be read or written, or holds something else.
        TenureError: The store cannot be written.
    """
    path = directory / ADMIN_TOKEN
    secret = _secret(path)
    uses = (
        CreateVrf(name="default"),
        CreateToken(name="admin", role="admin", digest=digest_of(secret)),
    )
    asked = Submission(use=Together(uses=uses), actor="tenure", source="first start")
    (reply,) = await asyncio.wrap_future(submit([asked]))
    if not isinstance(reply.answer, Failure):
        return
    path.unlink()
    if reply.answer.code not in ("conflict", "in_use", "overlap", "already_allocated"):
        raise error_of(reply.answer)


def check(directory: Path) -> None:
    """See, before anything is made, that a secret which is there already can be taken.

    Raises:
        NotPermitted: It cannot.
    """
    path = directory / ADMIN_TOKEN
    if path.exists():
        _secret(path)


def _secret(path: Path) -> str:
    """The secret that is in the file, or a fresh one that is put there."""
    try:
        if path.exists():
            return _left(path)
        secret = fresh_secret()
        _write(path, secret)
    except OSError as error:
        raise NotPermitted(f"The admin token {path} cannot be used: {error.strerror}.") from None
    return secret


def _left(path: Path) -> str:
    secret = path.read_bytes().strip()
    if not _TOKEN.fullmatch(secret):
        raise NotPermitted(f"The admin token {path} has no token in it; remove the file, and one is made.")
    return secret.decode("ascii")


def _write(path: Path, secret: str) -> None:
    """All of it, or nothing: half a secret would lock everybody out."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    written = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(written, "w") as file:
        file.write(secret + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    keep_names(path.parent)
