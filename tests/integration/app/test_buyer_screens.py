"""Today, search, property, compare and map: the values they show, also of nothing at all."""

import math
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from sqlalchemy import delete, insert, select, update
from streamlit.testing.v1 import AppTest

from app_runs import APP, PATIENCE, open_screen, put_adverts, store, table, words
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.search.run import search
from sale_sofia.advice.valuation.valuation import value_property
from sale_sofia.app.formatting import DRAWING
from sale_sofia.buyer.evaluations import evaluation_of, notes_of
from sale_sofia.buyer.searches import list_searches
from sale_sofia.buyer.viewings import viewings_of
from sale_sofia.flats import overrides
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import Source, save_sources
from sale_sofia.flats.tables import listing_sources
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.tables import listings, market_events, price_points
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from valued_flats import some_adverts

DAY = 86_400.0
KNOWN = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "title": "Тристаен с гледка",
    "price_eur": 200_000.0, "vat": "included", "area_sqm": 100.0, "floor": 3, "floors_total": 8,
    "construction": "brick", "year_built": 2015, "act_status": "act16", "city": "София",
    "neighbourhood": "Лозенец", "elevator": True, "description": "Слънчев апартамент.\nДо парка.",
    "seller_kind": "agency", "seller_name": "Агенция", "photo_urls": ["https://photos.example/1.jpg"],
    "lat": 42.67, "lon": 23.32, "metro_distance_m": 400, "condition": "renovated",
}  # fmt: skip
HOSTILE = {
    "title": "<script>alert(1)</script>**[x](javascript:alert(2))**\N{RIGHT-TO-LEFT OVERRIDE}",
    "description": "<img src=x onerror=alert(3)>" + "я" * 100_000,
    "neighbourhood": "<b>Лозенец</b>", "street": "=HYPERLINK(1)",
    "seller_name": "</td><script>alert(4)</script>", "url": "javascript:alert(5)",
    "photo_urls": ["javascript:alert(6)", "data:text/html,x"],
}  # fmt: skip
SCREENS = ("today", "search", "property", "compare", "map")


@pytest.mark.parametrize("name", SCREENS)
def test_an_empty_database_is_said_to_be_empty(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = words(open_screen(name, tmp_path, monkeypatch))
    expected = "Имот" if name == "property" else "Още няма нито една обява."
    assert expected in told


def test_one_advert_is_a_card_with_its_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    for name in ("today", "search"):
        told = words(open_screen(name, tmp_path, monkeypatch))
        for part in (
            "<strong>€ 200 000</strong>", "100 m² · € 2 000/m² · тристаен · Етаж 3/8 · тухла",
            "Тристаен с гледка", "Лозенец · Метро: 1 мин (обявата: 400 m)",
            "imot.bg · на пазара днес (откакто е видян)", 'src="https://photos.example/1.jpg"',
            'referrerpolicy="no-referrer"',
        ):  # fmt: skip
            assert part in told, (name, part)


def test_the_page_of_a_flat_tells_its_age_earlier_offers_and_prices_in_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    posted = datetime.fromtimestamp(now - 40 * DAY, UTC)
    put_adverts(tmp_path, KNOWN, KNOWN | {"posted_at": posted, "previous_price_eur": 215_000.0})
    _change(tmp_path, (1,), first_seen_at=now - 500 * DAY, gone_at=now - 440 * DAY, price_eur=189_000.0)
    both = [Source(one, 1, 1.0, "buyer", {}) for one in (1, 2)]
    store(tmp_path).run_write(lambda connection: save_sources(connection, both, now=now))
    told = words(_property(tmp_path, monkeypatch, 1)).replace("\\", "")
    assert "на пазара 40 дни (по датата на обявата)" in told
    since, until = (f"{datetime.fromtimestamp(now - days * DAY, SOFIA):%d.%m.%Y}" for days in (500, 440))
    assert f"Предлаган преди: преди 14 месеца за € 189 000 (imot.bg, {since} – {until})." in told
    assert "посочва по-ранна цена € 215 000 (видяно на " in told
    assert "беше <s>" not in told


def test_nobody_is_asked_for_the_photos_of_a_simulated_advert(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, {**KNOWN, "url": "http://127.0.0.1:39297/obiava-1"})
    for name in ("today", "search"):
        told = words(open_screen(name, tmp_path, monkeypatch))
        assert f'<img class="ss-photo" src="{DRAWING}"' in told
        assert "photos.example" not in told


def test_everything_unknown_is_shown_as_questions_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, {})
    search = words(open_screen("search", tmp_path, monkeypatch))
    assert "**Намерени: 0 имота · още 1 с неизвестно условие**" in search
    assert "<strong>?</strong>" in search
    assert "? · ? · ? · Етаж ? · ?" in search
    assert "Квартал: ? · Метро: ?" in search
    assert "9 неизвестни" in search
    assert "Оценка: ?" in search or "Оценка ? от 5" in search
    page = words(_property(tmp_path, monkeypatch, 1))
    assert "Неизвестни факти: 33 от 33" in page
    assert "Никоя обява не казва цена." in page
    assert "Цената не е известна" in page
    assert "0 имота на 0 точки" in words(open_screen("map", tmp_path, monkeypatch))


