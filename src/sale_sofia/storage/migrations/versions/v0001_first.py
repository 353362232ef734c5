"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001_first"
down_revision = None
branch_labels = None
depends_on = None

_LISTING_TEXTS = (
    "family_id", "deal", "property_type", "title", "description", "vat", "construction", "act_status",
    "furnishing", "condition", "city", "district", "neighbourhood", "street", "metro_station", "seller_kind",
    "seller_name", "posted_at", "updated_at",
)  # fmt: skip
_LISTING_NUMBERS = (
    "price_eur", "price_bgn", "previous_price_eur", "area_sqm", "area_net_sqm", "yard_sqm", "lat", "lon",
)  # fmt: skip
_LISTING_COUNTS = ("rooms", "floor", "floors_total", "year_built", "metro_distance_m", "views")
_LISTING_SWITCHES = ("under_construction", "elevator")
_LISTING_LISTS = ("heating", "orientation", "parking", "phones", "photo_urls", "features", "flags")


def upgrade() -> None:
    """Make every table and its indexes."""
    for make in (_jobs, _frontier, _listings, _listing_changes, _price_points, _pages):
        make()


def _jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(40), nullable=False),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("start_urls", sa.JSON, nullable=False),
        sa.Column("listing_limit", sa.Integer),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("started_at", sa.Float),
        sa.Column("finished_at", sa.Float),
        sa.Column("error", sa.Text),
        _count("requests"),
        _count("new_listings"),
        _count("changed_listings"),
        sa.Column("seconds", sa.Float, nullable=False, server_default=sa.text("0")),
        sa.PrimaryKeyConstraint("id", name="pk_jobs"),
    )
    _index("jobs", "site", "created_at")


def _frontier() -> None:
    op.create_table(
        "frontier",
        _id(),
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("url_key", sa.String(500), nullable=False),
        sa.Column("state", sa.String(10), nullable=False, server_default="pending"),
        sa.Column("reason", sa.Text),
        _count("attempts"),
        sa.Column("not_before", sa.Float, nullable=False, server_default=sa.text("0")),
        sa.Column("lease_owner", sa.String(80)),
        sa.Column("lease_until", sa.Float),
        _count("fence"),
        sa.PrimaryKeyConstraint("id", name="pk_frontier"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_frontier_job_id"),
        sa.UniqueConstraint("job_id", "url_key", name="uq_frontier_job_id_url_key"),
    )
    _index("frontier", "job_id", "state", "not_before")


def _listings() -> None:
    op.create_table(
        "listings",
        _id(),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("external_id", sa.String(80), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        *(sa.Column(name, sa.Text) for name in _LISTING_TEXTS),
        *(sa.Column(name, sa.Float) for name in _LISTING_NUMBERS),
        *(sa.Column(name, sa.Integer) for name in _LISTING_COUNTS),
        *(sa.Column(name, sa.Boolean) for name in _LISTING_SWITCHES),
        *(sa.Column(name, sa.JSON, nullable=False) for name in _LISTING_LISTS),
        sa.Column("content_hash", sa.String(64), nullable=False),
        sa.Column("first_seen_at", sa.Float, nullable=False),
        sa.Column("last_seen_at", sa.Float, nullable=False),
        sa.Column("page_digest", sa.String(64)),
        sa.PrimaryKeyConstraint("id", name="pk_listings"),
        sa.UniqueConstraint("site", "external_id", name="uq_listings_site_external_id"),
    )
    _index("listings", "neighbourhood")


def _listing_changes() -> None:
    op.create_table(
        "listing_changes",
        _id(),
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("job_id", sa.String(40)),
        sa.Column("field", sa.String(40), nullable=False),
        sa.Column("old", sa.JSON),
        sa.Column("new", sa.JSON),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_listing_changes"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_listing_changes_listing_id"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_listing_changes_job_id"),
    )
    _index("listing_changes", "listing_id", "seen_at")


def _price_points() -> None:
    op.create_table(
        "price_points",
        _id(),
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("price_eur", sa.Float),
        sa.Column("price_bgn", sa.Float),
        sa.Column("vat", sa.String(20)),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_price_points"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_price_points_listing_id"),
    )
    _index("price_points", "listing_id", "seen_at")


def _pages() -> None:
    op.create_table(
        "pages",
        _id(),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("content_type", sa.Text),
        sa.Column("fetched_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_pages"),
    )
    _index("pages", "site", "url")
    _index("pages", "digest")


def _id() -> sa.Column[int]:
    return sa.Column("id", _id_type(), autoincrement=True, nullable=False)


def _id_type() -> sa.types.TypeEngine[int]:
    # Only an INTEGER key counts up by itself in SQLite.
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0"))


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
