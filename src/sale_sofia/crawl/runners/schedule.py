"""Scheduled crawls, each turn once however many processes look: `DATA_DIR/schedule.yaml`.

    quiet_hours: "23:00-06:30"
    crawls:
      - name: nightly
        at: "22:00"
        sites: [imot.bg, bazar.bg]
      - name: new adverts
        every_hours: 4
        quiet_hours: "08:00-09:30"
        for: [me]

Times are Sofia's; without `sites` all portals are crawled, without `for` everything, else only what these
profiles and saved searches look for. A turn that falls into quiet hours begins, once, when they end; quiet
hours of a crawl override those of the file, and `none` means none.
"""

import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator
from sqlalchemy import Connection, func, select

from sale_sofia.crawl.frontier.planning import JobPlan, plan_for_workers
from sale_sofia.crawl.frontier.wanted import Wanted, find_wanted
from sale_sofia.crawl.runners.runners import SiteBusy, site_lock
from sale_sofia.crawl.tables import schedule_slots
from sale_sofia.listings.dates import day_of, moment_of, quiet_until
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.upserts import insert_into
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import (
    Paths,
    SiteConfigError,
    Table,
    available_sites,
    load_site_config,
    load_yaml,
    sentences,
    start_urls_of,
)

log = logging.getLogger(__name__)
Jobs = Mapping[str, Mapping[str, Any]]
SCHEDULE_FILE: Final = "schedule.yaml"
SCHEDULE_LOOK_SECONDS: Final = 60.0
"""How often beat looks for due turns: a crawl begins at most this late."""
SCHEDULE_NEW_SECONDS: Final = 300.0
"""A new crawl begins with its next turn; with its last one only if that is no older than this."""
_HOURS_PER_DAY: Final = 24
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
NO_QUIET: Final = "none"
_LOCK: Final = "schedule"


