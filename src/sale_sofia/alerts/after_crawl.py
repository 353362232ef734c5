"""Alerts at the end of a crawl, and every minute of a worker."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from sale_sofia.alerts.settings import ALERTS_FILE
from sale_sofia.history.runs.incidents import look_round
from sale_sofia.history.settings import OWN_SITE
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.telemetry.incidents import Aftermath, IncidentKind, attempt

_AFTERMATH: Final = Aftermath("alerts", IncidentKind.ALERTS_FAILED, OWN_SITE, "sale-sofia alerts run")


def alert_crawled(settings: Settings, database: Database, clock: Callable[[], float] = time.time) -> None:
    """Send alerts for ALERT_CRAWL_SECONDS at most; a failure never fails the crawl."""
    alert_after_crawl(settings, database, settings.alert_crawl_seconds, clock)


def alert_after_crawl(
    settings: Settings, database: Database, seconds: float, clock: Callable[[], float] = time.time
) -> bool:
    """Run a round of alerts; never raises. `False` if it failed: then there is an incident.

    Without a rules file nothing is loaded for it, and incidents alone are recorded.
    """
    if not (settings.data_dir / ALERTS_FILE).exists():
        look = partial(look_round, settings=settings, now=clock())
        return attempt(database, _AFTERMATH, partial(database.run_write, look), clock=clock)
    from sale_sofia.alerts.rules import AlertsError  # noqa: PLC0415 - for those who have rules
    from sale_sofia.alerts.running import Alerts  # noqa: PLC0415 - as above

    run = partial(Alerts(settings, database, clock).run, seconds)
    return attempt(database, _AFTERMATH, run, AlertsError, clock=clock)
