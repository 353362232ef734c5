"""The end of a crawl: its adverts are matched to properties."""

from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database


def match_crawled(settings: Settings, database: Database) -> None:
    """Match what is new; a failure is logged and an incident, and never the crawl's."""
    from sale_sofia.properties.after_crawl import match_new  # noqa: PLC0415 - numpy; a crawl begins without it

    match_new(settings, database)
