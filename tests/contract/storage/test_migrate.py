import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect, select, text

from contract.storage.helpers import database, ready_database
from sale_sofia.alerts.tables import alert_messages
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.revisions import Changes, changes_since
from sale_sofia.history.tables import listings, pages, scrape_history, sweeps
from sale_sofia.storage import migrations
from sale_sofia.storage.all_tables import metadata
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseBusy, DatabaseError, DatabaseTooNew
from sale_sofia.storage.migrate import HEAD, check, current_revision, initialize_database, upgrade
from sale_sofia.storage.migrations import runner
from sale_sofia.storage.sqlite import exclusive
from sale_sofia.telemetry.tables import incidents


def test_the_head_named_in_the_code_is_the_last_step() -> None:
    assert runner._steps().get_current_head() == HEAD  # noqa: SLF001 - the steps themselves are the point


@pytest.fixture
def db(empty_store_url: str) -> Iterator[Database]:
    made = database(empty_store_url)
    yield made
    made.dispose()


@pytest.mark.slow
def test_the_steps_from_nothing_make_exactly_the_schema(db: Database) -> None:
    assert current_revision(db) is None
    initialize_database(db)
    with db.read() as connection:
        assert runner.differences(connection) == []
    assert check(db) == []


def test_the_steps_give_the_same_names_as_the_schema(tmp_path: Path) -> None:
    stepwise, direct = ready_database(tmp_path / "steps.db"), database(tmp_path / "direct.db")
    direct.prepare()
    with direct.write() as connection:
        metadata.create_all(connection)
    names = text("SELECT name FROM sqlite_master WHERE name NOT LIKE '%alembic%' ORDER BY name")
    with stepwise.read() as first, direct.read() as second:
        assert first.execute(names).all() == second.execute(names).all()


def test_a_new_file_has_the_tables_that_the_steps_make(tmp_path: Path) -> None:
    new, stepwise = ready_database(tmp_path / "new.db"), database(tmp_path / "steps.db")
    stepwise.prepare()
    with stepwise.write() as connection:
        runner.run(connection)
    assert current_revision(new) == current_revision(stepwise)
    with new.read() as first, stepwise.read() as second:
        assert _described(first) == _described(second)


def _described(connection: Connection) -> dict[str, object]:
    seen, indexes = inspect(connection), text("SELECT name, sql FROM sqlite_master WHERE type = 'index'")
    return {"indexes": sorted(map(str, connection.execute(indexes)))} | {
        table: [
            [column | {"type": str(column["type"])} for column in seen.get_columns(table)],
            seen.get_pk_constraint(table),
            sorted(seen.get_foreign_keys(table), key=str),
            sorted(seen.get_unique_constraints(table), key=str),
        ]
        for table in seen.get_table_names()
    }


def test_initialising_again_changes_nothing(db: Database) -> None:
    initialize_database(db)
    with db.write() as connection:
        connection.execute(text("INSERT INTO pages VALUES (1, 's', 'u', 'listing', 'd', NULL, 1.0)"))
    initialize_database(db)
    upgrade(db)
    with db.read() as connection:
        assert connection.execute(text("SELECT url FROM pages")).scalar() == "u"
    assert current_revision(db) == HEAD


def test_a_database_without_tables_has_no_revision(tmp_path: Path) -> None:
    assert current_revision(database(tmp_path / "x.db")) is None
    (tmp_path / "x.db").touch()
    assert current_revision(database(tmp_path / "x.db")) is None


@pytest.mark.slow
def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    (tmp_path / "x.db").touch()
    assert check(ready_database(tmp_path / "x.db")) == []


REASONS = {
    None: (None, None),
    "removed": ("removed", None),
    "its card is unchanged": ("unchanged", None),
    "a part by a filter that changes nothing": ("useless_part", None),
    "its worker died 5 times": ("worker_died", "its worker died 5 times"),
    "ParseSelector: layout_changed: no cards (skip)": ("ParseSelector", "layout_changed: no cards (skip)"),
}


