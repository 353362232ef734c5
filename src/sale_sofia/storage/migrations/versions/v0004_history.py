"""Sweeps, visits and the generations of re-used advert ids."""

import sqlalchemy as sa
from alembic import op

revision = "0004_history"
down_revision = "0003_monitoring"
branch_labels = None
depends_on = None

_CHILDREN = ("listing_changes", "price_points")


def upgrade() -> None:
    """What was seen before is kept: every known moment of an advert becomes a visit."""
    _scrape_history()
    _visits_of_before()
    _put_aside()
    _listings()
    _bring_back()
    _market_events()
    _scopes()
    _sweeps()
    _cards()


def _put_aside() -> None:
    """SQLite makes `listings` anew to change what is unique in it; rows that point to it forbid that."""
    for table in _CHILDREN:
        op.execute(sa.text(f"CREATE TABLE aside_{table} AS SELECT * FROM {table}"))  # noqa: S608 - our own tables
        op.drop_table(table)


def _listings() -> None:
    with op.batch_alter_table("listings") as table:
        table.add_column(sa.Column("generation", sa.Integer, nullable=False, server_default=sa.text("1")))
        table.add_column(sa.Column("visited_at", sa.Float))
        table.add_column(_count("consecutive_unchanged"))
        table.add_column(sa.Column("revisit_seconds", sa.Float))
        table.add_column(sa.Column("revisit_at", sa.Float))
        table.add_column(sa.Column("odd_price_eur", sa.Float))
        table.add_column(_count("odd_visits"))
        table.add_column(sa.Column("gone_at", sa.Float))
        table.add_column(sa.Column("closed_at", sa.Float))
        table.add_column(sa.Column("closed_reason", sa.String(20)))
        table.add_column(sa.Column("etag", sa.Text))
        table.add_column(sa.Column("last_modified", sa.Text))
        table.drop_constraint("uq_listings_site_external_id", type_="unique")
        table.create_unique_constraint(
            "uq_listings_site_external_id_generation", ["site", "external_id", "generation"]
        )
    # Nothing is known of how often old rows change: they are due at once.
    op.execute(
        sa.text("UPDATE listings SET visited_at = last_seen_at, revisit_seconds = 86400, revisit_at = 0")
    )
    with op.batch_alter_table("listings") as table:
        for name in ("visited_at", "revisit_seconds", "revisit_at"):
            table.alter_column(name, existing_type=sa.Float, nullable=False)
    _index("listings", "first_seen_at")
    still_open = sa.text("closed_at IS NULL")
    op.create_index(
        "uq_listings_open",
        "listings",
        ["site", "external_id"],
        unique=True,
        sqlite_where=still_open,
        postgresql_where=still_open,
    )


def _bring_back() -> None:
    _listing_changes()
    _price_points()
    visit = (
        "(SELECT MIN(v.id) FROM scrape_history v WHERE v.listing_id = aside.listing_id "
        "AND v.fetched_at = aside.seen_at)"
    )
    op.execute(
        sa.text(
            "INSERT INTO listing_changes (id, listing_id, visit_id, field, old, new, seen_at) "  # noqa: S608 - our own tables
            f"SELECT id, listing_id, {visit}, field, old, new, seen_at FROM aside_listing_changes aside"
        )
    )
    first = (
        "CASE WHEN EXISTS (SELECT 1 FROM aside_price_points earlier "
        "WHERE earlier.listing_id = aside.listing_id AND earlier.id < aside.id) THEN 'price' ELSE 'first' END"
    )
    op.execute(
        sa.text(
            "INSERT INTO price_points (id, listing_id, price_eur, price_bgn, vat, kind, visit_id, seen_at) "  # noqa: S608 - our own tables
            f"SELECT id, listing_id, price_eur, price_bgn, vat, {first}, {visit}, seen_at "
            "FROM aside_price_points aside"
        )
    )
    for table in _CHILDREN:
        op.drop_table(f"aside_{table}")
        if op.get_bind().dialect.name == "postgresql":
            op.execute(
                sa.text(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), MAX(id)) FROM {table}"  # noqa: S608 - our own tables
                )
            )


def _listing_changes() -> None:
    op.create_table(
        "listing_changes",
        _id(),
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("visit_id", _id_type(), nullable=False),
        sa.Column("field", sa.String(40), nullable=False),
        sa.Column("old", sa.JSON),
        sa.Column("new", sa.JSON),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_listing_changes"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_listing_changes_listing_id"),
    )
    _index("listing_changes", "listing_id", "seen_at")
    _index("listing_changes", "seen_at")


