"""What is scored when a crawl ends. It may fail without the crawl failing."""

import logging
import time
from functools import partial
from typing import Final

from sqlalchemy import Connection

from sale_sofia.config.insights import INCIDENT_SITE
from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database, DatabaseError
from sale_sofia.data.incidents import IncidentKind, Trouble, close_incident, open_incident
from sale_sofia.insights.profiles import ProfileError
from sale_sofia.insights.score_runs import score_all

log: Final = logging.getLogger(__name__)


def score_new(settings: Settings, database: Database) -> bool:
    """Score what has changed, for every profile that can be used; never raises, `False` if it failed.

    A failure, or a profile that cannot be used, is logged and opens an incident; the next call does what is
    left undone.
    """
    try:
        score_all(settings, database)
        database.run_write(partial(_judge_failure, error=None, now=time.time()))
    except (DatabaseError, OSError, ProfileError) as error:  # they say themselves what is wrong
        log.warning("scoring after a crawl failed: %s", error)
        _report(database, error)
        return False
    except Exception as error:
        log.exception("scoring after a crawl failed")
        _report(database, error)
        return False
    return True


def _judge_failure(connection: Connection, error: Exception | None, *, now: float) -> None:
    if error is None:
        close_incident(connection, IncidentKind.SCORING_FAILED, INCIDENT_SITE, now=now)
        return
    sentence = f"scoring failed: {error or type(error).__name__}; `sale-sofia score` tries again"
    open_incident(connection, Trouble(IncidentKind.SCORING_FAILED, INCIDENT_SITE, sentence), now=now)


def _report(database: Database, error: Exception) -> None:
    try:
        database.run_write(partial(_judge_failure, error=error, now=time.time()))
    except DatabaseError as unwritten:
        log.warning("the failure of scoring could not be stored: %s", unwritten)