def _property(data: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> AppTest:
    screen = open_screen("property", data, monkeypatch)
    screen.query_params["id"] = str(number)
    screen.run()
    assert not screen.exception, screen.exception[0].message
    return screen


def test_a_hostile_advert_is_shown_harmlessly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN | HOSTILE)
    for screen in (open_screen("search", tmp_path, monkeypatch), _property(tmp_path, monkeypatch, 1)):
        cards = [element.proto.body for element in screen.get("html")]
        told = "".join(body for body in cards if "ss-" in body and not body.startswith("<style"))
        assert "<script" not in told
        assert "<img src=x" not in told
        assert "javascript:" not in re.sub(r">[^<]*<", "><", told)
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in told
        assert "&lt;script&gt;alert(1)" in told
        assert len(told) < 100_000
        assert 'aria-label="Без снимка"' in told


def test_today_tells_what_is_new_cheaper_back_and_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    put_adverts(
        tmp_path,
        KNOWN | {"title": "Нов"},
        KNOWN | {"title": "Поевтинял", "price_eur": 190_000.0},
        KNOWN | {"title": "Върнал се"},
        KNOWN | {"title": "Свален"},
        KNOWN | {"title": "Старият"},
        KNOWN | {"title": "Скъп", "price_eur": 900_000.0},
    )
    _change(tmp_path, (2, 3, 4, 5), first_seen_at=now - 60 * DAY)
    _change(tmp_path, (4,), gone_at=now - DAY)
    _history(tmp_path, now)
    screen = open_screen("today", tmp_path, monkeypatch)
    told = words(screen)
    kinds = screen.segmented_control(key="kind")
    assert kinds.options == [
        "Нови (1)", "Поевтинели (1)", "Поскъпнали (0)", "Отново на пазара (1)", "Свалени (1)",
    ]  # fmt: skip
    cheaper = words(kinds.set_value("cut").run())
    assert "▼ € 200 000 → € 190 000 (−5,0 %)" in cheaper
    assert "беше <s>€ 200 000</s>" in cheaper
    assert "Старият" not in told
    assert "Още 1 новини не минават условията." in told
    assert "Данни: imot.bg току-що" in told
    assert "За решаване: 3" in told


def _change(data: Path, ids: tuple[int, ...], **values: object) -> None:
    with store(data).write() as connection:
        connection.execute(update(listings).where(listings.c.id.in_(ids)).values(**values))


def _history(data: Path, now: float) -> None:
    with store(data).write() as connection:
        point = {"listing_id": 2, "visit_id": 1}
        connection.execute(delete(price_points).where(price_points.c.listing_id == 2))
        first = {"price_eur": 200_000.0, "kind": "first", "seen_at": now - 60 * DAY}
        cut = {"price_eur": 190_000.0, "kind": "price", "seen_at": now - DAY}
        connection.execute(insert(price_points), [point | first, point | cut])
        events = [
            {"listing_id": 3, "kind": "back", "at": now - DAY, "noted_at": now - DAY, "reason": "seen again"},
            {"listing_id": 4, "kind": "gone", "at": now - DAY, "noted_at": now - DAY, "reason": "missed"},
        ]
        connection.execute(insert(market_events), events)


def test_late_data_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    _change(tmp_path, (1,), last_seen_at=time.time() - 3 * DAY)
    screen = open_screen("today", tmp_path, monkeypatch)
    assert "Закъсняват: imot.bg." in screen.warning[0].value
    assert "imot.bg преди 3 дни" in words(screen)


