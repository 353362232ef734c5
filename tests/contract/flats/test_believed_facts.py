"""What is believed of stored flats: the buyer's word, the market, and scores and alerts that follow them."""

from functools import partial
from typing import Any

import pytest

from contract.flats.test_flat_rows import say
from property_worlds import advert, ids_of, new_matching, save
from sale_sofia.advice.scoring.runs import ScoreRun
from sale_sofia.advice.scoring.store import ranked
from sale_sofia.buyer.corrections import CORRECTABLE, correct
from sale_sofia.buyer.evaluations import By, WrongEvaluation
from sale_sofia.descriptions.enrichment import Summary, read_all
from sale_sofia.flats.flat import Code, Exactness, Flat
from sale_sofia.flats.outliers import refresh_outliers
from sale_sofia.flats.overrides import link, split
from sale_sofia.flats.projection import refresh_flats
from sale_sofia.flats.rows import find_flat
from sale_sofia.flats.runs import PropertyMatching, match_new
from sale_sofia.flats.settings import MARKET_LEAST, SHARED_POINT_FLATS
from sale_sofia.flats.store import UnknownProperty, read_listings
from sale_sofia.flats.views import list_properties, show_property
from sale_sofia.history.revisions import changes_since
from sale_sofia.storage.database import Database
from tables import each_row
from unit.advice.scored import profile

ANNA = By("anna", 5.0)
WISHES = {"plain": profile(must={"not_ground_floor": True})}


@pytest.fixture
def matching(store_url: str) -> PropertyMatching:
    made = new_matching(store_url)
    save(made.database, [advert("a1", floor=9), advert("b1", area_sqm=51.0, floor=2)])
    made.match_new()
    return made


def flat_of(database: Database, number: int) -> Flat:
    return database.run_read(partial(find_flat, number=number))


def say_fact(database: Database, number: int, fact: str, value: str | None) -> object:
    return database.run_write(partial(correct, property_id=number, fact=fact, text=value, by=ANNA))


def touched(database: Database, since: int = 0) -> tuple[set[int], int]:
    changes = database.run_read(partial(changes_since, since=since))
    return set(changes.listing_ids), changes.upto


def test_the_buyers_word_survives_crawls_and_matching_until_it_is_taken_back(
    matching: PropertyMatching,
) -> None:
    database = matching.database
    assert flat_of(database, 1).floor is None
    assert say_fact(database, 1, "floor", "4") == 4
    save(database, [advert("a1", floor=9, price_eur=170_000.0)], seen_at=2.0)
    matching.match_all()
    flat = flat_of(database, 1)
    assert (flat.price_eur, flat.floor, flat.floors_total, flat.contradictions) == (170_000.0, 4, 8, ())
    assert flat.corrected["floor"] == (4, "anna", 5.0)
    assert say_fact(database, 1, "floor", None) is None
    assert (flat_of(database, 1).floor, flat_of(database, 1).corrected) == (None, {})
    with pytest.raises(WrongEvaluation, match="you said nothing of the floor of property 1"):
        say_fact(database, 1, "floor", None)


def test_the_word_goes_with_the_oldest_advert_and_the_later_one_counts(matching: PropertyMatching) -> None:
    database = matching.database
    say_fact(database, 2, "rooms", "2")
    say_fact(database, 1, "rooms", "4")
    link(matching, 1, 2)
    assert flat_of(database, 2).rooms == 4
    split(matching, 1, [2])
    assert (flat_of(database, 1).rooms, flat_of(database, 2).rooms) == (4, 2)


def test_the_word_touches_the_flat_and_its_score_follows(matching: PropertyMatching) -> None:
    database = matching.database
    run = ScoreRun(matching.settings, database, WISHES)
    run.run(lambda: 5.0)

    def unknown() -> dict[int, list[str]]:
        rows = database.run_read(partial(ranked, profile="plain", passing=False, limit=9))
        return {row["property_id"]: row["unknown"] for row in rows}

    assert ("ground_floor" in unknown()[1], "ground_floor" in unknown()[2]) == (True, False)
    _, before = touched(database)
    say_fact(database, 1, "floor", "4")
    assert touched(database, before)[0] == {1}
    assert run.run(lambda: 6.0).scored == 1
    assert "ground_floor" not in unknown()[1]


