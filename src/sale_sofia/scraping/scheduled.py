"""Crawls that begin by themselves: each turn once, however many clocks strike."""

import logging
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from sale_sofia.config.schedule import ScheduledCrawl, load_schedule
from sale_sofia.config.settings import Settings
from sale_sofia.config.site_config import start_urls_of
from sale_sofia.data.database import Database
from sale_sofia.data.schema import schedule_slots
from sale_sofia.scraping.errors import SiteBusy
from sale_sofia.scraping.planning import JobPlan, plan_for_workers
from sale_sofia.websites.registry import get_scraper

log = logging.getLogger(__name__)
Jobs = Mapping[str, Mapping[str, Any]]


def jobs_of_turn(settings: Settings, database: Database, name: str, now: float) -> Jobs:
    """The jobs of a scheduled crawl's turn, made now; none if the turn was taken or the crawl is gone."""
    crawl = next((one for one in load_schedule(settings.data_dir).crawls if one.name == name), None)
    if crawl is None or not database.run_write(partial(take_slot, crawl=crawl, now=now)):
        return {}
    planned = {site: _plan(settings, database, site) for site in crawl.sites}
    return {site: job for site, job in planned.items() if job}


def take_slot(connection: Connection, crawl: ScheduledCrawl, now: float) -> bool:
    """Whether this turn is ours: of many who ask, one gets it."""
    insert = sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert
    row = {"name": crawl.name, "slot": crawl.slot(now), "taken_at": now}
    take = insert(schedule_slots).values(row).on_conflict_do_nothing()
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