def _price_points() -> None:
    op.create_table(
        "price_points",
        _id(),
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("price_eur", sa.Float),
        sa.Column("price_bgn", sa.Float),
        sa.Column("vat", sa.String(20)),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("visit_id", _id_type(), nullable=False),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_price_points"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_price_points_listing_id"),
    )
    _index("price_points", "listing_id", "seen_at")


def _scrape_history() -> None:
    op.create_table(
        "scrape_history",
        _id(),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("url_key", sa.String(500), nullable=False),
        sa.Column("job_id", sa.String(40)),
        sa.Column("fetched_at", sa.Float, nullable=False),
        sa.Column("verdict", sa.String(40), nullable=False),
        sa.Column("seconds", sa.Float),
        sa.Column("content_hash", sa.String(64)),
        sa.Column("page_digest", sa.String(64)),
        sa.Column("listing_id", _id_type()),
        sa.Column("result", sa.String(12)),
        sa.Column("odd", sa.JSON),
        sa.PrimaryKeyConstraint("id", name="pk_scrape_history"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_scrape_history_job_id"),
    )
    _index("scrape_history", "site", "url_key", "fetched_at")


def _visits_of_before() -> None:
    """The first and the last sight of each advert, and every moment at which it changed."""
    op.execute(
        sa.text("""
        INSERT INTO scrape_history (site, url_key, job_id, fetched_at, verdict, listing_id, result)
        SELECT l.site, 'listing:' || l.external_id, seen.job_id, seen.at, 'ok', l.id,
               CASE WHEN seen.at = l.first_seen_at THEN 'new' ELSE 'changed' END
        FROM listings l JOIN (
            SELECT listing_id, at, MAX(job_id) AS job_id FROM (
                SELECT id AS listing_id, first_seen_at AS at, NULL AS job_id FROM listings
                UNION ALL SELECT id, last_seen_at, NULL FROM listings
                UNION ALL SELECT listing_id, seen_at, job_id FROM listing_changes
                UNION ALL SELECT listing_id, seen_at, NULL FROM price_points
            ) AS known GROUP BY listing_id, at
        ) AS seen ON seen.listing_id = l.id
        ORDER BY l.id, seen.at
        """)
    )


def _market_events() -> None:
    op.create_table(
        "market_events",
        _id(),
        sa.Column("listing_id", _id_type(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("noted_at", sa.Float, nullable=False),
        sa.Column("reason", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_market_events"),
        sa.ForeignKeyConstraint(["listing_id"], ["listings.id"], name="fk_market_events_listing_id"),
    )
    _index("market_events", "listing_id", "at")
    _index("market_events", "noted_at")


def _scopes() -> None:
    op.create_table(
        "scopes",
        _id(),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("start_urls", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_scopes"),
    )
    op.create_index("uq_scopes_site_digest", "scopes", ["site", "digest"], unique=True)


def _sweeps() -> None:
    op.create_table(
        "sweeps",
        sa.Column("job_id", sa.String(40), nullable=False),
        sa.Column("scope_id", _id_type(), nullable=False),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("everything", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("finished_at", sa.Float),
        sa.Column("complete", sa.Boolean),
        sa.Column("reason", sa.Text),
        sa.Column("adverts", sa.Integer),
        sa.Column("gone", sa.Integer),
        sa.PrimaryKeyConstraint("job_id", name="pk_sweeps"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name="fk_sweeps_job_id"),
        sa.ForeignKeyConstraint(["scope_id"], ["scopes.id"], name="fk_sweeps_scope_id"),
    )
    _index("sweeps", "scope_id", "started_at")


def _cards() -> None:
    op.create_table(
        "cards",
        sa.Column("scope_id", _id_type(), nullable=False),
        sa.Column("external_id", sa.String(80), nullable=False),
        sa.Column("site", sa.String(80), nullable=False),
        sa.Column("card_hash", sa.String(64), nullable=False),
        sa.Column("opened_hash", sa.String(64)),
        sa.Column("seen_at", sa.Float, nullable=False),
        sa.Column("missed_at", sa.Float),
        _count("misses"),
        sa.PrimaryKeyConstraint("scope_id", "external_id", name="pk_cards"),
        sa.ForeignKeyConstraint(["scope_id"], ["scopes.id"], name="fk_cards_scope_id"),
    )
    _index("cards", "site", "external_id")
    _index("cards", "scope_id", "seen_at")


def _id() -> sa.Column[int]:
    return sa.Column("id", _id_type(), autoincrement=True, nullable=False)


def _id_type() -> sa.types.TypeEngine[int]:
    # Only an INTEGER key counts up by itself in SQLite.
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0"))


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))
