"""A statement is compiled once in a test process, not once by every engine of its hundreds of databases."""

from functools import partial
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from sale_sofia.storage import postgres, sqlite

STATEMENTS = 2_000
"""More than the suite has, without those that are made at random."""


def compile_once() -> None:
    """From now on engines share what they have compiled, among those of the same kind of database."""
    compiled: LRUCache[Any, Any] = LRUCache(STATEMENTS)
    sharing = partial(create_engine, execution_options={"compiled_cache": compiled})
    for module in (sqlite, postgres):
        setattr(module, create_engine.__name__, sharing)
    for dialect in (SQLiteDialect_pysqlite, PGDialect_psycopg):  # by which a statement is looked up
        for name, method in (("__eq__", _alike), ("__hash__", _by_kind)):
            setattr(dialect, name, method)


def _alike(one: object, other: object) -> bool:
    return type(one) is type(other)


def _by_kind(one: object) -> int:
    return hash(type(one))
