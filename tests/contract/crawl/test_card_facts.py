"""What only a card says is given to its advert, and named; what its page says wins."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection

from contract.storage.helpers import database
from sale_sofia.crawl.frontier.searches import fill_from_cards
from sale_sofia.history.cards import Scope, SeenCard, see_cards
from sale_sofia.history.jobs import create_job
from sale_sofia.history.sightings import Sighting
from sale_sofia.history.sweeps import begin_sweep, scope_of
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database

SITE = "alo.bg"


@pytest.fixture
def connection(store_url: str) -> Iterator[Connection]:
    db: Database = database(store_url)
    with db.write() as opened:
        create_job(opened, job_id="run", site=SITE, start_urls=[], listing_limit=None, now=1.0)
        begin_sweep(opened, job_id="run", site=SITE, searches=["all"], everything=False, now=1.0)
        yield opened
    db.dispose()


def scope(connection: Connection) -> Scope:
    found = scope_of(connection, "run")
    assert found is not None
    return found


def filled(connection: Connection, **said: Any) -> Listing:  # noqa: ANN401 - any fact
    listing = Listing(site=SITE, external_id="1", url="https://www.alo.bg/1", **said)
    return fill_from_cards(connection, SITE, [Sighting(listing, 5.0)])[0].listing


def see(connection: Connection, at: float, **facts: Any) -> None:  # noqa: ANN401 - any fact
    see_cards(connection, scope(connection), [SeenCard("1", f"hash{at}", facts)], at=at)


def test_the_last_card_gives_what_the_page_lacks(connection: Connection) -> None:
    see(connection, 2.0, seller_name="Първа")
    see(connection, 3.0, seller_name="Втора", posted_at="2026-11-01T10:00:00+02:00")
    listing = filled(connection, title="Имот")
    assert listing.seller_name == "Втора"
    assert listing.posted_at is not None
    assert listing.posted_at.isoformat() == "2026-11-01T10:00:00+02:00"
    assert listing.flags == ("seller_name_from_card", "posted_at_from_card")


def test_what_the_page_says_wins(connection: Connection) -> None:
    see(connection, 2.0, seller_name="Първа")
    listing = filled(connection, seller_name="Друга")
    assert (listing.seller_name, listing.flags) == ("Друга", ())


def test_a_card_that_says_nothing_gives_nothing(connection: Connection) -> None:
    see(connection, 2.0)
    assert filled(connection).flags == ()


def test_what_no_advert_can_be_is_not_taken(connection: Connection) -> None:
    see(connection, 2.0, seller_name="Първа", price_eur=-1)
    assert (filled(connection).seller_name, filled(connection).flags) == (None, ())
