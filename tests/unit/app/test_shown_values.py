"""Numbers and dates as a Bulgarian reader writes them, and words in two languages."""

import re
from datetime import datetime
from pathlib import Path
from string import Formatter
from typing import Any

import sale_sofia
from sale_sofia.advice.scoring.profile import BREAKERS
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.app import formatting as fmt
from sale_sofia.app.deck import FlatCard
from sale_sofia.app.facts import contradiction, fact, facts_of, metro_words, own_places
from sale_sofia.app.filters import FILTERS, field_text
from sale_sofia.app.pages.agenda import flat_name
from sale_sofia.app.sketch import sketch
from sale_sofia.app.words import say, speaking, word_for
from sale_sofia.buyer.corrections import CORRECTABLE
from sale_sofia.flats.contradictions import RULES
from sale_sofia.flats.flat import Code, Contradiction
from sale_sofia.geography import imported
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.files import read_yaml
from sale_sofia.settings.words import FILES, LANGUAGES, dictionary
from tables import each_row
from unit.advice.scored import empty_flat, profile, trap

APP = Path(sale_sofia.__file__).parent / "app"
KEY = re.compile(r"""\bsay\(\s*f?(["'])([^"']+)\1""")
NO_POSITION = "Затова не се знае: Географска ширина, Географска дължина."


@each_row(
    ("text", "expected"),
    [
        (fmt.euro(245_000), "€ 245 000"),
        (fmt.euro(None), "?"),
        (fmt.euro_per_sqm(2450.4), "€ 2 450/m²"),
        (fmt.euro_per_sqm(9.42), "€ 9,4/m²"),
        (fmt.euro_per_sqm(9.0), "€ 9/m²"),
        (fmt.area(102.0), "102 m²"),
        (fmt.area(98.5), "98,5 m²"),
        (fmt.number(-1234.56, 1), "−1 234,6"),
        (fmt.number(-0.01, 1), "0,0"),
        (fmt.percent(0.123, 1), "12,3 %"),
        (fmt.percent_change(200_000, 190_000), "−5,0 %"),
        (fmt.percent_change(0, 190_000), "?"),
        (fmt.percent_change(None, 1), "?"),
        (fmt.floor(0, 8), "партер/8"),
        (fmt.floor(None, 8), "?/8"),
        (fmt.floor(None, None), "?"),
        (fmt.distance(450, 6), "450 m · 6 мин"),
        (fmt.distance(None, None), "?"),
        (fmt.days(0.4), "днес"),
        (fmt.days(1.9), "1 ден"),
        (fmt.days(14.2), "14 дни"),
        (fmt.yes_no(None), "?"),
        (fmt.score(3.84), "3,8"),
    ],
)
def test_values(text: str, expected: str) -> None:
    assert text.replace("\N{NO-BREAK SPACE}", " ") == expected


def test_english_pages_have_a_decimal_point() -> None:
    with speaking("en"):
        shown = [fmt.score(3.84), fmt.number(-1234.56, 1), fmt.number(-0.01, 1), fmt.for_input(2.5)]
    assert [text.replace(fmt.SPACE, " ") for text in shown] == ["3.8", "−1 234.6", "0.0", "2.5"]


@each_row(("asked", "shown"), [(1_250_000, "1250000"), (1_234_567, "1234567"), (90.5, "90.5"), (0, "0")])
def test_a_number_stands_in_the_form_of_a_search_as_it_was_asked(asked: float, shown: str) -> None:
    facet = next(one for one in FILTERS if one.field == "price_max")
    assert field_text(facet, SearchQuery.of({"price_max": asked})) == shown


def test_moments_are_on_sofias_clock() -> None:
    at = datetime(2026, 7, 1, 23, 30, tzinfo=SOFIA).timestamp()
    assert (fmt.day(at), fmt.moment(at), fmt.day(None)) == ("01.07.2026", "01.07.2026 23:30", "?")


