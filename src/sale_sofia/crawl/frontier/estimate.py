"""How long a sweep takes at the current rates, before anything is sent."""

import math
from dataclasses import dataclass

from sqlalchemy import Connection, select

from sale_sofia.crawl.frontier import frontier
from sale_sofia.crawl.tables import jobs
from sale_sofia.history.tables import sweeps
from sale_sofia.settings.model import Settings
from sale_sofia.websites.site_file import SiteConfig

_SECONDS_PER_MINUTE = _MINUTES_PER_HOUR = 60


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and hours of one sweep, and what the figure rests on."""

    site: str
    requests: int
    requests_per_minute: float
    basis: str

    @property
    def hours(self) -> float:
        """At the politeness bound: the network is never what is waited for."""
        return self.requests / self.requests_per_minute / _MINUTES_PER_HOUR


def rate_per_minute(settings: Settings, config: SiteConfig) -> float:
    """The domain's own rate in the settings, else its site file's, else the default."""
    return settings.rate_limit(config.site, _SECONDS_PER_MINUTE / config.politeness.delay_seconds)


def estimate(
    connection: Connection, settings: Settings, config: SiteConfig, limit: int | None = None
) -> Estimate:
    """From the last complete sweep when there is one, else from the portal's known size."""
    complete = (
        select(jobs.c.id)
        .join(sweeps, sweeps.c.job_id == jobs.c.id)
        .where(jobs.c.site == config.site, sweeps.c.complete.is_(True))
        .order_by(jobs.c.created_at.desc())
        .limit(1)
    )
    job_id = connection.execute(complete).scalar()
    requests = frontier.count_rows(connection, job_id).total if job_id else 0
    basis = "the last complete crawl" if requests else "the portal's known size"
    if not requests:
        requests = config.inventory.adverts + math.ceil(config.inventory.adverts / config.inventory.per_page)
    if limit is not None:
        requests = min(requests, limit + math.ceil(limit / config.inventory.per_page))
    return Estimate(config.site, requests, rate_per_minute(settings, config), basis)
