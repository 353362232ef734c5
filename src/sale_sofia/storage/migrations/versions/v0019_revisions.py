"""One answer to what changed: a number for every change of an advert, and how far each follower has read."""

import sqlalchemy as sa
from alembic import op

revision = "0019_revisions"
down_revision = "0018_tried"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Every advert is touched, and no follower has read anything: each looks at all once more."""
    op.create_table(
        "revision_counter",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("value", _ID, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_revision_counter"),
    )
    op.create_table(
        "revisions",
        sa.Column("listing_id", _ID, nullable=False),
        sa.Column("revision", _ID, nullable=False),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_revisions_listing_id"),
        sa.PrimaryKeyConstraint("listing_id", name="pk_revisions"),
    )
    op.create_index("ix_revisions_revision", "revisions", ["revision"])
    op.create_table(
        "followers",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("revision", _ID, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_followers"),
    )
    op.execute("INSERT INTO revision_counter (id, value) SELECT 1, 1 WHERE EXISTS (SELECT 1 FROM listings)")
    op.execute("INSERT INTO revisions (listing_id, revision) SELECT id, 1 FROM listings")
    op.create_index("ix_scored_flats_neighbourhood", "scored_flats", ["neighbourhood"])
    op.drop_index("ix_listings_id_content_hash", "listings")
    op.drop_table("alert_seen")
    op.create_table(
        "alert_waiting",
        sa.Column("property_id", _ID, nullable=False),
        sa.ForeignKeyConstraint(["property_id"], ["listings.id"], name="fk_alert_waiting_property_id"),
        sa.PrimaryKeyConstraint("property_id", name="pk_alert_waiting"),
    )
