"""The end of a crawl: its descriptions are read, its adverts matched to properties, and these scored."""

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database


def match_crawled(settings: Settings, database: Database) -> None:
    """Read and match what is new, score what changed; a failure is logged, never the crawl's.

    What is switched off is not even imported: that alone costs as much as some hundred pages.
    """
    if settings.read_after_crawl:
        from sale_sofia.llm.after_crawl import read_new  # noqa: PLC0415 - a crawl begins without it

        read_new(database)
    if settings.match_after_crawl:
        from sale_sofia.properties.after_crawl import match_new  # noqa: PLC0415 - numpy

        match_new(settings, database)
    if settings.score_after_crawl:
        from sale_sofia.insights.after_crawl import score_new  # noqa: PLC0415 - numpy

        score_new(settings, database)
