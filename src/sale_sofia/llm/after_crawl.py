"""What is read when a crawl ends. It may fail without the crawl failing."""

import logging
from typing import Final

from sale_sofia.data.database import Database, DatabaseError
from sale_sofia.llm.enrichment import Summary, read_all

log: Final = logging.getLogger(__name__)


def read_new(database: Database) -> None:
    """Read the descriptions that are new or changed, by the rules alone; never raises.

    A failure is logged; the next call, or `sale-sofia enrich`, does what is left undone.
    """
    try:
        read_all(database, Summary())
    except DatabaseError as error:  # it says itself what is wrong
        log.warning("reading descriptions after a crawl failed: %s", error)
    except Exception:
        log.exception("reading descriptions after a crawl failed")
