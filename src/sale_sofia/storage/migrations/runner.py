"""The steps, done and compared by Alembic, without its log lines."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from sale_sofia.storage.all_tables import metadata
from sale_sofia.storage.postgres import TABLE as WRITE_MARKS


class StepFailed(Exception):
    """A step could not be done; it says which and why."""


def revision(connection: Connection) -> str | None:
    """The last step done in this database."""
    with _quiet():
        return MigrationContext.configure(connection).get_current_revision()


def is_known(name: str) -> bool:
    """Whether there is a step of this name."""
    try:
        return _steps().get_revision(name) is not None
    except CommandError:
        return False


def run(connection: Connection) -> None:
    """Do the steps that are missing, in the transaction the connection is in.

    Raises:
        StepFailed: one of them failed; nothing of any is kept when the transaction ends.
    """
    config = _config()
    config.attributes["connection"] = connection
    steps = _steps().iterate_revisions("head", revision(connection) or "base")
    missing = [step.revision for step in steps][::-1]  # the next one first
    config.attributes["done"] = lambda **_: missing.pop(0)
    if connection.dialect.name != "sqlite":  # a step may have all rows to change
        connection.execute(text("SET LOCAL statement_timeout = 0"))
    try:
        with _quiet():
            command.upgrade(config, "head")
    except DBAPIError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        raise StepFailed(f"step {missing[0]} failed, and nothing was changed: {reason}") from error


def differences(connection: Connection) -> list[str]:
    """Where the tables are not as the schema says, one line each."""

    def is_ours(name: str | None, kind: str, _parents: object) -> bool:
        """All but what a kind of database keeps for itself."""
        return kind != "table" or name != WRITE_MARKS

    with _quiet():
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "include_name": is_ours}
        )
        found = compare_metadata(context, metadata)
    return [f"not as the schema says: {difference}" for difference in found]


def _steps() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _config() -> Config:
    config = Config()
    # The configuration reads a percent sign as the start of a name.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


@contextmanager
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("alembic")
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
