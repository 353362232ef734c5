"""A search as data: checked, and the same after a way through an address or the store."""

from datetime import datetime
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AwareDatetime, ValidationError

from sale_sofia.advice.search.query import FLATS, SearchQuery, WrongSearch, is_list
from sale_sofia.buyer.evaluations import STATUSES
from sale_sofia.flats.flat import Code
from sale_sofia.listings.dates import SOFIA
from sale_sofia.listings.places import districts, neighbourhoods, own_areas
from sale_sofia.websites.site_file import available_sites
from tables import each_row

NAMES: dict[str, list[str]] = {
    "neighbourhood": [one.name for one in neighbourhoods()],
    "not_neighbourhood": [one.name for one in neighbourhoods()],
    "district": list(districts()),
    "within": [one.name for one in neighbourhoods() if own_areas(one)],
    "polygon": [
        "42.66000,23.30000;42.70000,23.30000;42.70000,23.36000",
        "42.66000,23.30000;42.70000,23.30000;42.70000,23.36000;42.66000,23.36000",
    ],
    "near": ["42.69770,23.32190"],
    "portal": list(available_sites()),
    "city": ["София", "Варна", "Дупница"],
    "flag": [*Code],
    "line": ["M2", "b94", "t5", "tb2"],
    "travel": ["0:Сердика", "30:Лозенец", "240:Бизнес парк София", "45:42.6294/23.3732"],
}
WORDS = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=20)
SMALL = {"rooms": 5, "bathrooms_min": 10, "cut_percent": 100}


def values(field: str) -> st.SearchStrategy[Any]:
    annotation = SearchQuery.model_fields[field].annotation
    one = single(field, annotation)
    if is_list(field):
        return st.lists(one, max_size=3).map(tuple)
    return st.none() | one if NoneType in get_args(annotation) else one


def single(field: str, annotation: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - a type
    if field in NAMES:
        return st.sampled_from(NAMES[field])
    kinds = plain(annotation) - {NoneType}
    if words := [kind for kind in kinds if isinstance(kind, str)]:
        return st.sampled_from(sorted(words))
    if field.startswith("floor_"):
        return st.integers(-5, 100)
    if field.startswith("year_"):
        return st.integers(1800, 2100)
    return {
        bool: st.booleans(),
        int: st.integers(1, SMALL.get(field, 5)),
        float: st.floats(0.01, SMALL.get(field, 30_000)),
        str: WORDS,
        AwareDatetime: st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(SOFIA)),  # noqa: DTZ001
    }[kinds.pop()]


