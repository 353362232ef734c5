"""What is done with new adverts when a crawl ends. It may fail without the crawl failing."""

import logging
import time
from functools import partial
from typing import Final

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database, DatabaseError
from sale_sofia.properties.alarms import judge_failure
from sale_sofia.properties.privacy import forget_private_phones
from sale_sofia.properties.runs import PropertyMatching

log: Final = logging.getLogger(__name__)


def match_new(settings: Settings, database: Database) -> bool:
    """Match what the crawl brought, forget phones that may not be kept; never raises, `False` if it failed.

    A failure is logged and, where the database can be written, opens an incident; the next call does what is
    left undone.
    """
    try:
        PropertyMatching(settings, database).match_new()
        database.run_write(partial(forget_private_phones, settings=settings))
        database.run_write(partial(judge_failure, error=None, now=time.time()))
    except (DatabaseError, OSError) as error:  # they say themselves what is wrong
        log.warning("matching after a crawl failed: %s", error)
        _report(database, error)
        return False
    except Exception as error:
        log.exception("matching after a crawl failed")
        _report(database, error)
        return False
    return True


def _report(database: Database, error: Exception) -> None:
    try:
        database.run_write(partial(judge_failure, error=error, now=time.time()))
    except DatabaseError as unwritten:
        log.warning("the failure of matching could not be stored: %s", unwritten)
