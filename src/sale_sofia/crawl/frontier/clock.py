"""Repairs stored times after a clock was set back.

Rows hold the end of their wait and of their lease, on the clock of whoever wrote them. A waiting row also
holds when that was written: if that is in our future, the wait is shortened by the difference, so that its
remaining length stays the same. How far the clock of a lease was ahead follows from the latest lease. A wait
longer than any we give ends now.
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
from sale_sofia.history.settings import CLOCK_FAULT_SECONDS
from sale_sofia.settings.model import Settings, get_settings
from sale_sofia.storage import database as stores
from sale_sofia.storage.database import Database

log: Final = logging.getLogger(__name__)


def longest_wait(settings: Settings) -> float:
    """The most seconds that a page is ever put off."""
    circuit = max(settings.circuit_breaker_reset_timeout, RESET_TIMEOUT_MAX_SECONDS) * (1 + RESET_JITTER)
    return max(RETRY_AFTER_MAX_SECONDS, settings.retry_max_delay, settings.longest_polite_wait, circuit)


def bring_back(connection: Connection, job_id: str, *, now: float) -> float:
    """Repair the times that clocks ahead of ours wrote into a job; returns how far its leases were ahead.

    Cheap while a page is due soon, and idempotent.
    """
    settings = get_settings()
    ahead = _seconds_ahead(connection, job_id, now, settings.lease_seconds)
    if ahead:
        log.warning("the clock was set back by %.0f s: leases and waits of %s are mended", ahead, job_id)
        # No lease lasts longer than one given now; ended ones must not report that clock again.
        until = case((frontier.c.state == "leased", now + settings.lease_seconds), else_=now)
        later = (frontier.c.job_id == job_id, frontier.c.lease_until > until)
        connection.execute(update(frontier).where(*later).values(lease_until=until))
        woken = update(jobs).where(jobs.c.id == job_id, jobs.c.woken_at > now)
        connection.execute(woken.values(woken_at=now))
    _bring_back_job(connection, job_id, now, longest_wait(settings))
    pending = update(frontier).where(frontier.c.job_id == job_id, frontier.c.state == "pending")
    # Waits are repaired in any case: the clock that put a page off may have given no lease.
    by_another_clock = (frontier.c.not_before > now, frontier.c.put_off_at > now + CLOCK_FAULT_SECONDS)
    left = frontier.c.not_before - frontier.c.put_off_at + now
    connection.execute(pending.where(*by_another_clock).values(not_before=left, put_off_at=now))
    impossible = frontier.c.not_before > now + longest_wait(settings) + CLOCK_FAULT_SECONDS
    connection.execute(pending.where(impossible).values(not_before=now))
    return ahead


def _bring_back_job(connection: Connection, job_id: str, now: float, longest: float) -> None:
    """The same for the wait of the job as a whole."""
    shut = update(jobs).where(jobs.c.id == job_id, jobs.c.shut_until > now)
    left = jobs.c.shut_until - jobs.c.shut_at + now
    by_another_clock = jobs.c.shut_at > now + CLOCK_FAULT_SECONDS
    connection.execute(shut.where(by_another_clock).values(shut_until=left, shut_at=now))
    impossible = jobs.c.shut_until > now + longest + CLOCK_FAULT_SECONDS
    connection.execute(shut.where(impossible).values(shut_until=now))


def _seconds_ahead(connection: Connection, job_id: str, now: float, lease_seconds: float) -> float:
    query = select(jobs.c.woken_at, jobs.c.shut_until).where(jobs.c.id == job_id)
    woken_at, shut_until = connection.execute(query).first() or (None, None)
    # All leases, ended ones too, are searched only when no page is due for long.
    last_lease = select(func.max(frontier.c.lease_until)).where(frontier.c.job_id == job_id)
    pending = (frontier.c.job_id == job_id, frontier.c.state == "pending")
    due = connection.execute(select(func.min(frontier.c.not_before)).where(*pending)).scalar() or 0.0
    if max(due, shut_until or 0.0) <= now + CLOCK_FAULT_SECONDS:
        last_lease = last_lease.where(frontier.c.state == "leased")
    latest = max(woken_at or 0.0, (connection.execute(last_lease).scalar() or 0.0) - lease_seconds)
    return latest - now if latest > now + CLOCK_FAULT_SECONDS else 0.0


# The clock of all who share a store: the server's own, or this machine's for a file. Leases and waits are
# written by one host and judged by another: by its own clock, a host that is ahead would take leased pages
# from live workers, and lose its own to them.


def store_time(database: Database) -> float:
    """The time of day by the store's clock, in seconds since 1970."""
    if not stores.is_on_server(database.url):
        return time.time()
    moment = text("SELECT extract(epoch FROM clock_timestamp())")
    return database.run_read(lambda connection: float(connection.execute(moment).scalar_one()))


def store_clock(database: Database) -> Callable[[], float]:
    """The store's clock, read once: later changes of this machine's clock do not affect it.

    For a file it is this machine's clock.
    """
    if not stores.is_on_server(database.url):
        return time.time
    then, since = store_time(database), time.monotonic()
    return lambda: then + time.monotonic() - since
