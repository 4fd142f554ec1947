"""Those who replicate zones, as the ledger has them: who may take zones, with which key, and who is told."""

import logging
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from tenure.errors import TenureError
from tenure.model.dnsdata import Secondary, TsigKey
from tenure.naming.hostnames import wire
from tenure.surfaces.dns import tsig
from tenure.surfaces.dns.access import Access
from tenure.surfaces.dns.followers import Followers
from tenure.surfaces.dns.notify import Notifier
from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.tsig import Key
from tenure.surfaces.dns.views import Views

log = logging.getLogger(__name__)


class Opened(NamedTuple):
    """Keys with their secrets, and names of those that cannot be opened here, with the reason."""

    keys: tuple[Key, ...]
    closed: dict[str, str]


class Correspondents:
    """Knows the secondaries and their keys, and passes on what happens to zones.

    Args:
        directory: Where the key to secrets is.

    Attributes:
        closed: Names of keys that cannot be opened here. Secondaries that have to sign with one get no zones.
    """

    def __init__(self, directory: Path, views: Views, access: Access, notifier: Notifier, followers: Followers) -> None:
        self._directory = directory
        self._views = views
        self._access = access
        self._notifier = notifier
        self._followers = followers
        self.closed: dict[str, str] = {}

    def opened(self, sealed: Iterable[tuple[TsigKey, bytes]]) -> Opened:
        """Open keys. Takes some milliseconds, the first time more, and is for any thread."""
        keys, closed = [], {}
        for key, secret in sealed:
            try:
                clear = self._opened(secret)
            except TenureError as refused:
                closed[key.name] = refused.message
            else:
                keys.append(Key(key.id, wire(key.name), tsig.algorithm(key.algorithm), clear, key.vrf))
        return Opened(tuple(keys), closed)

    def know(self, keys: Opened, secondaries: Iterable[Secondary]) -> None:
        """Know these, and nobody else."""
        for name in keys.closed.keys() - self.closed.keys():
            log.error("a TSIG key cannot be opened", extra={"key": name, "reason": keys.closed[name]})
        self.closed = keys.closed
        found = {key.id: key for key in keys.keys}
        self._views.know(keys.keys)
        known = tuple(secondaries)
        self._access.admit(known)
        self._followers.know(known)
        usable = ((each, None if each.key is None else found[each.key]) for each in known if each.key in (None, *found))
        self._notifier.know(usable)

    def tell(self, served: ServedZone) -> None:
        """A zone has another serial."""
        self._notifier.tell(served)
        self._followers.tell(served)

    def forget(self, served: ServedZone) -> None:
        """A zone went, or is about to be put again."""
        self._notifier.forget(served)
        self._followers.forget(served)

    def pause(self) -> None:
        """Tell nobody anything."""
        self._notifier.on = False

    def resume(self) -> None:
        """Tell everybody of everything, unless nothing was paused."""
        if not self._notifier.on:
            self._notifier.start()
            for served in chain.from_iterable(map(self._views.zones, self._views.tables)):
                if not served.closed:
                    self._followers.tell(served)

    def _opened(self, secret: bytes) -> bytes:
        from tenure.service.sealing import Sealer  # many sites have no key, and it takes its time to import

        return Sealer.existing(self._directory).open(secret)
