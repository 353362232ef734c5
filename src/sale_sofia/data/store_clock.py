"""The clock of all who share a store: a server's own, which every host sees alike; of a file, this machine's.

Leases and waits are written by one host and judged by another. By their own clocks, one that is ahead takes
pages from the hands of the living, and others take its own: in a minute each page had five dead owners.
"""

import time
from collections.abc import Callable

from sqlalchemy import Connection

from sale_sofia.data import stores
from sale_sofia.data.database import Database


def store_time(database: Database) -> float:
    """The time of day by the store's clock, in seconds since 1970."""
    return database.run_read(_told) if stores.is_server(database.url) else time.time()


def store_clock(database: Database) -> Callable[[], float]:
    """The store's clock, looked at once: from then on a clock of ours that is set changes nothing.

    For a file it is this machine's, as it is set.
    """
    if not stores.is_server(database.url):
        return time.time
    told, since = store_time(database), time.monotonic()
    return lambda: told + time.monotonic() - since


def _told(connection: Connection) -> float:
    return float(connection.exec_driver_sql("SELECT extract(epoch FROM clock_timestamp())").scalar_one())
