"""What cards on real pages of results say of their adverts, before any of these was opened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sale_sofia.listings.model import Listing
from sale_sofia.listings.normalise import card_listing
from sale_sofia.listings.page import Page
from sale_sofia.websites.registry import get_scraper
from shared import needs_real_pages, real_pages

# Kind and place of the first twenty cards of each page, in its order, read from the page by eye: a number is
# an apartment of so many rooms; "?" of rooms that the card tells in two ways.
READ = {
    "alo.bg": """
        2 Манастирски ливади · 5 Лозенец · 2 Хаджи Димитър · maisonette Овча купел · 2 Манастирски ливади ·
        3 Дружба 1 · 2 Студентски град · 2 Малинова долина · 3 - · 3 Банишора · 5 Редута · 3 Стрелбище ·
        3 Кръстова вада · 2 Кръстова вада · 3 Кръстова вада · 2 Кръстова вада · 2 Дружба 1 · 2 Люлин 5 ·
        2 Дружба 1 · 2 Дружба 1""",
    "bazar.bg": """
        2 Бояна · 3 Борово · 2 Медицинска академия · 3 Витоша · 3 Връбница 2 · 2 Люлин 4 · 2 Малинова долина ·
        3 Левски Г · 3 Левски Г · 2 Левски Г · 2 Малинова долина · 3 Надежда 2 · 3 Лозенец · 3 Център ·
        3 Карпузица · 2 Дървеница · 2 Младост 2 · 2 Малинова долина · 2 Овча купел · 2 Банишора""",
    "homes.bg": " · ".join(f"{rooms} Оборище" for rooms in "23344443423344332234"),
    "imot.bg": " · ".join(f"{rooms} Дружба 1" for rooms in "11122222222222222222"),
    "imoti.com": " · ".join(["2 Банишора"] * 20),
    "imoti.net": """
        garage Оборище · plot гр. Банкя · shop Гео Милев · 1 Овча купел · 1 Фондови жилища · 2 Левски ·
        2 Карпузица · 1 Студентски град · 2 Орландовци · 2 Левски · 2 Малинова долина · 1 Студентски град ·
        2 Малинова долина · 2 Овча купел · 2 Люлин 4 · shop Красно село · 2 Манастирски ливади ·
        2 Манастирски ливади · 2 Малинова долина · 1 Малинова долина""",
    "luximmo.bg": """
        ? Горна баня · 5 Бояна · 5 Изгрев · 4 с. Панчарево · 3 с. Панчарево · 3 Горна баня · 3 Лозенец ·
        2 Манастирски ливади · 3 Витоша · 3 Манастирски ливади · 3 Манастирски ливади · 3 Витоша ·
        5 Кръстова вада · 3 Манастирски ливади · 2 Манастирски ливади · ? Кръстова вада · 2 Кръстова вада ·
        2 Кръстова вада · 3 Кръстова вада · 2 Горна баня""",
    "suprimmo.bg": """
        5 Бояна · 4 с. Панчарево · 2 Сухата река · 3 Лозенец · 3 Горна баня · 3 с. Панчарево · 2 Драгалевци ·
        3 с. Панчарево · 2 Горна баня · 3 Манастирски ливади · house Драгалевци · 3 Драгалевци ·
        2 Манастирски ливади · 3 Манастирски ливади · 3 Манастирски ливади · 2 Манастирски ливади ·
        3 с. Панчарево · 2 Малинова долина · 3 Малинова долина · 3 Малинова долина""",
}
CHOSEN = {"imot.bg": "search_wire_cp1251__2025-07.html", "imoti.com": "search.html"}
"""Which page of a portal that has several was read by eye."""


def pages_of_results(site: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    return ((path, truth) for path, truth in real_pages(site) if truth["kind"] == "search")


def adverts_on(site: str, path: Path, url: str) -> list[Listing]:
    cards = get_scraper(site).search(Page(url, path.read_bytes())).cards
    read = [card_listing(site, card.url, card.external_id, card.facts) for card in cards]
    return [listing for listing in read if listing is not None]


@needs_real_pages
@pytest.mark.parametrize("site", READ)
def test_price_and_area_are_those_of_the_page(site: str) -> None:
    for path, truth in pages_of_results(site):
        read = {advert.external_id: advert for advert in adverts_on(site, path, truth["url"])}
        assert read.keys() == {card["external_id"] for card in truth["cards"]}
        for card in truth["cards"]:
            own = read[card["external_id"]]
            assert (own.price_eur, own.area_sqm) == (card.get("price_eur"), card.get("area_sqm"))


@needs_real_pages
@pytest.mark.parametrize("site", READ)
def test_kind_and_place_are_as_read_by_eye(site: str) -> None:
    pages = dict(pages_of_results(site))
    path = next(path for path in pages if path.name == CHOSEN.get(site, path.name))
    adverts = adverts_on(site, path, pages[path]["url"])[:20]
    assert {advert.deal for advert in adverts} == {"sale"}
    assert [_said(advert) for advert in adverts] == " ".join(READ[site].split()).split(" · ")


def _said(advert: Listing) -> str:
    kind: object = advert.property_type
    if kind == "apartment":
        kind = "?" if "rooms_conflict" in advert.flags else advert.rooms
    place = f"с. {advert.city}" if advert.city != "София" else advert.neighbourhood
    return f"{kind} {place or '-'}"
