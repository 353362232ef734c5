"""When a run's pages are not as usual: the rules, by numbers, and that few pages say nothing."""

import random
from collections.abc import Sequence

import pytest

from sale_sofia.history.drift.counts import (
    EURO_SCALE,
    Example,
    FieldCounts,
    SectionCounts,
    Sections,
    Share,
    counters_of,
    sections_of,
    usual_share,
)
from sale_sofia.history.drift.judging import (
    Check,
    DriftVerdict,
    Evidence,
    PastRun,
    checks,
    prices_are_doubtful,
)
from sale_sofia.settings.model import Settings
from sale_sofia.telemetry.incidents import IncidentKind
from tables import each_row

SETTINGS = Settings()
FIRSTS = {"listing.floor": "row: Етаж", "listing.price": "css: .cena", "search.cards": "div.item"}
PAGE = Example("https://imot.bg/1", "a" * 64)


def section(seen: int, read: int, first: int | None = None) -> SectionCounts:
    """Adverts whose floor was read on some of them, by the first link or the second."""
    by_first = read if first is None else first
    links = {0: by_first, 1: read - by_first}
    return SectionCounts(pages=seen, seen=seen, fields={"floor": FieldCounts(read, links, PAGE, PAGE)})


def judged(now: SectionCounts, past: Sequence[SectionCounts], name: str = "listing") -> list[Check]:
    runs = [PastRun({name: one}, FIRSTS) for one in past]
    return checks(Evidence({name: now}, runs, FIRSTS, SETTINGS))


def drifted(found: Sequence[Check]) -> list[tuple[str, str]]:
    return [(one.kind.value, one.name) for one in found if one.verdict is DriftVerdict.DRIFTED]


@each_row(
    ("read", "expected"),
    [(900, []), (720, []), (640, [("drift_fill", "listing.floor")]), (0, [("drift_fill", "listing.floor")])],
)
def test_a_fill_rate_may_fall_by_twenty_points(read: int, expected: list[tuple[str, str]]) -> None:
    usual = [section(1000, 900)] * 3
    assert drifted(judged(section(1000, read), usual)) == expected


def test_a_drop_names_its_field_its_selector_and_a_page() -> None:
    (found,) = (
        one for one in judged(section(40, 0), [section(40, 40)] * 3) if one.verdict is DriftVerdict.DRIFTED
    )
    assert found.sentence == "listing.floor is filled on 0% of 40, where 100% is usual"
    details = {"field": "listing.floor", "selector": "row: Етаж", "url": PAGE.url, "page_digest": PAGE.digest}
    assert details.items() <= found.details().items()


def test_another_link_that_matches_instead_of_the_first() -> None:
    usual = [section(30, 30)] * 3
    assert drifted(judged(section(30, 30, first=0), usual)) == [("drift_selector", "listing.floor")]
    assert drifted(judged(section(30, 30, first=26), usual)) == []


def test_a_first_selector_that_is_new_in_the_file_is_not_compared() -> None:
    past = [PastRun({"listing": section(30, 30)}, FIRSTS | {"listing.floor": "row: Ниво"})] * 3
    found = checks(Evidence({"listing": section(30, 30, first=0)}, past, FIRSTS, SETTINGS))
    assert drifted(found) == []


def test_nothing_is_judged_before_three_runs() -> None:
    assert drifted(judged(section(30, 0), [section(30, 30)] * 2)) == []
    assert drifted(judged(section(30, 0), [section(30, 30)] * 3)) == [("drift_fill", "listing.floor")]


def test_small_runs_count_together_as_one() -> None:
    shares = [Share(2, 3)] * 12
    assert usual_share(shares, least_pages=10, least_runs=3) == pytest.approx(2 / 3)
    assert usual_share(shares[:11], least_pages=10, least_runs=3) is None


def test_what_is_usual_is_a_median() -> None:
    usual = [section(30, 30), section(30, 30), section(30, 3)]
    assert drifted(judged(section(30, 0), usual)) == [("drift_fill", "listing.floor")]


@pytest.mark.parametrize(("pages", "expected"), [(2, []), (3, [("drift_fill", "listing.floor")])])
def test_few_pages_say_it_only_of_what_is_always_there(pages: int, expected: list[tuple[str, str]]) -> None:
    assert drifted(judged(section(pages, 0), [section(100, 100)] * 3)) == expected
    assert drifted(judged(section(pages, 0), [section(100, 60)] * 3)) == []