@each_row(
    ("seconds", "told"),
    [
        (5, "току-що"),
        (60 * 119, "преди 119\xa0мин"),
        (3600 * 47, "преди 47\xa0ч"),
        (86_400 * 3, "преди 3\xa0дни"),
        (86_400 * 440, "преди 14\xa0месеца"),
    ],
)
def test_ages(seconds: float, told: str) -> None:
    assert fmt.ago(1e9, 1e9 + seconds).replace(" ", "\xa0") == told.replace(" ", "\xa0")
    assert fmt.ago(None, 1e9) == "никога"


def test_every_key_has_both_languages_and_the_same_gaps() -> None:
    sentences = read_yaml(FILES[1].read_text("utf-8"))
    for key, texts in dictionary().items():
        assert set(texts) == set(LANGUAGES), key
        gaps = [{name for _, name, _, _ in Formatter().parse(texts[one]) if name} for one in LANGUAGES]
        # What commands say in English may name more than a page has to.
        assert gaps[0] == gaps[1] or (key in sentences and gaps[0] < gaps[1]), key


def test_no_key_stands_there_twice() -> None:
    """The later one would count, unseen."""
    text = "".join(file.read_text("utf-8") for file in FILES)
    keys = re.findall(r'^"?([\w.]+)"?:', text, re.MULTILINE)
    assert sorted(keys) == sorted(dictionary())


def test_every_key_that_the_pages_say_is_there() -> None:
    files = [path for end in ("py", "html") for path in APP.rglob(f"*.{end}")]
    said = {match[2] for path in files for match in KEY.finditer(path.read_text("utf-8"))}
    plain = {key for key in said if "{" not in key and not key.endswith(".")}
    assert len(plain) > 100
    assert plain - set(dictionary()) == set()
    begun = {key.partition("{")[0] for key in said - plain}
    assert {start for start in begun if not any(key.startswith(start) for key in dictionary())} == set()
    assert {f"breaker.{name}" for name in BREAKERS} - set(dictionary()) == set()


def test_every_contradiction_has_its_name_and_its_sentence() -> None:
    wanted = {f"{kind}.{code}" for kind in ("flag", "contradiction") for code in Code}
    known = {key for key in dictionary() if key.startswith(("flag.", "contradiction."))}
    assert known == wanted
    facts = {*CORRECTABLE, *(name for rule in RULES for name in (rule.fact, rule.other))}
    assert {f"fact.{name}" for name in facts} - set(dictionary()) == set()


@each_row(
    ("one", "told"),
    [
        (
            Contradiction(Code.FLOOR_ABOVE_TOTAL, ("floor", "floors_total"), 7, 4),
            "Етаж 7 в сграда с 4 етажа. Затова не се знае: Етаж, Етажи общо.",
        ),
        (
            Contradiction(Code.BEDROOMS_FILL_ROOMS, ("rooms", "bedrooms"), 3, 3),
            "Стаи 3, а спални 3. Затова не се знае: Стаи, Спални.",
        ),
        (
            Contradiction(Code.BUILT_OUT_OF_TIME, ("construction", "year_built"), "panel", 1940),
            "„панел“ от 1940 г., когато не се е строило така. Затова не се знае: Строителство, Година.",
        ),
        (
            Contradiction(Code.TEXT_FLOOR, ("floor",), 7, 3, kept=4),
            "Порталът казва етаж 7, а описанието 3. Вярно по-скоро е показаното: Етаж.",
        ),
        (
            Contradiction(Code.PRICE_OUT_OF_MARKET, ("price_eur",), 29.8, (1_468.1, 9_433.8)),
            "29.8 €/м², а наоколо е от 1468 до 9434. Затова не се знае: Цена.",
        ),
        (
            Contradiction(Code.PRIVATE_WITH_MANY, ("seller_kind",), "private", 60),
            "„Частно лице“, чийто телефон предлага 60 имота. Затова не се знае: Продавач.",
        ),
        (
            Contradiction(Code.POSITION_OUTSIDE, ("lat", "lon"), 4.2, "Овча купел"),
            f"Координатите са на 4.2 км от „Овча купел“. {NO_POSITION}",
        ),
        (
            Contradiction(Code.POSITION_SHARED, ("lat", "lon"), (42.7, 23.3), 60),
            f"На същата точка са 60 имота. {NO_POSITION}",
        ),
    ],
)
def test_a_contradiction_is_told_with_both_values(one: Contradiction, told: str) -> None:
    assert contradiction(one) == told