@contextmanager
def before(db: Database, revision: str) -> Iterator[Connection]:
    """A new database as it was at this step."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__ or "").parent))
    db.prepare()
    with db.write() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        yield connection


def test_sentences_become_codes_and_every_advert_is_touched(db: Database) -> None:
    with before(db, "0013_pruned") as connection:
        job = "INSERT INTO jobs (id, site, state, start_urls, created_at) VALUES ('j', 's', 'DONE', '[]', 1)"
        connection.execute(text(job))
        names = "job_id, kind, url, url_key, state, reason"
        row = f"INSERT INTO frontier ({names}) VALUES ('j', 'listing', :url, :key, 'done', :why)"  # noqa: S608 - above
        for number, why in enumerate(REASONS):
            connection.execute(text(row), {"url": str(number), "key": str(number), "why": why})
        fields = (
            "site, external_id, url, content_hash, first_seen_at, last_seen_at, visited_at, revisit_seconds, "
            "revisit_at, heating, orientation, parking, phones, photo_urls, features, flags"
        )
        values = "'s', 'x', 'u', 'h', 1, 1, 1, 1, 1, '[]', '[]', '[]', '[]', '[]', '[]', '[]'"
        connection.execute(text(f"INSERT INTO listings ({fields}) VALUES ({values})"))  # noqa: S608 - above
    initialize_database(db)
    with db.read() as connection:
        rows = connection.execute(text("SELECT code, reason FROM frontier ORDER BY id")).all()
        assert [tuple(row) for row in rows] == list(REASONS.values())
        assert connection.execute(text("SELECT listing_id, revision FROM revisions")).all() == [(1, 1)]
        for scores in (True, False):
            assert changes_since(connection, 0, scores=scores) == Changes(frozenset({1}), 0, 1)


SENTENCES = (None, "nothing has moved for 3600 seconds", '{"as": "JSON"}; "странни" думи')


def test_stored_sentences_stay_as_they_are_said(db: Database) -> None:
    rows = {
        "jobs (id, site, state, start_urls, created_at, error)": "(:id, 's', 'FAILED', '[]', 1, :why)",
        "sweeps (job_id, scope_id, site, everything, started_at, reason)": "(:id, 1, 's', false, 1, :why)",
        "alert_messages (uid, channel, audience, urgent, digest, state, made_at, not_before, last_error)": (
            "(:id, 'c', 'a', false, false, 'waiting', 1, 1, :why)"
        ),
        "incidents (kind, site, opened_at, seen_at, details, message)": "('collapse', :id, 1, 1, '{}', :why)",
    }
    statements = [text(f"INSERT INTO {into} VALUES {values}") for into, values in rows.items()]  # noqa: S608 - above
    with before(db, "0013_pruned") as connection:
        connection.execute(
            text("INSERT INTO scopes (id, site, digest, start_urls) VALUES (1, 's', 'd', '[]')")
        )
        for number, why in enumerate(SENTENCES):
            for statement in statements[: None if why else -1]:  # an incident always has its words
                connection.execute(statement, {"id": f"{number}", "why": why})
    initialize_database(db)
    with db.read() as connection:
        for column, order in (
            (jobs.c.error, jobs.c.id),
            (sweeps.c.reason, sweeps.c.job_id),
            (incidents.c.message, incidents.c.id),
            (alert_messages.c.last_error, alert_messages.c.id),
        ):
            wanted = [one for one in SENTENCES if column.nullable or one]
            assert list(connection.execute(select(column).order_by(order)).scalars()) == wanted


def test_digests_become_short_bytes_and_adverts_keep_their_keys_in_their_listings(db: Database) -> None:
    digest = "00ff" * 8 + "1234" * 8
    with before(db, "0044_scores_apart") as connection:
        fields = (
            "id, site, external_id, url, content_hash, first_seen_at, last_seen_at, visited_at, "
            "revisit_seconds, revisit_at, heating, orientation, parking, phones, photo_urls, features, "
            "flags, page_digest"
        )
        values = f"7, 's', 'x', 'u', '{digest}', 1, 1, 1, 1, 1, '[]', '[]', '[]', '[]', '[]', '[]', '[]', 'd'"
        connection.execute(text(f"INSERT INTO listings ({fields}) VALUES ({values})"))  # noqa: S608 - above
        names = "id, site, url_key, fetched_at, verdict, content_hash, page_digest, listing_id"
        row = f"INSERT INTO scrape_history ({names}) VALUES (:id, 's', :key, 1, 'ok', :one, :one, :of)"  # noqa: S608
        visits = [
            {"id": 1, "key": "listing:x", "one": digest, "of": 7},
            {"id": 2, "key": "search:1", "one": None, "of": None},
        ]
        connection.execute(text(row), visits)
        connection.execute(text(f"INSERT INTO pages VALUES (1, 's', 'u', 'listing', '{digest}', NULL, 1.0)"))  # noqa: S608 - above
    initialize_database(db)
    with db.read() as connection:
        raw = connection.execute(
            text("SELECT length(content_hash), length(page_digest), url_key FROM scrape_history ORDER BY id")
        )
        assert [tuple(row) for row in raw] == [(16, 16, None), (None, None, "search:1")]
        kept = select(scrape_history.c.content_hash, scrape_history.c.page_digest).order_by(
            scrape_history.c.id
        )
        assert connection.execute(kept).all() == [(digest[:32],) * 2, (None, None)]
        assert connection.scalar(select(listings.c.content_hash)) == digest[:32]
        assert connection.scalar(text("SELECT length(digest) FROM pages")) == 32
        assert connection.scalars(select(pages.c.url).where(pages.c.digest == digest)).all() == ["u"]
    assert check(db) == []


def test_a_newer_database_is_left_alone(db: Database) -> None:
    initialize_database(db)
    with db.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0999_later'"))
    with pytest.raises(DatabaseTooNew, match=f"revision 0999_later.*{HEAD}.*update the program"):
        initialize_database(db)
    assert current_revision(db) == "0999_later"


@pytest.mark.parametrize("revision", ["0012_doubts", "0030_flats"])
def test_a_database_of_no_release_is_left_alone(db: Database, revision: str) -> None:
    initialize_database(db)
    with db.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
    with pytest.raises(DatabaseError, match=rf"revision {revision}, which is of no release since 1\.0\.0"):
        initialize_database(db)
    assert current_revision(db) == revision


@pytest.mark.slow
def test_a_step_that_fails_leaves_nothing_and_is_named(db: Database) -> None:
    db.prepare()
    with db.write() as connection:
        connection.execute(text("CREATE TABLE incidents (id INTEGER)"))
    failure = r"stays at no tables of ours: step 0013_pruned failed.*incidents\"? already exists"
    with pytest.raises(DatabaseError, match=failure):
        initialize_database(db)
    with db.read() as connection:
        assert set(inspect(connection).get_table_names()) - {"write_marks"} == {"incidents"}
    assert current_revision(db) is None
    with db.write() as connection:
        connection.execute(text("DROP TABLE incidents"))
    initialize_database(db)
    assert check(db) == []


@pytest.mark.slow
def test_a_harmed_postgresql_is_found_out(postgres_url: str) -> None:
    db = database(postgres_url)
    with db.write() as connection:
        connection.execute(text("DROP INDEX ix_pages_digest"))
        connection.execute(text("ALTER TABLE pages ADD COLUMN extra text"))
        unchecked = "ALTER TABLE pages ADD CONSTRAINT odd FOREIGN KEY (site) REFERENCES jobs (id) NOT VALID"
        connection.execute(text(unchecked))
    problems = check(db)
    wanted = ("constraint odd of pages was never checked", "add_index", "remove_column")
    assert [any(word in problem for problem in problems) for word in wanted] == [True] * 3
    db.dispose()


def test_one_who_prepares_for_too_long_is_named(tmp_path: Path) -> None:
    db = database(tmp_path / "x.db", timeout=0.05, retries=1)
    with exclusive(tmp_path / "x.db", 0), pytest.raises(DatabaseBusy, match="still preparing"):
        initialize_database(db)


def test_alembic_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    check(ready_database(tmp_path / "x.db"))
    assert [record for record in caplog.records if record.name.startswith("alembic")] == []


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, False])
def test_a_database_is_recognised_or_made_without_alembic(tmp_path: Path, *, there: bool) -> None:
    if there:
        ready_database(tmp_path / "x.db")
    program = (
        "import sys; from sale_sofia.storage.database import Database;"
        "from sale_sofia.storage.migrate import initialize_database;"
        f"initialize_database(Database('sqlite:///{tmp_path}/x.db', busy_timeout_seconds=1, busy_retries=0));"
        "sys.exit('alembic' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "complaint"),
    [
        ("DROP INDEX ix_pages_digest", "add_index"),
        ("ALTER TABLE pages ADD COLUMN extra TEXT", "remove_column"),
        ("DROP TABLE pages", "add_table"),
        (
            "INSERT INTO price_points (listing_id, kind, visit_id, seen_at) VALUES (7, 'first', 1, 1)",
            "row 1 of price_points points to",
        ),
    ],
)
def test_check_names_what_is_wrong(tmp_path: Path, harm: str, complaint: str) -> None:
    db = ready_database(tmp_path / "x.db")
    with db.write() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA foreign_keys = OFF")
        connection.exec_driver_sql(harm)
        connection.exec_driver_sql("BEGIN")
    assert any(complaint in problem for problem in check(db))


def test_check_of_a_missing_database_is_a_problem(tmp_path: Path) -> None:
    [problem] = check(database(tmp_path / "x.db"))
    assert "no initialised database" in problem
