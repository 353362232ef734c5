"""What is counted of pages: by values, and the same however many processes count."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection

from contract.storage.helpers import advert, at_once, database
from drift_counting import JOB, SITE, advert_page, count_some
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.urls import Target
from sale_sofia.crawl.visit.outcomes import Failed, Found, Read
from sale_sofia.crawl.visit.writer import count_pages
from sale_sofia.history.cards import SeenCard
from sale_sofia.history.drift.counts import Example, sections_of
from sale_sofia.history.drift.store import get_drift_run
from sale_sofia.history.jobs import create_job
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.model import FieldSeen
from sale_sofia.storage.database import Database
from sale_sofia.websites.base import CardReading

SEARCH = Claim(1, "search", "https://www.imot.bg/obiavi/p-1", 1, 1)
NEXT = Target("search", "https://www.imot.bg/obiavi/p-2", "search:2")


@pytest.fixture
def db(store_url: str) -> Iterator[Database]:
    made = database(store_url)
    with made.write() as connection:
        create_job(connection, job_id=JOB, site=SITE, start_urls=[], listing_limit=None, now=1.0)
    yield made
    made.dispose()


@pytest.fixture
def connection(db: Database) -> Iterator[Connection]:
    with db.write() as opened:
        yield opened


def results(*prices: float | None, last: bool = False) -> Found:
    cards = tuple(
        CardReading(
            {"price_eur": price, "area_sqm": 70.0, "deal": "sale", "property_type": "apartment"},
            {"price": FieldSeen(0, price is not None)},
        )
        for price in prices
    )
    adverts = tuple(
        (SeenCard(f"id{number}", "hash"), Target("listing", f"https://www.imot.bg/{number}", f"{number}"))
        for number in range(len(prices))
    )
    return Found(SEARCH, adverts, None if last else NEXT, cards=cards, total=57)


def test_fields_are_counted_by_link_and_by_what_was_read(connection: Connection) -> None:
    pages = [advert_page(1), advert_page(2, link=1), advert_page(3, None, read=False)]
    counts = count_pages(connection, JOB, SITE, pages)["listing"]
    price, floor = counts.fields["price"], counts.fields["floor"]
    assert (counts.pages, counts.seen, counts.priced) == (3, 3, 2)
    assert (price.read, price.links) == (2, {0: 2, 1: 1})
    assert price.missing == Example(pages[2].claim.url, "a" * 64)
    assert price.other == Example(pages[1].claim.url, "a" * 64)
    assert (floor.read, floor.links) == (0, {})


def test_cards_are_counted_page_by_page(connection: Connection) -> None:
    counts = count_pages(connection, JOB, SITE, [results(150_000, None, 160_000), results(1.0, last=True)])[
        "search"
    ]
    assert (counts.pages, counts.seen, counts.full_pages, counts.full_cards, counts.told) == (2, 4, 1, 3, 57)
    assert (counts.fields["price"].read, counts.few_cards) == (3, 1)


def test_prices_are_compared_with_the_known_ones(connection: Connection) -> None:
    known = [Sighting(advert(number, price_eur=140_000, area_sqm=70.0), 1.0) for number in (0, 1)]
    save_listings(connection, known)
    counts = count_pages(connection, JOB, SITE, [results(140_000, 2000, 9000)])["search"]
    assert counts.ratios.count == 2
    assert counts.ratios.least == pytest.approx(2000 / 140_000 * 1e6, abs=1)
    assert (counts.priced, counts.per_sqm) == (3, 2)  # one of a known advert, one that can be no flat's


def test_pages_that_cannot_be_read_are_counted_by_their_reason(connection: Connection) -> None:
    failed = Failed(SEARCH, "ParseSelector", "layout_changed: no cards", "b" * 64, "layout_changed")
    blocked = Failed(SEARCH, "HttpBlocked", "blocked: a challenge (open the circuit)")
    counts = count_pages(connection, JOB, SITE, [failed, failed, blocked])["search"]
    assert counts.unreadable == {"layout_changed": 2}
    assert counts.puzzle == Example(SEARCH.url, "b" * 64)


@pytest.mark.slow
def test_many_processes_count_every_page_once(db: Database, store_url: str) -> None:
    at_once(count_some, [(store_url, number * 20, 20) for number in range(4)])
    with db.read() as connection:
        run = get_drift_run(connection, JOB)
    assert run is not None
    counts = sections_of(run.counters)["listing"]
    assert (counts.pages, counts.fields["price"].links) == (80, {0: 40, 1: 40})


def test_what_every_advert_should_have_is_counted(connection: Connection) -> None:
    whole = {"city": "София", "area_sqm": 70.0}
    pages = [
        fact_page(1, price_eur=150_000.0, **whole),
        fact_page(2, price_eur=150_000.0, city="София"),
        fact_page(3, area_sqm=60.0),  # "при запитване": found, and no price
        fact_page(4, flags=("price_unreadable",), **whole),
        fact_page(5, flags=("price_conflict",), property_type=None, **whole),
        replace(fact_page(6, **whole), seen={}),  # no text at all
    ]
    counted = count_pages(connection, JOB, SITE, pages)["listing"].facts
    assert (counted.adverts, counted.price, counted.on_request) == (6, 2, 1)
    assert (counted.area, counted.place, counted.type, counted.both) == (5, 5, 5, 1)
    lacking = {name: one.url[-1] for name, one in counted.missing.items()}
    assert lacking == {"price": "4", "area": "2", "place": "3", "type": "5"}


def fact_page(number: int, **facts: Any) -> Read:  # noqa: ANN401 - any fact
    """An advert of which no more is known; where its price stands there is a text."""
    page = advert_page(number, None, read="price_eur" in facts)
    return replace(page, listing=page.listing.model_copy(update=facts))
