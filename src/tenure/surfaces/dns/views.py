"""Which zones an asker sees: those of one vrf, chosen by the listener asked or by the key that it signs with."""

from collections.abc import Collection, Iterable

from tenure.surfaces.dns.served import ServedZone
from tenure.surfaces.dns.table import ZoneTable
from tenure.surfaces.dns.tsig import Key


class Views:
    """The tables of all vrfs that have zones, and the keys that are known. Whoever loads zones changes it.

    Attributes:
        tables: By the vrf's id.
        keys: By the key's name in wire form, lower case.
    """

    def __init__(self) -> None:
        self.tables: dict[str, ZoneTable] = {}
        self.keys: dict[bytes, Key] = {}

    def zones(self, vrf: str) -> Collection[ServedZone]:
        """The zones of a vrf."""
        return self.tables[vrf].zones.values() if vrf in self.tables else ()

    def know(self, keys: Iterable[Key]) -> None:
        """Know these keys, and those of before no longer."""
        self.keys = {key.name: key for key in keys}


class View:
    """What is answered from at one listener. `vrf` and `table` change when the vrf that it serves does.

    Attributes:
        vrf: The vrf's id; nothing while it serves none.
        table: Its zones.
    """

    def __init__(self, views: Views, vrf: str = "") -> None:
        self._views = views
        self.show(vrf)

    def show(self, vrf: str) -> None:
        """Serve this vrf from now on."""
        self.vrf = vrf
        self.table = self._table(vrf)

    def signed(self, key: Key) -> tuple[str, ZoneTable]:
        """The vrf and the zones for whoever signs with `key`."""
        if key.vrf is None or key.vrf == self.vrf:
            return self.vrf, self.table
        return key.vrf, self._table(key.vrf)

    def _table(self, vrf: str) -> ZoneTable:
        return self._views.tables.get(vrf) or ZoneTable()