@each_row(
    ("fields", "told"),
    [
        ({}, "?"),
        ({"metro_minutes": 5}, "5 мин"),
        ({"neighbourhood": "Хладилника"}, "до 11 мин"),
        ({"neighbourhood": "Хладилника", "metro_distance_m": 400}, "400 m"),
        ({"lat": 42.6737, "lon": 23.3252}, "8 мин"),
        (
            {"lat": 42.6737, "lon": 23.3252, "metro_minutes": 5},
            "8 мин",
        ),
    ],
)
def test_the_walk_to_the_metro_is_told_as_worked_out_or_as_adverts_say(
    fields: dict[str, Any], told: str
) -> None:
    flat = empty_flat(city="София", **fields)
    assert metro_words(flat).replace("\N{NO-BREAK SPACE}", " ") == told
    walk = flat.metro_walk
    assert fact("metro_walk", walk) == (fmt.walk(walk.least, walk.most) if walk else "?")


def test_the_nearest_stations_stand_beside_the_walk_only_where_the_place_is_exact() -> None:
    for fields, source in (
        (
            {"lat": 42.6737, "lon": 23.3252},
            "по координатите: Джеймс Баучер 8, Европейски съюз 10, Национален дворец на културата 24",
        ),
        ({}, "според мястото в квартала"),
    ):
        flat = empty_flat(city="София", neighbourhood="Лозенец", **fields)
        assert {one.key: one.source for one in facts_of(flat, {})}["metro_walk"] == source


def test_a_small_drawing_shows_a_point_only_where_the_place_is_exact() -> None:
    near = str(sketch(empty_flat(city="София", neighbourhood="Лозенец", lat=42.6737, lon=23.3252)))
    assert ('class="own"' in near, 'class="area"' in near) == (True, False)
    assert 'd="M180.0 91.0l9 9-9 9-9-9z"' in near, "in the middle of 360 by 200"
    assert 'href="/map?at=42.67370,23.32520,15"' in near
    assert "OpenStreetMap" in near, "as under every map"
    around = str(sketch(empty_flat(city="София", neighbourhood="Изгрев")))
    assert ('class="own"' in around, around.count('class="area"')) == (False, 1)
    assert "Жолио Кюри</text>" in around
    assert "Точното място не е казано" in around
    for elsewhere in ({}, {"city": "Пловдив", "lat": 42.14, "lon": 24.75}, {"city": "София"}):
        assert sketch(empty_flat(**elsewhere)) is None


@each_row(
    ("fields", "title", "own"),
    [
        ({"title": "Тристаен с гледка", "rooms": 3}, "Тристаен с гледка", "Тристаен с гледка"),
        ({"title": "Продава 3-СТАЕН", "rooms": 3, "neighbourhood": "Лозенец"}, "Тристаен, Лозенец", None),
        ({"title": "Продава 2-СТАЕН, гр. София, Изток", "rooms": 2}, "Двустаен", None),
        ({"title": "Продава МЕЗОНЕТ", "property_type": "maisonette"}, "Мезонет", None),
        ({"title": "Продава се апартамент", "rooms": 2}, "Продава се апартамент", "Продава се апартамент"),
        ({}, "Имот 1", None),
    ],
)
def test_a_title_that_says_no_more_than_the_facts_gives_way_to_kind_and_place(
    fields: dict[str, Any], title: str, own: str | None
) -> None:
    card = FlatCard(empty_flat(**fields), None, "new", None, 0.0)
    assert (card.title, card.own_title) == (title, own)


def test_vat_on_top_is_told_beside_the_price_also_where_only_the_description_says_so() -> None:
    said = {"price_eur": 100_000.0, "area_sqm": 50.0, "traps": {"price_without_vat": trap("без ДДС")}}
    cards = [FlatCard(empty_flat(**facts), None, "new", None, 0.0) for facts in (said, said | {"traps": {}})]
    assert [(card.without_vat, card.as_json()["price_per_sqm_eur"]) for card in cards] == [
        (True, 2400.0),
        (False, 2000.0),
    ]


