"""Since when a flat is on the market, who says so, and when it was offered before."""

from datetime import UTC, datetime
from typing import Any

from sale_sofia.flats.flat import EarlierOffer
from sale_sofia.flats.merging import Age, age_of
from sale_sofia.flats.settings import OFF_MARKET_DAYS
from sale_sofia.history.market_events import Since, listed_since
from sale_sofia.listings.dates import SOFIA
from tables import each_row

DAY = 86_400.0
SEEN = datetime(2026, 9, 1, tzinfo=UTC).timestamp()
MADE = 1_700_000_000
"""A second of 2023, as an imot.bg id holds it."""
FAMILY = f"1b{MADE}12345"


def row(number: int = 1, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - any column
    return {
        "id": number, "site": "imot.bg", "family_id": None, "posted_at": None, "generation": 1,
        "first_seen_at": SEEN, "gone_at": None, "closed_at": None, "closed_reason": None,
        "price_eur": 189_000.0, **fields,
    }  # fmt: skip


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, SOFIA).isoformat()


@each_row(
    ("fields", "at", "source"),
    [
        ({}, SEEN, "first_seen"),
        ({"posted_at": iso(SEEN - DAY)}, SEEN - DAY, "posted"),
        ({"family_id": FAMILY}, MADE, "id"),
        ({"family_id": FAMILY, "posted_at": iso(MADE)}, MADE, "id"),  # made from the id where none is printed
        ({"family_id": FAMILY, "posted_at": iso(MADE - DAY)}, MADE - DAY, "posted"),
        ({"family_id": FAMILY, "posted_at": iso(MADE + DAY)}, MADE, "id"),
        ({"posted_at": iso(SEEN + DAY)}, SEEN, "first_seen"),  # it cannot be from after we saw it
        ({"posted_at": "1999-12-31T23:00:00+02:00"}, SEEN, "first_seen"),
        ({"posted_at": "2000-01-01T02:00:00+02:00"}, 946_684_800.0, "posted"),
        ({"posted_at": "0001-01-01T00:00:00+01:33"}, SEEN, "first_seen"),
        ({"family_id": "1b199999999912345"}, SEEN, "first_seen"),  # of 2033
        ({"family_id": "1b000000000012345"}, SEEN, "first_seen"),
        ({"family_id": "abc"}, SEEN, "first_seen"),
        ({"family_id": FAMILY, "posted_at": iso(SEEN - DAY), "generation": 2}, SEEN, "first_seen"),
    ],
)
def test_an_advert_is_there_since_the_earliest_moment_that_can_be(
    fields: dict[str, Any], at: float, source: str
) -> None:
    assert listed_since(row(**fields)) == (at, source)
    assert age_of([row(**fields)]) == Age(Since(at, source))  # type: ignore[arg-type]


def test_a_flat_is_as_old_as_its_oldest_advert_in_any_order() -> None:
    rows = [
        row(1, first_seen_at=SEEN - 5 * DAY),
        row(2, site="olx.bg", posted_at=iso(SEEN - 90 * DAY)),
        row(3, site="bazar.bg", family_id=FAMILY, gone_at=SEEN),
    ]
    assert age_of(rows).since == (MADE, "id")
    assert age_of(rows[::-1]) == age_of(rows)
    assert age_of(rows[:2]).since == (SEEN - 90 * DAY, "posted")


def test_an_id_that_was_given_to_another_flat_says_nothing_in_the_whole_family() -> None:
    rows = [
        row(1, family_id=FAMILY, generation=2),
        row(2, site="bazar.bg", family_id=FAMILY, posted_at=iso(MADE)),
    ]
    assert age_of(rows) == Age(Since(SEEN, "first_seen"))
    other = row(3, site="olx.bg", posted_at=iso(SEEN - DAY))
    assert age_of([*rows, other]).since == (SEEN - DAY, "posted")
    no_family = [row(1, generation=2), other]
    assert age_of(no_family).since == (SEEN - DAY, "posted")


def test_a_flat_that_is_offered_again_was_offered_before() -> None:
    start, end = SEEN - 800 * DAY, SEEN - 430 * DAY
    ended = row(1, first_seen_at=start, gone_at=end)
    again = row(2, site="olx.bg", posted_at=iso(SEEN - 3 * DAY), price_eur=195_000.0)
    before = (EarlierOffer(1, "imot.bg", start, "first_seen", end, 189_000.0),)
    assert age_of([ended, again]) == Age(Since(SEEN - 3 * DAY, "posted"), before)


@each_row(("pause", "since"), [(OFF_MARKET_DAYS, 100.0), (OFF_MARKET_DAYS + 0.1, 40.0)])
def test_an_advert_made_anew_after_a_short_pause_does_not_make_a_flat_new(pause: float, since: float) -> None:
    ended = row(1, first_seen_at=SEEN - 100 * DAY, gone_at=SEEN - (40 + pause) * DAY)
    again = row(2, first_seen_at=SEEN - 40 * DAY)
    found = age_of([again, ended])
    assert found.since == (SEEN - since * DAY, "first_seen")
    assert [(one.listing_id, one.until) for one in found.before] == [(1, SEEN - (40 + pause) * DAY)]


def test_an_advert_that_ends_beside_an_older_one_was_not_before_it() -> None:
    there, ended = row(1, first_seen_at=SEEN - 9 * DAY), row(2, gone_at=SEEN + DAY)
    assert age_of([there, ended]) == Age(Since(SEEN - 9 * DAY, "first_seen"))


def test_one_family_was_offered_before_once_as_long_as_its_last_portal_had_it() -> None:
    family = [
        row(number, site=site, family_id=FAMILY, gone_at=SEEN - days * DAY, price_eur=price)
        for number, site, days, price in ((1, "imot.bg", 90.0, 190_000.0), (2, "bazar.bg", 80.0, 185_000.0))
    ]
    other = row(3, site="homes.bg", first_seen_at=SEEN - 300 * DAY, closed_at=SEEN - 70 * DAY, price_eur=None)
    (latest, last) = age_of([*family, other, row(4)]).before
    assert latest == (3, "homes.bg", SEEN - 300 * DAY, "first_seen", SEEN - 70 * DAY, None)
    assert last == (2, "bazar.bg", MADE, "id", SEEN - 80 * DAY, 185_000.0)


def test_what_turned_out_to_be_no_flat_of_its_own_is_no_offer() -> None:
    never = row(1, first_seen_at=SEEN - 50 * DAY, closed_at=SEEN - 50 * DAY, closed_reason="withdrawn")
    assert age_of([never, row(2)]) == Age(Since(SEEN, "first_seen"))
    assert age_of([never]).since == (SEEN - 50 * DAY, "first_seen")
