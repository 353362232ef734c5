"""Flats as they come out of the database: merged, filled from descriptions, each advert counted once."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select, update

from property_worlds import advert, dispose_all, new_matching
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.flats.flat import Flat, Trap
from sale_sofia.flats.merging import AdvertRow, merge_many, merge_one
from sale_sofia.flats.prices import asked_eur_sqm, lowest_offers
from sale_sofia.flats.rows import read_adverts, read_flats
from sale_sofia.flats.store import ListingSource, save_sources
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.listings.model import Listing
from sale_sofia.storage.database import Database


@pytest.fixture(autouse=True)
def _nothing_stays_open() -> Iterator[None]:
    yield
    dispose_all()


def stored(place: Path | str, *adverts: Listing, groups: tuple[tuple[int, ...], ...] = ()) -> Database:
    """The adverts, seen one second after the other, with ids from 1 on; groups of ids are one property."""
    database = new_matching(place).database
    for second, one in enumerate(adverts, 1):
        database.run_write(partial(save_listings, batch=[Sighting(one, float(second))]))
    sources = [ListingSource(one, group[0], 1.0, "score", {}) for group in groups for one in group]
    database.run_write(lambda c: save_sources(c, sources, now=1.0))
    return database


def say(database: Database, listing_id: int, **fields: tuple[Any, str]) -> None:
    """What a description says: field → value and status; its words are made of them."""
    said = {
        field: {"value": value, "status": status, "quote": f"words of {field}", "method": "rules"}
        for field, (value, status) in fields.items()
    }
    row = {
        "listing_id": listing_id, "content_hash": "x", "rules": "r", "attributes": said, "open_fields": [],
        "open_count": 0, "read_at": 1.0,
    }  # fmt: skip

    def write(connection: Connection) -> None:
        connection.execute(insert(description_reads).values(row))
        touch(connection, [listing_id])

    database.run_write(write)


def adverts_of(connection: Connection) -> Iterator[AdvertRow]:
    """The adverts as they are before they are merged."""
    return read_adverts(connection, {}, None, photos=True)


def flats(database: Database, ids: list[int] | None = None) -> dict[int, Flat]:
    return database.run_read(lambda c: {flat.property_id: flat for flat in read_flats(c, ids)})


def test_an_advert_that_was_never_matched_is_a_flat_by_itself(store_url: str) -> None:
    database = stored(
        store_url,
        advert(
            "a", vat="excluded", orientation=["S", "E"], photo_urls=["https://x/1.jpg"], features=["Лукс"]
        ),
    )
    flat = flats(database)[1]
    assert (flat.property_id, flat.price_eur, flat.vat, flat.offered) == (1, 183_400.0, "excluded", True)
    assert (flat.rooms, flat.floor, flat.neighbourhood) == (3, 4, "Лозенец")
    assert flat.orientation == ("S", "E")
    assert (flat.photo_urls, flat.features) == (("https://x/1.jpg",), frozenset({"Лукс"}))
    assert (flat.elevator, flat.bathrooms, flat.storage, flat.traps) == (None, None, (), {})
    assert asked_eur_sqm(flat) == pytest.approx(183_400 * 1.2 / 87)
    assert [(one.listing_id, one.site, one.offered) for one in flat.adverts] == [(1, "imot.bg", True)]


def test_the_price_is_the_lowest_still_offered_and_facts_are_what_most_print(store_url: str) -> None:
    database = stored(
        store_url,
        advert("a", price_eur=200_000.0, rooms=3, construction=None),
        advert("b", price_eur=190_000.0, rooms=4, site="alo.bg", vat="excluded", construction="brick"),
        advert("c", price_eur=150_000.0, rooms=3, site="bazar.bg"),
        advert("d", price_eur=None, site="olx.bg", flags=["price_conflict"]),
        groups=((1, 2, 3, 4),),
    )
    database.run_write(lambda c: c.execute(update(listings).where(listings.c.id == 3).values(gone_at=9.0)))
    (flat,) = flats(database).values()
    assert (flat.price_eur, flat.vat, flat.rooms, flat.construction) == (190_000.0, "excluded", 3, "brick")
    assert [one.listing_id for one in flat.adverts] == [2, 1, 4, 3]
    assert (flat.first_seen_at, flat.last_seen_at, flat.offered) == (1.0, 4.0, True)
    assert flat.flags == {"price_conflict"}


@pytest.mark.parametrize(
    ("prices", "lowest"),
    [
        (((100_000.0, "excluded"), (110_000.0, "included")), 2),  # 120 000 against 110 000
        (((100_000.0, "excluded"), (110_000.0, "none")), 2),
        (((100_000.0, "excluded"), (130_000.0, "included")), 1),
        (((100_000.0, "excluded"), (110_000.0, None)), 1),  # which may be 132 000
    ],
)
def test_the_lowest_price_is_the_one_for_which_least_is_paid(
    tmp_path: Path, prices: tuple[tuple[float, str | None], ...], lowest: int
) -> None:
    adverts = [advert(f"a{eur}", price_eur=eur, vat=vat) for eur, vat in prices]
    (flat,) = flats(stored(tmp_path, *adverts, groups=((1, 2),))).values()
    assert (flat.price_eur, flat.vat) == prices[lowest - 1]
    assert flat.adverts[0].listing_id == lowest


def test_vat_that_only_a_text_adds_counts_for_the_lowest_price(tmp_path: Path) -> None:
    adverts = (advert("a", price_eur=100_000.0), advert("b", price_eur=110_000.0, vat="included"))
    database = stored(tmp_path, *adverts, groups=((1, 2),))
    say(database, 1, price_without_vat=(True, "stated"))
    (flat,) = flats(database).values()
    assert (flat.price_eur, flat.vat) == (110_000.0, "included")


@pytest.mark.parametrize(
    ("sellers", "first"),
    [
        (("agency", "agency"), 2),  # 100 000 that may be 120 000, against 110 000
        (("agency", "private"), 1),  # the owner sells it: none is due
        (("private", "developer"), 2),
    ],
)
def test_vat_that_a_new_building_may_add_orders_adverts_and_offers_alike(
    tmp_path: Path, sellers: tuple[str, str], first: int
) -> None:
    adverts = [
        advert(site, site=site, price_eur=price, vat=vat, seller_kind=seller, act_status="act14")
        for site, price, vat, seller in zip(
            ("imot.bg", "alo.bg"), (100_000.0, 110_000.0), (None, "included"), sellers, strict=True
        )
    ]
    (flat,) = flats(stored(tmp_path, *adverts, groups=((1, 2),))).values()
    assert [one.listing_id for one in flat.adverts] == [first, 3 - first]
    assert [offer.advert for offer in lowest_offers(flat)] == list(flat.adverts)


def test_when_nothing_is_offered_any_more_the_lowest_of_all_counts(tmp_path: Path) -> None:
    database = stored(
        tmp_path, advert("a", price_eur=200_000.0), advert("b", price_eur=190_000.0), groups=((1, 2),)
    )
    database.run_write(lambda c: c.execute(update(listings).values(gone_at=9.0)))
    (flat,) = flats(database).values()
    assert (flat.price_eur, flat.offered) == (190_000.0, False)


def test_of_equally_many_the_newest_counts_and_an_advert_without_a_price_gives_none(tmp_path: Path) -> None:
    database = stored(
        tmp_path,
        advert("a", floor=4, price_eur=None, lat=42.671, lon=23.321),
        advert("b", floor=5, price_eur=None, lat=42.672, lon=23.322),
        groups=((1, 2),),
    )
    (flat,) = flats(database).values()
    assert (flat.floor, flat.price_eur, asked_eur_sqm(flat)) == (5, None, None)
    assert (flat.lat, flat.lon) == (42.672, 23.322)


def test_descriptions_fill_what_no_portal_prints(store_url: str) -> None:
    database = stored(
        store_url,
        advert("a", condition="renovated", elevator=None),
        advert("b", condition=None, elevator=None, orientation=[]),
        groups=((1, 2),),
    )
    say(
        database,
        2,
        condition=("needs_renovation", "stated"),
        elevator=(False, "negated"),
        orientation=(["S", "W"], "stated"),
        bathrooms=(2, "stated"),
        wc_separate=(1, "stated"),
        metro_minutes=(7, "stated"),
        storage=(["basement"], "stated"),
        parking_status=("optional_purchase", "optional"),
        act=("act15", "conflict"),
        furnishing=(None, "negated"),
        tenants=(True, "stated"),
    )
    (flat,) = flats(database).values()
    assert flat.condition == "renovated"  # the portal's own word is believed
    assert (flat.elevator, flat.orientation, flat.bathrooms, flat.wc_separate) == (False, ("S", "W"), 2, True)
    assert (flat.metro_minutes, flat.storage, flat.parking_status) == (
        7,
        ("basement",),
        "optional_purchase",
    )
    assert (flat.act_status, flat.furnishing) == (None, None)  # a conflict is unknown
    assert flat.traps == {"tenants": Trap(value=True, quote="words of tenants")}


def test_one_advert_is_merged_as_many_are(tmp_path: Path) -> None:
    database = stored(
        tmp_path,
        advert("a", vat="included", photo_urls=["https://x/1.jpg"], features=["Лукс"], lat=42.1, lon=23.1),
        advert("b", price_eur=None, vat="included", title="", heating=["gas"], flags=["price_conflict"]),
        advert("c", orientation=["S"], lat=42.1),
    )
    said = {"orientation": (["N"], "stated"), "wc_separate": (1, "stated"), "tenants": (True, "stated")}
    say(database, 2, **said)
    say(database, 3, **said, elevator=(False, "negated"), act=("act15", "conflict"))
    rows = database.run_read(lambda c: list(adverts_of(c)))
    assert [merge_one(row["id"], row) for row in rows] == [merge_many(row["id"], [row]) for row in rows]
    assert [merge_one(row["id"], row).orientation for row in rows] == [(), ("N",), ("S",)]


def test_of_several_descriptions_the_most_counts(tmp_path: Path) -> None:
    database = stored(tmp_path, advert("a"), advert("b"), advert("c"), groups=((1, 2, 3),))
    say(database, 1, bathrooms=(2, "stated"))
    say(database, 2, bathrooms=(2, "stated"))
    say(database, 3, bathrooms=(1, "stated"))
    assert flats(database)[1].bathrooms == 2


def test_only_the_asked_for_are_read_and_each_advert_once(store_url: str) -> None:
    database = stored(store_url, advert("a"), advert("b"), advert("c"), advert("d"), groups=((1, 3), (2,)))
    assert {one: len(flat.adverts) for one, flat in flats(database).items()} == {1: 2, 2: 1, 4: 1}
    assert {one: len(flat.adverts) for one, flat in flats(database, [1, 4]).items()} == {1: 2, 4: 1}
    assert flats(database, [3, 99]) == {}  # an advert of another property is none by itself
    assert flats(database, []) == {}


def test_all_adverts_of_a_matched_world_are_there_once(tmp_path: Path) -> None:
    database = stored(tmp_path, *(advert(f"n{number}", floor=number % 7) for number in range(40)))
    database.run_write(lambda c: c.execute(delete(listing_sources)))
    seen = [one.listing_id for flat in flats(database).values() for one in flat.adverts]
    assert sorted(seen) == database.run_read(lambda c: list(c.scalars(select(listings.c.id))))


def test_one_flat_is_read_as_among_all(store_url: str) -> None:
    wrong = [advert(f"a{floor}", floor=floor, floors_total=5) for floor in (8, 9)]
    database = stored(store_url, *wrong, groups=((1, 2),))
    # A server moves a row that is written.
    database.run_write(lambda c: c.execute(update(listings).where(listings.c.id == 1).values(views=7)))
    assert [doubt.one for doubt in flats(database)[1].contradictions] == [8, 9]
    assert flats(database, [1]) == flats(database)
