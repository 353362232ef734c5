"""The daily prices of real adverts, seen as cards: the price points are the data's own changes."""

import hashlib
from collections import defaultdict
from datetime import UTC, datetime, time
from pathlib import Path

import pytest
from sqlalchemy import select

from contract.storage.helpers import ready_database
from sale_sofia.history.cards import SeenCard, card_hash, mark_opened, see_cards
from sale_sofia.history.jobs import create_job
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.sweeps import begin_sweep, scope_of
from sale_sofia.history.tables import listings, price_points
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database
from shared import SHARED

PRICES = SHARED / "data" / "sofia_prices_dev.parquet"
ONE_IN_SIXTEEN = "0"
Prices = dict[float, dict[str, float]]
"""By day, by advert."""


def real_prices() -> dict[str, Prices]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415 - slow, and mostly not needed

    found: dict[str, Prices] = defaultdict(lambda: defaultdict(dict))
    for row in pq.read_table(PRICES).to_pylist():
        day = datetime.combine(row["day"], time(20), UTC).timestamp()
        advert = hashlib.sha256(row["listing_key"].encode()).hexdigest()[:40]
        if advert[0] in ONE_IN_SIXTEEN:
            found[row["site"]][day][advert] = row["price"]
    return found


@pytest.mark.slow
@pytest.mark.skipif(not PRICES.exists(), reason="the real prices (../shared/data) are not here")
def test_the_price_points_are_the_changes_of_the_data(tmp_path: Path) -> None:
    db = ready_database(tmp_path / "x.db")
    opened = shown = 0
    expected = set()
    for site, days in real_prices().items():
        last: dict[str, float] = {}
        for day in sorted(days):
            expected |= {
                (site, key, day, price) for key, price in days[day].items() if last.get(key) != price
            }
            last |= days[day]
            shown += len(days[day])
            opened += sweep(db, site, day, days[day])
    found = select(listings.c.site, listings.c.external_id, price_points.c.seen_at, price_points.c.price_eur)
    with db.read() as connection:
        stored = [tuple(row) for row in connection.execute(found.join_from(price_points, listings))]
    assert len(stored) == len(set(stored))
    assert set(stored) == expected
    assert len(expected) > 500
    assert opened < 0.2 * shown


def sweep(db: Database, site: str, day: float, prices: dict[str, float]) -> int:
    """The day's cards; those that must be opened are, and say what their card said."""
    job = f"{site}-{day}"
    with db.write() as connection:
        create_job(connection, job_id=job, site=site, start_urls=["x"], listing_limit=None, now=day)
        begin_sweep(connection, job_id=job, site=site, searches=["x"], everything=False, now=day)
        scope = scope_of(connection, job)
        assert scope is not None
        cards = [SeenCard(key, card_hash({"price_eur": price})) for key, price in prices.items()]
        wanted = sorted(see_cards(connection, scope, cards, at=day))
        pages = [
            Sighting(
                Listing(site=site, external_id=key, url=f"https://x/{key}", price_eur=prices[key]), day, job
            )
            for key in wanted
        ]
        save_listings(connection, pages)
        mark_opened(connection, site, dict.fromkeys(wanted, day))
    return len(wanted)
