"""alo.bg's partial captures, put into a frame with a head: every value they state is read."""

import json
import re
from functools import cache
from typing import Any

import pytest

from sale_sofia.listings.page import Page
from sale_sofia.websites.reading import Answer, read_page
from sale_sofia.websites.registry import get_scraper
from shared import SHARED, needs_real_pages
from tables import each_row

SET = SHARED / "pages2"
BULGARIAN, ENGLISH = "alo.bg/detail__10303435.html", "alo.bg/platform-en__10696809.html"
# The English face of the platform has the markup of the Bulgarian one, and other words.
WORDS = {
    "Property for sale": "Имоти - Продажби",
    "Price": "Цена",
    "Location:": "Местоположение:",
    "Type of property:": "Вид на имота:",
    "Area:": "Квадратура:",
    "Type of construction:": "Вид на строителство:",
    "Year of construction:": "Година на строителство:",
    "Construction stage:": "Степен на завършеност:",
    "Number of floor:": "Номер на етажа:",
    "Floor:": "Етаж:",
    "Features:": "Особености:",
    "1-Bedroom": "Двустаен апартамент",
    "71&nbsp;sq. m.": "71&nbsp;кв.м",
    "Brick": "Тухла",
    "2005&nbsp;y.": "2005&nbsp;г.",
    "Ready (finished)": "Готов (завършен)",
    "2&nbsp;floor": "2&nbsp;етаж",
    "Not last": "Непоследен",
    "Furnished": "Обзаведен",
    "Renovated": "Реновиран",
    "Burgas": "Бургас",
    "region ": "област ",
    "Izgrev": "Изгрев",
}
PLACES = {"Burgas": "Бургас", "Izgrev": "Изгрев"}


@cache
def truth() -> dict[str, dict[str, Any]]:
    pages: dict[str, dict[str, Any]] = json.loads((SET / "truth_partial.json").read_text("utf-8"))
    return pages


def body_of(path: str) -> str:
    return (SET / path).read_text("utf-8").partition("<body>")[2]


def framed(path: str, text: str) -> Page:
    """The page with the head that every page of the portal has."""
    url = f"https://www.alo.bg/obiava-{truth()[path]['external_id']}"
    head = (
        f'<title>Обява - alo.bg</title><link rel="canonical" href="{url}"/><base href="https://www.alo.bg/"/>'
    )
    meta = f'<meta name="Description" content="{WORDS["Property for sale"]},Апартаменти"/>'
    return Page(url, f"<html><head>{head}{meta if path == ENGLISH else ''}</head><body>{text}".encode())


def translated(text: str) -> str:
    spelled = "|".join(map(re.escape, sorted(WORDS, key=len, reverse=True)))
    return re.sub(rf"(?<![\w/])(?:{spelled})(?!\w)", lambda word: WORDS[word[0]], text)


def read(page: Page) -> Answer:
    return read_page(get_scraper("alo.bg"), page)


def stated(path: str) -> dict[str, Any]:
    """What the truth says, without what the frame decides and in Bulgarian."""
    facts = {key: value for key, value in truth()[path].items() if key not in {"site", "url"}}
    return {key: PLACES.get(str(value), value) for key, value in facts.items()}


def same(answer: Answer, key: str, value: object) -> bool:
    if key == "photo_count":
        return bool(len(answer["photo_urls"]) == value)
    if key == "description_start":
        said = " ".join((answer["description"] or "").split())
        return said.startswith(str(value)) if value else not said
    return bool(answer[key] == value)


@needs_real_pages
@pytest.mark.parametrize("path", [BULGARIAN, ENGLISH])
def test_every_value_of_the_partial_pages_is_read(path: str) -> None:
    body = body_of(path)
    answer = read(framed(path, translated(body) if path == ENGLISH else body))
    wrong = {
        key: (value, answer.get(key)) for key, value in stated(path).items() if not same(answer, key, value)
    }
    assert wrong == {}
    assert answer["flags"] == []
    assert all(photo.startswith("https://www.alo.bg/user_files/") for photo in answer["photo_urls"])


@needs_real_pages
def test_the_english_page_itself_stays_foreign() -> None:
    body = (SET / ENGLISH).read_bytes()
    for url in (truth()[ENGLISH]["url"], "https://www.alo.bg/obiava-10696809"):
        assert read(Page(url, body))["error"]["type"] == "foreign_page"


# What neither capture shows, in markup of our own

HEAD = '<link rel="canonical" href="https://www.alo.bg/obiava-10000001"/>'
ROW = (
    '<div class="ads-params-row"><div class="ads-param-title ads-params-cell">{}</div>'
    '<div class="ads-params-cell">{}</div></div>'
)


def rows(**facts: str) -> str:
    return "".join(ROW.format(label.replace("_", " "), value) for label, value in facts.items())


def own(body: str) -> Answer:
    page = f"<html><head>{HEAD}</head><body>{body}</body></html>"
    return read(Page("https://www.alo.bg/obiava-10000001", page.encode()))


def test_the_label_is_never_the_value() -> None:
    """With the value's cell missing, nothing is left, and the page is no advert."""
    labels = "".join(
        f'<div class="ads-params-row"><div class="ads-param-title ads-params-cell">{label}</div></div>'
        for label in ("Цена", "Квадратура", "Местоположение", "Вид на имота")
    )
    assert own(f"<h1>Продава</h1>{labels}")["error"]["type"] == "layout_changed"


def test_the_place_may_be_followed_by_a_map() -> None:
    answer = own(rows(Местоположение="Зона Б19, град София, област София, (<a>Виж Зона Б19 на картата</a>)"))
    assert (answer["city"], answer["neighbourhood"], answer["flags"]) == ("София", "Зона Б-19", [])


def test_a_year_may_be_approximate() -> None:
    answer = own(rows(Година_на_строителство="1980 г. <span>(годината може да е ориентировъчна)</span>"))
    assert answer["year_built"] == 1980


@pytest.mark.parametrize("price", ["Не е обявена", "По договаряне"])
def test_a_price_that_is_not_said(price: str) -> None:
    answer = own(rows(Цена=price, Квадратура="57 кв.м"))
    assert (answer["price_eur"], answer["area_sqm"], answer["flags"]) == (None, 57, [])


def test_a_rent_a_house_and_two_kinds_of_panel() -> None:
    rent = ROW.replace('<div class="ads-param-title', '<div id="price_name" class="ads-param-title')
    answer = own(
        rent.format("Месечен наем:", "500 €") + rows(РЗП="220 кв.м РЗП", Вид_на_строителство="ЕПК/ПК")
    )
    assert (answer["deal"], answer["price_eur"], answer["area_sqm"]) == ("rent", 500, 220)
    assert answer["construction"] is None


@each_row(
    ("words", "moment"),
    [
        ("Актуализирана вчера", None),
        ("Актуализирана преди 3 дни", None),
        ("Актуализирана на 11.03.2026", None),
        ("Актуализирана на 11.03.2026 23:27", "2026-03-11T23:27:00+02:00"),
    ],
)
def test_only_an_absolute_date_is_one(words: str, moment: str | None) -> None:
    assert own(f"{rows(Цена='5 000 €')}<span>{words}</span>")["updated_at"] == moment


def test_the_map_of_the_quarter_or_of_the_office_is_not_the_flats() -> None:
    link = '<a href="https://maps.google.com/?q=42.5243090,27.4620574&z=15">виж</a>'
    answer = own(rows(Местоположение=f"Изгрев, Бургас ({link})") + link)
    assert (answer["city"], answer["lat"], answer["lon"]) == ("Бургас", None, None)
