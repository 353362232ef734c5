"""A Bulgarian page speaks Bulgarian: every Latin word on the demo's pages is one of those listed here."""

import re
from pathlib import Path
from typing import get_args

from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import select

from app_runs import put_adverts, store
from sale_sofia.advice.scoring.profile import Tier
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.drift.store import DRIFT
from sale_sofia.listings.model import ActStatus, Condition, Construction, Furnishing, Heating, PropertyType
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import dictionary
from sale_sofia.telemetry.incidents import IncidentKind
from web_pages import browser

ALLOWED = {
    "English", "Language",  # the switch
    "default", "mail",  # names that a person gave
    "DATA_DIR", "alerts", "crawl", "init", "sale", "sofia", "up", "yaml",  # commands and files
    "FLOWER_PASSWORD",  # a setting
    "Flower", "Redis",  # programs
    "com", "imoti", "net",  # portals that do not end in .bg
    "EUR",  # an advert's own words
    "CSV", "JPEG", "PDF", "PNG", "WebP",  # kinds of files
    "OpenStreetMap", "contributors", "ODbL",  # whose map it is, and its licence
    "III",  # the station Цар Борис III
    "Billa", "Kaufland", "Lidl", "Market",  # supermarkets by their names
}  # fmt: skip
PATHS = ("/", "/search", "/map", "/criteria", "/market", "/cross_site", "/health", "/alerts")
LATIN = re.compile("[A-Za-z][A-Za-z_]+")


def said(html: str) -> str:
    """All that is to be read or heard: texts, and what stands on and in controls."""
    tree = LexborHTMLParser(html)
    for node in tree.css("script, style, head, [lang=en]"):
        node.decompose()
    names = ("aria-label", "placeholder", "alt", "title")
    heard = [node.attributes.get(name) or "" for name in names for node in tree.css(f"[{name}]")]
    return "\n".join([tree.body.text(separator=" ") if tree.body else "", *heard])


def latin(text: str) -> set[str]:
    """The Latin words among them, without addresses, portals' names, and what is no text."""
    for noise in (
        r"(?s)<(script|style).*?</\1>",
        r"<[^>]*>",
        r"&\w+;",
        r"https?://\S+",
        r"\S+\.bg\b",
        r"\\x\w\w",
    ):
        text = re.sub(noise, " ", text)
    return {word for word in LATIN.findall(text) if len(word) > 2} | ({"EUR"} & set(LATIN.findall(text)))


def test_every_page_of_the_demo_is_all_bulgarian(demo_copy: Path) -> None:
    with browser(demo_copy) as buyer:
        found = {path: latin(said(buyer.html(path))) - ALLOWED for path in PATHS}
    assert {path: strange for path, strange in found.items() if strange} == {}


def test_flats_of_the_demo_are_told_of_in_bulgarian(demo_world: Path) -> None:
    with store(demo_world).read() as connection:
        ids = sorted(connection.scalars(select(listing_sources.c.property_id).distinct()))[:4]
    with browser(demo_world) as buyer:
        paths = [f"/compare?ids={ids[0]},{ids[1]}", *(f"/flat/{number}" for number in ids)]
        found = {path: latin(said(buyer.html(path))) - ALLOWED for path in paths}
    assert {path: strange for path, strange in found.items() if strange} == {}


def test_why_there_is_no_fair_price_is_told_in_the_chosen_language(tmp_path: Path) -> None:
    flat = {"deal": "sale", "property_type": "apartment", "city": "София", "neighbourhood": "Лозенец"}
    put_adverts(tmp_path, flat | {"area_sqm": 80.0, "price_eur": 160_000.0}, flat, flat | {"deal": "rent"})
    with browser(tmp_path) as buyer:
        assert "Няма справедлива цена: площта не е известна" in buyer.text("/flat/2")
        assert "само имоти за продажба имат справедлива цена" in buyer.text("/flat/3")
        PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path)).match_all()
        told = buyer.fill("/flat/1/value", back="/flat/1")
        assert "известни са 1 имота с цена, площ и място, а трябват" in told
        assert "No fair price: its area is not known" in buyer.text("/flat/2?lang=en")


def test_a_flat_to_let_is_told_without_costs_of_buying_and_a_loan(tmp_path: Path) -> None:
    put_adverts(tmp_path, {"deal": "rent", "property_type": "apartment", "price_eur": 900.0})
    with browser(tmp_path) as buyer:
        told = buyer.text("/flat/1")
    assert "Дава се под наем: разходи за покупка няма." in told
    assert "Заем" not in told


def test_every_word_of_a_vocabulary_has_a_name() -> None:
    vocabularies = {
        "incident": [*map(str, IncidentKind), DRIFT], "tier": get_args(Tier),
        "construction": get_args(Construction), "condition": get_args(Condition),
        "heating": get_args(Heating), "furnishing": get_args(Furnishing), "act_status": get_args(ActStatus),
        "property_type": get_args(PropertyType),
    }  # fmt: skip
    wanted = {f"{kind}.{value}" for kind, values in vocabularies.items() for value in values}
    assert wanted - dictionary().keys() == set()