def plain(annotation: Any) -> set[Any]:  # noqa: ANN401 - a type
    if get_origin(annotation) is Annotated:
        return plain(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    parts = [part for part in get_args(annotation) if part is not ...]
    if parts:
        return set().union(*map(plain, parts))
    return {annotation}


@st.composite
def queries(draw: st.DrawFn) -> SearchQuery:
    fields = draw(st.sets(st.sampled_from(sorted(SearchQuery.model_fields)), max_size=12))
    chosen = {field: draw(values(field)) for field in sorted(fields)}
    for field in list(chosen):
        other = field.removesuffix("_min") + "_max"
        if field.endswith("_min") and chosen[field] is not None and chosen.get(other) is not None:
            chosen[field], chosen[other] = sorted((chosen[field], chosen[other]))
    if chosen.get("cut_percent") is not None and chosen.get("cut_days") is None:
        chosen["cut_days"] = 7.0
    if (chosen.get("near") is None) != (chosen.get("near_m") is None):
        chosen |= {"near": "42.69770,23.32190", "near_m": 500.0}
    if chosen.get("sort") == "score" or chosen.get("passing"):
        chosen["profile"] = "default"
    return SearchQuery.of(chosen)


@pytest.mark.slow
@given(queries())
def test_a_query_survives_an_address(query: SearchQuery) -> None:
    params = query.to_params()
    assert SearchQuery.from_params(params) == query
    address = urlencode(params, doseq=True)
    assert SearchQuery.from_params(parse_qs(address, keep_blank_values=True)) == query


@given(queries())
def test_a_query_survives_the_store(query: SearchQuery) -> None:
    assert SearchQuery.of(query.model_dump(mode="json")) == query
    assert SearchQuery.model_validate_json(query.model_dump_json()) == query


def test_by_default_flats_for_sale_in_sofia_that_are_not_unwanted() -> None:
    query = SearchQuery()
    assert (query.city, query.deal, query.property_type, query.unknown) == ("София", "sale", FLATS, "apart")
    assert set(STATUSES) - set(query.status) == {"rejected", "hidden"}
    assert query.to_params() == {}


def test_an_area_is_written_in_one_way() -> None:
    given = SearchQuery.from_params({"polygon": " 42.66,23.3 42.7,23.3; 42.7,23.3600001 42.66,23.3"})
    assert given.polygon == ("42.66000,23.30000;42.70000,23.30000;42.70000,23.36000",)
    assert SearchQuery.from_params(given.to_params()) == given


def test_any_takes_a_default_condition_away() -> None:
    query = SearchQuery.from_params({"city": "any", "property_type": ["any"], "status": "any", "deal": "any"})
    assert (query.city, query.property_type, query.status, query.deal) == (None, (), (), None)
    assert query.to_params() == {name: ["any"] for name in ("city", "deal", "property_type", "status")}


def test_names_are_understood_in_any_spelling() -> None:
    query = SearchQuery.from_params(
        {
            "neighbourhood": ["kv. lozenets", "ж.к. Младост 1А"],
            "district": "район студентски",
            "city": "Sofia",
        }
    )
    assert query.neighbourhood == ("Лозенец", "Младост 1А")
    assert (query.district, query.city) == (("Студентски",), "София")
    lines = SearchQuery.from_params({"line": ["М2", "м3", "X9", "94", "Т5"]}).line  # М, м, Т are Cyrillic
    assert lines == ("M2", "M3", "bХ9", "b94", "t5")


LINE = "42.66,23.30;42.70,23.30;42.66,23.30"
BOW = "42.66,23.30;42.70,23.36;42.70,23.30;42.66,23.36"
SPIKE = "42.66,23.30;42.70,23.30;42.68,23.30;42.68,23.36"
TINY = "42.66,23.30;42.6601,23.30;42.66,23.3001"
NOT_CALLED = "no neighbourhood of Sofia is called so"
MOMENT = "write a moment with its offset, like 2026-11-14T08:30+02:00"
ACTS = (
    "'before_act14', 'act14', 'before_act15', 'act15', 'before_act16', 'act16', 'commissioned' or 'planned'"
)


@each_row(
    ("params", "sentence"),
    [
        ({"prize_max": "1"}, "a search has no 'prize_max'; allowed: neighbourhood, not_neighbourhood"),
        ({"price_max": "cheap"}, "price_max: 'cheap': write a price in euros, like 180000"),
        ({"rooms": "2-3"}, "rooms: '2-3': write numbers of rooms with commas between them, like 2,3"),
        ({"price_max": "-1"}, "price_max: '-1': must be at least 0"),
        ({"price_max": "nan"}, "price_max: 'nan': must be a finite number"),
        ({"price_max": ["1", "2"]}, "price_max is given 2 times; it takes one value"),
        ({"price_min": "3", "price_max": "2"}, "price_min 3 is above price_max 2"),
        ({"rooms": ["2", "6"]}, "rooms: '6': must be at most 5"),
        ({"act": "act17"}, f"act: 'act17': must be {ACTS}"),
        ({"status": "sold"}, "status: 'sold': must be 'new', 'contacted', 'viewing', 'shortlist'"),
        ({"neighbourhood": "Люлин"}, f"neighbourhood: 'Люлин': {NOT_CALLED}; there are Люлин - център, "),
        ({"neighbourhood": "Лозенц"}, f"neighbourhood: 'Лозенц': {NOT_CALLED}; did you mean Лозенец"),
        ({"neighbourhood": "Lozentz"}, f"neighbourhood: 'Lozentz': {NOT_CALLED}; did you mean Лозенец"),
        ({"neighbourhood": "Nowhere"}, f"neighbourhood: 'Nowhere': {NOT_CALLED}; "),
        ({"district": "Запад"}, "district: 'Запад': no district of Sofia is called so; there are Средец"),
        ({"portal": "imot"}, "portal: 'imot': no portal is called so; there are alo.bg, bazar.bg"),
        ({"new_since": "yesterday"}, f"new_since: 'yesterday': {MOMENT}"),
        ({"new_since": "2026-01-01T10:00"}, f"new_since: '2026-01-01T10:00': {MOMENT}"),
        ({"new_since": "1700000000"}, f"new_since: '1700000000': {MOMENT}"),
        ({"word": " "}, "word: ' ': must not be empty"),
        ({"within": "Редута"}, "within: 'Редута': the borders of Редута are not known; search it by"),
        ({"within": "Дружба 1"}, "within: 'Дружба 1': the borders of Дружба 1 are not known"),  # of Дружба
        ({"within": "Nowhere"}, f"within: 'Nowhere': {NOT_CALLED}; "),
        ({"polygon": LINE}, f"polygon: '{LINE}': the area has 2 different corners; it needs 3 at least"),
        ({"polygon": "1,1 " * 102}, f"polygon: '{('1,1 ' * 20)[:59]}…: the area has 102 corners; allowed"),
        ({"polygon": BOW}, f"polygon: '{BOW}': the sides of the area cross each other; "),
        ({"polygon": SPIKE}, f"polygon: '{SPIKE}': the sides of the area cross each other; "),
        ({"polygon": TINY}, f"polygon: '{TINY}': the area is smaller than 1000 m²; draw a larger one"),
        ({"polygon": "a;b;c"}, "polygon: 'a;b;c': “a” is no point; write latitude and longitude, like 42.6"),
        ({"polygon": "23,42;1,1;2,2"}, "polygon: '23,42;1,1;2,2': “23,42” is more than 35 km from the"),
        ({"near": "nan,23", "near_m": "5"}, "near: 'nan,23': “nan,23” is more than 35 km from the middle of"),
        ({"near": "42.7", "near_m": "5"}, "near: '42.7': “42.7” is no point; write"),
        ({"near": "42.7,23.3", "near_m": "0"}, "near_m: '0': must be more than 0"),
        ({"near": "42.7,23.3"}, "near and near_m go together: a point, and how far from it"),
        ({"near_m": "500"}, "near and near_m go together"),
        ({"cut_percent": "5"}, "cut_percent needs cut_days: cheaper than when?"),
        ({"sort": "score"}, "sort by score needs a profile"),
        ({"passing": "true"}, "passing needs a profile"),
        ({"unknown": "maybe"}, "unknown: 'maybe': must be 'apart', 'ok' or 'no'"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_sentence(params: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WrongSearch) as refused:
        SearchQuery.from_params(params)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_a_query_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        SearchQuery().price_max = 5.0  # type: ignore[misc]
