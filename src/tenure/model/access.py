"""Who may ask."""

from datetime import datetime

import msgspec

from tenure.model.policy import Role


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """A bearer token, without its secret."""

    id: str
    name: str
    role: Role
    since: datetime
    revision: int = 1
