"""The merged flats as a table; the first who needs them fills it."""

import sqlalchemy as sa
from alembic import op

revision = "0030_flats"
down_revision = "0029_cards"
branch_labels = None
depends_on = None

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_FLOATS = (
    "price_eur", "price_least", "price_most", "eur_sqm", "area_sqm", "area_net_sqm", "metro_least",
    "metro_most", "metro_metres_least", "metro_metres_most", "lat", "lon", "gone_at", "new_at", "saving_eur",
)  # fmt: skip
_NUMBERS = ("rooms", "bathrooms", "floor", "floors_total", "year_built")
_TEXTS = ("city", "district", "neighbourhood", "construction", "condition", "furnishing", "act")
_LISTS = ("heating", "orientation", "sites", "sellers", "flags")


def upgrade() -> None:
    """Make both tables, empty, and indexes for what pages ask: who was seen last, and whose price moved."""
    op.create_table(
        "flats",
        sa.Column("property_id", _ID, autoincrement=False, nullable=False),
        sa.Column("digest", sa.String(32), nullable=False),
        sa.Column("revision", _ID, nullable=False),
        sa.Column("deal", sa.String(10)),
        sa.Column("property_type", sa.String(20)),
        *(sa.Column(name, sa.Float) for name in _FLOATS),
        *(sa.Column(name, sa.Integer) for name in _NUMBERS),
        *(sa.Column(name, sa.Text) for name in _TEXTS),
        *(sa.Column(name, sa.Text, nullable=False) for name in _LISTS),
        *(sa.Column(name, sa.Boolean) for name in ("balcony", "parking", "elevator")),
        *(sa.Column(name, sa.Boolean, nullable=False) for name in ("offered", "contradicted", "without_vat")),
        *(sa.Column(name, sa.Float, nullable=False) for name in ("first_seen_at", "since_at")),
        sa.PrimaryKeyConstraint("property_id", name="pk_flats"),
    )
    op.create_index("ix_flats_new_at", "flats", ["new_at"])
    op.create_index("ix_flats_saving_eur", "flats", ["saving_eur"])
    op.create_index("ix_listings_site_last_seen_at", "listings", ["site", "last_seen_at"])
    moved = sa.column("kind", sa.String) == "price"
    op.create_index(
        "ix_price_points_moved", "price_points", ["seen_at"], sqlite_where=moved, postgresql_where=moved
    )
    op.create_table(
        "flat_contents",
        sa.Column("property_id", _ID, autoincrement=False, nullable=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("property_id", name="pk_flat_contents"),
    )
