import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sale_sofia.listings.places import (
    Name,
    Neighbourhood,
    Place,
    districts,
    find_neighbourhood,
    neighbourhoods,
    parse_place,
    place_data,
    place_key,
    province,
    quarter_name,
    spellings,
    split_name,
    town,
    town_name,
)
from tables import each_row

FACTS = Path(__file__).parents[3].parent / "shared" / "facts" / "sofia_neighbourhoods.json"
KIND_WORDS_AFTER = {place_key(word) for words in place_data()["kinds"].values() for word in words["after"]}
NO_CENTRE = "no area, settlement or stop of this name in the sources"
NOWHERE = Place()
CONFLICT = Place(conflict=True)

places = st.sampled_from(neighbourhoods())
each_place = each_row("place", neighbourhoods())


def found(text: str) -> str | None:
    place = find_neighbourhood(text)
    return place.name if place else None


def aliases(place: Neighbourhood) -> list[str]:
    entries = {entry["id"]: entry for entry in place_data()["neighbourhoods"]}
    return list(entries[place.id].get("aliases", ()))


# the data


def test_all_neighbourhoods_load_and_differ() -> None:
    assert len(neighbourhoods()) == 193
    assert len({place.id for place in neighbourhoods()}) == 193
    assert len({place.name for place in neighbourhoods()}) == 193
    assert len({place.slug for place in neighbourhoods()}) == 193


def test_one_neighbourhood_in_full() -> None:
    assert find_neighbourhood("Бояна") == Neighbourhood(
        6, "Бояна", "boyana", "Витоша", 42.64791, 23.26515, "OSM polygon"
    )  # fmt: skip
    assert find_neighbourhood("Редута") == Neighbourhood(
        63, "Редута", "reduta", "Слатина", None, None, NO_CENTRE
    )  # fmt: skip


def test_the_districts() -> None:
    assert len(districts()) == len(set(districts())) == 24
    counted = Counter(place.district for place in neighbourhoods())
    assert counted.keys() - {None} <= set(districts())
    assert counted[None] == 21
    assert counted["Люлин"] == 13
    assert counted["Панчарево"] == 14
    assert counted["Нови Искър"] == 13


@each_row(
    ("name", "district"),
    [
        ("Банишора", "Сердика"),
        ("Сердика", "Възраждане"),
        ("Изток", "Изгрев"),
        ("Витоша", "Лозенец"),
        ("Бъкстон", "Витоша"),
        ("Гео Милев", "Слатина"),
        ("Сухата река", "Подуяне"),
        ("Стрелбище", "Триадица"),
        ("Илинден", "Илинден"),
        ("гр. Банкя", "Банкя"),
        ("Център", None),
        ("Манастирски ливади", None),
        ("Кръстова вада", None),
    ],
)
def test_a_district_is_given_only_where_there_is_one(name: str, district: str | None) -> None:
    place = find_neighbourhood(name)
    assert place
    assert (place.name, place.district) == (name, district)


def test_a_centre_has_both_coordinates_and_a_basis_and_lies_in_sofia() -> None:
    unknown = [place for place in neighbourhoods() if place.lat is None]
    assert {place.basis for place in unknown} == {NO_CENTRE}
    assert len(unknown) == 14
    for place in neighbourhoods():
        assert (place.lat is None) == (place.lon is None)
        assert place.basis
        if place.lat and place.lon:
            assert 42.48 < place.lat < 42.85
            assert 23.08 < place.lon < 23.61


def test_the_parts_of_one_complex_lie_together() -> None:
    for stem in ("Надежда", "Обеля", "Люлин", "Младост", "Красна поляна", "Овча купел", "Дружба"):
        parts = [place for place in neighbourhoods() if place.name.startswith(stem) and place.lat]
        latitudes = [place.lat for place in parts if place.lat]
        longitudes = [place.lon for place in parts if place.lon]
        assert max(latitudes) - min(latitudes) < 0.03, stem
        assert max(longitudes) - min(longitudes) < 0.04, stem


def test_no_alias_repeats_what_the_rules_give() -> None:
    for place in neighbourhoods():
        computed = {split_name(text) for text in spellings(place.name)}
        assert not computed & {split_name(alias) for alias in aliases(place)}, place


def test_a_name_in_latin_letters_has_no_other_in_it_and_is_looked_up_apart() -> None:
    for place in neighbourhoods():
        written = set(spellings(place.name, latin=False))
        latin = set(spellings(place.name)) - written
        assert latin
        assert all(text.isascii() for text in latin), place
    assert find_neighbourhood("Lozenets") == find_neighbourhood("кв. Лозенец") is not None


