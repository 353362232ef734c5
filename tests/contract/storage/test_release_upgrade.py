"""A database of release 1.0.0 becomes one of today, with all that was in it."""

from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

from contract.storage.helpers import database
from crawls import run
from postgres_servers import PostgresServer
from release_1_0 import REVISION, Rows, losses, make_release_database
from sale_sofia.history.export import export_listings
from sale_sofia.operations.copying import copy_database
from sale_sofia.storage import migrations
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import HEAD, check, current_revision, initialize_database

STEPS = Path(migrations.__file__ or "").parent


@pytest.mark.slow
def test_the_command_keeps_every_value(tmp_path: Path) -> None:
    file = tmp_path / "sale_sofia.db"
    before = make_release_database(file)
    assert [table for table, rows in before.items() if not rows] == []
    assert current_revision(database(file)) == REVISION
    told = run(tmp_path, "db", "upgrade")
    assert told.returncode == 0, told.stderr
    assert HEAD in told.stdout
    assert losses(before, file) == []
    db = database(file)
    assert check(db) == []
    assert exported(db, tmp_path / "adverts.jsonl") == sorted(ids(before))
    db.dispose()


def ids(rows: Rows) -> list[str]:
    return [row["external_id"] for row in rows["listings"].values()]


def exported(db: Database, path: Path) -> list[str]:
    export_listings(db, path)
    return sorted(line.partition('"external_id": "')[2].partition('"')[0] for line in lines(path))


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


@pytest.mark.slow
def test_every_step_on_the_way_keeps_every_value(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    before, db = make_release_database(file), database(file)
    config = Config()
    config.set_main_option("script_location", str(STEPS))
    steps = [step.revision for step in ScriptDirectory.from_config(config).walk_revisions()][::-1]
    assert (steps[0], steps[-1]) == (REVISION, HEAD)
    for step in steps[1:]:
        with db.write() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, step)
        assert current_revision(db) == step
        assert losses(before, file) == [], step
    assert check(db) == []
    db.dispose()


@pytest.mark.slow
def test_it_goes_on_to_a_server(tmp_path: Path, postgres_server: PostgresServer) -> None:
    make_release_database(tmp_path / "x.db")
    file, server = database(tmp_path / "x.db"), database(postgres_server.new_database())
    initialize_database(file)
    copy_database(file, server)
    for db in (file, server):
        export_listings(db, tmp_path / f"{db.url.get_backend_name()}.jsonl")
        db.dispose()
    assert lines(tmp_path / "sqlite.jsonl") == lines(tmp_path / "postgresql.jsonl")
    assert len(lines(tmp_path / "sqlite.jsonl")) == 14
