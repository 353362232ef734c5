"""A clock that was set back: what was put off by the old clock is brought back by as much.

Rows say until when they wait, and until when they are leased, on the clock of whoever wrote them. A row that
waits also says when that was written: where that is in our future, its wait is shortened by as much, so that
what is left of it stays, whatever other clocks wrote before and since. What a lease was given by is told by
the last one. What is further away than any wait we give is due now.
"""

import logging
import time
from collections.abc import Callable
from typing import Final

from sqlalchemy import Connection, case, func, select, text, update

from sale_sofia.crawl.resilience.settings import (
    RESET_JITTER,
    RESET_TIMEOUT_MAX_SECONDS,
    RETRY_AFTER_MAX_SECONDS,
)
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.operations.settings import CLOCK_FAULT_SECONDS
from sale_sofia.settings.model import Settings, get_settings
from sale_sofia.storage import database as stores
from sale_sofia.storage.database import Database

log: Final = logging.getLogger(__name__)


def longest_wait(settings: Settings) -> float:
    """Seconds that no page is ever put off for longer than."""
    circuit = max(settings.circuit_breaker_reset_timeout, RESET_TIMEOUT_MAX_SECONDS) * (1 + RESET_JITTER)
    return max(RETRY_AFTER_MAX_SECONDS, settings.retry_max_delay, settings.longest_polite_wait, circuit)


def bring_back(connection: Connection, job_id: str, *, now: float) -> float:
    """Mend what clocks ahead of ours wrote of an unfinished job; by how many seconds its leases were ahead.

    Costs next to nothing while a page is due soon, and called again it changes nothing.
    """
    settings = get_settings()
    ahead = _seconds_ahead(connection, job_id, now, settings.lease_seconds)
    if ahead:
        log.warning("the clock was set back by %.0f s: leases and waits of %s are mended", ahead, job_id)
        # No lease lasts longer than one from now; what the others say of a clock is not to be heard again.
        until = case((frontier.c.state == "leased", now + settings.lease_seconds), else_=now)
        later = (frontier.c.job_id == job_id, frontier.c.lease_until > until)
        connection.execute(update(frontier).where(*later).values(lease_until=until))
        woken = update(jobs).where(jobs.c.id == job_id, jobs.c.woken_at > now)
        connection.execute(woken.values(woken_at=now))
    _bring_back_job(connection, job_id, now, longest_wait(settings))
    pending = update(frontier).where(frontier.c.job_id == job_id, frontier.c.state == "pending")
    # Waits also where it cannot be told from leases: a page may be put off by a clock that gave none.
    by_another_clock = (frontier.c.not_before > now, frontier.c.put_off_at > now + CLOCK_FAULT_SECONDS)
    left = frontier.c.not_before - frontier.c.put_off_at + now
    connection.execute(pending.where(*by_another_clock).values(not_before=left, put_off_at=now))
    impossible = frontier.c.not_before > now + longest_wait(settings) + CLOCK_FAULT_SECONDS
    connection.execute(pending.where(impossible).values(not_before=now))
    return ahead


def _bring_back_job(connection: Connection, job_id: str, now: float, longest: float) -> None:
    """The same of the moment until which the job as a whole waits."""
    shut = update(jobs).where(jobs.c.id == job_id, jobs.c.shut_until > now)
    left = jobs.c.shut_until - jobs.c.shut_at + now
    by_another_clock = jobs.c.shut_at > now + CLOCK_FAULT_SECONDS
    connection.execute(shut.where(by_another_clock).values(shut_until=left, shut_at=now))
    impossible = jobs.c.shut_until > now + longest + CLOCK_FAULT_SECONDS
    connection.execute(shut.where(impossible).values(shut_until=now))


def _seconds_ahead(connection: Connection, job_id: str, now: float, lease_seconds: float) -> float:
    told = select(jobs.c.woken_at, jobs.c.shut_until).where(jobs.c.id == job_id)
    woken_at, shut_until = connection.execute(told).first() or (None, None)
    # Until when a row is leased, or was: all are asked only where no page is due for long.
    last = select(func.max(frontier.c.lease_until)).where(frontier.c.job_id == job_id)
    pending = (frontier.c.job_id == job_id, frontier.c.state == "pending")
    due = connection.execute(select(func.min(frontier.c.not_before)).where(*pending)).scalar() or 0.0
    if max(due, shut_until or 0.0) <= now + CLOCK_FAULT_SECONDS:
        last = last.where(frontier.c.state == "leased")
    latest = max(woken_at or 0.0, (connection.execute(last).scalar() or 0.0) - lease_seconds)
    return latest - now if latest > now + CLOCK_FAULT_SECONDS else 0.0


# The clock of all who share a store: a server's own, which every host sees alike; of a file, this
# machine's. Leases and waits are written by one host and judged by another. By their own clocks, one that
# is ahead takes pages from the hands of the living, and others take its own: in a minute each page had five
# dead owners.


def store_time(database: Database) -> float:
    """The time of day by the store's clock, in seconds since 1970."""
    if not stores.is_on_server(database.url):
        return time.time()
    moment = text("SELECT extract(epoch FROM clock_timestamp())")
    return database.run_read(lambda connection: float(connection.execute(moment).scalar_one()))


def store_clock(database: Database) -> Callable[[], float]:
    """The store's clock, looked at once: from then on a clock of ours that is set changes nothing.

    For a file it is this machine's, as it is set.
    """
    if not stores.is_on_server(database.url):
        return time.time
    then, since = store_time(database), time.monotonic()
    return lambda: then + time.monotonic() - since
