"""The first start: an address space and an administrator, once, whichever node comes first."""

import asyncio
import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

from tenure.app.directory import ADMIN_TOKEN, keep_names
from tenure.model.answers import Failure
from tenure.model.uses import CreateToken, CreateVrf, Submission, Together
from tenure.service.door import Submit
from tenure.service.frames import error_of

_PREFIX: Final = "tnr_"


async def seed(submit: Submit, directory: Path) -> None:
    """Make the vrf `default` and the token `admin`, whose secret is written to `<data>/admin-token` alone.

    The secret is in its file before its digest is in the ledger, so that a crash between the two locks nobody out; a
    secret that such a crash left is taken again. Where another node was first, its directory has the file.

    Raises:
        TenureError: The store cannot be written.
    """
    path = directory / ADMIN_TOKEN
    secret = _secret(path)
    uses = (
        CreateVrf(name="default"),
        CreateToken(name="admin", role="admin", digest=hashlib.sha256(secret.encode()).digest()),
    )
    asked = Submission(use=Together(uses=uses), actor="tenure", source="first start")
    (reply,) = await asyncio.wrap_future(submit([asked]))
    if not isinstance(reply.answer, Failure):
        return
    path.unlink()
    if reply.answer.code not in ("conflict", "in_use", "overlap", "already_allocated"):
        raise error_of(reply.answer)


def _secret(path: Path) -> str:
    if path.exists():
        return path.read_text("ascii").strip()
    secret = _PREFIX + secrets.token_urlsafe(32)
    written = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(written, "w") as file:
        file.write(secret + "\n")
        file.flush()
        os.fsync(file.fileno())
    keep_names(path.parent)
    return secret