@pytest.mark.slow
def test_a_sound_portal_of_any_share_and_size_does_not_drift() -> None:
    seed = random.randrange(10**6)
    print("seed", seed)  # noqa: T201
    rng = random.Random(seed)
    alarms = 0
    for _ in range(2000):
        share, pages = rng.random(), rng.choice((1, 3, 8, 20, 60, 300))
        runs = [section(n, sum(rng.random() < share for _ in range(n))) for n in [60, *[pages] * 9]]
        alarms += bool(drifted(judged(runs[-1], runs[:-1])))
    assert alarms <= 3  # one in two thousand, and only where 20 points are passed too


def test_wilson_s_bounds() -> None:
    assert Share(0, 3).most == pytest.approx(0.783, abs=1e-3)
    assert Share(3, 3).least == pytest.approx(0.217, abs=1e-3)
    assert Share(0, 0).most == 1.0
    assert Share(500, 1000).most - 0.5 < 0.06


def results(pages: int, unreadable: dict[str, int], cards: int = 40) -> SectionCounts:
    full = max(0, pages - 1)
    return SectionCounts(
        pages=pages, seen=cards * pages, unreadable=unreadable, puzzle=PAGE, few=PAGE, few_cards=cards,
        full_pages=full, full_cards=full * cards, told=40 * pages,
    )  # fmt: skip


def test_no_cards_on_any_page() -> None:
    now = results(0, {"layout_changed": 1}, 0)
    assert drifted(judged(now, [results(3, {})] * 3, "search")) == [("drift_cards", "search.cards")]


def test_results_that_cannot_be_decoded_are_no_matter_of_cards() -> None:
    now = results(0, {"undecodable_page": 2}, 0)
    assert drifted(judged(now, [results(3, {})] * 3, "search")) == [("drift_unreadable", "search.cards")]


def test_one_bad_page_of_many_is_none() -> None:
    assert drifted(judged(results(30, {"layout_changed": 1}), [results(30, {})] * 3, "search")) == []


def test_half_of_the_cards() -> None:
    found = drifted(judged(results(5, {}, 20), [results(5, {})] * 3, "search"))
    assert found == [("drift_cards", "search.cards_per_page"), ("drift_cards", "search.cards_of_total")]


def priced(ratio: float, count: int, price: float = 100_000) -> SectionCounts:
    counts = SectionCounts(pages=1, seen=count, priced=count, odd=PAGE)
    for _ in range(count):
        counts.ratios.add(ratio)
        counts.prices.add(price * ratio / EURO_SCALE)
    return counts


@each_row(("ratio", "moved"), [(1.0, False), (1.13, False), (1.17, True), (0.83, True)])
def test_a_median_price_may_move_by_fifteen_per_cent(ratio: float, *, moved: bool) -> None:
    found = drifted(judged(priced(ratio, 12), [], "search"))
    assert (found == [("drift_price", "search.price")]) is moved
    assert prices_are_doubtful({"search": priced(ratio, 12)}, SETTINGS) is moved


def test_few_prices_that_moved_are_price_changes() -> None:
    assert drifted(judged(priced(0.7, 9), [], "search")) == []


def test_a_median_of_all_cards_counts_where_it_is_beyond_doubt() -> None:
    """Other adverts than before, so none is known; all at one price leave no doubt of the median."""
    now, past = priced(1.0, 500, 130_000), [priced(1.0, 500)] * 3
    now.ratios = SectionCounts().ratios
    assert drifted(judged(now, past, "search")) == [("drift_price", "search.price")]
    assert drifted(judged(now, past, "listing")) == []  # which adverts are opened is another choice each time


@each_row(("odd", "of", "expected"), [(3, 3, True), (2, 2, False), (2, 40, False), (30, 60, True)])
def test_prices_of_a_square_metre(odd: int, of: int, *, expected: bool) -> None:
    now = SectionCounts(pages=of, seen=of, priced=of, per_sqm=odd)
    assert (drifted(judged(now, [])) == [("drift_price_per_sqm", "listing.price")]) is expected


def test_counters_are_kept_as_they_are() -> None:
    for counted in (section(3, 2, 1), results(2, {"layout_changed": 1}, 7), priced(1.2, 4)):
        stored: Sections = {"listing": counted}
        assert sections_of(counters_of(stored)) == stored


def test_every_kind_of_drift_is_one() -> None:
    names = ("cards", "unreadable", "fill", "selector", "price", "price_per_sqm", "floor")
    assert {kind.value for kind in IncidentKind if "drift" in kind} == {f"drift_{name}" for name in names}
