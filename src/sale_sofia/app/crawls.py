"""What the crawl does now, portal by portal; when none runs, how the last ended and when the next begins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, func, select

from sale_sofia.app import formatting as shown
from sale_sofia.app.settings import LONGEST_MESSAGE
from sale_sofia.app.visit import Values, Visit
from sale_sofia.app.words import named, say, told
from sale_sofia.crawl.frontier.outlook import Outlook, read_outlook
from sale_sofia.crawl.runners.schedule import load_schedule
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.jobs import JobState, get_job
from sale_sofia.history.runs.incidents import unmoved_jobs
from sale_sofia.history.tables import sweeps
from sale_sofia.listings.text import plain
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import open_incidents
from sale_sofia.telemetry.settings import PROGRESS_LINE_SECONDS
from sale_sofia.websites.site_file import SiteConfigError

_ORDER: Final = ("running", "waiting", "stuck", "stopped", "ended")


@dataclass(frozen=True, slots=True)
class Crawl:
    """The newest crawl of a portal."""

    site: str
    state: str
    """One of running, waiting, stuck, stopped and ended."""
    at: float
    """When it ended; of one that did not, when it began."""
    adverts: int | None
    new: int
    outlook: Outlook | None
    """How far one is that runs; None before it has seen an advert."""
    wrong: Sequence[str]
    """What is not as it should be with it, or with the portal's pages, each in words."""

    def text(self, now: float) -> str:
        """In one line."""
        ago = shown.ago(self.at, now)
        if self.state == "running" and self.outlook:
            line = told(self.outlook.told)
        elif self.state == "ended" and self.adverts is not None:
            count = shown.count_adverts(self.adverts)
            line = say("crawl.ended", ago=ago, n=count, new=shown.number(self.new))
        else:
            line = say(f"crawl.{self.state}_only", ago=ago)
        return " · ".join((line, *self.wrong))

    def as_json(self) -> Values:
        """The crawl as data."""
        far = self.outlook
        found = {"site": self.site, "state": self.state, "at": self.at, "wrong": list(self.wrong)}
        if far is None:
            return found | {"adverts": self.adverts, "new": self.new}
        return found | {
            "seen": far.seen, "opened": far.opened, "fitting": far.fitting, "new": far.new,
            "minutes_to_fitting": round(far.fitting_minutes, 1), "minutes": round(far.minutes, 1),
        }  # fmt: skip


def crawls_now(visit: Visit) -> list[Crawl]:
    """Of every portal that was ever crawled, those at work first; read at most every few seconds."""
    moment = visit.now // PROGRESS_LINE_SECONDS
    question = ("crawls", visit.language)
    read = partial(_read, now=visit.now, settings=visit.site.settings)
    return visit.site.kept(question, lambda: visit.database.run_read(read), version=moment)


def next_crawl(visit: Visit) -> float | None:
    """When the next one begins by itself; None where nothing is scheduled, or the schedule cannot be read."""
    try:
        return load_schedule(visit.site.settings.data_dir).next_begin(visit.now)
    except SiteConfigError:  # the page of health says so
        return None


def summary(found: Sequence[Crawl], next_at: float | None, now: float) -> str:
    """All of it in one line."""
    running = [one.site for one in found if one.state == "running"]
    ended = max((one.at for one in found if one.state == "ended"), default=None)
    wrong = [one.site for one in found if one.wrong or one.state in {"stuck", "stopped"}]
    parts = [say("crawl.now", portals=", ".join(running))] if running else []
    if not running:
        parts += [say("crawl.last", ago=shown.ago(ended, now))] if ended is not None else []
        parts += [say("crawl.next", moment=shown.moment(next_at)) if next_at else say("crawl.no_next")]
    parts += [f"⚠ {say('crawl.wrong', portals=', '.join(wrong))}"] if wrong else []
    return " · ".join(parts)


def _read(connection: Connection, now: float, settings: Settings) -> list[Crawl]:
    newest = select(jobs.c.site, func.max(jobs.c.created_at).label("at")).group_by(jobs.c.site).subquery()
    columns = select(jobs, sweeps.c.adverts, sweeps.c.complete, sweeps.c.reason, sweeps.c.missing)
    last = and_(newest.c.site == jobs.c.site, newest.c.at == jobs.c.created_at)
    rows = connection.execute(columns.join(newest, last).outerjoin(sweeps, sweeps.c.job_id == jobs.c.id))
    unmoved = unmoved_jobs(connection, now - settings.incident_stuck_seconds)
    incidents = open_incidents(connection)
    found = []
    for row in rows:
        state = _state(row, is_stuck=row.site in unmoved)
        job = get_job(connection, row.id) if state == "running" else None
        open_here = [named("incident", one.kind.value) for one in incidents if one.site == row.site]
        found.append(
            Crawl(
                row.site,
                state,
                row.finished_at or row.started_at or row.created_at,
                row.adverts,
                row.new_listings,
                read_outlook(connection, job, settings) if job else None,
                [plain(one, LONGEST_MESSAGE) for one in dict.fromkeys((*_wrong(row), *open_here))],
            )
        )
    return sorted(found, key=lambda one: (_ORDER.index(one.state), not one.wrong, one.site))


def _state(row: Row[Any], *, is_stuck: bool) -> str:
    if JobState(row.state).finished:
        return "ended"
    if is_stuck:
        return "stuck"
    if row.runner is not None:
        return "running"
    return "waiting" if row.started_at is None else "stopped"


def _wrong(row: Row[Any]) -> Iterator[str]:
    """Why it brought less than it should, of one that ended."""
    state = JobState(row.state)
    if not state.finished:
        return
    if state is not JobState.COMPLETE:
        yield named("job_state", state.value)
    for sentence in (row.error, None if row.complete in {None, True} else row.reason, row.missing):
        if sentence:
            yield told(sentence)