@each_row(
    ("fact", "value", "problem"),
    [
        ("colour", "red", f"no fact 'colour' can be put right; allowed: {', '.join(CORRECTABLE)}"),
        ("floor", "four", "floor: 'four' is no number"),
        ("floor", "400", "floor: '400' is not from -1 to 45"),
        ("floors_total", "0", "floors_total: '0' is not from 1 to 45"),
        ("construction", "wood", "construction: 'wood' is none of brick, panel"),
        ("elevator", "perhaps", "elevator: 'perhaps' is none of yes, no"),
        ("area_sqm", "", "area_sqm: '' says nothing; `--undo` takes back what you said"),
        ("orientation", "S, up", "orientation: 'up' is none of N, NE"),
        ("parking", " , ", "parking: ' , ' says nothing; `--undo` takes back what you said"),
        ("price_eur", "-1", "price_eur: '-1' is no price in euros; write it like 120000 or 120 000"),
        (
            "price_eur",
            "120.000",
            "price_eur: '120.000' is no price in euros; write it like 120000 or 120 000",
        ),
        ("price_eur", "nan", "price_eur: 'nan' is no price in euros; write it like 120000 or 120 000"),
        ("seller_kind", "friend", "seller_kind: no 'friend'; allowed: private, agency, developer"),
    ],
)
def test_what_cannot_be_said_is_refused_in_a_sentence(
    matching: PropertyMatching, fact: str, value: str, problem: str
) -> None:
    with pytest.raises(WrongEvaluation) as refused:
        say_fact(matching.database, 1, fact, value)
    assert str(refused.value).startswith(problem)
    with pytest.raises(UnknownProperty):
        say_fact(matching.database, 77, "floor", "4")


@each_row(
    ("fact", "value", "kept"),
    [
        ("area_sqm", "64,5", 64.5), ("elevator", "no", False), ("construction", "brick", "brick"),
        ("price_eur", "120,000", 120_000.0), ("price_eur", "650,50", 650.5),
        ("price_eur", "120 000", 120_000.0), ("bedrooms", "2", 2), ("deal", "rent", "rent"),
        ("orientation", "S, E", ("S", "E")), ("heating", "none", ("none",)),
        ("parking", "garage", ("garage",)),
        ("storage", "attic basement", ("attic", "basement")),
    ],
)  # fmt: skip
def test_each_kind_of_fact_is_kept_as_it_is(
    matching: PropertyMatching, fact: str, value: str, kept: object
) -> None:
    say_fact(matching.database, 2, fact, value)
    assert getattr(flat_of(matching.database, 2), fact) == kept


def test_lists_and_views_show_what_is_believed_and_who_says_so(matching: PropertyMatching) -> None:
    database = matching.database

    def views() -> tuple[Any, Any]:
        with database.read() as connection:
            [line] = [one for one in list_properties(connection, order="newest", limit=9) if one.id == 1]
            return line, show_property(connection, 1, now=0.0)

    line, view = views()
    assert (line.floor, line.rooms) == (None, 3)
    assert view["fields"].keys().isdisjoint({"floor", "floors_total"})
    assert view["contradictions"] == [
        {"code": "floor_above_total", "facts": ("floor", "floors_total"), "one": 9, "other": 8, "kept": None}
    ]
    say_fact(database, 1, "floor", "4")
    line, view = views()
    assert (line.floor, view["fields"]["floor"]["value"], view["fields"]["floor"]["site"]) == (4, 4, "you")
    assert (view["fields"]["floors_total"]["value"], view["contradictions"]) == (8, [])


def test_matching_does_not_hear_an_impossible_floor(matching: PropertyMatching) -> None:
    with matching.database.read() as connection:
        rows = {row["id"]: (row["floor"], row["floors_total"]) for row in read_listings(connection)}
    assert rows == {1: (None, None), 2: (2, 8)}


def test_a_text_is_compared_with_what_its_portal_prints(store_url: str) -> None:
    database = new_matching(store_url).database
    text = "Продава се двустаен апартамент на втори етаж, с изложение юг и две тераси."
    save(
        database, [advert("a1", description=text, floor=7), advert("b1", description=text, rooms=2, floor=2)]
    )
    read_all(database, Summary())
    flat = flat_of(database, 1)
    assert (flat.rooms, flat.floor) == (None, None)
    assert {(one.code, one.one, one.other) for one in flat.contradictions} == {
        (Code.TEXT_ROOMS, 3, 2), (Code.TEXT_FLOOR, 7, 2),
    }  # fmt: skip
    assert flat_of(database, 2).contradictions == ()


