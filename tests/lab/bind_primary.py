"""A BIND that is the primary of zones: what Tenure is measured beside, and what secondaries are tried with."""

from pathlib import Path
from typing import Self

from tests.lab.secondaries import At, Bind, Feed, Key, bind_key, bind_options


class BindPrimary(Bind):
    """A running primary that takes updates (RFC 2136) from this machine, or only with a key if one is given.

    Args:
        zones: The text of each zone's file, by name.
        notified: Whom it tells of changes, beside the name servers of the zone.
    """

    def __init__(
        self, directory: Path, at: At, zones: dict[str, str], key: Key | None = None, notified: tuple[At, ...] = ()
    ) -> None:
        super().__init__(directory, at, Feed(at, key))
        self.zones, self.notified = zones, notified

    def start(self) -> Self:
        """Run it; returns when it has loaded its zones, which is later than its first answer."""
        super().start()
        for zone in self.zones:
            self._until(lambda zone=zone: self.serial(zone) is not None, 120, f"has loaded {zone}")  # type: ignore[misc]
        return self

    def _configure(self) -> None:
        key = self.feed.key
        trusted = f'{{ key "{key.name}"; }}' if key else "{ 127.0.0.0/8; }"
        told = "; ".join(f"{each.address} port {each.port}" for each in self.notified)
        more = f"also-notify {{ {told}; }};" if told else ""
        text = bind_key(key) + bind_options(self.directory, self.at, more)
        for zone, lines in self.zones.items():
            file = self.directory / f"{zone}.db"
            if not file.exists():
                file.write_text(lines)
            rights = f"allow-update {trusted}; allow-transfer {trusted};"
            text += f'zone "{zone}" {{ type primary; file "{file.name}"; {rights} }};\n'
        (self.directory / "named.conf").write_text(text)
