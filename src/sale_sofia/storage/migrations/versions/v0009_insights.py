"""Scores and the fair-price model."""

import sqlalchemy as sa
from alembic import op

revision = "0009_insights"
down_revision = "0008_evaluation"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables; nothing that is there changes."""
    _scored_flats()
    _score_yardsticks()
    _scores()
    _valuation_models()


def _scored_flats() -> None:
    op.create_table(
        "scored_flats",
        sa.Column("property_id", _id_type(), autoincrement=False, nullable=False),
        sa.Column("facts", sa.String(32), nullable=False),
        sa.Column("deal", sa.String(10)),
        sa.Column("property_type", sa.String(20)),
        sa.Column("offered", sa.Boolean, nullable=False),
        sa.Column("neighbourhood", sa.Text),
        sa.Column("rooms", sa.Integer, nullable=False),
        sa.Column("eur_sqm", sa.Float),
        sa.PrimaryKeyConstraint("property_id", name="pk_scored_flats"),
    )


def _score_yardsticks() -> None:
    op.create_table(
        "score_yardsticks",
        sa.Column("neighbourhood", sa.Text, nullable=False),
        sa.Column("rooms", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("marks", sa.JSON, nullable=False),
        sa.Column("scope", sa.String(20)),
        sa.Column("flats", sa.Integer, nullable=False),
        sa.Column("rent_eur_sqm", sa.Float),
        sa.Column("rents", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("neighbourhood", "rooms", name="pk_score_yardsticks"),
    )


def _scores() -> None:
    op.create_table(
        "scores",
        sa.Column("property_id", _id_type(), autoincrement=False, nullable=False),
        sa.Column("profile", sa.String(80), nullable=False),
        sa.Column("digest", sa.String(32), nullable=False),
        sa.Column("value", sa.Float),
        sa.Column("known", sa.Float, nullable=False),
        sa.Column("points", sa.Float, nullable=False),
        sa.Column("verdict", sa.String(10), nullable=False),
        sa.Column("failed", sa.JSON, nullable=False),
        sa.Column("unknown", sa.JSON, nullable=False),
        sa.Column("criteria", sa.JSON, nullable=False),
        sa.Column("scored_at", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("property_id", "profile", name="pk_scores"),
    )
    op.create_index("ix_scores_profile_verdict_points", "scores", ["profile", "verdict", "points"])


def _valuation_models() -> None:
    op.create_table(
        "valuation_models",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("format", sa.Integer, nullable=False),
        sa.Column("made_at", sa.Float, nullable=False),
        sa.Column("flats", sa.Integer, nullable=False),
        sa.Column("report", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_valuation_models"),
    )
    op.create_index("ix_valuation_models_made_at", "valuation_models", ["made_at"])


def _id_type() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer, "sqlite")