def test_flats_are_decided_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    titles = ("Първи", "Втори", "Трети")
    put_adverts(tmp_path, *(KNOWN | {"title": title} for title in titles))
    screen = open_screen("today", tmp_path, monkeypatch)
    assert "За решаване: 3" in words(screen)
    for word, left in (("shortlist", 2), ("reject", 1), ("later", 0)):
        next(button for button in screen.button if str(button.key).startswith(f"{word}-")).click().run()
        assert f"За решаване: {left}" in words(screen)
    with store(tmp_path).read() as connection:
        found = [evaluation_of(connection, number).status for number in (1, 2, 3)]
    assert sorted(found) == ["new", "rejected", "shortlist"]
    again = open_screen("today", tmp_path, monkeypatch)
    assert "За решаване: 1" in words(again)
    assert "Нови (2)" in again.segmented_control(key="kind").options


def test_a_visit_that_was_seen_through_leaves_nothing_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, KNOWN)
    screen = open_screen("today", tmp_path, monkeypatch)
    assert "Първо посещение" in words(screen)
    screen.button(key="seen_all").click().run()
    assert "За решаване: 0" in words(screen)
    assert "Нищо ново, което да минава условията на профил „default“." in words(screen)


def test_filters_come_from_the_address_and_go_back_into_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(
        tmp_path, KNOWN | {"title": "Голям", "area_sqm": 120.0, "rooms": 4},
        KNOWN | {"title": "Малък", "area_sqm": 60.0}, KNOWN | {"title": "Без площ", "area_sqm": None},
    )  # fmt: skip
    screen = open_screen("search", tmp_path, monkeypatch)
    assert "**Намерени: 3 имота**" in words(screen)
    screen.number_input(key="q.area_min").set_value(100).run()
    told = words(screen)
    assert "**Намерени: 1 имот · още 1 с неизвестно условие**" in told
    assert screen.query_params["area_min"] == "100"
    assert "Малък" not in told
    screen.multiselect(key="q.rooms").set_value([3]).run()
    assert "**Намерени: 0 имота · още 1 с неизвестно условие**" in words(screen)
    fresh = open_screen("search", tmp_path, monkeypatch, view="table")
    fresh.query_params["area_min"] = ["100"]
    fresh.run()
    assert [row["title"] for row in table(fresh)] == ["Голям"]


def test_a_search_that_cannot_be_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    screen = open_screen("search", tmp_path, monkeypatch)
    screen.number_input(key="q.price_min").set_value(5).run()
    screen.number_input(key="q.price_max").set_value(3).run()
    assert "Филтрите си противоречат" in screen.error[0].value
    other = open_screen("search", tmp_path, monkeypatch)
    other.query_params["rooms"] = ["nine"]
    other.run()
    assert "Адресът на страницата иска нещо, което не може" in other.error[0].value
    assert "**Намерени: 1 имот**" in words(other)


