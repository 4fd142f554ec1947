"""What this process remembers of committed state, until the feed says that it changed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from tenure.model.access import Token
from tenure.service.access import digest_of
from tenure.surfaces.api.problems import Unauthenticated

if TYPE_CHECKING:
    from tenure.surfaces.api.backing import Backing

_MOST_TOKENS: Final = 4096


class Names:
    """Names by id of what answers mention most, remembered until the feed says that one changed."""

    def __init__(self, backing: "Backing") -> None:
        self._backing = backing
        self.vrfs: dict[str, str] = {}
        self.networks: dict[str, str] = {}
        self.locations: dict[str, str] = {}

    async def know(
        self, *, vrfs: Iterable[str] = (), networks: Iterable[str] = (), locations: Iterable[str] = ()
    ) -> None:
        """Read the names that are not known yet; what is gone keeps the last that it had."""
        asked = ((self.vrfs, {*vrfs}), (self.networks, {*networks}), (self.locations, {*locations}))
        missing = {id_ for known, ids in asked for id_ in ids - known.keys()}
        if missing:
            found = await self._backing.read(self._backing.committed.reads.called, missing)
            for known, ids in asked:
                known.update({id_: found.get(id_, id_) for id_ in ids & missing})

    def forget(self) -> None:
        """Read them all again when they are next needed."""
        self.vrfs, self.networks, self.locations = {}, {}, {}


class Tokens:
    """Tokens by the SHA-256 of their secrets, remembered until the feed says that they changed."""

    def __init__(self, backing: "Backing") -> None:
        self._backing = backing
        self._known: dict[bytes, Token] = {}
        self._generation = 0

    async def bearer(self, authorization: str | None) -> Token:
        """The token that a request carries.

        Raises:
            Unauthenticated: None, or one that is not known; which of the two is not told by its timing:
                digests are looked up, never secrets.
        """
        scheme, _, secret = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Unauthenticated("Send Authorization: Bearer and a token.")
        digest = digest_of(secret.strip())
        known = self._known.get(digest)
        return known if known is not None else await self._look_up(digest)

    def forget(self, token: str | None = None) -> None:
        """Forget one token by its id, or all: the next request reads them again."""
        self._generation += 1
        self._known = {} if token is None else {d: t for d, t in self._known.items() if t.id != token}

    async def _look_up(self, digest: bytes) -> Token:
        generation = self._generation
        token = await self._backing.read(self._backing.committed.reads.token_by_digest, digest)
        if token is None:
            raise Unauthenticated("This token is not known here; it may have been revoked.")
        if generation == self._generation:  # a revocation may have passed the read
            if len(self._known) >= _MOST_TOKENS:
                self._known.clear()
            self._known[digest] = token
        return token
