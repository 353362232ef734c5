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
from sqlalchemy import Connection

from sale_sofia.data.all_tables import metadata


def revision(connection: Connection) -> str | None:
    """The last step done in this database."""
    with _quiet():
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str | None:
    """The last step there is."""
    return _steps().get_current_head()


def is_known(name: str) -> bool:
    """Whether there is a step of this name."""
    try:
        return _steps().get_revision(name) is not None
    except CommandError:
        return False


def run(connection: Connection) -> None:
    """Do the steps that are missing, in the transaction the connection is in."""
    config = _config()
    config.attributes["connection"] = connection
    with _quiet():
        command.upgrade(config, "head")


def differences(connection: Connection) -> list[str]:
    """Where the tables are not as the schema says, one line each."""
    with _quiet():
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True}
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
