"""Codes instead of sentences: why a page of a job ended is a code of its own, its words are for people."""

import sqlalchemy as sa
from alembic import op

revision = "0020_codes"
down_revision = "0019_revisions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """What stood before the first colon of a reason is its code; the rest stays as words."""
    op.add_column("frontier", sa.Column("code", sa.String(60)))
    for sentence, code in (
        ("its card is unchanged", "unchanged"),
        ("a part by a filter that changes nothing", "useless_part"),
    ):
        op.execute(f"UPDATE frontier SET code = '{code}', reason = NULL WHERE reason = '{sentence}'")  # noqa: S608
    op.execute("UPDATE frontier SET code = 'worker_died' WHERE reason LIKE 'its worker died %'")
    colon = "instr(reason, ': ')" if op.get_bind().dialect.name == "sqlite" else "strpos(reason, ': ')"
    op.execute(
        f"UPDATE frontier SET code = substr(reason, 1, {colon} - 1), reason = substr(reason, {colon} + 2) "  # noqa: S608
        f"WHERE code IS NULL AND {colon} BETWEEN 2 AND 60"
    )
    op.execute("UPDATE frontier SET code = reason, reason = NULL WHERE code IS NULL AND length(reason) <= 60")
