"""What all tables share. A migration makes each change to a table; nothing happens on import."""

from sqlalchemy import BigInteger, Integer, MetaData

# Names that do not depend on the database, so that a migration can always find what it changes.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
Id = BigInteger().with_variant(Integer, "sqlite")
