"""The tables. Inventory, claims and allocations are closed with `until`, never deleted; times are microseconds.

An index that a plain claim touches costs every claim, so most are partial: over what is open, over what is
closed, or over the few rows that have the column at all.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

FORMAT: Final = 5
"""Counts the schema's changes. A node whose number differs from the database's does not write."""

DOTTED: Final = "until IS NULL AND hostname IS NOT NULL AND replace(hostname, '.', '') <> hostname"
"""Few host names have several labels; only they can lie below another name."""

OF_CLAIMS: Final = (
    "kind IN ('tenure.claim.deferred', 'tenure.claim.bound', 'tenure.claim.rebound', 'tenure.claim.settled',"
    " 'tenure.claim.released', 'tenure.claim.changed', 'tenure.claim.expiring', 'tenure.address.moved',"
    " 'tenure.address.attached', 'tenure.address.detached')"
)
"""Entries of the ledger that change claims which are there: what an index holds."""

OF_MACHINES: Final = (
    "kind IN ('tenure.machine.created', 'tenure.machine.enlisted', 'tenure.machine.changed',"
    " 'tenure.interface.created', 'tenure.interface.changed')"
)
OF_NETWORKS: Final = "kind IN ('tenure.network.created', 'tenure.network.changed')"
"""Entries that say what machines, interfaces and networks are called: what an index holds."""

metadata = MetaData()

_TEXT = Text().with_variant(Text(collation="C"), "postgresql")  # bytewise order, so that cursors mean the same
_COUNTED = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by themselves in INTEGER only


def _text(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, _TEXT, nullable=null)


def _bytes(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, LargeBinary, nullable=null)


def _number(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, BigInteger, nullable=null)


def _flag(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, Boolean, nullable=null)


def _row_number() -> Column[Any]:
    return Column("number", _COUNTED, primary_key=True, autoincrement=True)


def _where(name: str, where: str, *columns: str, unique: bool = False) -> Index:
    condition = text(where)
    return Index(name, *columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


def _open(name: str, *columns: str, unique: bool = False) -> Index:
    return _where(name, "until IS NULL", *columns, unique=unique)


def _inventory(name: str, *parts: Column[Any] | Index) -> Table:
    """A table of values: the value as JSON in `body`, and the columns by which it is found."""
    return Table(
        name,
        metadata,
        Column("id", _TEXT, primary_key=True),
        *(part for part in parts if isinstance(part, Column)),
        _text("body"),
        _number("revision"),
        _number("since"),
        _number("until", null=True),
        *(part for part in parts if isinstance(part, Index)),
    )


ledger = Table(
    "ledger",
    metadata,
    Column("sequence", _COUNTED, primary_key=True, autoincrement=False),
    _text("batch"),
    _text("change"),
    _number("time"),
    _text("actor"),
    _text("source"),
    _text("request_id"),
    _text("project", null=True),
    _text("kind"),
    _text("vrf", null=True),
    _bytes("address", null=True),
    _text("claim", null=True),
    _text("machine", null=True),
    _text("zone", null=True),
    _text("body"),
    _where("ledger_address", "address IS NOT NULL", "address", "sequence"),
    _where("ledger_claim", OF_CLAIMS, "claim", "sequence"),
    _where("ledger_machine", OF_MACHINES, "machine", "sequence"),
    _where("ledger_network", OF_NETWORKS, "sequence"),
)

vrfs = _inventory("vrfs", _text("name"), _open("vrfs_name", "name", unique=True))
locations = _inventory(
    "locations",
    _text("name"),
    _text("kind"),
    _text("parent", null=True),
    _open("locations_name", "name", unique=True),
    _open("locations_parent", "parent"),
)
networks = _inventory("networks", _text("name"), _text("vrf"), _open("networks_name", "name", unique=True))
subnets = _inventory(
    "subnets",
    _text("network"),
    _text("vrf"),
    _bytes("prefix"),
    _open("subnets_prefix", "vrf", "prefix", unique=True),
    _open("subnets_network", "network", "id"),
)
ranges = _inventory("ranges", _text("subnet"), _bytes("first"), _bytes("last"), _open("ranges_subnet", "subnet", "id"))
machines = _inventory(
    "machines",
    _text("name"),
    _text("kind"),
    _text("location", null=True),
    _text("state", null=True),
    _text("harvest", null=True),
    _number("seen", null=True),
    _open("machines_name", "name", unique=True),
    _open("machines_location", "location", "id"),
)
interfaces = _inventory(
    "interfaces",
    _text("machine"),
    _text("mac"),
    _open("interfaces_mac", "mac", unique=True),
    _open("interfaces_machine", "machine"),
)
zones = _inventory(
    "zones", _text("vrf"), _text("name"), _number("serial"), _open("zones_name", "vrf", "name", unique=True)
)
records = _inventory(
    "records",
    _text("zone"),
    _text("owner"),
    _text("type"),
    _open("records_zone", "zone", "id"),
    _open("records_owner", "owner"),
)
"""What people made."""

tsig_keys = _inventory("tsig_keys", _text("name"), _bytes("sealed"), _open("tsig_keys_name", "name", unique=True))
"""`sealed`: the secret, encrypted."""

secondaries = _inventory("secondaries", _text("name"), _text("vrf"), _open("secondaries_name", "name", unique=True))
tokens = _inventory(
    "tokens",
    _text("name"),
    _bytes("digest"),
    _open("tokens_name", "name", unique=True),
    _open("tokens_digest", "digest", unique=True),
)

blocks = Table(
    "blocks",
    metadata,
    _row_number(),
    _text("subnet"),
    _bytes("prefix"),
    _text("kind"),
    _text("owner", null=True),
    _text("body"),
    _number("since"),
    _number("until", null=True),
    _open("blocks_prefix", "subnet", "prefix", "kind", unique=True),
    _open("blocks_owner", "owner", "number"),
)

claims = Table(
    "claims",
    metadata,
    Column("id", _TEXT, primary_key=True),
    _text("project"),
    _text("handle"),
    _text("network"),
    _text("host", null=True),
    _text("machine", null=True),
    _text("interface", null=True),
    _number("since"),
    _number("bound", null=True),
    _text("leaving", null=True),
    _number("settles", null=True),
    _number("until", null=True),
    _text("actor"),
    _text("request"),
    _number("revision"),
    _text("kept", null=True),
    _text("harvest", null=True),
    _number("expires", null=True),
    _flag("warned", null=True),
    _flag("static", null=True),
    _flag("queued", null=True),
    _text("more", null=True),
    _number("idle", null=True),
    _open("claims_handle", "handle", "project", unique=True),
    _open("claims_network", "network", "id"),
    _where("claims_host", "until IS NULL AND host IS NOT NULL", "host", "id"),
    _where("claims_machine", "until IS NULL AND machine IS NOT NULL", "machine", "id"),
    _where("claims_settling", "until IS NULL AND leaving IS NOT NULL", "settles"),
    _where("claims_last", "until IS NOT NULL AND project IN ('dhcp', 'machine')", "handle", "until"),
    _where("claims_pending", "until IS NULL AND bound IS NULL AND interface IS NOT NULL", "interface"),
    _where("claims_queued", "until IS NULL AND bound IS NULL AND queued IS NOT NULL", "network", "since", "id"),
    _where("claims_expiring", "until IS NULL AND expires IS NOT NULL", "expires"),
    _where("claims_unwarned", "until IS NULL AND expires IS NOT NULL AND warned IS NULL", "expires"),
    _where("claims_idle", "until IS NULL AND idle IS NOT NULL", "network", "idle", "id"),
)
"""Most claims have none of the columns behind `revision`. `harvest`: null inherits. `warned`, `static`: true or null.
`queued`: true where it waits in order. `more`: tags and custom fields as JSON. `idle`: of what a machine keeps for
life, while it is not deployed: since when it was neither seen nor given this.
"""

allocations = Table(
    "allocations",
    metadata,
    Column("id", _TEXT, primary_key=True),
    _text("claim"),
    _text("vrf"),
    _text("subnet"),
    _bytes("address"),
    Column("length", Integer, nullable=False),
    _number("since"),
    _text("hostname", null=True),
    _text("block", null=True),
    _text("title", null=True),
    _flag("lease"),
    _number("held_until", null=True),
    _number("until", null=True),
    _number("cooling_until", null=True),
    _text("standing", null=True),
    _text("behind", null=True),
    _text("replaces", null=True),
    _number("named_at", null=True),
    _text("more", null=True),
    _open("allocations_address", "vrf", "address", unique=True),
    _where("allocations_past", "until IS NOT NULL", "vrf", "address", "cooling_until"),
    Index("allocations_claim", "claim"),
    _open("allocations_subnet", "subnet", "address"),
    _where("allocations_loose", "until IS NULL AND NOT lease AND (title IS NULL OR title = 'borrowed')", "claim"),
    _where("allocations_hostname", "until IS NULL AND hostname IS NOT NULL", "hostname"),
    _where("allocations_dotted", DOTTED, "hostname"),
    _where("allocations_cooling", "cooling_until IS NOT NULL", "cooling_until"),
    _where("allocations_lease", "lease AND until IS NULL", "held_until"),
    _where("allocations_behind", "until IS NULL AND behind IS NOT NULL", "behind"),
    _where("allocations_replaces", "until IS NULL AND replaces IS NOT NULL", "replaces", unique=True),
    _where("allocations_naming", "until IS NULL AND named_at IS NOT NULL", "named_at"),
)
"""`standing`: null for the primary one. `more`: what few allocations have, as JSON."""

attachments = Table(
    "attachments",
    metadata,
    _row_number(),
    _text("allocation"),
    _text("interface"),
    _number("since"),
    _number("until", null=True),
    _open("attachments_allocation", "allocation", "interface", unique=True),
    _open("attachments_interface", "interface"),
    _where("attachments_past", "until IS NOT NULL", "allocation"),
)

observations = Table(
    "observations",
    metadata,
    _text("vrf"),
    _bytes("address"),
    _text("subnet"),
    _text("mac", null=True),
    _text("source"),
    _number("since"),
    _number("last"),
    _number("until"),
    _text("claim", null=True),
    PrimaryKeyConstraint("vrf", "address"),
    Index("observations_until", "until"),
    Index("observations_subnet", "subnet", "address"),
    Index("observations_mac", "mac"),
)
"""The latest of each address."""

labels = Table(
    "labels",
    metadata,
    _text("kind"),
    _text("label"),
    _text("thing"),
    PrimaryKeyConstraint("kind", "label", "thing"),
    Index("labels_thing", "thing"),
)
"""Words by which open things are found (`engine.labels`)."""

zone_changes = Table(
    "zone_changes",
    metadata,
    _text("zone"),
    _number("sequence"),
    _number("serial"),
    _text("removed"),
    _text("added"),
    PrimaryKeyConstraint("zone", "sequence"),
    Index("zone_changes_serial", "zone", "serial", "sequence"),
)

idempotency = Table(
    "idempotency",
    metadata,
    _text("actor"),
    _text("key"),
    Column("item", Integer, nullable=False),
    _bytes("digest"),
    _text("change"),
    _bytes("answer"),
    _number("time"),
    PrimaryKeyConstraint("actor", "key", "item"),
    Index("idempotency_time", "time"),
)

duties = Table(
    "duties",
    metadata,
    Column("name", _TEXT, primary_key=True),
    _text("owner"),
    _number("term"),
    _number("until"),
)

meta = Table("meta", metadata, Column("name", _TEXT, primary_key=True), _text("value"))
