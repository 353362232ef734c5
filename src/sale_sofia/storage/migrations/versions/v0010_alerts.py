"""Rules, messages to be sent, and what was sent."""

import sqlalchemy as sa
from alembic import op

revision = "0010_alerts"
down_revision = "0009_insights"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    _rules()
    _watch()
    _items()
    _messages()
    _message_items()


def _rules() -> None:
    op.create_table(
        "alert_rules",
        sa.Column("name", sa.String(80), nullable=False),
        sa.Column("fingerprint", sa.String(64), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_alert_rules"),
    )
    op.create_table(
        "alert_looks",
        sa.Column("id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("looked_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alert_looks"),
    )
    op.create_table(
        "alert_seen",
        sa.Column("property_id", _id_type(), nullable=False, autoincrement=False),
        sa.Column("digest", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("property_id", name="pk_alert_seen"),
    )


def _watch() -> None:
    op.create_table(
        "alert_watch",
        sa.Column("rule", sa.String(80), nullable=False),
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("price_eur", sa.Float),
        sa.Column("vat", sa.String(20)),
        sa.Column("gone_at", sa.Float),
        sa.PrimaryKeyConstraint("rule", "listing_id", name="pk_alert_watch"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_alert_watch_listing_id"),
    )
    op.create_index("ix_alert_watch_listing_id", "alert_watch", ["listing_id"])


def _items() -> None:
    op.create_table(
        "alert_items",
        sa.Column("id", _id_type(), autoincrement=True, nullable=False),
        sa.Column("key", sa.String(200), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("rules", sa.JSON, nullable=False),
        sa.Column("property_id", _id_type()),
        sa.Column("incident_id", _id_type()),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.Column("decided_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_alert_items"),
        sa.UniqueConstraint("key", name="uq_alert_items_key"),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"], name="fk_alert_items_incident_id"),
    )
    op.create_index("ix_alert_items_incident_id", "alert_items", ["incident_id"])


def _messages() -> None:
    op.create_table(
        "alert_messages",
        sa.Column("id", _id_type(), autoincrement=True, nullable=False),
        sa.Column("uid", sa.String(40), nullable=False),
        sa.Column("channel", sa.String(80), nullable=False),
        sa.Column("audience", sa.String(10), nullable=False),
        sa.Column("urgent", sa.Boolean, nullable=False),
        sa.Column("digest", sa.Boolean, nullable=False),
        sa.Column("after_id", _id_type()),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("not_before", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("breaks", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("token", sa.String(40)),
        sa.Column("lease_until", sa.Float),
        sa.Column("first_tried_at", sa.Float),
        sa.Column("sent_at", sa.Float),
        sa.Column("last_error", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_alert_messages"),
        sa.UniqueConstraint("uid", name="uq_alert_messages_uid"),
    )
    op.create_index("ix_alert_messages_state_not_before", "alert_messages", ["state", "not_before"])
    op.create_index("ix_alert_messages_channel_state", "alert_messages", ["channel", "state"])


def _message_items() -> None:
    op.create_table(
        "alert_message_items",
        sa.Column("message_id", _id_type(), nullable=False),
        sa.Column("item_id", _id_type(), nullable=False),
        sa.PrimaryKeyConstraint("message_id", "item_id", name="pk_alert_message_items"),
        sa.ForeignKeyConstraint(
            ["message_id"], ["alert_messages.id"], name="fk_alert_message_items_message_id"
        ),
        sa.ForeignKeyConstraint(["item_id"], ["alert_items.id"], name="fk_alert_message_items_item_id"),
    )
    op.create_index("ix_alert_message_items_item_id", "alert_message_items", ["item_id"])


def _id_type() -> sa.types.TypeEngine[int]:
    # Only an INTEGER key counts up by itself in SQLite.
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")