def test_the_data_agrees_with_the_collected_facts() -> None:
    if not FACTS.exists():
        pytest.skip(f"no collected facts beside the repository ({FACTS})")
    facts = {int(fact["id"]): fact for fact in json.loads(FACTS.read_text(encoding="utf-8"))}
    assert facts.keys() == {place.id for place in neighbourhoods()}
    for place in neighbourhoods():
        fact = facts[place.id]
        assert (place.name, place.slug) == (fact["name"], fact["slug"])


def test_nothing_is_read_on_import() -> None:
    code = (
        "import sale_sofia.listings.places; from sale_sofia.listings.places import place_data;"
        "print(place_data.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "0"


# the canonicaliser


@each_place
def test_each_writing_of_a_name_finds_exactly_its_place(place: Neighbourhood) -> None:
    for text in (place.name, place.slug, *aliases(place)):
        for written in (text, text.upper(), text.lower(), f"  {text}\u00a0", text.replace(" ", "\u00a0")):
            assert find_neighbourhood(written) is place, written
        assert find_neighbourhood(text.replace(" - ", "–").replace("-", "—")) is place, text


@each_place
def test_each_computed_spelling_finds_exactly_its_place(place: Neighbourhood) -> None:
    for name in (place.name, *aliases(place)):
        for text in spellings(name):
            assert find_neighbourhood(text) is place, text


@each_row(
    ("text", "name"),
    [
        ("Суха река", "Сухата река"),
        ("Suha Reka", "Сухата река"),
        ("Подуене", "Подуяне"),
        ("Poduene", "Подуяне"),
        ("Манастирски ливади - Изток", "Манастирски ливади"),
        ("Манастирски Ливади-запад", "Манастирски ливади"),
        ("Манастирски ливади (Изток)", "Манастирски ливади"),
        ("Sofia center", "Център"),
        ("downtown", "Център"),
        ("Център на София", "Център"),
        ("Люлин – център", "Люлин - център"),
        ("Люлин център", "Люлин - център"),
        ("Левски", "Левски"),
        ("Левски В", "Левски В"),
        ("Левски-Г", "Левски Г"),
        ("Durvenica", "Дървеница"),
        ("krystova-vada", "Кръстова вада"),
        ("Bakston", "Бъкстон"),
        ("Buxton", "Бъкстон"),
        ("Hadji Dimitar", "Хаджи Димитър"),
        ("Hadzhi Dimitar", "Хаджи Димитър"),
        ("Goce Delchev", "Гоце Делчев"),
        ("Gotse Delchev", "Гоце Делчев"),
        ("Drujba 1", "Дружба 1"),
        ("Druzhba 2", "Дружба 2"),
        ("Kniajevo", "Княжево"),
        ("Банкя", "гр. Банкя"),
        ("Bankja", "гр. Банкя"),
        ("гр. Банкя", "гр. Банкя"),
        ("Банкя (гр.)", "гр. Банкя"),
        ("Sofija Studentski Grad", "Студентски град"),
        ("Студентски Град", "Студентски град"),
        ("Обеля", "Обеля"),
        ("Обеля 1", "Обеля 1"),
        ("Обеля 2", "Обеля 2"),
        ("Красна поляна 3", "Красна поляна 3"),
        ("Красна поляна -2", "Красна поляна 2"),
        ("Надежда 4", "Надежда 4"),
        ("Надежда IV", "Надежда 4"),
        ("Овча Купел", "Овча купел"),
        ("Овча купел II", "Овча купел 2"),
        ("Зона Б-5", "Зона Б-5"),
        ("Зона Б-5-3", "Зона Б-5-3"),
        ("Зона Б18", "Зона Б-18"),
        ("zona-b-19", "Зона Б-19"),
        ("Витоша", "Витоша"),
        ("Белите Брези", "Белите брези"),
        ("Малинова Долина", "Малинова долина"),
        ("Малинова долина в.з.", "в.з.Малинова долина"),
        ("Фондови Жилища", "Фондови жилища"),
    ],
)
def test_the_variants_that_portals_print(text: str, name: str) -> None:
    assert found(text) == name


@each_row(
    ("text", "name"),
    [
        ("lyulin-tsentar", "Люлин - център"),
        ("tsentar", "Център"),
        ("witosha", "Витоша"),
        ("borowo", "Борово"),
        ("izgrew", "Изгрев"),
        ("boiana", "Бояна"),
        ("bojana", "Бояна"),
        ("lulin-9", "Люлин 9"),
        ("ljulin-10", "Люлин 10"),
        ("dragalevci", "Драгалевци"),
        ("fondovi-jilishta", "Фондови жилища"),
        ("sofia-center", "Център"),
        ("sofija-geo-milev", "Гео Милев"),
        ("zhk.-lozenec", "Лозенец"),
        ("drujba-2", "Дружба 2"),
        ("medicinska-akademiya", "Медицинска академия"),
        ("centar", "Център"),
        ("sveta-troica", "Света Троица"),
        ("oborische", "Оборище"),
        ("slavia", "Славия"),
        ("gevgelijski", "Гевгелийски"),
        ("gr-novi-iskar", "гр. Нови Искър"),
        ("bistrica", "с. Бистрица"),
        ("malinova-dolina-v-z", "в.з.Малинова долина"),
    ],
)
def test_the_transliterations_of_the_portals(text: str, name: str) -> None:
    assert found(text) == name


@each_row(
    ("text", "name"),
    [
        ("кв. Изток", "Изток"),
        ("кв.Изток", "Изток"),
        ("ж.к. Изток", "Изток"),
        ("жк. Изток", "Изток"),
        ("жк Изток", "Изток"),
        ("Ж.К.ИЗТОК", "Изток"),
        ("к-с Изток", "Изток"),
        ("квартал Изток", "Изток"),
        ("Изток (квартал)", "Изток"),
        ("ж.к. „Изток“", "Изток"),
        ("ж.к.'Младост'-3", "Младост 3"),
        ("Младост3", "Младост 3"),
        ("ж.гр. Зоопарк", "ж.гр.Зоопарк"),
        ("Южен парк", "ж.гр.Южен парк"),
        ("в.з. Бояна", "в.з.Бояна"),
        ("в.з.Бояна", "в.з.Бояна"),
        ("вилна зона Бояна", "в.з.Бояна"),
        ("Бояна", "Бояна"),
        ("кв. Бояна", "Бояна"),
        ("Горна Баня", "Горна баня"),
        ("в.з. Горна Баня", "в.з.Горна баня"),
        ("с.Лозен", "с. Лозен"),
        ("село Лозен", "с. Лозен"),
        ("Лозен", "с. Лозен"),
        ("град Нови Искър", "гр. Нови Искър"),
        ("м-т Камбаните", "м-т Камбаните"),
        ("местност Камбаните", "м-т Камбаните"),
        ("Камбаните", "м-т Камбаните"),
    ],
)
def test_words_before_a_name(text: str, name: str) -> None:
    assert found(text) == name


@each_row(
    ("text", "name"),
    [
        ("\u004dладост 1", "Младост 1"),
        ("Младост 1\u0041", "Младост 1А"),
        ("Младост 1 А", "Младост 1А"),
        ("Левски \u0042", "Левски В"),
        ("\u0063. Панчарево", "с. Панчарево"),
        ("Л\u006fзенец", "Лозенец"),
        ("Люлин \u0058", "Люлин 10"),
    ],
)
def test_lookalike_letters(text: str, name: str) -> None:
    assert found(text) == name


@each_row(
    "text",
    [
        "",
        " ",
        "-",
        "кв.",
        "Белите брези ул. Смърч",
        "Белите брези, ул. Смърч",
        "Изток 5",
        "Изток, 5",
        "Изтока",
        "до Изток",
        "Изток Изток",
        "Изток/Изгрев",
        "София",
        "гр. София",
        "Sofia",
        "София, Изток",
        "Лозенец Бургас",
        "район Лозенец",
        "бул. Витоша",
        "метро Витоша",
        "Младост",
        "Люлин",
        "Lyulin",
        "lulin",
        "Дружба",
        "Надежда",
        "Красна поляна",
        "Връбница",
        "Зона Б",
        "Киноцентъра",
        "Младост 5",
        "Люлин 11",
        "с. Лозенец",
        "с. Бояна",
        "гр. Средец",
        "Средец",
        "гр. Витоша",
        "гр. Панчарево",
        "с. Банкя",
        "в.з. Лозенец",
        "м-т Бояна",
        "Манастирски",
        "Изток" * 20,
        "Изток" + "." * 60,
    ],
)
def test_false_friends_are_not_found(text: str) -> None:
    assert found(text) is None


@each_row(
    ("text", "name"),
    [
        ("в.з.Бояна", Name("villa_zone", "бояна")),
        ("ж.к. Бояна", Name("", "бояна")),
        ("Банкя (гр.)", Name("town", "банкя")),
        ("Студентски град", Name("", "студентски град")),
        ("м-т Детски град", Name("locality", "детски град")),
        ("кв.", Name("", "кв")),
    ],
)
def test_a_name_taken_apart(text: str, name: Name) -> None:
    assert split_name(text) == name


@given(st.text(max_size=100))
def test_a_random_text_never_raises(text: str) -> None:
    place = find_neighbourhood(text)
    assert place is None or place in neighbourhoods()
    assert isinstance(parse_place(text), Place)


@given(places, st.text("щфжйqw§ ", min_size=3, max_size=20))
def test_junk_after_or_before_a_name_hides_it(place: Neighbourhood, junk: str) -> None:
    assume(len(place_key(junk)) > 2)
    assert found(f"{place.name} {junk}") is None
    assert found(f"{junk} {place.name}") is None
    assert found(f"{place.name}{junk.strip()}") is None


@given(places, st.text("абвгийклмнопрст0123456789", min_size=1, max_size=3))
def test_no_name_is_found_inside_a_longer_one(place: Neighbourhood, more: str) -> None:
    assume(place_key(more) not in KIND_WORDS_AFTER)
    assert find_neighbourhood(f"{place.name} {more}") is not place


# whole places


@each_row(
    ("text", "place"),
    [
        ("град София, Белите брези", Place("София", "Красно село", "Белите брези")),
        (" град София,  Център ", Place("София", None, "Център")),
        ("гр. София, Витоша", Place("София", "Лозенец", "Витоша")),
        ("София, Оборище", Place("София", "Оборище", "Оборище")),
        ("София, Банкя (гр.)", Place("София", "Банкя", "гр. Банкя")),
        ("жк. Изток, София", Place("София", "Изгрев", "Изток")),
        ("жк. Зона Б18, София", Place("София", "Възраждане", "Зона Б-18")),
        ("град София, с. Панчарево", Place("София", "Панчарево", "с. Панчарево")),
        ("град София, гр. Банкя", Place("София", "Банкя", "гр. Банкя")),
        ("ГР.СОФИЯ,ЛОЗЕНЕЦ", Place("София", "Лозенец", "Лозенец")),
        ("гр. С\u006fфия, \u004dладост 1", Place("София", "Младост", "Младост 1")),
        ("Sofia, Lozenets", Place("София", "Лозенец", "Лозенец")),
        ("grad Sofiya, Tsentar", Place("София", None, "Център")),
        ("София-град, Изток", Place("София", "Изгрев", "Изток")),
        ("Област София-град, гр. София, Орландовци", Place("София", "Сердика", "Орландовци")),
        ("Област София-град, с. Панчарево", Place("София", "Панчарево", "с. Панчарево")),
        ("област София, гр. София", Place("София")),
        ("гр. София", Place("София")),
        ("София", Place("София")),
        ("Sofija", Place("София")),
        ("София, гр. София", Place("София")),
        ("София, България", Place("София")),
        ("гр. София, ул. Тодор Стоянов 12", Place("София")),
        ("гр. София, район Искър", Place("София")),
        ("гр. София, Лозенец, ул. Кожух", Place("София", "Лозенец", "Лозенец")),
        ("Лозенец, гр. София, България", Place("София", "Лозенец", "Лозенец")),
        ("Зона Б19, град София, област София", Place("София", "Възраждане", "Зона Б-19")),
        ("гр. София / кв. Бояна", Place("София", "Витоша", "Бояна")),
        ("гр. София/Бояна", Place("София", "Витоша", "Бояна")),
        ("кв. Бояна / гр. София", Place("София", "Витоша", "Бояна")),
        ("гр. София / кв. Бояна / ул. Кумата", Place("София", "Витоша", "Бояна")),
        ("София - Хиподрума", Place("София", "Красно село", "Хиподрума")),
        ("Хиподрума – София", Place("София", "Красно село", "Хиподрума")),
        ("Бояна, София", Place("София", "Витоша", "Бояна")),
        ("София - Люлин - център", Place("София", "Люлин", "Люлин - център")),
        ("Люлин - център, София", Place("София", "Люлин", "Люлин - център")),
        ("София, в.з.Врана - Лозен", Place("София", "Панчарево", "в.з.Врана - Лозен")),
    ],
)
def test_places_in_sofia(text: str, place: Place) -> None:
    assert parse_place(text) == place


@each_row(
    ("text", "hood"),
    [
        ("град София, Белите брези ул. Смърч", None),
        ("гр. София, Младост", None),
        ("гр. София, Средец", None),
        ("София, Център, НДК", "Център"),
        ("София, Център, Женски пазар", "Център"),
        ("София, Изток/Изгрев", None),
        ("София, Изток, Изгрев", None),
        ("София - Горно Нанадолнище", None),
    ],
)
def test_a_word_that_is_not_known_leaves_the_city_and_is_told(text: str, hood: str | None) -> None:
    place = parse_place(text)
    assert (place.city, place.neighbourhood, place.unknown) == ("София", hood, True)


@each_row(
    ("text", "place"),
    [
        ("Варна - Бриз", Place("Варна", None, "Бриз")),
        ("гр. Бургас, Лозенец, ул. Дунав", Place("Бургас", None, "Лозенец")),
        ("гр. Бургас, Лозенец, Меден рудник", Place("Бургас", unknown=True)),
        ("гр. Търговище, Вароша", Place("Търговище", None, "Вароша")),
        ("гр. Търговище, Запад 2", Place("Търговище", None, "Запад 2")),
        ("гр. Бургас, Лозенец", Place("Бургас", None, "Лозенец")),
        ("Бургас, Лозенец", Place("Бургас", None, "Лозенец")),
        ("жк. Лозенец,  Бургас", Place("Бургас", None, "Лозенец")),
        ("Област Русе, гр. Русе, Дружба 1", Place("Русе", None, "Дружба 1")),
        ("ГР. БУРГАС, Изгрев", Place("Бургас", None, "Изгрев")),
        ("гр. Велико Търново", Place("Велико Търново")),
        ("гр. Средец", Place("Средец")),
        ("с. Лозенец, област Бургас", Place("Лозенец")),
        ("с. Панчарево", Place("Панчарево")),
        ("с.Горна Малина", Place("Горна Малина")),
        ("гр. Н\u0065себър", Place("Несебър")),
        ("ГР. НЕСЕБЪР", Place("Несебър")),
        ("гр. Бургас, Градина", Place("Бургас", None, "Градина")),
        ("област София, гр. Костинброд", Place("Костинброд")),
        ("гр. Костинброд, Софийска област", Place("Костинброд")),
        ("обл. София, с. Лозен", Place("Лозен")),
        ("област Бургас, к.к. Слънчев бряг", Place("Слънчев бряг")),
        ("Бургас, ул.Цар Симеон I-61", Place("Бургас")),
        ("с. Лозенец, общ. Царево", Place("Лозенец")),
        ("гр. Бургас, България", Place("Бургас")),
    ],
)
def test_places_elsewhere(text: str, place: Place) -> None:
    assert parse_place(text) == place


@each_row(
    ("texts", "name"),
    [
        (
            ("с. Енина", "с.Енина", "село Енина", "Енина", "ЕНИНА", "с. ЕНИНА", "енина (с.)", "c. Eнина"),
            "Енина",
        ),
        (("гр. Горна Оряховица", "град Горна оряховица", "ГОРНА  ОРЯХОВИЦА"), "Горна Оряховица"),
        (("гр. Бургас", "БУРГАС", "Burgas", "gr. Burgas", "Бургас (гр.)"), "Бургас"),
        (("В. Търново", "гр. Велико Търново", "Veliko Tarnovo", "велико-търново"), "Велико Търново"),
        (("к.к. Слънчев бряг", "Слънчев Бряг", "Sunny Beach", "СЛЪНЧЕВ БРЯГ"), "Слънчев бряг"),
        (("гр. Св. Влас", "гр. Св.Влас", "Свети влас"), "Свети Влас"),
        (("гр. София", "Sofia", "СОФИЯ", "София град"), "София"),
    ],
)
def test_a_town_has_one_name_in_every_writing(texts: tuple[str, ...], name: str) -> None:
    assert {town_name(text) for text in texts} == {name}
    assert town_name(name) == name
    read = {parse_place(f"{text}, ул. Роза").city for text in texts if town(text)}
    assert read == {name}


@each_row(
    ("texts", "name"),
    [
        (
            (
                "жк. Меден рудник",
                "ж.к. Меден Рудник",
                "кв. МЕДЕН РУДНИК",
                "Меден рудник (кв.)",
                "Меден  рудник",
            ),
            "Меден Рудник",
        ),
        (
            ("ж.к. „Владислав Варненчик“ 1", "Владислав Варненчик-1", "Владислав Варненчик I"),
            "Владислав Варненчик 1",
        ),
        (("Дружба 2", "жк Дружба-2", "Дружба2", "ДРУЖБА II"), "Дружба 2"),
        (("в.з. Траката", "вилна зона Траката", "Траката в.з.", "В.З.ТРАКАТА"), "в.з. Траката"),
        (("м-т Евксиноград", "местност Евксиноград"), "м-т Евксиноград"),
        (("ж.к. 9-ти септември", "9 ти Септември"), "9-ти Септември"),
        (("кв. Св. Иван Рилски", "св.Иван Рилски", "СВ. ИВАН РИЛСКИ"), "Св. Иван Рилски"),
        (("Кирил и Методий", "КИРИЛ И МЕТОДИЙ"), "Кирил и Методий"),
        (("ДЗС", "кв. ДЗС"), "ДЗС"),
        (("Левски В", "кв. Левски-В"), "Левски В"),
        (("с. Тополи", "село ТОПОЛИ"), "с. Тополи"),
        (("Meden Rudnik", "zhk. Meden rudnik"), "Meden Rudnik"),
    ],
)
def test_a_quarter_outside_sofia_has_one_name_in_every_writing(texts: tuple[str, ...], name: str) -> None:
    assert {quarter_name(text) for text in texts} == {name}
    assert quarter_name(name) == name


@each_place
def test_the_one_form_of_a_name_is_the_same_name_and_its_own_form(place: Neighbourhood) -> None:
    assert split_name(quarter_name(place.name)) == split_name(place.name)
    assert quarter_name(quarter_name(place.name)) == quarter_name(place.name)
    assert town_name(town_name(place.name)) == town_name(place.name)


@given(st.text(max_size=100))
def test_any_text_has_a_form(text: str) -> None:
    assert isinstance(town_name(text), str)
    assert isinstance(quarter_name(text), str)


@each_row(
    "text",
    [
        ",",
        "гр. София,",
        "Белите брези",
        "кв. Лозенец",
        "Лозенец, Изток",
        "област София, Лозенец",
        "гр. София център",
        "гр. София 1000",
        "гр.София ж.к.Изток",
        "гр. Бургас център",
        "кв. София",
        "с. София",
        "с гараж",
        "гр.",
        "гр. София\nЛозенец",
        "гр. София,\nЛозенец",
        "област София, област Бургас, гр. Бургас",
        "гр. Свети Влас до самото море",
        "област София, област Бургас",
        "гр. София, " + "Лозенец " * 10,
        "гр. Б4ргас",
    ],
)
def test_other_shapes_give_no_place_and_say_so(text: str) -> None:
    assert parse_place(text) == Place(unknown=True)


@each_row("text", ["", " ", "област София", "Софийска област", "София област", "Област София-град"])
def test_a_province_alone_is_no_place_and_nothing_is_lost(text: str) -> None:
    assert parse_place(text) == NOWHERE


@each_row(
    "text",
    [
        "гр. София, гр. Бургас",
        "София, Пловдив",
        "гр. София, с. Лозенец",
        "гр. Варна, гр. Бургас",
        "област Бургас, гр. София, Лозенец",
        "Област София-град, гр. Русе",
    ],
)
def test_two_towns_are_a_conflict_and_no_place(text: str) -> None:
    assert parse_place(text) == CONFLICT


@each_place
def test_every_neighbourhood_is_read_after_its_city(place: Neighbourhood) -> None:
    expected = Place("София", place.district, place.name)
    assert parse_place(f"град София, {place.name}") == expected
    assert parse_place(f"{place.name}, София") == expected


@given(places, st.sampled_from(place_data()["towns"]))
def test_in_another_town_a_name_is_never_sofias(place: Neighbourhood, city: str) -> None:
    read = parse_place(f"гр. {city}, {place.name}")
    assert (read.city, read.district) in {(city, None), (None, None)}


@each_row(
    ("text", "name"),
    [
        ("София", "София"),
        ("гр. София", "София"),
        ("Бургас", "Бургас"),
        ("с. Яна", "Яна"),
        ("Яна", None),
        ("Селото", None),
    ],
)
def test_a_town(text: str, name: str | None) -> None:
    assert town(text) == name


@each_row(
    ("text", "key"),
    [
        ("област София", "софия"),
        ("Област София-град", "софия град"),
        ("обл. Бургас", "бургас"),
        ("Софийска област", "софийска"),
        ("гр. София", None),
        ("област", None),
    ],
)
def test_a_province(text: str, key: str | None) -> None:
    assert province(text) == key
