"""Alerts at the end of a crawl."""

import time
from collections.abc import Callable

from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database


def alert_crawled(settings: Settings, database: Database, clock: Callable[[], float] = time.time) -> None:
    """Send alerts for ALERT_CRAWL_SECONDS at most; a failure never fails the crawl."""
    from sale_sofia.alerts.running import alert_after_crawl  # noqa: PLC0415 - a crawl begins without it

    alert_after_crawl(settings, database, settings.alert_crawl_seconds, clock)
