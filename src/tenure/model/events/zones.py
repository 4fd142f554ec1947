"""What happened to zones, to the records that people make, and to those who replicate them."""

from tenure.model.dnsdata import Secondary, TsigKey, Zone, ZoneRecord
from tenure.model.events.happening import Happening, Subject


class ZoneCreated(Happening, frozen=True, kw_only=True, tag="tenure.zone.created"):
    """A network, a subnet or a person brought a zone into being."""

    zone: Zone

    def subject(self) -> Subject:
        """The zone."""
        return Subject(vrf=self.zone.vrf, zone=self.zone.id)


class ZoneReshaped(Happening, frozen=True, kw_only=True, tag="tenure.zone.reshaped"):
    """All of a zone changed at once (its TTL, say): whoever follows it takes it whole."""

    zone: Zone

    def subject(self) -> Subject:
        """The zone."""
        return Subject(vrf=self.zone.vrf, zone=self.zone.id)


class ZoneDeleted(Happening, frozen=True, kw_only=True, tag="tenure.zone.deleted"):
    """Nobody needs a zone any more."""

    zone: Zone

    def subject(self) -> Subject:
        """The zone."""
        return Subject(vrf=self.zone.vrf, zone=self.zone.id)


class RecordCreated(Happening, frozen=True, kw_only=True, tag="tenure.record.created"):
    """A person made a record; `doubles`: an allocation says the same already."""

    record: ZoneRecord
    doubles: bool = False

    def subject(self) -> Subject:
        """Its zone."""
        return Subject(zone=self.record.zone)


class RecordChanged(Happening, frozen=True, kw_only=True, tag="tenure.record.changed"):
    """A record was changed; `before` is as it was. `doubled` and `doubles`: an allocation says the same as that."""

    before: ZoneRecord
    record: ZoneRecord
    doubled: bool = False
    doubles: bool = False

    def subject(self) -> Subject:
        """Its zone."""
        return Subject(zone=self.record.zone)


class RecordDeleted(Happening, frozen=True, kw_only=True, tag="tenure.record.deleted"):
    """A record that a person had made is gone; `doubled`: an allocation says the same still."""

    record: ZoneRecord
    doubled: bool = False

    def subject(self) -> Subject:
        """Its zone."""
        return Subject(zone=self.record.zone)


class TsigKeyCreated(Happening, frozen=True, kw_only=True, tag="tenure.tsig_key.created"):
    """A key was made; its secret is not here."""

    key: TsigKey


class TsigKeyDeleted(Happening, frozen=True, kw_only=True, tag="tenure.tsig_key.deleted"):
    """A key is good no longer."""

    key: TsigKey


class SecondaryCreated(Happening, frozen=True, kw_only=True, tag="tenure.secondary.created"):
    """A server replicates zones from now on."""

    secondary: Secondary

    def subject(self) -> Subject:
        """The vrf that it replicates."""
        return Subject(vrf=self.secondary.vrf)


class SecondaryChanged(Happening, frozen=True, kw_only=True, tag="tenure.secondary.changed"):
    """A secondary was changed; `secondary` is as it is now."""

    secondary: Secondary

    def subject(self) -> Subject:
        """The vrf that it replicates."""
        return Subject(vrf=self.secondary.vrf)


class SecondaryDeleted(Happening, frozen=True, kw_only=True, tag="tenure.secondary.deleted"):
    """A server replicates zones no longer."""

    secondary: Secondary

    def subject(self) -> Subject:
        """The vrf that it replicated."""
        return Subject(vrf=self.secondary.vrf)