def test_bedrooms_are_checked_as_they_are_stored(store_url: str) -> None:
    database = new_matching(store_url).database
    save(database, [advert("a1", rooms=2)])
    say(database, 1, bedrooms=(2, "stated"))  # not in one word: a reading that is not sure enough for a flag
    assert (flat_of(database, 1).rooms, flat_of(database, 1).bedrooms) == (2, None)


# The market of stored adverts.


def test_what_stands_out_is_stored_touched_and_forgotten(store_url: str) -> None:
    matching = new_matching(store_url)
    database = matching.database
    usual = [
        advert(f"n{one}", area_sqm=60.0 + one, price_eur=(2_500 + 40 * one) * (60.0 + one))
        for one in range(MARKET_LEAST)
    ]
    save(database, [*usual, advert("odd", area_sqm=99.5, price_eur=20_000.0)])
    assert match_new(matching.settings, database, matching.clock)
    odd = ids_of(database)["odd"]
    flat = flat_of(database, odd)
    assert (flat.price_eur, flat.flags) == (None, frozenset({"price_out_of_market"}))
    _, upto = touched(database)
    refresh_outliers(database, matching.settings)
    assert touched(database, upto) == (set(), upto)
    save(database, [advert("odd", area_sqm=99.5, price_eur=298_000.0)], seen_at=2.0)
    _, upto = touched(database)
    refresh_outliers(database, matching.settings)
    assert touched(database, upto)[0] == {odd}
    assert (flat_of(database, odd).price_eur, flat_of(database, odd).contradictions) == (298_000.0, ())


def test_a_phone_on_many_private_adverts_is_no_private_seller(store_url: str) -> None:
    matching = new_matching(store_url)
    many = matching.settings.private_seller_flats
    busy = [
        advert(f"p{one}", area_sqm=50.0 + 3 * one, floor=one % 8, price_eur=90_000.0 + 7_000 * one,
               seller_kind="private", seller_name=None, phones=["+359888111222"])
        for one in range(many)
    ]  # fmt: skip
    alone = advert("q", area_sqm=140.0, seller_kind="private", seller_name=None, phones=["+359888333444"])
    save(matching.database, [*busy, alone])
    assert match_new(matching.settings, matching.database, matching.clock)
    ids = ids_of(matching.database)
    one, other = (flat_of(matching.database, ids[name]) for name in ("p0", "q"))
    assert ([each.seller_kind for each in one.adverts], one.flags) == (
        [None],
        frozenset({"private_with_many"}),
    )
    assert one.contradictions[0].other == many
    assert ([each.seller_kind for each in other.adverts], other.flags) == (["private"], frozenset())


def test_a_point_that_many_flats_share_is_not_exact(store_url: str) -> None:
    matching = new_matching(store_url)
    shared = [
        advert(f"s{one}", area_sqm=50.0 + 9 * one, floor=one, price_eur=90_000.0 + 30_000 * one,
               lat=42.67371 + 1e-7 * one, lon=23.3252)
        for one in range(SHARED_POINT_FLATS)
    ]  # fmt: skip
    alone = advert("own", area_sqm=140.0, price_eur=500_000.0, lat=42.6738, lon=23.3252)
    database = matching.database
    save(database, [*shared[1:], alone])
    assert match_new(matching.settings, database, matching.clock)
    ids = ids_of(database)
    assert flat_of(database, ids["s1"]).exactness is Exactness.EXACT
    _, upto = touched(database)
    save(database, shared[:1])
    assert match_new(matching.settings, database, matching.clock)
    ids = ids_of(database)
    assert {ids[f"s{one}"] for one in range(SHARED_POINT_FLATS)} <= touched(database, upto)[0]
    flat, other = flat_of(database, ids["s1"]), flat_of(database, ids["own"])
    assert (flat.exactness, flat.flags) == (Exactness.NEIGHBOURHOOD, frozenset({"position_shared"}))
    assert (other.exactness, other.flags) == (Exactness.EXACT, frozenset())


def test_the_cheapest_flats_come_first_with_vat_in_their_prices(matching: PropertyMatching) -> None:
    prices = [
        advert("a1", price_eur=100_000.0, vat="excluded"),
        advert("b1", area_sqm=51.0, price_eur=110_000.0, vat="included"),
    ]
    save(matching.database, prices, seen_at=2.0)
    refresh_flats(matching.database)
    with matching.database.read() as connection:
        lines = list_properties(connection, order="cheapest", limit=9)
    assert [(line.id, line.lowest_eur, line.highest_eur) for line in lines] == [
        (2, 110_000.0, 110_000.0),
        (1, 120_000.0, 120_000.0),
    ]
