"""After a crawl, and at intervals while it goes on: texts are read, adverts matched, flats scored."""

import time
from collections.abc import Callable

from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database


def match_crawled(
    settings: Settings,
    database: Database,
    clock: Callable[[], float] = time.time,
    stopped: Callable[[], bool] = lambda: False,
    going_on: Callable[[], object] = lambda: None,
    *,
    photos: bool = True,
) -> None:
    """Read and match what is new, look at photos where that leaves a doubt, score what changed.

    A failure is logged, never the crawl's. `stopped` says that no photo is to be asked for any more;
    `going_on` is called with each of them, which may take minutes together. While a crawl goes on it is done
    without `photos`, which cost requests of their own.
    What is switched off is not even imported: that alone costs as much as some hundred pages.
    """
    if settings.read_after_crawl:
        from sale_sofia.descriptions.enrichment import read_new  # noqa: PLC0415 - a crawl begins without it

        read_new(database, clock)
    if settings.match_after_crawl:
        from sale_sofia.flats.runs import match_new  # noqa: PLC0415 - numpy

        if match_new(settings, database, clock) and settings.photo_enabled and photos:
            from sale_sofia.crawl.photos.running import fetch_photos  # noqa: PLC0415 - Pillow

            fetch_photos(settings, database, clock, stopped, going_on)
    if settings.score_after_crawl:
        from sale_sofia.advice.scoring.runs import score_new  # noqa: PLC0415 - numpy

        score_new(settings, database, clock)
