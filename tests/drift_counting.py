"""Pages of a run as outcomes, and a process that counts some of them; a started process finds it by name."""

from functools import partial

from sqlalchemy import Connection

from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.visit.outcomes import Kept, Read
from sale_sofia.crawl.visit.writer import count_pages
from sale_sofia.listings.model import FieldSeen, Listing
from sale_sofia.storage.database import Database

JOB, SITE = "job", "imot.bg"


def advert_page(number: int, price: float | None = 150_000, *, link: int = 0, read: bool = True) -> Read:
    """An advert whose price was found by this link."""
    url = f"https://www.imot.bg/obiava-{number}"
    listing = Listing(
        site=SITE, url=url, external_id=f"id{number}", price_eur=price, deal="sale", property_type="apartment"
    )
    seen = {"price": FieldSeen(link, read)}
    return Read(Claim(number, "listing", url, 1, 1), listing, seen=seen, kept=Kept("a" * 64, None))


def count_some(url: str, first: int, count: int) -> None:
    """Count pages one by one, each in a transaction of its own."""
    database = Database(url, busy_timeout_seconds=60, busy_retries=10)
    for number in range(first, first + count):
        database.run_write(partial(_count, number=number))
    database.dispose()


def _count(connection: Connection, number: int) -> None:
    count_pages(connection, JOB, SITE, [advert_page(number, link=number % 2)])
