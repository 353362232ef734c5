"""Settings of PostgreSQL as the store, and passwords that stand in files."""

from pathlib import Path

from pydantic import BaseModel, SecretStr, field_validator
from pydantic_core.core_schema import ValidationInfo

from sale_sofia.config.postgres import ServerLimits
from sale_sofia.config.settings_types import decimal, password_file, whole
from sale_sofia.config.settings_urls import with_password


class PostgresSettings(BaseModel):
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
