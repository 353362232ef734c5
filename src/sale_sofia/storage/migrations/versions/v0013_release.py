"""The tables of release 1.0.0, the oldest database that is brought up to date."""

from pathlib import Path

from alembic import op

revision = "0013_pruned"
down_revision = None
branch_labels = None
depends_on = None

_TABLES = Path(__file__).parent.parent / "release_1_0.sql"
_IN_SQLITE = {
    "BIGSERIAL": "INTEGER",  # only an INTEGER key counts up by itself there
    "BIGINT": "INTEGER",
    "BYTEA": "BLOB",
    "IS true": "IS 1",
}


def upgrade() -> None:
    """Make every table and its indexes."""
    script = _TABLES.read_text("utf-8").partition("\n")[2]
    if op.get_bind().dialect.name == "sqlite":
        for word, other in _IN_SQLITE.items():
            script = script.replace(word, other)
    for statement in script.rstrip().removesuffix(";").split(";\n"):
        op.execute(statement)
