"""What all tables share. Tables are created and changed by migrations, never on import."""

import json

from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, MetaData, Text, TypeDecorator

from sale_sofia.settings.words import Said

# Constraint names that do not depend on the database, so that migrations can always find them.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Sentence(TypeDecorator[Said]):
    """A sentence as JSON of its code and values; a plain text has the code `other`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - its base's
        """The stored form."""
        return None if value is None else json.dumps(Said.of(value).stored(), ensure_ascii=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Said | None:  # noqa: ARG002 - its base's
        """The sentence again."""
        return None if value is None else Said.of(json.loads(value))


class Digest(TypeDecorator[str]):
    """A digest as hexadecimal digits, stored as bytes: half as long in every row and index."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002 - its base's
        """The stored form."""
        return None if value is None else bytes.fromhex(value)

    def process_result_value(self, value: bytes | str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - its base's
        """The digits again; a database that is backed up before its upgrade still has them as they are."""
        return value.hex() if isinstance(value, bytes) else value


Id = BigInteger().with_variant(Integer, "sqlite")
