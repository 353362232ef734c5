"""Crawls that begin by themselves: each turn once, however many clocks strike."""

import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from sale_sofia.crawl.errors import SiteBusy
from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.runners.schedule_file import (
    SCHEDULE_NEW_SECONDS,
    CrawlSchedule,
    ScheduledCrawl,
    load_schedule,
)
from sale_sofia.crawl.tables import schedule_slots
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.upserts import insert_into
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import start_urls_of

log = logging.getLogger(__name__)
Jobs = Mapping[str, Mapping[str, Any]]


def jobs_of_turns(settings: Settings, database: Database, now: float) -> list[Jobs]:
    """The jobs of every scheduled crawl whose turn has come and was not taken, made now."""
    schedule = load_schedule(settings.data_dir)
    due = [crawl for crawl in schedule.crawls if _take(database, schedule, crawl, now)]
    return [jobs for crawl in due if (jobs := _jobs(settings, database, crawl))]


def _take(database: Database, schedule: CrawlSchedule, crawl: ScheduledCrawl, now: float) -> bool:
    quiet = schedule.is_quiet(crawl, now)
    return database.run_write(partial(take_turn, crawl=crawl, now=now, quiet=quiet))


def _jobs(settings: Settings, database: Database, crawl: ScheduledCrawl) -> Jobs:
    planned = {site: _plan(settings, database, site) for site in crawl.sites}
    return {site: job for site, job in planned.items() if job}


def take_turn(connection: Connection, crawl: ScheduledCrawl, now: float, *, quiet: bool) -> bool:
    """Whether the crawl's last turn is ours: of many who ask, one gets it, and nobody in quiet hours.

    So a turn that falls into quiet hours, or was missed, begins when it can, and several of them as one.
    A crawl that is new begins with its next turn.
    """
    known = select(schedule_slots.c.slot).where(schedule_slots.c.name == crawl.name).limit(1)
    if connection.execute(known).first() is None:
        _take_slot(connection, crawl.name, crawl.slot(now - SCHEDULE_NEW_SECONDS), now)
    return not quiet and _take_slot(connection, crawl.name, crawl.slot(now), now)


def _take_slot(connection: Connection, name: str, slot: str, now: float) -> bool:
    row = {"name": name, "slot": slot, "taken_at": now}
    take = insert_into(connection, schedule_slots).values(row).on_conflict_do_nothing()
    return bool(connection.execute(take, execution_options={"preserve_rowcount": True}).rowcount)


def _plan(settings: Settings, database: Database, site: str) -> Mapping[str, Any]:
    urls = start_urls_of(site)
    try:
        plan = JobPlan(get_scraper(site), urls, limit=None, fresh=False)
        job_id = plan_for_workers(settings, database, plan)
    except SiteBusy as busy:
        log.warning("scheduled crawl left out: %s (at %s)", busy, time.strftime("%H:%M"))
        return {}
    return {"job_id": job_id, "start_urls": list(urls)}
