"""When crawls begin by themselves: `DATA_DIR/schedule.yaml`, where there is one.

    crawls:
      - name: nightly
        at: "03:30"
        sites: [imot.bg, bazar.bg]
      - name: new adverts
        every_hours: 4

Times are Sofia's; without `sites` all portals are crawled.
"""

import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, ValidationError, model_validator

from sale_sofia.config.settings import TIME_ZONE
from sale_sofia.config.site_config import SiteConfigError, available_sites, load_yaml, sentences
from sale_sofia.config.site_links import Table

SCHEDULE_FILE: Final = "schedule.yaml"
_HOURS_PER_DAY: Final = 24
_SECONDS_PER_HOUR: Final = 3600
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)")


def _time_of_day(text: str) -> str:
    if not _TIME.fullmatch(text):
        raise ValueError(f'{text!r} is no time of day; write it in quotes, as "03:30"')
    return text


def _known_site(site: str) -> str:
    if site not in available_sites():
        raise ValueError(f"no portal {site}; there are {', '.join(available_sites())}")
    return site


class ScheduledCrawl(Table):
    """One crawl that begins by itself, daily at a time or every so many hours."""

    name: str = Field(min_length=1, max_length=80)
    at: Annotated[str, AfterValidator(_time_of_day)] | None = None
    every_hours: int | None = Field(default=None, ge=1, le=_HOURS_PER_DAY)
    sites: tuple[Annotated[str, AfterValidator(_known_site)], ...] = Field(default_factory=available_sites)

    @model_validator(mode="after")
    def _one_rhythm(self) -> Self:
        if (self.at is None) == (self.every_hours is None):
            raise ValueError("say either `at` or `every_hours`")
        return self

    def slot(self, now: float) -> str:
        """The name of the turn that `now` belongs to: the same for everybody who asks during it."""
        if self.every_hours is not None:
            return str(math.floor(now / (self.every_hours * _SECONDS_PER_HOUR)))
        return datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(TIME_ZONE)).date().isoformat()


class CrawlSchedule(Table):
    """All crawls that begin by themselves."""

    crawls: tuple[ScheduledCrawl, ...] = ()

    @model_validator(mode="after")
    def _each_name_once(self) -> Self:
        names = [crawl.name for crawl in self.crawls]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two crawls are called {', '.join(twice)}")
        return self


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
