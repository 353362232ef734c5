"""When crawls begin by themselves: `DATA_DIR/schedule.yaml`, where there is one.

    quiet_hours: "23:00-06:30"
    crawls:
      - name: nightly
        at: "22:00"
        sites: [imot.bg, bazar.bg]
      - name: new adverts
        every_hours: 4
        quiet_hours: "08:00-09:30"

Times are Sofia's; without `sites` all portals are crawled. A turn that falls into quiet hours begins, once,
when they end; those of a crawl go before those of the file, and `none` has none.
"""

import re
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from sale_sofia.settings.quiet_hours import day_of, moment_of, quiet_until
from sale_sofia.websites.site_file import SiteConfigError, Table, available_sites, load_yaml, sentences

SCHEDULE_FILE: Final = "schedule.yaml"
SCHEDULE_LOOK_SECONDS: Final = 60.0
"""How often beat asks for turns that are due: so late may a crawl begin."""
SCHEDULE_NEW_SECONDS: Final = 300.0
"""A crawl that nobody knew begins with its next turn; with its last one only if that is no older."""
_HOURS_PER_DAY: Final = 24
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")
NO_QUIET: Final = "none"


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
    """One crawl that begins by itself, daily at a time or every so many hours."""

    name: str = Field(min_length=1, max_length=80)
    at: Annotated[str, AfterValidator(_time_of_day)] | None = None
    every_hours: int | None = Field(default=None, ge=1, le=_HOURS_PER_DAY)
    sites: tuple[Annotated[str, AfterValidator(_known_site)], ...] = Field(default_factory=available_sites)
    quiet_hours: Quiet | None = None

    @model_validator(mode="after")
    def _one_rhythm(self) -> Self:
        if (self.at is None) == (self.every_hours is None):
            raise ValueError("say either `at` or `every_hours`")
        return self

    def turn(self, now: float) -> float:
        """When its last turn was, quiet or not: today's or, before the first one of today, yesterday's."""
        today = day_of(now)
        days = (today, today - timedelta(days=1))
        return max(at for day in days for clock in self._clocks() if (at := moment_of(day, clock)) <= now)

    def _clocks(self) -> list[time]:
        if self.at is not None:
            return [time.fromisoformat(self.at)]
        return [time(hour) for hour in range(0, _HOURS_PER_DAY, self.every_hours or _HOURS_PER_DAY)]

    def slot(self, now: float) -> str:
        """The name of that turn: the same for everybody who asks before the next one."""
        turn = self.turn(now)
        if self.at is not None:
            return day_of(turn).isoformat()
        return f"{datetime.fromtimestamp(turn, UTC):%Y-%m-%dT%H:%MZ}"


class CrawlSchedule(Table):
    """All crawls that begin by themselves; each has its own quiet hours, or else those of the file."""

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
        hours = crawl.quiet_hours or self.quiet_hours or NO_QUIET
        return hours != NO_QUIET and quiet_until(now, *_span(hours)) is not None


def _span(hours: str) -> tuple[time, time]:
    start, _, end = hours.partition("-")
    return time.fromisoformat(start), time.fromisoformat(end)


def load_schedule(folder: Path) -> CrawlSchedule:
    """The schedule of an installation; empty where there is no file.

    Raises:
        SiteConfigError: the file cannot be used; one sentence for each mistake.
    """
    path = folder / SCHEDULE_FILE
    if not path.exists():
        return CrawlSchedule()
    try:
        return CrawlSchedule.model_validate(load_yaml(path))
    except ValidationError as error:
        raise SiteConfigError(sentences(path, error)) from None
