"""The SQL files beside this one, which are written for PostgreSQL, and a new database made of them alone."""

from pathlib import Path

from sqlalchemy import Connection, text

NEWEST = "0046_short_visits"
"""The step that a new database begins at; those after it are done by Alembic."""
_IN_SQLITE = {
    "BIGSERIAL": "INTEGER",  # only an INTEGER key counts up by itself there
    "BIGINT": "INTEGER",
    "BYTEA": "BLOB",
    "IS true": "IS 1",
    "strpos": "instr",
    "json_build_object": "json_object",
}
_VERSION_TABLE = (
    "CREATE TABLE alembic_version ("
    "version_num VARCHAR(32) NOT NULL, CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)
_LATER = {
    "vat VARCHAR(20),\n    kind VARCHAR(10)": "vat VARCHAR(20),\n    kind VARCHAR(20)",
    "content_hash VARCHAR(64),\n    page_digest VARCHAR(64),\n    listing_id BIGINT": (
        "content_hash BYTEA,\n    page_digest BYTEA,\n    listing_id BIGINT"
    ),
    "digest VARCHAR(64) NOT NULL,\n    content_type": "digest BYTEA NOT NULL,\n    content_type",
    "ON scrape_history (site, url_key, fetched_at)": (
        "ON scrape_history (site, url_key, fetched_at) WHERE listing_id IS NULL;\n"
        "CREATE INDEX ix_scrape_history_listing_id_fetched_at "
        "ON scrape_history (listing_id, fetched_at) WHERE listing_id IS NOT NULL"
    ),
    "page_digest VARCHAR(64),\n    generation": "generation",
    "CREATE INDEX ix_listings_neighbourhood ON listings (neighbourhood);\n": "",
    "CREATE INDEX ix_listings_last_seen_at ON listings (last_seen_at);\n": "",
    "url_key VARCHAR(500) NOT NULL,\n    job_id": "url_key VARCHAR(500),\n    job_id",
    "CREATE INDEX ix_description_reads_read_at ON description_reads (read_at);\n": "",
    "ix_frontier_job_id_state_rank_not_before ON frontier (job_id, state, rank, not_before)": (
        "ix_frontier_job_id_rank_not_before ON frontier (job_id, rank, not_before) WHERE state = 'pending';\n"
        "CREATE INDEX ix_listings_site_odd_visits ON listings (site, odd_visits) WHERE odd_visits > 0"
    ),
}
"""The columns and indexes of releases 1.0.0 and 2.0.0 that later steps made others."""


def create_newest(connection: Connection) -> None:
    """Make all tables as the steps up to `NEWEST` do, without Alembic, which is slow to import."""
    script = "".join(map(_read, ("release_1_0.sql", "release_2_0.sql", "scores_apart.sql")))
    for columns, others in _LATER.items():
        script = script.replace(columns, others)
    _run(connection, script)
    connection.execute(text(_VERSION_TABLE))
    connection.execute(text("INSERT INTO alembic_version (version_num) VALUES (:step)"), {"step": NEWEST})


def run_script(connection: Connection, name: str) -> None:
    """Do the statements of a file beside this one."""
    _run(connection, _read(name))


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8").partition("\n")[2]


def _run(connection: Connection, script: str) -> None:
    if connection.dialect.name == "sqlite":
        for word, other in _IN_SQLITE.items():
            script = script.replace(word, other)
    for statement in script.rstrip().removesuffix(";").split(";\n"):
        connection.execute(text(statement))
