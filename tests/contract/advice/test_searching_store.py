"""A search in the database finds what a look at every flat finds, no more and no less, in order."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from sqlalchemy import insert

from contract.storage.helpers import database
from flat_checks import judge, with_words
from property_worlds import advert, dispose_all, ids_of, new_matching, save
from sale_sofia.advice.search import run
from sale_sofia.advice.search.conditions import Around, read_around
from sale_sofia.advice.search.query import SearchQuery, WrongSearch
from sale_sofia.advice.search.run import SearchResult, fitting, saved_query, search
from sale_sofia.advice.tables import scored_flats, scores
from sale_sofia.buyer.evaluations import By, mark
from sale_sofia.buyer.opinions import say_status, welcome
from sale_sofia.buyer.tables import saved_searches
from sale_sofia.flats.prices import asked_eur_sqm, price_band
from sale_sofia.flats.projection import refresh_flats
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.tables import listing_sources, properties
from sale_sofia.history.market_events import SECONDS_PER_DAY
from sale_sofia.history.revisions import touch
from sale_sofia.storage.database import Database
from search_worlds import NOW, fill
from seeds import SEED
from tables import each_row

FLATS = 60
SINCE = datetime.fromtimestamp(NOW - 30 * SECONDS_PER_DAY, UTC)
ANYWHERE = {
    "city": None,
    "deal": None,
    "property_type": (),
    "status": (),
    "gone": True,
    "place_conflict": True,
}
QUERIES: dict[str, Any] = {
    "neighbourhood": [("Лозенец",), ("Лозенец", "Изток")],
    "not_neighbourhood": [("Лозенец",)],
    "district": [("Изгрев",)],
    "city": [None, "Варна"],
    "deal": [None, "rent"],
    "property_type": [(), ("studio", "garage")],
    "price_min": [100_000, 125_000],
    "price_max": [95_000, 130_000, 180_000],
    "eur_sqm_min": [0, 1500],
    "eur_sqm_max": [1900, 2400],
    "area_min": [0, 60],
    "area_max": [60, 70],
    "net_area_min": [50],
    "net_area_max": [50],
    "rooms": [(2,), (3, 5)],
    "bathrooms_min": [2],
    "floor_min": [1],
    "floor_max": [0, 4],
    "not_ground": [True],
    "not_last": [True],
    "construction": [("brick", "epk")],
    "no_panel": [True],
    "year_min": [2000],
    "year_max": [2000],
    "act": ["act15"],
    "condition": [("renovated", "new")],
    "furnishing": [("furnished",)],
    "heating": [("gas",)],
    "orientation": [("S",)],
    "metro_m": [400],
    "within": [("Лозенец",)],
    "polygon": [("42.66,23.30;42.70,23.30;42.70,23.36;42.66,23.36",)],
    "metro_minutes": [10],
    "travel": [("25:Сердика",)],
    "stop_minutes": [8],
    "shop_minutes": [11, 12],
    "school_minutes": [10],
    "school_rank": [50],
    "line": [("t10",)],
    "road": [("close", "far"), ("beside", "near", "close", "far")],
    "balcony": [True],
    "parking": [True],
    "elevator": [True],
    "seller": [("private",)],
    "portal": [("alo.bg",)],
    "days_min": [20],
    "days_max": [40],
    "new_since": [SINCE],
    "word": [("терас*",)],
    "not_word": [("юг",)],
    "gone": [True],
    "place_conflict": [True],
    "flag": [("floor_above_total", "net_above_total"), ("price_out_of_market",)],
    "contradictions": ["only", "none"],
    "all_like": [True],
    "waits_for_you": [True],
    "unknown": ["ok", "no"],
    "sort": ["price", "eur_sqm", "days", "newest"],
}


@pytest.fixture(scope="module")
def world(module_store_url: str) -> Iterator[Database]:
    made = database(module_store_url)
    fill(made, Random(SEED), FLATS)
    with made.write() as connection:
        mark(connection, 1, "rejected", By("anna", 1.0))
        ana, boris = (welcome(connection, name, "bg", None, now=1.0) for name in ("Ана", "Борис"))
        others = sorted(flat.property_id for flat in read_flats(connection))[-4:]
        for number, likes in zip(others, ((ana, boris), (ana,), (boris,), (ana, boris)), strict=True):
            for person in likes:
                say_status(connection, number, "shortlist", person, None, now=1.0)
    yield made
    made.dispose()


def ids(found: SearchResult) -> tuple[list[int], list[int]]:
    return [one.flat.property_id for one in found.passed], [one.flat.property_id for one in found.unknown]


ASKED = SearchQuery(all_like=True, waits_for_you=True)
"""So that all is read that any of the queries asks."""


class EveryFlat:
    """What passes and what is not known, by a look at every flat there is."""

    def __init__(self, db: Database) -> None:
        with db.read() as connection:
            self.flats = list(read_flats(connection))
            self.around = with_words(connection, read_around(connection, ASKED, now=NOW), self.flats)

    def unknown_of(self, query: SearchQuery) -> dict[int, set[str]]:
        """What is not known of each flat that may pass."""
        judged = (judge(flat, query, self.around) for flat in self.flats)
        return {one.flat.property_id: set(one.unknown) for one in judged if one}


def queries(rng: Random) -> Iterator[dict[str, Any]]:
    """Each condition by itself, on all that is stored, then many together."""
    yield {}
    for field, values in QUERIES.items():
        for value in values:
            yield {**ANYWHERE, field: value}
    for _ in range(15):
        fields = rng.sample(sorted(QUERIES), rng.randint(2, 5))
        yield {field: rng.choice(QUERIES[field]) for field in fields}


@pytest.mark.slow
def test_the_database_leaves_out_nothing_and_lets_nothing_in(
    world: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    differing, sizes, every = {}, [], EveryFlat(world)
    for conditions in queries(Random(SEED)):
        query = _query(conditions)
        if query is None:
            continue  # its conditions contradict each other
        passed, unknown = ids(search(world, query, now=NOW))
        assert len(passed) == len(set(passed))
        looked_at = every.unknown_of(query)
        sure = {number for number, names in looked_at.items() if not names or query.unknown == "ok"}
        if (set(passed), set(unknown)) != (sure, looked_at.keys() - sure):
            differing[str(conditions)] = (passed, unknown)
        with world.read() as connection:
            around = read_around(connection, query, now=NOW)
            told = fitting(connection, query, around, [flat.property_id for flat in every.flats])
        assert {number: set(names) for number, names in told.items()} == looked_at, conditions
        with monkeypatch.context() as many:
            many.setattr(run, "SORTED_FLATS", 3)
            some = search(world, query, now=NOW, part=lambda total: slice(total // 3, total // 2))
        assert (some.total, some.unknown_total) == (len(passed), len(unknown)), conditions
        assert ids(some) == (passed[len(passed) // 3 : len(passed) // 2], unknown), conditions
        sizes.append((len(passed), len(unknown)))
    assert differing == {}, f"seed {SEED}"
    # The queries tell flats apart, or they would show nothing.
    assert sum(1 for passed, _ in sizes if passed) > len(sizes) / 2, f"seed {SEED}"
    assert sum(1 for _, unknown in sizes if unknown) > len(sizes) / 3, f"seed {SEED}"


def _query(conditions: dict[str, Any]) -> SearchQuery | None:
    try:
        return SearchQuery.of(conditions)
    except WrongSearch:
        return None


def test_all_that_is_not_asked_for_is_there(world: Database) -> None:
    with world.read() as connection:
        everything = {flat.property_id for flat in read_flats(connection)}
    passed, unknown = ids(search(world, SearchQuery.of(ANYWHERE), now=NOW))
    assert (set(passed), unknown) == (everything, [])


@each_row(
    ("sort", "value"),
    [
        ("price", lambda flat: band.least if (band := price_band(flat)) else None),
        ("eur_sqm", asked_eur_sqm),
        ("newest", lambda flat: -flat.first_seen_at),
        ("days", lambda flat: flat.since.at),
    ],
)
def test_the_order_is_the_one_asked_for(world: Database, sort: str, value: Any) -> None:  # noqa: ANN401 - a function
    found = search(world, SearchQuery.of({**ANYWHERE, "sort": sort}), now=NOW)
    values = [value(one.flat) for one in found.passed]
    known = [one for one in values if one is not None]
    assert known == sorted(known)
    assert values == known + [None] * (len(values) - len(known))
    assert len(known) > FLATS / 2


def test_what_the_buyer_rejected_is_not_shown_unless_asked_for(world: Database) -> None:
    wanted = SearchQuery.of(ANYWHERE | {"status": ("new",)})
    rejected = SearchQuery.of(ANYWHERE | {"status": ("rejected",)})
    shown = ids(search(world, wanted, now=NOW))[0]
    [only] = ids(search(world, rejected, now=NOW))[0]
    assert only not in shown


@pytest.fixture
def stored(store_url: str) -> Iterator[Database]:
    yield new_matching(store_url).database
    dispose_all()


def test_a_price_cut_is_measured_over_the_days_asked_for(stored: Database) -> None:
    for day, price in ((0, 200_000.0), (10, 190_000.0), (20, 171_000.0), (30, 180_000.0)):
        save(stored, [advert("down", price_eur=price)], seen_at=1.0 + day * SECONDS_PER_DAY)
    save(stored, [advert("same", floor=7, price_eur=100_000.0)])
    taxed = {"floor": 9, "price_eur": 120_000.0}
    save(stored, [advert("vat", **taxed, vat="included")])
    untaxed = taxed | {"price_eur": 100_000.0, "vat": "excluded"}
    save(stored, [advert("vat", **untaxed)], seen_at=25 * SECONDS_PER_DAY)
    names = {number: name for name, number in ids_of(stored).items()}

    def cheaper(days: float, percent: float | None = None) -> set[str]:
        query = SearchQuery.of({"cut_days": days, "cut_percent": percent})
        passed, unknown = ids(search(stored, query, now=1.0 + 31 * SECONDS_PER_DAY))
        assert unknown == []
        return {names[number] for number in passed}

    assert cheaper(100) == {"down"}
    assert cheaper(100, 10) == {"down"}  # 200 000 → 180 000
    assert cheaper(100, 10.1) == set()
    assert cheaper(15, 5.2) == {"down"}  # 190 000 → 180 000
    assert cheaper(15, 5.3) == set()
    assert cheaper(5) == set()  # it rose since


@pytest.mark.parametrize(("old", "new", "percent"), [(200_000.0, 180_000.0, 10), (300_000.0, 279_000.0, 7)])
def test_a_cut_by_exactly_so_much_is_enough(stored: Database, old: float, new: float, percent: float) -> None:
    save(stored, [advert("down", price_eur=old)])
    save(stored, [advert("down", price_eur=new)], seen_at=10 * SECONDS_PER_DAY)
    query = SearchQuery.of({"cut_days": 30, "cut_percent": percent})
    assert ids(search(stored, query, now=21 * SECONDS_PER_DAY)) == ([1], [])


def test_more_adverts_may_be_cheaper_than_a_statement_takes_parameters(stored: Database) -> None:
    save(stored, [advert("down")])
    refresh_flats(stored)
    around = Around(1.0, cuts=dict.fromkeys(range(1, 70_000), 5.0))
    query = SearchQuery.of({"cut_days": 30})
    with stored.read() as connection:
        assert fitting(connection, query, around, [1]) == {1: ()}
        assert fitting(connection, query, replace(around, cuts={}), [1]) == {}


def test_a_price_that_fell_and_rose_again_is_not_cut(stored: Database) -> None:
    for day, price in ((0, 120_000.0), (10, 110_000.0), (20, 120_000.0)):
        save(stored, [advert("same", price_eur=price)], seen_at=1.0 + day * SECONDS_PER_DAY)
    query = SearchQuery.of({"cut_days": 30})
    assert ids(search(stored, query, now=1.0 + 21 * SECONDS_PER_DAY)) == ([], [])


def test_a_price_that_was_not_told_for_a_while_may_come_back_lower(stored: Database) -> None:
    for day, price in ((0, 200_000.0), (10, None), (20, 180_000.0)):
        save(stored, [advert("shy", price_eur=price)], seen_at=1.0 + day * SECONDS_PER_DAY)
    query = SearchQuery.of({"cut_days": 30, "cut_percent": 9})
    assert ids(search(stored, query, now=1.0 + 21 * SECONDS_PER_DAY)) == ([1], [])


def test_words_are_read_from_titles_and_descriptions_of_all_adverts(stored: Database) -> None:
    save(
        stored,
        [
            advert("a", description="Южна ТЕРАСА\nс гледка", title="Апартамент"),
            advert("b", floor=7, title="Тристаен до парка", description=None),
            advert("c", floor=9, title=None, description=None),
        ],
    )
    names = {number: name for name, number in ids_of(stored).items()}

    def with_word(**words: Any) -> set[str]:  # noqa: ANN401 - conditions
        passed, unknown = ids(search(stored, SearchQuery.of(words), now=2.0))
        assert unknown == []
        return {names[number] for number in passed}

    assert with_word(word=["тераса"]) == {"a"}
    assert with_word(word=["тристаен", "парк*"]) == {"b"}
    assert with_word(not_word=["парка"]) == {"a", "c"}
    assert with_word(word=["тераса"], not_word=["гледка"]) == set()
    assert with_word(word=["тераса  с гледка"]) == {"a"}  # over the end of a line
    assert with_word(word=["апартамент южна тер*"]) == {"a"}  # from the title on
    assert with_word(word=["терасас"]) == set()


def test_words_of_two_adverts_are_not_one(stored: Database) -> None:
    save(
        stored,
        [advert("a", title="южна", description="тераса"), advert("b", title="юг", description="гледка")],
    )
    with stored.write() as connection:
        connection.execute(insert(properties).values(id=1, made_at=1.0))
        source = {
            "property_id": 1,
            "probability": 1.0,
            "decided_by": "buyer",
            "evidence": {},
            "decided_at": 1.0,
        }
        connection.execute(insert(listing_sources), [{**source, "listing_id": number} for number in (1, 2)])
        touch(connection, [1, 2])
    for words, found in ((["южна тераса", "юг гледка"], [1]), (["тераса юг"], []), (["тераса", "юг"], [1])):
        assert ids(search(stored, SearchQuery.of({"word": words}), now=2.0)) == (found, []), words


def test_scores_of_the_profile_filter_and_order(stored: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    adverts = [advert(f"a{floor}", floor=floor) for floor in (3, 5, 7, 9, 11)]
    save(stored, adverts)
    with stored.write() as connection:
        given = ((1, "default", 2.0, "pass"), (2, "default", 4.0, "pass"), (3, "default", 5.0, "fail"))
        connection.execute(insert(scores), [_score(*one) for one in (*given, (3, "друг", 1.0, "pass"))])
        # Looked at, and not what the profile wants at all; the fourth has not been looked at yet.
        looked_at = {"property_id": 5, "facts": "f", "offered": True, "rooms": 3}
        connection.execute(insert(scored_flats).values(**looked_at))
    query = {"profile": "default", "sort": "score"}
    assert ids(search(stored, SearchQuery.of(query), now=2.0)) == ([3, 2, 1, 5, 4], [])
    passing = SearchQuery.of({**query, "passing": True})
    assert ids(search(stored, passing, now=2.0)) == ([2, 1], [4])
    best = search(stored, SearchQuery.of(query), now=2.0, part=lambda _: slice(1, 4), best_first=True)
    assert (best.total, ids(best)) == (5, ([1, 3, 4], []))
    monkeypatch.setattr(run, "RANKED_FLATS", 0)  # by the index of scores, as of very many
    for part in (slice(begin, end) for begin in range(7) for end in (None, *range(begin, 7))):
        wanted = {5: part}.__getitem__
        best = search(stored, SearchQuery.of(query), now=2.0, part=wanted, best_first=True)
        assert (best.total, ids(best)) == (5, ([2, 1, 3, 4, 5][part], [])), part


def _score(number: int, profile: str, points: float, verdict: str) -> dict[str, Any]:
    return {
        "property_id": number, "profile": profile, "digest": "d", "value": points, "known": 1.0,
        "points": points, "verdict": verdict, "failed": [], "unknown": [], "criteria": {}, "scored_at": 1.0,
    }  # fmt: skip


def test_a_stored_search_that_is_none_any_more_is_named(stored: Database) -> None:
    with stored.write() as connection:
        good = SearchQuery.of({"price_max": 5}).model_dump(mode="json")
        rows = [{"name": "добро", "query": good}, {"name": "старо", "query": {"lift": True}}]
        connection.execute(insert(saved_searches), [{**row, "saved_at": 1.0} for row in rows])
        assert saved_query(connection, "добро") == SearchQuery.of({"price_max": 5})
        with pytest.raises(
            WrongSearch, match="the saved search 'старо' cannot be used: a search has no 'lift'"
        ):
            saved_query(connection, "старо")
