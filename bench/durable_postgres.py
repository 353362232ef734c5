"""A PostgreSQL of its own for a measurement, which keeps what it said to keep."""

from collections.abc import Iterator
from contextlib import contextmanager

from postgres_servers import NoPostgres, PostgresServer, end_server, start_server


@contextmanager
def durable_postgres() -> Iterator[PostgresServer | None]:
    """A server with its fsyncs; None, with the reason printed, where there is none."""
    try:
        server = start_server(durable=True)
    except NoPostgres as reason:
        print(f"PostgreSQL is left out: {reason}")
        yield None
        return
    try:
        yield server
    finally:
        end_server(server)
