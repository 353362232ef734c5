"""A Bulgarian page speaks Bulgarian: every Latin word on the demo's pages is one of those listed here."""

import re
from pathlib import Path
from typing import get_args

import pytest
from sqlalchemy import select
from streamlit.testing.v1 import AppTest

import sale_sofia
from app_runs import open_screen, put_adverts, store, table, words
from sale_sofia.advice.scoring.profile import Tier
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.drift.store import DRIFT
from sale_sofia.listings.model import ActStatus, Condition, Construction, Furnishing, Heating, PropertyType
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import dictionary
from sale_sofia.telemetry.incidents import IncidentKind

ALLOWED = {
    "English", "Language",  # the switch
    "default", "mail",  # names that a person gave
    "DATA_DIR", "alerts", "init", "sale", "sofia", "up", "yaml", "FLOWER_PASSWORD",  # commands and settings
    "Flower", "Redis",  # programs
    "com", "imoti", "net",  # portals that do not end in .bg
    "EUR",  # an advert's own words
    "OpenStreetMap", "ODbL",  # whose map it is, and its licence
}  # fmt: skip
LABELLED = (
    "button", "checkbox", "date_input", "multiselect", "number_input", "segmented_control", "select_slider",
    "selectbox", "slider", "text_area", "text_input", "time_input", "toggle",
)  # fmt: skip
SCREENS = ("today", "search", "map", "criteria", "market", "cross_site", "health", "alerts")
LATIN = re.compile("[A-Za-z][A-Za-z_]+")


def said(screen: AppTest) -> str:
    """All that is to be read: texts, tables, and what stands on and in controls."""
    told = [words(screen)]
    told += [
        str(cell)
        for number in range(len(screen.dataframe))
        for row in table(screen, number)
        for cell in row.items()
    ]
    told += [
        str(cell) for one in screen.table for row in one.value.to_dict("records") for cell in row.items()
    ]
    for kind in LABELLED:
        for one in getattr(screen, kind):
            told += [str(getattr(one, name, "")) for name in ("label", "options", "help", "placeholder")]
    return "\n".join(told)


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


@pytest.mark.parametrize("name", SCREENS)
def test_a_page_of_the_demo_is_all_bulgarian(
    name: str, demo_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert latin(said(open_screen(name, demo_copy, monkeypatch))) - ALLOWED == set()


def test_flats_of_the_demo_are_told_of_in_bulgarian(
    demo_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store(demo_world).read() as connection:
        ids = sorted(connection.scalars(select(listing_sources.c.property_id).distinct()))[:4]
    found = open_screen("compare", demo_world, monkeypatch, compared=ids[:2])
    assert latin(said(found)) - ALLOWED == set()
    for number in ids:
        assert latin(said(_property(demo_world, monkeypatch, number))) - ALLOWED == set()


def _property(data: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> AppTest:
    screen = open_screen("property", data, monkeypatch)
    screen.query_params["id"] = str(number)
    return screen.run()


def test_why_there_is_no_fair_price_is_told_in_the_chosen_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = {"deal": "sale", "property_type": "apartment", "city": "София", "neighbourhood": "Лозенец"}
    put_adverts(tmp_path, flat | {"area_sqm": 80.0, "price_eur": 160_000.0}, flat, flat | {"deal": "rent"})
    assert "Няма справедлива цена: площта не е известна" in words(_property(tmp_path, monkeypatch, 2))
    assert "само имоти за продажба имат справедлива цена" in words(_property(tmp_path, monkeypatch, 3))
    screen = _property(tmp_path, monkeypatch, 1)
    screen.button(key="fair-make").click().run()
    assert "Имотът още не е сравнен" in words(screen)
    PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path)).match_all()
    screen.button(key="fair-make").click().run()
    assert "известни са 1 имота с цена, площ и място, а трябват" in words(screen)
    english = open_screen("property", tmp_path, monkeypatch, lang="en")
    english.query_params["id"] = "2"
    assert "No fair price: its area is not known" in words(english.run())


def test_every_word_of_a_vocabulary_has_a_name() -> None:
    vocabularies = {
        "incident": [*map(str, IncidentKind), DRIFT], "tier": get_args(Tier),
        "construction": get_args(Construction), "condition": get_args(Condition),
        "heating": get_args(Heating), "furnishing": get_args(Furnishing), "act_status": get_args(ActStatus),
        "property_type": get_args(PropertyType),
    }  # fmt: skip
    wanted = {f"{kind}.{value}" for kind, values in vocabularies.items() for value in values}
    assert wanted - dictionary().keys() == set()


def test_a_toast_says_our_own_words_and_nothing_else() -> None:
    """What a portal wrote cannot stand in one."""
    app = Path(sale_sofia.__file__).parent / "app"
    calls = [
        found[1]
        for path in app.rglob("*.py")
        for found in re.finditer(r"st\.toast\((.*)", path.read_text("utf-8"))
    ]
    assert len(calls) >= 3
    keys = [re.findall(r'"([a-z_.]+)"', call) for call in calls]
    assert all(call.startswith("say(") for call in calls)
    assert [key for some in keys for key in some if "{" in dictionary()[key]["bg"]] == []
