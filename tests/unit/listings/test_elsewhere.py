"""Adverts filed under one town that tell of another keep the portal's town and say so."""

import time

from sale_sofia.listings.model import RawField, RawListing
from sale_sofia.listings.normalise import _other_places, names_other_town, normalise
from tables import each_row

MOST_SECONDS = 2.0


@each_row(
    ("title", "description"),
    [
        ("Мезонет до морето, нов комплекс в Ставрос, Гърция", None),
        ("Двустаен апартамент в Бургас", "Светъл и просторен."),
        ("Апартамент гр.Варна", None),
        ("Слънчев бряг, студио с басейн", None),
        ("Студио", "Предлагаме студио в к.к. Слънчев бряг, на първа линия."),
        ("Apartment in Sunny Beach", None),
        ("Вила край Созопол", None),
        ("Двустаен, гр.Велико Търново", None),
        ("Двустаен в гр. \x42арна", None),  # a Latin B
    ],
)
def test_another_place_is_seen(title: str, description: str | None) -> None:
    assert names_other_town("София", title, description)


@each_row(
    ("title", "description"),
    [
        ("Двустаен до ул. Бургас", None),
        ("Тристаен апартамент в Лозенец", "Агенция с офиси в София и гр. Варна."),
        ("Офис до посолството на Гърция", None),
        ("Двустаен в София, замяна с апартамент в Бургас", None),
        ("Апартамент в бяла сграда", "Бял апартамент в нова сграда."),
        ("Тристаен, Разлогско шосе", None),
        (None, None),
        ("", ""),
    ],
)
def test_what_only_sounds_like_one_is_not(title: str | None, description: str | None) -> None:
    assert not names_other_town("София", title, description)


def test_a_road_between_towns_is_no_other_town() -> None:
    assert not names_other_town("Русе", "Нива на главен път Варна-Русе", None)
    assert names_other_town("Бургас", "Двустаен в София", None)


def test_no_word_that_every_text_has_makes_one_worth_searching() -> None:
    words, _ = _other_places("София")
    assert not words & {"в", "ст", "св", "велико", "sands"}


def test_the_portals_town_stays_and_the_flag_tells() -> None:
    fields = {
        "title": RawField(("Двустаен в Бургас",), 0, "text", {}),
        "place": RawField(("гр. София, Дружба 1",), 0, "place", {}),
    }
    listing = normalise(RawListing("olx.bg", "https://www.olx.bg/", "1", fields))
    assert (listing.city, listing.neighbourhood, listing.flags) == ("София", "Дружба 1", ("place_conflict",))


def test_long_words_do_not_hold_up_the_search_for_other_towns() -> None:
    for unit in ("гр. ", "в Бургас", "на ", ", "):
        started = time.process_time()
        names_other_town("София", unit * 20_000, unit * 20_000)
        assert time.process_time() - started < MOST_SECONDS
