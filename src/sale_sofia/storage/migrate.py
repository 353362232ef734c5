"""Upgrades the tables to the schema of this program; the steps are in `migrations/`."""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.storage.database import Database, retry_on_busy
from sale_sofia.storage.errors import DatabaseError, DatabaseMissing, DatabaseTooNew
from sale_sofia.storage.migrations.scripts import NEWEST, create_newest

HEAD: Final = max(
    path.stem for path in (Path(__file__).parent / "migrations" / "versions").glob("v*.py")
).removeprefix("v")
"""The last step in `migrations/`: a current database needs no Alembic to be recognised.

The names of steps follow each other as text does.
"""


def initialize_database(db: Database) -> None:
    """Create or upgrade the database, so that it is current. Safe to call concurrently, at any time.

    Raises:
        DatabaseTooNew: a newer program made it; it is left as it is.
        DatabaseError: a program of no release since 1.0.0 made it; it is left as it is.
    """
    if current_revision(db) != HEAD:
        upgrade(db)


def upgrade(db: Database) -> None:
    """Run the missing steps in one transaction, in one process at a time."""

    @retry_on_busy(db.busy_retries)
    def upgrade_alone() -> None:
        with db.exclusive():
            if current_revision(db) == HEAD:
                return  # another process was first
            db.prepare()
            with db.write() as connection:
                _upgrade(connection, db)

    upgrade_alone()


def current_revision(db: Database) -> str | None:
    """The last step that was run, or `None` where there is no database or no tables yet."""
    if not db.exists():
        # Checked first: between a failed opening and its explanation another process may create it.
        return None
    try:
        query = text("SELECT version_num FROM alembic_version")
        return db.run_read(lambda connection: connection.execute(query).scalar())
    except DatabaseMissing:
        return None


def check(db: Database) -> list[str]:
    """What is wrong with the database, one line each; a sound and current one has none."""
    try:
        return db.faults() + db.run_read(_differences)
    except DatabaseError as error:
        return [str(error)]


def _upgrade(connection: Connection, db: Database) -> None:
    if connection.dialect.name == "sqlite" and not inspect(connection).get_table_names():
        create_newest(connection)  # on a server the steps do it, without its time limit
        if NEWEST == HEAD:
            return
    from sale_sofia.storage.migrations import runner  # noqa: PLC0415 - Alembic is slow to import and rarely needed

    stored = runner.revision(connection)
    if stored is not None and not runner.is_known(stored):
        if stored < HEAD:
            raise DatabaseError(
                f"The database {db.name} has revision {stored}, which is of no release since 1.0.0; "
                "bring it up to a release with a program of its time first."
            )
        raise DatabaseTooNew(
            f"The database {db.name} has revision {stored}, and this program knows no newer one than {HEAD}; "
            "update the program."
        )
    try:
        runner.run(connection)
    except runner.StepFailed as failure:
        # A full disk or a lost connection explains itself; all else is a step that fails on this database.
        cause = failure.__cause__
        reason = db.explain(cause) if isinstance(cause, DBAPIError) else None
        if reason is not None and type(reason) is not DatabaseError:
            raise reason from failure
        at = f"revision {stored}" if stored else "no tables of ours"
        raise DatabaseError(f"The database {db.name} stays at {at}: {failure}.") from failure


def _differences(connection: Connection) -> list[str]:
    from sale_sofia.storage.migrations import runner  # noqa: PLC0415 - see above

    return runner.differences(connection)