def _time_of_day(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise ValueError(f'{text!r} is no time of day; write it in quotes, as "03:30"')
    return text


def _quiet_hours(text: Any) -> Any:  # noqa: ANN401 - whatever stands in the file
    start, _, end = str(text).partition("-")
    if text == NO_QUIET or (start != end and all(map(_TIME.fullmatch, (start, end)))):
        return text
    raise ValueError(f'{text!r} are no quiet hours; write them in quotes, as "23:00-06:30", or none')


def _known_site(site: str) -> str:
    if site not in available_sites():
        raise ValueError(f"no portal {site}; there are {', '.join(available_sites())}")
    return site


Quiet = Annotated[str, BeforeValidator(_quiet_hours)]


class ScheduledCrawl(Table):
    """One scheduled crawl, daily at a time or every few hours."""

    name: str = Field(min_length=1, max_length=80)
    at: Annotated[str, AfterValidator(_time_of_day)] | None = None
    every_hours: int | None = Field(default=None, ge=1, le=_HOURS_PER_DAY)
    sites: tuple[Annotated[str, AfterValidator(_known_site)], ...] = Field(default_factory=available_sites)
    quiet_hours: Quiet | None = None
    looks_for: Annotated[Paths, Field(alias="for")] = ()
    """Names of profiles and saved searches; checked when its turn comes."""

    @model_validator(mode="after")
    def _one_rhythm(self) -> Self:
        if (self.at is None) == (self.every_hours is None):
            raise ValueError("say either `at` or `every_hours`")
        return self

    def turn(self, now: float) -> float:
        """The time of its last turn, quiet or not: today's or, before the first one of today, yesterday's."""
        return max(moment for moment in self._turns(now) if moment <= now)

    def next_turn(self, now: float) -> float:
        """The time of its next turn, quiet or not."""
        return min(moment for moment in self._turns(now) if moment > now)

    def _turns(self, now: float) -> list[float]:
        """Those of yesterday, today and tomorrow."""
        clocks = [time(hour) for hour in range(0, _HOURS_PER_DAY, self.every_hours or _HOURS_PER_DAY)]
        if self.at is not None:
            clocks = [time.fromisoformat(self.at)]
        days = [day_of(now) + timedelta(days=days) for days in (-1, 0, 1)]
        return [moment_of(day, clock) for day in days for clock in clocks]

    def slot(self, now: float) -> str:
        """The name of the last turn: the same for all callers until the next one."""
        return f"{datetime.fromtimestamp(self.turn(now), UTC):%Y-%m-%dT%H:%MZ}"


class CrawlSchedule(Table):
    """All scheduled crawls; each has its own quiet hours, or else those of the file."""

    quiet_hours: Quiet | None = None
    crawls: tuple[ScheduledCrawl, ...] = ()

    @model_validator(mode="after")
    def _each_name_once(self) -> Self:
        names = [crawl.name for crawl in self.crawls]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two crawls are called {', '.join(twice)}")
        return self

    def is_quiet(self, crawl: ScheduledCrawl, now: float) -> bool:
        """Whether this crawl may not begin now."""
        return self._quiet_until(crawl, now) is not None

    def next_begin(self, now: float) -> float | None:
        """When the next crawl begins; None where there is none. A turn in quiet hours waits."""
        turns = [(crawl, crawl.next_turn(now)) for crawl in self.crawls]
        return min((self._quiet_until(crawl, turn) or turn for crawl, turn in turns), default=None)

    def _quiet_until(self, crawl: ScheduledCrawl, moment: float) -> float | None:
        """When the crawl's quiet hours end that this moment falls into; None outside of them."""
        hours = crawl.quiet_hours or self.quiet_hours or NO_QUIET
        if hours == NO_QUIET:
            return None
        start, _, end = hours.partition("-")
        return quiet_until(moment, time.fromisoformat(start), time.fromisoformat(end))


def load_schedule(folder: Path) -> CrawlSchedule:
    """The schedule of an installation, empty without a file; `SiteConfigError` names each mistake in it."""
    path = folder / SCHEDULE_FILE
    if not path.exists():
        return CrawlSchedule()
    try:
        return CrawlSchedule.model_validate(load_yaml(path))
    except ValidationError as error:
        raise SiteConfigError(sentences(path, error, CrawlSchedule)) from None


def jobs_of_turns(settings: Settings, database: Database, now: float) -> list[Jobs]:
    """Create the jobs of every scheduled crawl whose turn has come; of concurrent callers one does.

    A turn is taken once its jobs are there: if the process is killed before, the next look begins it.
    """
    schedule = load_schedule(settings.data_dir)
    with suppress(SiteBusy), site_lock(database, settings.data_dir / "locks", _LOCK):
        turns = []
        for crawl in schedule.crawls:
            quiet = schedule.is_quiet(crawl, now)
            if not database.run_write(partial(_is_due, crawl=crawl, now=now, quiet=quiet)):
                continue
            try:
                jobs = _planned(settings, database, crawl)
            except Exception:  # the next look tries it again; the crawls after it begin all the same
                log.exception("scheduled crawl %s could not begin", crawl.name)
                continue
            turns.append({site: job for site, job in jobs.items() if job})
            database.run_write(partial(_take_slot, name=crawl.name, slot=crawl.slot(now), now=now))
        return [jobs for jobs in turns if jobs]
    return []


def _is_due(connection: Connection, crawl: ScheduledCrawl, now: float, *, quiet: bool) -> bool:
    """Whether the crawl's last turn is to begin now, which it never does in quiet hours.

    So a turn that falls into quiet hours, or was missed, begins when it can, and several of them as one.
    A new crawl begins with its next turn. Where its time was changed, a turn before its last begin is over.
    """
    query = select(func.max(schedule_slots.c.taken_at)).where(schedule_slots.c.name == crawl.name)
    last = connection.scalar(query)
    if last is None:
        last = now - SCHEDULE_NEW_SECONDS
        _take_slot(connection, crawl.name, crawl.slot(last), last)
    return not quiet and bool(last < crawl.turn(now))


def _take_slot(connection: Connection, name: str, slot: str, now: float) -> None:
    row = {"name": name, "slot": slot, "taken_at": now}
    connection.execute(insert_into(connection, schedule_slots).values(row).on_conflict_do_nothing())


def _planned(settings: Settings, database: Database, crawl: ScheduledCrawl) -> Jobs:
    """The jobs of a crawl; none, and a warning in the log, where its profiles or searches cannot be used."""
    wanted = None
    if crawl.looks_for:
        find = partial(find_wanted, data_dir=settings.data_dir, names=crawl.looks_for)
        try:
            wanted = database.run_read(find)
        except ValueError as error:
            log.warning("scheduled crawl %s left out: %s", crawl.name, error)
            return {}
    return {site: _plan(settings, database, site, wanted) for site in crawl.sites}


def _plan(settings: Settings, database: Database, site: str, wanted: Wanted | None) -> Mapping[str, Any]:
    """The job of a portal; none, and a warning in the log, while it is crawled or its site file is wrong."""
    try:
        if not load_site_config(site).enabled:
            return {}
        urls, scraper = start_urls_of(site), get_scraper(site)
        if wanted is not None and not wanted.leaves(scraper, urls):
            return {}
        plan = JobPlan(scraper, urls, limit=None, fresh=False, wanted=wanted)
        job_id = plan_for_workers(settings, database, plan)
    except (SiteBusy, ValueError) as why:
        log.warning("scheduled crawl left out: %s (at %s)", why, f"{datetime.now().astimezone():%H:%M}")
        return {}
    return {"job_id": job_id, "start_urls": list(urls)}