def test_the_table_has_the_values_and_its_file_no_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, KNOWN | {"title": "=1+1", "url": "https://www.imot.bg/x"})
    screen = open_screen("search", tmp_path, monkeypatch, view="table")
    (row,) = table(screen)
    expected = {
        "title": "=1+1", "price": 200_000.0, "eur_sqm": 2000.0, "area": 100.0, "rooms": 3, "floor": "3/8",
        "place": "Лозенец", "status": "нов", "portals": "imot.bg",
        "metro": "1 мин (обявата: 400 m)",
        "photo": "https://photos.example/1.jpg", "link": "https://www.imot.bg/x",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert 0 < row["score"] <= 5


def test_a_search_is_saved_opened_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    screen = open_screen("search", tmp_path, monkeypatch)
    screen.number_input(key="q.price_max").set_value(250_000).run()
    next(one for one in screen.text_input if one.label == "Име на търсенето").set_value("До 250")
    next(button for button in screen.button if button.label == "Запази търсенето").click().run()
    assert "Запазено като „До 250“." in words(screen)
    with store(tmp_path).read() as connection:
        (saved,) = list_searches(connection)
    assert (saved.name, saved.query) == ("До 250", {"price_max": 250_000})
    screen.checkbox(key="q.passing").set_value(True).run()
    next(one for one in screen.text_input if one.label == "Име на търсенето").set_value("Минаващи")
    next(button for button in screen.button if button.label == "Запази търсенето").click().run()
    with store(tmp_path).read() as connection:
        found = {one.name: one.query for one in list_searches(connection)}
    asked = {"price_max": 250_000, "profile": "default", "passing": True, "sort": "score"}
    assert found["Минаващи"] == asked
    assert screen.query_params["passing"] == "true"
    screen.button(key="forget-Минаващи").click().run()
    screen.button(key="forget-До 250").click().run()
    with store(tmp_path).read() as connection:
        assert list_searches(connection) == []


def test_a_property_shows_facts_with_their_sources_and_disagreements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = _twins(tmp_path, {"area_sqm": 98.0, "price_eur": 210_000.0})
    told = words(_property(tmp_path, monkeypatch, number))
    day = r"\d\d\.\d\d\.\d{4}"
    assert re.search(
        rf"<td>(100|98) m²<div class='ss-unsure'>≠ различно: (98|100) m² \(\w+\.bg, {day}\)", told
    )
    assert re.search(rf"<th scope='row'>Квартал</th><td>Лозенец</td><td>\w+\.bg, {day}</td>", told)
    assert "<th scope='row'>Бани</th><td>?</td><td></td>" in told
    assert "€ 210 000 <span class='ss-small'>(+€ 10 000)</span>" in told
    assert "Цените на обявите се различават с € 10 000 (5,0 %)." in told
    assert "Слънчев апартамент.<br>До парка." in told
    assert "href='https://www.imot.bg/obiava-1b1' target='_blank' rel='noopener noreferrer nofollow'" in told
    assert "<b>бюджет</b>: минава" in told
    assert "<th scope='row'>Местен данък, нотариус, вписване</th>" in told


def test_a_property_has_the_fair_price_of_the_stored_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VALUATION_LEAST_FLATS", "50")
    with store(tmp_path).write() as connection:
        save_listings(connection, [Sighting(one, time.time()) for one in some_adverts(60)])
    PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path)).match_all()
    settings = Settings(data_dir=tmp_path)
    assert "Още няма модел на цените" in words(_property(tmp_path, monkeypatch, 1))
    found = value_property(store(tmp_path), settings, 1)
    told = words(_property(tmp_path, monkeypatch, 1))
    assert found.fair
    assert found.flat.area_sqm
    middle = f"{found.fair.middle * found.flat.area_sqm:,.0f}".replace(",", " ")
    assert f"среда € {middle} (по {found.rests_on} имота)" in told


def test_a_property_leads_to_the_market_of_its_neighbourhood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, KNOWN)
    links = _property(tmp_path, monkeypatch, 1).get("page_link")
    (asked,) = [parse_qs(link.proto.query_string) for link in links if link.proto.page.endswith("market")]
    market = AppTest.from_file(str(APP / "main.py"), default_timeout=PATIENCE)
    market.switch_page("screens/market.py")
    for name, values in asked.items():
        market.query_params[name] = values
    market.run()
    assert market.selectbox(key="place").value == "Лозенец"


def _twins(data: Path, other: dict[str, Any]) -> int:
    """One flat on two portals; its number."""
    bazar = {"site": "bazar.bg", "external_id": "5000", "url": "https://bazar.bg/obiava-5000/x"}
    put_adverts(data, KNOWN, KNOWN | bazar | other)
    matching = PropertyMatching(Settings(data_dir=data), store(data))
    matching.match_all()
    with matching.database.read() as connection:
        ids = list(connection.scalars(select(listing_sources.c.property_id).distinct()))
    return overrides.link(matching, ids[0], ids[1]) if len(ids) > 1 else ids[0]


def test_a_match_is_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    number = _twins(tmp_path, {})
    screen = _property(tmp_path, monkeypatch, number)
    screen.multiselect[-1].set_value([2])
    next(button for button in screen.button if button.label == "Не е същият имот").click().run()
    told = words(_property(tmp_path, monkeypatch, 1))
    assert "Имотът има само една обява." in told
    assert "<strong>€ 200 000</strong>" in words(_property(tmp_path, monkeypatch, 2))


def test_what_the_buyer_says_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    screen = _property(tmp_path, monkeypatch, 1)
    _form(screen, "Решение").set_value("shortlist")
    _press(screen, "Запази")
    screen.text_area[0].set_value("Хубав <b>вид</b>")
    _press(screen, "Добави бележка")
    next(one for one in screen.text_input if one.label == "Агент").set_value("Г-жа Иванова")
    _press(screen, "Добави оглед")
    with store(tmp_path).read() as connection:
        assert evaluation_of(connection, 1).status == "shortlist"
        assert [note.text for note in notes_of(connection, 1)] == ["Хубав <b>вид</b>"]
        assert [viewing.agent for viewing in viewings_of(connection, 1)] == ["Г-жа Иванова"]
    told = words(_property(tmp_path, monkeypatch, 1))
    assert "Хубав &lt;b&gt;вид&lt;/b&gt;" in told
    assert "Агент: Г-жа Иванова" in told
    assert "<b>избран</b>" in told


