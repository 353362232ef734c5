"""Timeouts, retries and batch sizes of the database."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, SecretStr, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.settings.types import decimal, password_file, whole, with_password

LARGEST_ID: Final = 2**63 - 1
"""What the databases hold; no row has a larger id."""
BUSY_FIRST_PAUSE_SECONDS: Final = 0.05
"""Pause between two tries of a busy database, which waits long itself; lets others go first."""
BUSY_LONGEST_PAUSE_SECONDS: Final = 2.0
"""The pauses double, up to this."""
PREPARING_LOOK_SECONDS: Final = 0.02
"""How often to check whether another process has finished creating or upgrading the file."""
CHECK_LOOK_STEPS: Final = 100_000
"""Steps of SQLite, a few milliseconds, between two polls whether a check of the whole file is to stop."""
CACHED_STATEMENTS: Final = 512
"""Prepared statements that a connection caches: one with a list needs one for each length of the list."""
CHECKPOINT_PAGES: Final = 4000
"""The write-ahead log is copied into the file when it has so many pages, 16 MB: a crawl writes the same pages
again and again, and each is copied once. Nothing committed waits for that: every commit is on the disk."""
PAGES_STREAMED_AT_ONCE: Final = 500
"""Records of archived pages in memory at once."""
EXPORTED_AT_ONCE: Final = 1000
"""Adverts that an export holds in memory; in Parquet, a row group."""


# PostgreSQL: fixed values, each with its unit and reason.

LEAST_SERVER_VERSION: Final = 130_000
LEAST_SERVER_NAME: Final = "13"
"""The oldest supported server, by its own and by people's numbering: older ones get no fixes any more."""
ENCODING: Final = "UTF8"
"""The required encoding of a database: adverts are in Cyrillic."""

KEEPALIVE_IDLE_SECONDS: Final = 10
KEEPALIVE_INTERVAL_SECONDS: Final = 5
KEEPALIVE_COUNT: Final = 3
"""A connection that was lost silently is noticed after 25 s, on both ends."""

FIRST_OUTAGE_PAUSE_SECONDS: Final = 0.1
LONGEST_OUTAGE_PAUSE_SECONDS: Final = 2.0
"""Pauses between two tries to reach a server that went away; they double, with jitter."""

MARK_SECONDS: Final = 86_400.0
"""A connection that wrote nothing for a day no longer needs its mark."""

LOCK_SPACE: Final = 0x5A1E
"""First half of our advisory locks' keys, to avoid those of other programs in the same database."""
SITE_LOCK_LOOK_SECONDS: Final = 2.0
"""How often a local crawl checks that it still holds its portal's lock: a lost connection loses it."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How long a database server may take; seconds."""

    connect_seconds: float = 10.0
    statement_seconds: float = 120.0
    idle_seconds: float = 600.0
    silence_seconds: float = 30.0
    outage_seconds: float = 300.0


# Settings of PostgreSQL as the store, and passwords in files.


class PostgresSettings(BaseModel, defer_build=True):
    """Settings of PostgreSQL as the store; libpq's own variables and password files count too."""

    database_password_file: Path | None = password_file("DATABASE_URL")
    redis_password_file: Path | None = password_file("REDIS_URL")
    postgres_connect_timeout: float = decimal(
        10.0, 1, 600, "seconds", "Longest wait for a connection to PostgreSQL."
    )
    postgres_lock_timeout: float = decimal(
        30.0, 0.01, 600, "seconds", "Longest wait in PostgreSQL for another writer to finish."
    )
    postgres_statement_timeout: float = decimal(
        120.0, 1, 86_400, "seconds", "Longest time for one statement; steps of an upgrade may take longer."
    )
    postgres_idle_timeout: float = decimal(
        600.0, 1, 86_400, "seconds", "PostgreSQL ends a transaction in which nothing happens for so long."
    )
    postgres_silence_timeout: float = decimal(
        30.0, 1, 3600, "seconds", "A connection that acknowledges nothing for so long is given up."
    )
    postgres_outage_seconds: float = decimal(
        300.0, 0, 86_400, "seconds", "How long work waits for a PostgreSQL that went away to come back."
    )
    postgres_retries: int = whole(
        10, 0, 100, "retries", "Further tries of a write that met another one in PostgreSQL."
    )

    @property
    def server_limits(self) -> ServerLimits:
        """How long the database server may take."""
        return ServerLimits(
            connect_seconds=self.postgres_connect_timeout,
            statement_seconds=self.postgres_statement_timeout,
            idle_seconds=self.postgres_idle_timeout,
            silence_seconds=self.postgres_silence_timeout,
            outage_seconds=self.postgres_outage_seconds,
        )

    @field_validator("database_url", "redis_url", check_fields=False)
    @classmethod
    def _password_from_file(cls, secret: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        path: Path | None = info.data.get((info.field_name or "").replace("_url", "_password_file"))
        if path is None or secret is None:
            return secret
        return SecretStr(with_password(secret.get_secret_value(), path))