def test_minutes_to_places_of_the_buyers_own_are_told_with_their_source() -> None:
    by = profile(places=[{"name": "работа", "at": "Бизнес парк София"}])
    there = {"city": "София", "neighbourhood": "Лозенец"}
    told = [
        [(one.name, one.value.replace("\N{NO-BREAK SPACE}", " "), one.source) for one in own_places(flat, by)]
        for flat in (empty_flat(**there, lat=42.6737, lon=23.3252), empty_flat(neighbourhood="Люлин 5"))
    ]
    assert told == [
        [("До работа с градския транспорт", "35 мин", "по координатите")],
        [("До работа с градския транспорт", "?", "")],
    ]


@each_row(
    ("fields", "told"),
    [
        (
            {"lat": 42.6737, "lon": 23.3252},
            [
                "5 мин · Минимарт (OpenStreetMap, по координатите)",
                "2 мин · Енергопроект · автобус Х9; трамвай 10, 15 (Център за градска мобилност, по",
                "150–300 m (OpenStreetMap, по координатите)",
            ],
        ),
        (
            {"neighbourhood": "Хладилника"},
            [
                "до 8 мин (OpenStreetMap, според мястото в квартала)",
                "до 7 мин (Център за градска мобилност, според мястото в квартала)",
                "?",
            ],
        ),
        (
            {"lat": 42.74, "lon": 23.28},
            ["6 мин · Billa", "4 мин · МЕТРОСТАНЦИЯ ОБЕЛЯ · метро M2;", "до 300 m"],
        ),
        ({"neighbourhood": "ж.гр.Южен парк"}, ["до 8 мин", "2–12 мин", "над 150 m"]),
        ({}, ["?", "?", "?"]),
    ],
)
def test_what_is_near_is_told_with_its_source_and_unknown_as_unknown(
    fields: dict[str, Any], told: list[str]
) -> None:
    facts = facts_of(empty_flat(city="София", **fields), {})
    found = {one.key: f"{one.value} ({one.source})" if one.source else one.value for one in facts}
    assert found["school"] == "? (мястото не е достатъчно точно или няма данни)"
    for name, text in zip(("shop", "stop", "road"), told, strict=True):
        assert found[name].replace("\N{NO-BREAK SPACE}", " ").startswith(text)


def test_an_imported_school_is_told_with_its_rank_and_its_file(tmp_path: Path) -> None:
    rows = [["1 СУ", 42.6737, 23.3300, 1], ["2 СУ", 42.72, 23.27, 2]]
    imported.keep(tmp_path, "schools", {"schools": rows, "meta": {"imported_at": 5.0, "source": "mine.json"}})
    try:
        (school,) = [
            one
            for one in facts_of(empty_flat(city="София", lat=42.6737, lon=23.3252), {})
            if one.key == "school"
        ]
        assert school.value.replace("\N{NO-BREAK SPACE}", " ") == "7 мин · 1 СУ · 1 място от 2 по НВО"
        assert school.source == "внесени училища (mine.json), по координатите"
    finally:
        imported.use(tmp_path / "nothing")


def test_a_value_without_a_name_is_shown_as_it_is() -> None:
    assert (word_for("construction", "brick"), word_for("construction", "straw")) == ("тухла", "straw")
    assert say("card.was") == "беше"


@each_row(("price", "shown"), [(95_000.0, ("от € 95 000", "от € 95 000")), (None, ("?", "?"))])
def test_a_price_where_prices_begin_is_marked(price: float | None, shown: tuple[str, str]) -> None:
    flat = empty_flat(price_eur=price, traps={"price_from": trap("цени от")})
    texts = (FlatCard(flat, None, "new", None, 0.0).price, flat_name(flat).rpartition(" · ")[2])
    assert tuple(text.replace("\N{NO-BREAK SPACE}", " ") for text in texts) == shown
