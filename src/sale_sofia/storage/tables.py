"""What all tables share. A migration makes each change to a table; nothing happens on import."""

import json

from sqlalchemy import BigInteger, Dialect, Integer, MetaData, Text, TypeDecorator

from sale_sofia.settings.words import Said

# Names that do not depend on the database, so that a migration can always find what it changes.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Sentence(TypeDecorator[Said]):
    """A sentence as JSON of its code and its values; words that have no code are of the code `other`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002 - its base's
        """As it is stored."""
        return None if value is None else json.dumps(Said.of(value).stored(), ensure_ascii=False)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Said | None:  # noqa: ARG002 - its base's
        """As it was."""
        return None if value is None else Said.of(json.loads(value))


Id = BigInteger().with_variant(Integer, "sqlite")
