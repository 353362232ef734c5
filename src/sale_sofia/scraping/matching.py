"""The end of a crawl: its adverts are matched to properties, and these are scored."""

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database


def match_crawled(settings: Settings, database: Database) -> None:
    """Match what is new, score what changed; a failure is logged and an incident, never the crawl's."""
    from sale_sofia.insights.after_crawl import score_new  # noqa: PLC0415 - a crawl begins without it
    from sale_sofia.properties.after_crawl import match_new  # noqa: PLC0415 - numpy; a crawl begins without it

    match_new(settings, database)
    score_new(settings, database)
