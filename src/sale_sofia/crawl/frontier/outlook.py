"""The progress of a running crawl: what it has found, and how long it still takes."""

from dataclasses import dataclass

from sqlalchemy import Connection, and_, case, func, select

from sale_sofia.crawl.frontier.estimate import duration, rate_per_minute
from sale_sofia.crawl.frontier.ranking import MAY_FIT, SHORTLISTED
from sale_sofia.crawl.tables import LEFT_ALONE, EndCode
from sale_sofia.crawl.tables import frontier as rows
from sale_sofia.history.jobs import Job
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import Said
from sale_sofia.websites.registry import get_scraper


@dataclass(frozen=True, slots=True)
class Outlook:
    """Adverts of a job so far, and minutes left at the portal's rate for the pages known so far."""

    seen: int
    opened: int
    fitting: int
    """Adverts that may fit a wish; for a job with a goal, those that are not left unopened as unwanted."""
    new: int
    searching: bool
    """Whether pages of results are pending, which may bring more."""
    fitting_minutes: float
    """Until all that may fit is opened; pages of results come first."""
    minutes: float
    """Until its end."""

    @property
    def told(self) -> Said:
        """The outlook in one line."""
        least = Said("outlook.least") if self.searching else None
        return Said(
            "outlook.told",
            seen=self.seen,
            opened=self.opened,
            fitting=self.fitting,
            new=self.new,
            least=least,
            after=duration(self.fitting_minutes),
            end=duration(self.minutes),
        )


def read_outlook(connection: Connection, job: Job, settings: Settings) -> Outlook | None:
    """The outlook of a running job that has seen adverts, at the rates of these settings; else None."""
    if job.state.finished:
        return None
    advert, waits = rows.c.kind == "listing", rows.c.state.in_(("pending", "leased"))
    code = func.coalesce(rows.c.code, "")
    ranked = and_(rows.c.rank >= MAY_FIT, rows.c.rank < SHORTLISTED)
    fits = ranked if job.looks_for is None else code != EndCode.UNWANTED
    opened = and_(advert, rows.c.state == "done", code.not_in(LEFT_ALONE))
    conditions = (advert, opened, and_(advert, fits), and_(advert, fits, waits), and_(~advert, waits), waits)
    query = select(*(func.sum(case((condition, 1), else_=0)) for condition in conditions))
    counts = connection.execute(query.where(rows.c.job_id == job.id)).one()
    seen, read, fitting, to_open, pages, left = (count or 0 for count in counts)
    if not seen:
        return None
    rate = rate_per_minute(settings, get_scraper(job.site).config)
    to_fits = (pages + to_open) / rate
    return Outlook(seen, read, fitting, job.new_listings, pages > 0, to_fits, left / rate)
