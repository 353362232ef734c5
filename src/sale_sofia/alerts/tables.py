"""The tables of alerts: rules, the outbox, and what was sent."""

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    text,
)

from sale_sofia.storage.tables import Id, Sentence, metadata

# Since when a rule watches, and its fingerprint: a new or changed rule starts silently.
alert_rules = Table(
    "alert_rules",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("since", Float, nullable=False),
)

# One row: the number of looks. Of two concurrent looks the later starts again.
alert_looks = Table(
    "alert_looks",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("looked_at", Float, nullable=False),
)

# Properties that changed while their portals were held back: looked at when that is over.
alert_waiting = Table(
    "alert_waiting", metadata, Column("property_id", ForeignKey("listings.id"), primary_key=True)
)

# The adverts whose flat a rule knows, with the price a cut is measured from. It goes by adverts and not by
# properties: these are joined and parted, which must not tell anything again.
alert_watch = Table(
    "alert_watch",
    metadata,
    Column("rule", String(80), primary_key=True),
    Column("listing_id", ForeignKey("listings.id"), primary_key=True),
    Column("price_eur", Float),
    Column("vat", String(20)),
    Column("gone_at", Float),
    Index(None, "listing_id"),
)

# Everything that was told or is to be told, each item once.
alert_items = Table(
    "alert_items",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("key", String(200), nullable=False),
    Column("kind", String(20), nullable=False),
    Column("rules", JSON, nullable=False),
    Column("property_id", Id),
    Column("incident_id", ForeignKey("incidents.id")),
    Column("facts", JSON, nullable=False),
    Column("decided_at", Float, nullable=False),
    UniqueConstraint("key"),
    Index(None, "incident_id"),
)

# The outbox, and the log of what was sent. A channel is only named here: its URL holds secrets.
alert_messages = Table(
    "alert_messages",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("uid", String(40), nullable=False),
    Column("channel", String(80), nullable=False),
    Column("audience", String(10), nullable=False),
    Column("urgent", Boolean, nullable=False),
    Column("digest", Boolean, nullable=False),
    # The message that must be out first: an incident's beginning, before its end.
    Column("after_id", Id),
    Column("state", String(10), nullable=False),
    Column("made_at", Float, nullable=False),
    Column("not_before", Float, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # How often its sender died while holding the lease: the message may have arrived.
    Column("breaks", Integer, nullable=False, server_default=text("0")),
    Column("token", String(40)),
    Column("lease_until", Float),
    Column("first_tried_at", Float),
    Column("sent_at", Float),
    Column("last_error", Sentence),
    UniqueConstraint("uid"),
    Index(None, "state", "not_before"),
    Index(None, "channel", "state"),
)

alert_message_items = Table(
    "alert_message_items",
    metadata,
    Column("message_id", ForeignKey("alert_messages.id"), primary_key=True),
    Column("item_id", ForeignKey("alert_items.id"), primary_key=True),
    Index(None, "item_id"),
)

# One row: the key that signs links in messages. With it one could only keep and reject flats.
link_keys = Table(
    "link_keys",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("key", String(64), nullable=False),
)

# Used links, each until it would expire anyway.
spent_links = Table(
    "spent_links",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("ends_at", Float, nullable=False),
)
