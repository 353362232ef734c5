"""Adverts of a portal that is crawled every day: nearly all are as they were, few are new."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from sale_sofia.history.listing_rows import STORED_FIELDS, listing_from
from sale_sofia.history.listings import Sighting
from sale_sofia.history.tables import listings
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database

BATCH = 25
SITE = "imot.bg"
UNCHANGED, PRICE = 0.95, 0.03
"""What is left is new."""
_EPOCH = datetime(2026, 11, 1, tzinfo=SOFIA)
_WORDS = ("светъл", "южен", "апартамент", "близо", "парк", "гледка", "тухла", "лукс", "паркомясто", "мазе")


def advert(number: int) -> Listing:
    """An advert as full as the portals' are: some 40 values, a text of a thousand letters, eight photos."""
    rng = random.Random(number)
    price = float(rng.randrange(60_000, 400_000, 500))
    return Listing(
        site=SITE, external_id=f"1c{number:012d}", url=f"https://www.imot.bg/obiava-1c{number:012d}",
        deal="sale", property_type="apartment", rooms=rng.randrange(1, 6), vat="none",
        title=" ".join(rng.choices(_WORDS, k=8)), description=" ".join(rng.choices(_WORDS, k=130)),
        price_eur=price, price_bgn=round(price * 1.95583, 2), area_sqm=float(rng.randrange(35, 180)),
        floor=rng.randrange(0, 9), floors_total=9, construction="brick", year_built=rng.randrange(1950, 2027),
        heating=("district",), elevator=True, city="София", neighbourhood=f"Квартал {number % 190}",
        seller_kind="agency", seller_name=f"Агенция {number % 700}", phones=("+359888000000",),
        posted_at=_EPOCH, updated_at=_EPOCH + timedelta(minutes=number % 10_000), views=number % 5000,
        photo_urls=tuple(f"https://example.org/{number}/{photo}.jpg" for photo in range(8)),
        features=("С паркинг", "Обзаведен", "Тухла"),
    )  # fmt: skip


def stored(connection: Connection) -> list[Listing]:
    """All adverts as they are in the store."""
    rows = select(*(listings.c[name] for name in STORED_FIELDS)).order_by(listings.c.id)
    return [listing_from(row) for row in connection.execute(rows).mappings()]


class Portal:
    """The share of one process: every advert is visited by one of them, as a page has one lease at a time."""

    def __init__(self, database: Database, process: int, processes: int, seed: int) -> None:
        self._rng = random.Random(seed * 1000 + process)
        self._known = database.run_read(stored)[process::processes]
        self._next = (process + 1) * 100_000_000 + seed * 1_000_000
        self._moment = 1_800_000_000.0 + seed * 1_000_000

    def batches(self) -> Iterator[list[Sighting]]:
        """Without end; each moment is later than all before, also than those of an earlier seed."""
        while True:
            self._moment += 1
            yield [Sighting(self._seen(), self._moment) for _ in range(BATCH)]

    def _seen(self) -> Listing:
        draw, place = self._rng.random(), self._rng.randrange(len(self._known))
        if draw < UNCHANGED:
            return self._known[place]
        if draw < UNCHANGED + PRICE:
            old = self._known[place]
            price = (old.price_eur or 0.0) + 500.0
            changed = {"price_eur": price, "price_bgn": round(price * 1.95583, 2)}
            self._known[place] = old.model_copy(update=changed)
            return self._known[place]
        self._next += 1
        self._known.append(advert(self._next))
        return self._known[-1]
