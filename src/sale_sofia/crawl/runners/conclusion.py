"""The end of a crawl: its descriptions are read, its adverts matched to properties, and these scored."""

import time
from collections.abc import Callable

from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database


def match_crawled(settings: Settings, database: Database, clock: Callable[[], float] = time.time) -> None:
    """Read and match what is new, score what changed; a failure is logged, never the crawl's.

    What is switched off is not even imported: that alone costs as much as some hundred pages.
    """
    if settings.read_after_crawl:
        from sale_sofia.descriptions.enrichment import read_new  # noqa: PLC0415 - a crawl begins without it

        read_new(database, clock)
    if settings.match_after_crawl:
        from sale_sofia.flats.runs import match_new  # noqa: PLC0415 - numpy

        match_new(settings, database, clock)
    if settings.score_after_crawl:
        from sale_sofia.advice.scoring.runs import score_new  # noqa: PLC0415 - numpy

        score_new(settings, database, clock)