def _form(screen: AppTest, label: str) -> Any:  # noqa: ANN401 - a control of any kind
    return next(one for one in screen.selectbox if one.label == label)


def _press(screen: AppTest, label: str) -> None:
    next(button for button in screen.button if button.label == label).click().run()
    assert not screen.exception, screen.exception[0].message


def test_a_number_that_no_flat_has_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    assert "Няма имот № 77." in words(_property(tmp_path, monkeypatch, 77))


def test_flats_side_by_side_with_differences_and_other_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = KNOWN | {"title": "Близо", "metro_distance_m": 200, "condition": "needs_renovation"}
    new = KNOWN | {"title": "Нов", "metro_distance_m": 1900, "condition": "new", "year_built": 2024}
    put_adverts(tmp_path, near, new)
    screen = open_screen("compare", tmp_path, monkeypatch)
    assert "Изберете от 2 до 4 имота" in words(screen)
    screen = open_screen("compare", tmp_path, monkeypatch, compared=[1, 2])
    told = words(screen)
    assert "<th scope='row'>≠ Година</th><td class=''>2015</td><td class='ss-good'>★ 2024</td>" in told
    assert "<th scope='row'>≠ До метро</th><td class='ss-good'>★ 200 m</td><td class=''>1 900 m</td>" in told
    assert "<th scope='row'>Площ</th><td class=''>100 m²</td><td class=''>100 m²</td>" in told
    for name in ("location", "price", "layout", "building", "rental", "extras"):
        screen.slider(key=f"weight-{name}").set_value(0)
    screen.slider(key="weight-condition").set_value(100).run()
    assert re.search(r"1\. .*№ 2 ", words(screen))
    screen.slider(key="weight-condition").set_value(0)
    screen.slider(key="weight-location").set_value(100).run()
    assert re.search(r"1\. .*№ 1 ", words(screen))


def test_several_flats_at_one_point_are_one_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(
        tmp_path,
        KNOWN,
        KNOWN | {"title": "Съсед"},
        KNOWN | {"lat": 42.68, "lon": 23.32},
        KNOWN | {"lat": None},
    )
    told = words(open_screen("map", tmp_path, monkeypatch))
    assert "3 имота на 2 точки" in told
    assert "1 имота нямат точно място" in told
    assert "© сътрудниците на OpenStreetMap (ODbL) · Център за градска мобилност (CC BY 4.0)" in told


def test_a_reload_shows_what_a_crawl_stored_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, KNOWN)
    screen = open_screen("search", tmp_path, monkeypatch)
    assert "€ 200 000" in words(screen)
    now = time.time()
    with store(tmp_path).write() as connection:
        connection.execute(update(listings).values(price_eur=175_000.0, last_seen_at=now))
    screen.run()
    assert "€ 175 000" in words(screen)
    assert "€ 200 000" not in words(screen)


def test_the_language_is_switched_by_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    screen = open_screen("search", tmp_path, monkeypatch, lang="en")
    told = words(screen)
    assert "**Found: 1 property**" in told
    assert "3 rooms · Floor 3/8 · brick" in told
    assert not re.search("[а-я]{4}", screen.title[0].value)


def test_the_demo_world_is_counted_as_the_database_has_it(
    demo_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store(demo_world).read() as connection:
        flats = {flat.property_id: flat for flat in read_flats(connection)}
        found = search(connection, SearchQuery(), now=time.time())
    screen = open_screen("search", demo_world, monkeypatch)
    assert f"Намерени: {len(found.passed)} имота" in words(screen)
    shown = open_screen("search", demo_world, monkeypatch, view="table")
    prices = {row["link"]: row["price"] for row in table(shown)}
    offered = {flat.adverts[0].url: flat.price_eur for flat in flats.values() if flat.price_eur}
    assert prices
    known = {url: price for url, price in prices.items() if not math.isnan(price)}
    assert {url: price for url, price in known.items() if offered.get(url) != price} == {}
