from typing import Any

from property_worlds import FLAT
from sale_sofia.flats.merger import MERGED, PropertyMerger
from tables import each_row

EMPTY: dict[str, Any] = dict.fromkeys(
    (*MERGED, "title", "vat", "seller_kind", "seller_name", "gone_at", "closed_at", "price_eur")
)


def row(number: int, **fields: object) -> dict[str, Any]:
    seen = {"first_seen_at": 1.0, "last_seen_at": float(number), "phones": []}
    named = {"id": number, "site": "imot.bg", "external_id": f"n{number}", "url": f"https://x/{number}"}
    return {**EMPTY, **FLAT, **seen, **named, **fields}


def test_a_fact_is_what_most_say_with_its_source_and_date_and_the_others_beside_it() -> None:
    told = PropertyMerger().field(
        "rooms", [row(1, rooms=3), row(2, rooms=4, site="alo.bg"), row(3, rooms=3), row(4, rooms=None)]
    )
    assert told == {
        "value": 3, "site": "imot.bg", "listing_id": 3, "seen_at": 3.0, "adverts": [1, 3],
        "others": [{"value": 4, "site": "alo.bg", "listing_id": 2, "seen_at": 2.0, "adverts": [2]}],
    }  # fmt: skip


@each_row(
    ("first", "second", "value"),
    [
        ({}, {}, 5),
        ({"last_seen_at": 9.0}, {}, 5),  # whichever a crawl happened to see last
        ({}, {"gone_at": 5.0}, 4),
        ({"gone_at": 5.0}, {"gone_at": 6.0}, 5),
    ],
)
def test_of_equally_many_the_newest_advert_counts_and_one_still_offered_before_it(
    first: dict[str, float], second: dict[str, float], value: int
) -> None:
    told = PropertyMerger().field("floor", [row(1, floor=4, **first), row(2, floor=5, **second)])
    assert told is not None
    assert (told["value"], [one["value"] for one in told["others"]]) == (value, [9 - value])


def test_what_nobody_says_is_not_there() -> None:
    assert PropertyMerger().field("heating", [row(1, heating=[]), row(2, heating=None)]) is None


def test_offers_go_from_the_cheapest_on_with_what_they_ask_more() -> None:
    merged = PropertyMerger().merge(
        1,
        [
            row(1, price_eur=480_300.0),
            row(2, price_eur=None, site="alo.bg"),
            row(3, price_eur=455_700.0, site="bazar.bg"),
            row(4, price_eur=400_000.0, gone_at=5.0),
        ],
    )
    offers = [
        (one["listing_id"], one["above_lowest_eur"], one["above_lowest_percent"]) for one in merged["offers"]
    ]
    assert offers == [(3, 0.0, 0.0), (1, 24_600.0, 5.4), (2, None, None), (4, None, None)]
    assert merged["price"] == {
        "lowest_eur": 455_700.0,
        "highest_eur": 480_300.0,
        "difference_eur": 24_600.0,
        "difference_percent": 5.4,
    }  # fmt: skip
    assert merged["portals"] == ["alo.bg", "bazar.bg", "imot.bg"]
    assert (merged["first_seen_at"], merged["last_seen_at"]) == (1.0, 4.0)


def test_without_a_price_there_is_no_discrepancy() -> None:
    assert PropertyMerger().merge(1, [row(1, price_eur=None)])["price"] is None
