"""The history is a function of what was seen when, not of the order in which it is processed."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.storage.helpers import advert, database
from history_rows import empty_history, whole_history
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database

# 1500 are for whoever changes the timeline: EXAMPLES=1500.
EXAMPLES = int(os.environ.get("EXAMPLES", "10"))
# Few values, so that they meet: another flat, a price of another meaning, another VAT, another word, a gap.
CONTENTS = st.fixed_dictionaries(
    {
        "number": st.sampled_from([1, 2]),
        "area_sqm": st.sampled_from([None, 60.0, 70.0]),
        "floor": st.sampled_from([3, 5]),
        "price_eur": st.sampled_from([None, 120_000.0, 110_000.0, 12_000.0, 2000.0]),
        "vat": st.sampled_from([None, "excluded"]),
        "previous_price_eur": st.sampled_from([None, 130_000.0, 140_000.0]),
        "title": st.sampled_from(["а", "б"]),
        "deal": st.just("sale"),
        "property_type": st.sampled_from(["apartment", "plot", None]),
        "year_built": st.sampled_from([None, 2012, 2015]),
        "phones": st.sampled_from([(), ("0888123456",)]),
        "seller_name": st.sampled_from([None, "а", "б"]),
    }
)


@st.composite
def orders(draw: st.DrawFn) -> tuple[list[Sighting], list[Sighting]]:
    """The same sightings in the order of time and in any other, some of them twice."""
    contents: list[dict[str, Any]] = draw(st.lists(CONTENTS, min_size=1, max_size=9))
    seen = [Sighting(advert(**one), float(draw(st.integers(0, 6)))) for one in contents]
    seen = [
        Sighting(
            one.listing,
            one.seen_at,
            page_digest=one.content_hash,
            held=_is_held(one.listing),
            held_gaps=one.listing.title == "б",
            card=draw(st.booleans()),
        )
        for one in seen
    ]
    mixed = draw(st.permutations([*seen, *draw(st.lists(st.sampled_from(seen), max_size=3))]))
    return sorted(seen, key=lambda one: one.seen_at), list(mixed)


def _is_held(listing: Listing) -> bool:
    """Some prices are held back, always the same ones."""
    return listing.price_eur == 110_000.0 and listing.title == "б"


@pytest.fixture(scope="module")
def db(module_store_url: str) -> Iterator[Database]:
    made = database(module_store_url)
    yield made
    made.dispose()


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(orders(), st.integers(1, 5))
def test_any_order_and_repetition_gives_the_same_history(
    db: Database, order: tuple[list[Sighting], list[Sighting]], size: int
) -> None:
    in_time, mixed = order
    assert history(db, mixed, size) == history(db, in_time, 1)


class _Undone(Exception):
    """Nothing of it stays in the database."""


def history(db: Database, sightings: Sequence[Sighting], size: int) -> list[Any]:
    with suppress(_Undone), db.write() as connection:
        empty_history(connection)
        for first in range(0, len(sightings), size):
            save_listings(connection, sightings[first : first + size])
        found = whole_history(connection)
        raise _Undone
    return found
