"""Settings of PostgreSQL as the store."""

from pydantic import BaseModel


class PostgresSettings(BaseModel):
    """Settings of PostgreSQL as the store."""
