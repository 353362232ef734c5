from typing import Any

from property_worlds import FLAT
from sale_sofia.flats.flat import Advert
from sale_sofia.flats.merging import MERGED, PropertyMerger, is_offered
from sale_sofia.flats.views import merged_view
from tables import each_row
from unit.advice.scored import empty_flat

EMPTY: dict[str, Any] = dict.fromkeys(
    (*MERGED, "title", "vat", "seller_kind", "seller_name", "gone_at", "closed_at", "price_eur")
)


def row(number: int, **fields: object) -> dict[str, Any]:
    seen = {"first_seen_at": 1.0, "last_seen_at": float(number), "opened_at": 1.0, "phones": []}
    seen["copy_of"] = None
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


def test_adverts_that_say_act_16_and_commissioned_agree() -> None:
    said = ("commissioned", "act16", "act15")
    rows = [row(number, act_status=act) for number, act in enumerate(said, 1)]
    told = PropertyMerger().field("act_status", rows)
    assert told is not None
    assert (told["value"], told["adverts"]) == ("act16", [1, 2])
    assert [(one["value"], one["adverts"]) for one in told["others"]] == [("act15", [3])]
    for believed in ("act16", "commissioned"):
        shown = view(*rows, act_status=believed)["fields"]["act_status"]
        assert (shown["adverts"], [one["value"] for one in shown["others"]]) == ([1, 2], ["act15"])


def test_what_nobody_says_is_not_there() -> None:
    assert PropertyMerger().field("heating", [row(1, heating=[]), row(2, heating=None)]) is None


def view(*rows: dict[str, Any], **facts: object) -> dict[str, Any]:
    """What is shown of the flat of these adverts."""
    flat = empty_flat(**facts)
    flat.adverts = tuple(
        Advert(
            one["id"], one["site"], one["external_id"], one["url"], one["title"], one["price_eur"],
            one["vat"], one["seller_kind"], None, 1.0, 1.0, offered=is_offered(one),
        )
        for one in rows
    )  # fmt: skip
    return merged_view(flat, rows)


def test_an_advert_known_by_its_card_alone_is_not_opened_yet() -> None:
    merged = view(row(1), row(2, opened_at=None))
    assert {one["external_id"]: one["opened"] for one in merged["offers"]} == {"n1": True, "n2": False}


def test_a_copy_says_whose_it_is_until_it_was_opened_itself() -> None:
    merged = view(row(1), row(2, opened_at=None, copy_of=1), row(3, copy_of=1))
    assert {one["external_id"]: one["copy_of"] for one in merged["offers"]} == {
        "n1": None,
        "n2": 1,
        "n3": None,
    }


def test_offers_go_from_the_cheapest_on_with_what_they_ask_more() -> None:
    merged = view(
        row(1, price_eur=480_300.0),
        row(2, price_eur=None, site="alo.bg"),
        row(3, price_eur=455_700.0, site="bazar.bg"),
        row(4, price_eur=400_000.0, gone_at=5.0),
    )
    offers = [
        (one["listing_id"], one["above_lowest_eur"], one["above_lowest_percent"]) for one in merged["offers"]
    ]
    assert offers == [(3, 0.0, 0.0), (1, 24_600.0, 5.4), (2, None, None), (4, None, None)]
    assert merged["price"] == {
        "lowest_eur": 455_700.0,
        "lowest_vat": None,
        "highest_eur": 480_300.0,
        "highest_vat": None,
        "difference_eur": 24_600.0,
        "difference_percent": 5.4,
    }  # fmt: skip
    assert merged["portals"] == ["alo.bg", "bazar.bg", "imot.bg"]
    assert (merged["first_seen_at"], merged["last_seen_at"]) == (1.0, 4.0)


@each_row(
    ("first", "second", "facts", "states", "apart"),
    [
        # The same sum with VAT, or a sixth less: nobody knows.
        ((100_000.0, "excluded"), (120_000.0, None), {}, ("excluded", "unknown"), (None, None)),
        ((100_000.0, "excluded"), (120_000.0, "included"), {}, ("excluded", "included"), (0.0, 0.0)),
        # Dearer, though it prints less.
        ((110_000.0, "included"), (100_000.0, "excluded"), {}, ("included", "excluded"), (10_000.0, 9.09)),
        ((100_000.0, None), (110_000.0, None), {}, (None, None), (10_000.0, 10.0)),
        ((100_000.0, None), (110_000.0, None), {"act_status": "act14"}, ("unknown",) * 2, (None, None)),
        ((100_000.0, "none"), (130_000.0, "none"), {"act_status": "act14"}, ("none",) * 2, (30_000.0, 30.0)),
    ],
)
def test_prices_are_apart_only_where_what_is_paid_is_sure(
    first: tuple[float, str | None],
    second: tuple[float, str | None],
    facts: dict[str, str],
    states: tuple[str | None, str | None],
    apart: tuple[float | None, float | None],
) -> None:
    merged = view(
        row(1, price_eur=first[0], vat=first[1]), row(2, price_eur=second[0], vat=second[1]), **facts
    )
    shown = {one["listing_id"]: one for one in merged["offers"]}
    assert (shown[1]["vat_state"], shown[2]["vat_state"]) == states
    assert (merged["price"]["difference_eur"], merged["price"]["difference_percent"]) == apart
    assert (shown[2]["above_lowest_eur"], shown[2]["above_lowest_percent"]) == apart
    assert [one["price_eur"] for one in merged["offers"]] == [first[0], second[0]]


def test_without_a_price_there_is_no_discrepancy() -> None:
    assert view(row(1, price_eur=None))["price"] is None
