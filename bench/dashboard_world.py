"""A hundred thousand adverts as months of crawls leave them, for the dashboard to show."""

import time
from random import Random
from typing import Any

from sqlalchemy import Connection, func, insert, literal, select, update

import scoring_world
from sale_sofia.history.tables import listings, price_points
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.storage.database import Database

DAY = 86_400.0
PLACED = 4
"""Of five adverts so many say where they are."""
CUT_EVERY = 10
"""Each such advert got cheaper in the last days."""


def fill(database: Database, adverts: int) -> int:
    """That many adverts; how many properties they are of."""
    properties = scoring_world.fill(database, adverts)
    database.run_write(lambda connection: _live(connection, time.time()))
    return properties


def _live(connection: Connection, now: float) -> None:
    """Give the adverts real neighbourhoods, places, days and prices."""
    names = [one.name for one in neighbourhoods() if one.lat is not None]
    for number, place in enumerate(scoring_world.PLACES):
        there = update(listings).where(listings.c.neighbourhood == place)
        connection.execute(there.values(neighbourhood=names[number % len(names)]))
    ages = (listings.c.id % 90) * DAY
    last = now - (listings.c.id % 900) * 60.0
    seen = {"first_seen_at": now - ages, "last_seen_at": last, "visited_at": now}
    connection.execute(update(listings).values(**seen))
    placed = update(listings).where(listings.c.id % 5 < PLACED)
    rng = Random(scoring_world.SEED)
    spread: dict[str, Any] = {
        "lat": 42.62 + (listings.c.id * rng.randrange(1, 97) % 1500) / 10_000.0,
        "lon": 23.22 + (listings.c.id * rng.randrange(1, 97) % 2300) / 10_000.0,
    }
    connection.execute(placed.values(**spread))
    _prices(connection, now)


def _prices(connection: Connection, now: float) -> None:
    names = ["listing_id", "price_eur", "kind", "visit_id", "seen_at"]
    cut = listings.c.id % CUT_EVERY == 0
    first = select(
        listings.c.id, listings.c.price_eur * 1.05, literal("first"), literal(1), listings.c.first_seen_at
    )
    connection.execute(insert(price_points).from_select(names, first))
    later = now - (listings.c.id % 20) * DAY
    moved = select(listings.c.id, listings.c.price_eur, literal("price"), literal(2), later).where(cut)
    connection.execute(insert(price_points).from_select(names, moved))


def some_ids(connection: Connection, count: int) -> list[int]:
    """Flats that a buyer may open: with several adverts, for sale."""
    chosen = select(func.min(listings.c.id)).where(listings.c.deal == "sale", listings.c.rooms == 3)
    return list(connection.scalars(chosen.group_by(listings.c.neighbourhood).limit(count)))
