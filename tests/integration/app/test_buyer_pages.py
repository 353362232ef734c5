"""Today, search, flat, compare and map: the values they show, also of nothing at all."""

import csv
import io
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import delete, insert, select, update

from app_runs import put_adverts, store
from sale_sofia.advice.search.query import SearchQuery
from sale_sofia.advice.search.run import search
from sale_sofia.advice.valuation.valuation import value_property
from sale_sofia.app import formatting as fmt
from sale_sofia.buyer.evaluations import evaluation_of, notes_of
from sale_sofia.buyer.searches import list_searches
from sale_sofia.buyer.viewings import viewings_of
from sale_sofia.flats import overrides
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.store import ListingSource, save_sources
from sale_sofia.flats.tables import listing_sources
from sale_sofia.geography import imported
from sale_sofia.history.listings import Sighting, save_listings
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings, market_events, price_points
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from valued_flats import some_adverts
from web_pages import Browser, browser, form_fields, harm

DAY = 86_400.0
KNOWN = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "title": "Тристаен с гледка",
    "price_eur": 200_000.0, "vat": "included", "area_sqm": 100.0, "floor": 3, "floors_total": 8,
    "construction": "brick", "year_built": 2015, "act_status": "act16", "city": "София",
    "neighbourhood": "Лозенец", "elevator": True, "description": "Слънчев апартамент.\nДо парка.",
    "seller_kind": "agency", "seller_name": "Агенция", "photo_urls": ["https://photos.example/1.jpg"],
    "lat": 42.67, "lon": 23.32, "metro_distance_m": 400, "condition": "renovated",
    "phones": ["+359888123456"],
}  # fmt: skip
HOSTILE = {
    "title": "<script>alert(1)</script>**[x](javascript:alert(2))**\N{RIGHT-TO-LEFT OVERRIDE}",
    "description": "<img src=x onerror=alert(3)>" + "я" * 100_000,
    "neighbourhood": "<b>Лозенец</b>", "street": "=HYPERLINK(1)",
    "seller_name": "</td><script>alert(4)</script>", "url": "javascript:alert(5)",
    "photo_urls": ["javascript:alert(6)", "data:text/html,x"],
}  # fmt: skip


def test_an_empty_database_is_said_to_be_empty(tmp_path: Path) -> None:
    with browser(tmp_path) as buyer:
        for path in ("/", "/today", "/search"):
            assert "Още няма нито една обява." in buyer.text(path)
        assert "Изберете от 2 до" in buyer.text("/compare")
        assert "0 имота" in buyer.text("/map")
        assert "Няма имот № 1" in buyer.text("/flat/1", 404)


def test_one_advert_is_a_card_with_its_values(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        for path in ("/", "/search"):
            told = buyer.text(path)
            for part in (
                "€ 200 000", "100 m² · € 2 000/m² · тристаен · Етаж 3/8 · тухла", "Тристаен с гледка",
                "Лозенец · Метро: 1 мин", "imot.bg · на пазара днес",
            ):  # fmt: skip
                assert part in told, (path, part)
            assert re.search(
                r'<img src="https://photos.example/1.jpg"[^>]* referrerpolicy="no-referrer"', buyer.html(path)
            )
        (card,) = buyer.data("/search.json")["flats"]
    assert (card["price_eur"], card["area_sqm"], card["price_per_sqm_eur"]) == (200_000.0, 100.0, 2000.0)


def test_a_flat_tells_its_age_earlier_offers_prices_in_print_and_whom_to_call(tmp_path: Path) -> None:
    now = time.time()
    posted = datetime.fromtimestamp(now - 40 * DAY, UTC)
    put_adverts(tmp_path, KNOWN, KNOWN | {"posted_at": posted, "previous_price_eur": 215_000.0})
    _change(tmp_path, (1,), first_seen_at=now - 500 * DAY, gone_at=now - 440 * DAY, price_eur=189_000.0)
    both = [ListingSource(one, 1, 1.0, "buyer", {}) for one in (1, 2)]
    store(tmp_path).run_write(lambda connection: save_sources(connection, both, now=now))
    with browser(tmp_path) as buyer:
        told, html = buyer.text("/flat/1"), buyer.html("/flat/1")
    assert "на пазара 40 дни (по датата на обявата)" in told
    since, until = (f"{datetime.fromtimestamp(now - days * DAY, SOFIA):%d.%m.%Y}" for days in (500, 440))
    assert f"Предлаган и по-рано: преди 14 месеца за € 189 000 (imot.bg, {since} – {until})." in told
    assert "посочва по-ранна цена € 215 000 (видяно на " in told
    assert "беше <s>" not in html
    assert '<a class="button main" href="tel:+359888123456"' in html


def test_nobody_is_asked_for_the_photos_of_a_simulated_advert(tmp_path: Path) -> None:
    put_adverts(tmp_path, {**KNOWN, "url": "http://127.0.0.1:39297/obiava-1"})
    with browser(tmp_path) as buyer:
        for path in ("/", "/search", "/flat/1"):
            html = buyer.html(path)
            (drawing,) = set(re.findall(r'src="(/drawing/[0-9a-f]{8}.svg)"', html))
            assert "photos.example" not in html
        assert buyer.get(drawing).text.startswith("<svg")


def test_everything_unknown_is_counted_and_never_guessed(tmp_path: Path) -> None:
    put_adverts(tmp_path, {})
    with browser(tmp_path) as buyer:
        found = buyer.text("/search")
        assert "Намерени: 0 имота · още 1 с неизвестно условие" in found
        assert "9 факта липсват" in found
        assert "Без оценка по този профил" in found or "Оценка ? от 5" in found
        told = buyer.text("/flat/1")
        assert "Попитайте агента (34 неизвестни)" in told
        assert "Голям път ? мястото не е достатъчно точно или няма данни" in told
        assert "Никоя обява не казва цена." in told
        assert "Цената не е известна" in told
        assert "1 имот · 1 без точно място" in buyer.text("/map")


def test_a_hostile_advert_is_shown_harmlessly(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN | HOSTILE)
    with browser(tmp_path) as buyer:
        for path in ("/search", "/flat/1", "/compare?ids=1", "/map", "/map/card/1"):
            html = buyer.html(path)
            assert harm(html) == []
            assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in html
            assert len(html) < 200_000
        assert "&lt;script&gt;alert(1)" in buyer.html("/flat/1")
        answer = buyer.get("/flat/1")
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_what_is_counted_once_is_counted_again_when_somebody_said_something(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN, KNOWN | {"price_eur": 150_000.0})
    with browser(tmp_path) as buyer:
        for path in ("/search.json", "/map.json"):
            assert [buyer.data(path)["count"] for _ in range(2)] == [2, 2]
        assert buyer.data("/criteria.json")["passing"]["candidates"] == 2
        buyer.fill("/flat/2/status", status="rejected")
        assert [buyer.data(path)["count"] for path in ("/search.json", "/map.json")] == [1, 1]
        _change(tmp_path, (1,), gone_at=time.time())
        with store(tmp_path).write() as connection:
            touch(connection, [1])
        assert buyer.data("/search.json")["count"] == 0
        assert buyer.data("/criteria.json")["passing"]["candidates"] == 1


def test_who_sells_is_told_in_words_where_an_advert_does_not_name_them(tmp_path: Path) -> None:
    nobody = {**KNOWN, "phones": [], "seller_kind": None, "seller_name": None}
    put_adverts(tmp_path, nobody, {**nobody, "seller_kind": "private"})
    with browser(tmp_path) as buyer:
        told = [LexborHTMLParser(buyer.html(f"/flat/{number}")) for number in (1, 2)]
        asked = [buyer.text(f"/search?new_since={day}") for day in ("1.2.2020", "2020-02-01")]
    offers = [one.text() for page in told for one in page.css(".offers li > span:nth-of-type(2)")]
    assert offers == ["продавачът не е посочен", "частно лице (без име)"]
    assert ["01.02.2020 ✕" in one for one in asked] == [True, True], "a day is written as people do here"


def test_today_tells_what_is_new_cheaper_back_and_gone(tmp_path: Path) -> None:
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
    with browser(tmp_path) as buyer:
        html, told = buyer.html("/"), buyer.text("/")
        for kind in ("Нови (1)", "Поевтинели (1)", "Поскъпнали (0)", "Отново на пазара (1)", "Свалени (1)"):
            assert f">{kind}<" in html
        cheaper = buyer.text("/?kind=cut")
        assert '<span class="good">▼ −5,0 %</span>' in re.sub("[\u00a0\u202f]", " ", buyer.html("/search"))
        assert "▼ −5,0 % беше € 200 000" in buyer.text("/search")
    assert "▼ € 200 000 → € 190 000 (−5,0 %)" in cheaper
    assert "беше € 200 000" not in cheaper, cheaper
    assert "Старият" not in told
    assert "Имоти, които не минават условията, не са тук." in told
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


def test_late_data_is_warned_of(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    _change(tmp_path, (1,), last_seen_at=time.time() - 3 * DAY)
    with browser(tmp_path) as buyer:
        told = buyer.text("/")
    assert "Закъсняват: imot.bg." in told
    assert "imot.bg преди 3 дни" in told


def test_flats_are_decided_one_after_the_other_and_each_decision_can_be_taken_back(tmp_path: Path) -> None:
    put_adverts(tmp_path, *(KNOWN | {"title": title} for title in ("Първи", "Втори", "Трети")))
    with browser(tmp_path) as buyer:
        assert "За решаване: 3" in buyer.text("/")
        (first, second, third) = [card["id"] for card in buyer.data("/today.json")["queue"]]
        assert "За решаване: 2" in buyer.fill(f"/flat/{first}/status", status="shortlist", back="/")
        told = buyer.fill(f"/flat/{second}/status", status="rejected", reason="скъп", back="/")
        assert "За решаване: 1" in told
        assert "Отбелязано: отхвърлен Отмени" in told
        assert "За решаване: 0" in buyer.fill("/today/later", id=str(third), back="/")
        with store(tmp_path).read() as connection:
            said = [evaluation_of(connection, number) for number in (first, second, third)]
        assert [(one.status, one.reason) for one in said] == [
            ("shortlist", None), ("rejected", "скъп"), ("new", None),
        ]  # fmt: skip
        answer = buyer.post(
            f"/flat/{second}/status", data={"status": "hidden"}, headers={"accept": "application/json"}
        ).json()
        assert answer["undo"] == {"action": f"/flat/{second}/status", "status": "rejected"}
        buyer.fill(answer["undo"]["action"], status="new", back="/")
        with store(tmp_path).read() as connection:
            assert evaluation_of(connection, second).status == "new"
    with browser(tmp_path) as again:
        assert "За решаване: 2" in again.text("/")


def test_a_long_reason_leaves_room_for_the_message_in_the_cookie(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        buyer.fill("/flat/1/status", status="shortlist", reason="а" * 900)
        answer = buyer.post("/flat/1/status", data={"status": "rejected"}, follow_redirects=False)
        assert 50 < len(answer.headers["set-cookie"]) < 4096
        assert "Отбелязано: отхвърлен" in buyer.get("/flat/1").text


def test_a_rejection_taken_back_brings_back_what_it_overwrote(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        buyer.fill("/flat/1/status", status="shortlist", reason="светъл")
        buyer.fill("/flat/1/decide_by", decide_by="25.11.2099")
        told = buyer.post("/flat/1/status", data={"status": "rejected", "reason": "шумен"}).text
        undo = form_fields(told, "form:has(input[name='was_decide_by'])")
        with store(tmp_path).read() as connection:
            assert evaluation_of(connection, 1).status == "rejected"
        buyer.fill("/flat/1/status", **undo)
    with store(tmp_path).read() as connection:
        now = evaluation_of(connection, 1)
    assert (now.status, now.reason, now.decide_by) == ("shortlist", "светъл", "2099-11-25")


def test_a_visit_that_was_seen_through_leaves_nothing_new(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        html = buyer.html("/")
        assert "Първо посещение" in html
        told = buyer.fill("/today/seen", **form_fields(html, "form[action='/today/seen']"))
        assert "За решаване: 0" in told
        assert "Нищо ново, което да минава условията на профил „default“." in told
        for wrong in ("", "nan", "9e99"):
            assert "Междувременно някой друг промени това" in buyer.fill("/today/seen", shown_at=wrong)


def test_what_came_after_the_page_was_shown_is_not_seen_with_it(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        shown = form_fields(buyer.html("/"), "form[action='/today/seen']")
        put_adverts(tmp_path, KNOWN, KNOWN | {"title": "Дошъл междувременно", "area_sqm": 90.0})
        told = buyer.fill("/today/seen", **shown)
    assert "За решаване: 1" in told
    assert "Дошъл междувременно" in told


def test_filters_come_from_the_address_and_are_chips_that_can_be_taken_off(tmp_path: Path) -> None:
    put_adverts(
        tmp_path, KNOWN | {"title": "Голям", "area_sqm": 120.0, "rooms": 4},
        KNOWN | {"title": "Малък", "area_sqm": 60.0}, KNOWN | {"title": "Без площ", "area_sqm": None},
    )  # fmt: skip
    with browser(tmp_path) as buyer:
        assert "Намерени: 3 имота" in buyer.text("/search")
        told, html = buyer.text("/search?area_min=100"), buyer.html("/search?area_min=100&rooms=3&q=1")
        assert "Намерени: 1 имот · още 1 с неизвестно условие" in told
        assert "Малък" not in told
        assert "Намерени: 0 имота" in buyer.text("/search?area_min=100&rooms=3")
        assert (
            '<a class="chip" href="/search?rooms=3&amp;property_type=any&amp;'
            in html.replace("&status=any", "")
            or "rooms=3" in html
        )
        assert (
            buyer.data("/search.json?area_min=100&count=1")["text"].replace("\u00a0", " ")
            == "Намерени: 1 имот"
        )
        assert [one["title"] for one in buyer.data("/search.json?area_min=100")["flats"]] == ["Голям"]
        chip = re.search(
            r'<a class="chip" href="([^"]+)">Площ от[^<]*', buyer.html("/search?area_min=100&rooms=4")
        )
        assert chip
        assert "area_min" not in chip[1]
        assert "rooms=4" in chip[1]


def test_a_search_that_cannot_be_is_said(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        for asked in ("price_min=5&price_max=3", "rooms=nine"):
            assert "В адреса на страницата има грешно условие" in buyer.text(f"/search?{asked}")
            assert "error" in buyer.data(f"/search.json?{asked}")
            assert "има грешно условие" in buyer.text(f"/search.csv?{asked}", 400)
        for path in ("/search/save", "/search/tell"):
            assert "Не е запазено: " in buyer.fill(path, name="Наше", price_min="5", price_max="3")


@pytest.mark.parametrize(
    ("name", "value"), [("price_max", "1234567"), ("area_min", "64.5"), ("floor_min", "-1")]
)
def test_a_number_of_a_search_can_be_sent_again(tmp_path: Path, name: str, value: str) -> None:
    with browser(tmp_path) as buyer:
        field = LexborHTMLParser(buyer.html(f"/search?{name}={value}")).css_first(f"input[name={name}]")
    assert field
    assert field.attributes["value"] == value
    assert re.fullmatch(field.attributes["pattern"] or "", value)


def test_a_search_that_cannot_be_leaves_the_rest_of_the_form_as_it_was_filled_in(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    asked = "q=1&rooms=3&area_min=9&cut_percent=5&cut_days=30&price_min=5&price_max=3&sort=price&passing=true"
    with browser(tmp_path) as buyer:
        html = buyer.html(f"/search?{asked}")
    form = form_fields(html, "#filters")
    kept = ("rooms", "area_min", "cut_percent", "cut_days", "price_min", "price_max", "sort", "passing")
    assert "Намерени: 0 имота" in html
    assert [form[name] for name in kept] == [["3"], "9", "5", "30", "5", "", "price", ["true"]]


def test_the_file_of_a_search_has_its_values_and_no_formula(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN | {"title": "=1+1", "url": "https://www.imot.bg/x"})
    with browser(tmp_path) as buyer:
        text = buyer.get("/search.csv").content.decode("utf-8-sig")
        nothing = buyer.get("/search.csv?price_max=1").content.decode("utf-8-sig")
    assert nothing.splitlines() == text.splitlines()[:1], "nothing found: the names of the columns"
    (row,) = csv.DictReader(io.StringIO(text))
    expected = {
        "title": "'=1+1", "price": "200000.0", "eur_sqm": "2000.0", "area": "100.0", "rooms": "3",
        "floor": "3", "place": "Лозенец", "status": "нов", "url": "https://www.imot.bg/x",
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert 0 < float(row["score"]) <= 5


def test_a_search_is_saved_opened_and_forgotten(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        longest = LexborHTMLParser(buyer.html("/search")).css("#save-name")[0].attributes["maxlength"]
        kept = [buyer.fill("/search/save", name="я" * (int(longest or 0) + more)) for more in (0, 1)]
        assert ["Запазено като" in told for told in kept] == [True, False]
        buyer.fill("/search/forget", name="я" * int(longest or 0))
        told = buyer.fill("/search/save", name="До 250", price_max="250000", sort="score", back="/search")
        assert "Запазено като „До 250“." in told
        buyer.fill(
            "/search/save", name="Минаващи", price_max="250000", passing="true", sort="score", back="/search"
        )
        with store(tmp_path).read() as connection:
            found = {one.name: one.query for one in list_searches(connection)}
        assert found == {
            "До 250": {"price_max": 250_000},
            "Минаващи": {"price_max": 250_000, "profile": "default", "passing": True, "sort": "score"},
        }
        assert (
            'href="/search?price_max=250000&amp;passing=true&amp;sort=score&amp;profile=default"'
            in buyer.html("/search")
        )
        assert "Не е запазено" in buyer.fill("/search/save", name="До 250", back="/search")
        for name in found:
            buyer.fill("/search/forget", name=name, back="/search")
    with store(tmp_path).read() as connection:
        assert list_searches(connection) == []


def test_another_profile_is_chosen_for_the_same_search(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    asked = [("q", "1"), ("rooms", "2"), ("rooms", "3"), ("price_max", "9"), ("neighbourhood", "Лозенец")]
    with browser(tmp_path) as buyer:
        buyer.fill("/criteria?profile=default", section="another", name="беден")
        html = buyer.html(f"/search?{urlencode([*asked, ('page', '2'), ('profile', 'default')])}")
    fields = LexborHTMLParser(html).css("form.profile input")
    assert [(field.attributes["name"], field.attributes["value"]) for field in fields] == asked


def test_a_saved_search_opens_with_the_profile_it_was_saved_with(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        buyer.fill("/criteria?profile=default", section="another", name="беден")
        poor = "/criteria?profile=беден"
        money = form_fields(buyer.html(poor), "form:has(input[value='money'])") | {"budget_eur": "50000"}
        buyer.fill(poor, **money)
        buyer.get("/search?profile=беден")
        buyer.fill("/search/save", name="Наше", passing="true", back="/search")
        counts = [buyer.data(f"/search.json?profile={name}&passing=true") for name in ("беден", "default")]
        assert [found["count"] + found["unknown"] for found in counts] == [0, 1]
        links = LexborHTMLParser(buyer.html("/search?profile=default")).css("a")
        opened = next(link.attributes["href"] or "" for link in links if link.text(strip=True) == "Наше")
        found = buyer.data(opened.replace("/search?", "/search.json?", 1))
    assert found["count"] + found["unknown"] == 0


def test_a_flat_shows_facts_with_their_sources_and_disagreements(tmp_path: Path) -> None:
    number = _twins(tmp_path, {"area_sqm": 98.0, "price_eur": 210_000.0})
    with browser(tmp_path) as buyer:
        told = buyer.text(f"/flat/{number}")
    day = r"\d\d\.\d\d\.\d{4}"
    assert re.search(rf"Площ (100|98) m² ≠ различно: (98|100) m² \(\w+\.bg, {day}\) \w+\.bg, {day}", told)
    assert re.search(rf"Квартал Лозенец \w+\.bg, {day}", told)
    assert "Бани" in told.partition("Бихте ли казали:")[2].partition(".")[0]
    assert "€ 210 000 (+€ 10 000)" in told
    assert "Цените на обявите се различават с € 10 000 (5,0 %)." in told
    assert "Слънчев апартамент. До парка." in told


def test_a_flat_has_the_fair_price_of_the_stored_model(tmp_path: Path) -> None:
    with store(tmp_path).write() as connection:
        save_listings(connection, [Sighting(one, time.time()) for one in some_adverts(60)])
    settings = Settings(data_dir=tmp_path, valuation_least_flats=50)
    PropertyMatching(settings, store(tmp_path)).match_all()
    with browser(tmp_path, valuation_least_flats=50) as buyer:
        assert "Още няма модел на цените" in buyer.text("/flat/1")
        told = buyer.fill("/flat/1/value", back="/flat/1")
    found = value_property(store(tmp_path), settings, 1)
    assert found.fair is not None
    assert found.flat.area_sqm is not None
    middle = f"{found.fair.middle * found.flat.area_sqm:,.0f}".replace(",", " ")
    assert f"среда € {middle} (по {found.rests_on} имота)" in told


def _twins(data: Path, other: dict[str, Any]) -> int:
    """One flat on two portals; its number."""
    bazar = {"site": "bazar.bg", "external_id": "5000", "url": "https://bazar.bg/obiava-5000/x"}
    put_adverts(data, KNOWN, KNOWN | bazar | other)
    matching = PropertyMatching(Settings(data_dir=data), store(data))
    matching.match_all()
    with matching.database.read() as connection:
        ids = list(connection.scalars(select(listing_sources.c.property_id).distinct()))
    return overrides.link(matching, ids[0], ids[1]) if len(ids) > 1 else ids[0]


def test_a_loan_shows_the_terms_it_was_worked_out_with(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        html = buyer.html("/flat/1?own=12.5&rate=2,75&years=20.4")
    assert form_fields(html, "form:has(#rate)") == {"own": "12.5", "rate": "2,75", "years": "20"}


def test_a_loan_is_suggested_that_a_bank_would_give(tmp_path: Path) -> None:
    """85 % of the price: a fifth of all costs, fees and renovation among them, is too little of one's own."""
    put_adverts(tmp_path, KNOWN | {"condition": "needs_renovation"})
    with browser(tmp_path) as buyer:
        suggested = form_fields(buyer.html("/flat/1"), "form:has(#rate)")["own"]
        assert "Банките отпускат" not in buyer.text("/flat/1")
        assert "Банките отпускат" in buyer.text(f"/flat/1?own={int(suggested) - 1}")
    assert int(suggested) > 20


def test_a_match_is_split(tmp_path: Path) -> None:
    number = _twins(tmp_path, {})
    with browser(tmp_path) as buyer:
        assert "Изберете обяви" in buyer.fill(f"/flat/{number}/split", back=f"/flat/{number}")
        assert "Разделено: те са имот № 2." in buyer.fill(
            f"/flat/{number}/split", listing="2", back="/flat/1"
        )
        assert "Имотът има само една обява." in buyer.text("/flat/1")
        assert "€ 200 000" in buyer.text("/flat/2")


def test_the_calendar_of_a_flat_is_found_by_its_old_number_and_of_no_flat_by_none(tmp_path: Path) -> None:
    assert _twins(tmp_path, {}) == 1
    with browser(tmp_path) as buyer:
        buyer.fill("/flat/1/viewing", day="5.12.2026", hour="9:30", back="/flat/1")
        assert "DTSTART:20261205T073000Z" in buyer.get("/flat/2/viewings.ics").text
        assert buyer.get("/flat/9/viewings.ics").status_code == 404


def test_what_the_buyer_says_is_kept(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        shown = {"was_status": "new", "was_reason": "", "was_renovation": "", "back": "/flat/1"}
        buyer.fill("/flat/1/decision", status="shortlist", reason="светъл", renovation="12 500", **shown)
        buyer.fill("/flat/1/note", text="Хубав <b>вид</b>", back="/flat/1")
        buyer.fill("/flat/1/viewing", day="5.12.2026", hour="9:30", agent="Г-жа Иванова", back="/flat/1")
        told = buyer.fill("/flat/1/viewing/1", state="done", positive="светъл", back="/flat/1")
        assert "Агент: Г-жа Иванова" in told
        assert "＋ светъл" in told
        assert "Хубав <b>вид</b>" in told
        assert "„много“ не е число." in buyer.fill(
            "/flat/1/decision", renovation="много", **shown, status="new"
        )
        calendar = buyer.get("/flat/1/viewings.ics")
    assert "DTSTART:20261205T073000Z" in calendar.text
    with store(tmp_path).read() as connection:
        found = evaluation_of(connection, 1)
        assert (found.status, found.renovation_eur) == ("viewing", 12_500.0)
        assert [note.text for note in notes_of(connection, 1)] == ["Хубав <b>вид</b>"]
        (viewing,) = viewings_of(connection, 1)
    assert (viewing.agent, viewing.state, viewing.positives) == ("Г-жа Иванова", "done", ("светъл",))


@pytest.mark.parametrize("written", [fmt.number, fmt.euro, "{:,}".format])
def test_a_sum_is_read_as_the_pages_print_it(tmp_path: Path, written: Callable[[int], str]) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        buyer.fill("/flat/1/decision", renovation=written(12_500))
        buyer.fill("/flat/1/correct", fact="price_eur", value=written(190_000))
        assert buyer.data("/flat/1.json")["price_eur"] == 190_000
    with store(tmp_path).read() as connection:
        assert evaluation_of(connection, 1).renovation_eur == 12_500.0


def test_only_what_was_changed_on_the_page_is_written(tmp_path: Path) -> None:
    """Another window may have written the rest meanwhile."""
    put_adverts(tmp_path, KNOWN)
    shown = {"was_status": "new", "was_reason": "", "was_renovation": "", "back": "/flat/1"}
    with browser(tmp_path) as one, browser(tmp_path) as two:
        one.fill("/flat/1/decision", status="contacted", reason="", renovation="", **shown)
        two.fill("/flat/1/decision", status="new", reason="", renovation="7000", **shown)
    with store(tmp_path).read() as connection:
        found = evaluation_of(connection, 1)
    assert (found.status, found.renovation_eur) == ("contacted", 7000.0)


def test_a_word_on_a_viewing_does_not_bring_back_what_was_cancelled_meanwhile(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as one, browser(tmp_path) as two:
        one.fill("/flat/1/viewing", day="5.12.2030", hour="9:30")
        shown = form_fields(two.html("/flat/1"), "form[action='/flat/1/viewing/1']")
        one.fill("/flat/1/viewing/1", state="cancelled")
        two.fill("/flat/1/viewing/1", **(shown | {"negative": "шумен"}))
        with store(tmp_path).read() as connection:
            (viewing,) = viewings_of(connection, 1)
        assert (viewing.state, viewing.negatives) == ("cancelled", ("шумен",))
        shown = form_fields(two.html("/flat/1"), "form[action='/flat/1/viewing/1']")
        two.fill("/flat/1/viewing/1", **(shown | {"state": "planned"}))
    with store(tmp_path).read() as connection:
        (viewing,) = viewings_of(connection, 1)
    assert viewing.state == "planned", "who says so brings it back"


def test_the_reason_of_a_rejection_does_not_stand_for_the_opposite(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        buyer.fill("/flat/1/status", status="rejected", reason="шумен")
        shown = form_fields(buyer.html("/flat/1"), "form[action='/flat/1/decision']")
        assert shown["reason"] == "шумен"
        buyer.fill("/flat/1/decision", **(shown | {"status": "shortlist"}))
    with store(tmp_path).read() as connection:
        now = evaluation_of(connection, 1)
    assert (now.status, now.reason) == ("shortlist", None)


def test_a_fact_is_put_right_and_taken_back(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        assert "Етаж 4/8" in buyer.fill("/flat/1/correct", fact="floor", value="4", back="/flat/1")
        assert "Етаж 3/8" in buyer.fill("/flat/1/correct", fact="floor", value="", back="/flat/1")
        assert "abc" in buyer.fill("/flat/1/correct", fact="floor", value="abc", back="/flat/1")
        assert "юг, изток" in buyer.fill("/flat/1/correct", fact="orientation", value="S, E", back="/flat/1")


@pytest.mark.parametrize("path", ["/flat/77", "/property?id=77"])
def test_a_number_that_no_flat_has_is_said(tmp_path: Path, path: str) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        assert "77" in buyer.text(path, 404)


def test_prices_are_compared_with_the_vat_on_top_of_them(tmp_path: Path) -> None:
    more = {"price_eur": 100_000.0, "vat": "excluded"}
    put_adverts(tmp_path, KNOWN | more, KNOWN | {"price_eur": 110_000.0})
    with browser(tmp_path) as buyer:
        html = " ".join(buyer.html("/compare?ids=1,2").split())
    assert '≠ Цена</th><td >€ 100 000 без ДДС</td><td class="best">€ 110 000</td>' in html
    assert '≠ Цена на m²</th><td >€ 1 200/m²</td><td class="best">€ 1 100/m²</td>' in html


def test_flats_side_by_side_with_differences_first_and_other_weights(tmp_path: Path) -> None:
    near = KNOWN | {"title": "Близо", "metro_distance_m": 200, "condition": "needs_renovation"}
    new = KNOWN | {"title": "Нов", "metro_distance_m": 1900, "condition": "new", "year_built": 2024}
    put_adverts(tmp_path, near, new)
    with browser(tmp_path) as buyer:
        assert "Изберете от 2 до 6 имота" in buyer.text("/compare")
        buyer.fill("/compare/tick", id="1", back="/compare")
        html = " ".join(buyer.html("/compare").split())
        assert "Изберете от 2 до 6 имота" in html
        buyer.fill("/compare/tick", id="2", back="/compare")
        html = " ".join(buyer.html("/compare").split())
        assert '<th scope="row">≠ Година</th><td >2015</td><td class="best">2024</td>' in html
        assert '<th scope="row">≠ До метро</th><td class="best">200 m</td><td >1 900 m</td>' in html
        assert '<th scope="row">Площ</th><td >100 m²</td><td >100 m²</td>' in html
        assert html.index("≠ Година") < html.index(">Площ<")
        none = "&".join(
            f"weight_{name}=0"
            for name in ("location", "price", "layout", "building", "rental", "extras", "condition")
        )
        assert "Поне една тежест трябва да е над нула." in buyer.text(f"/compare?ids=1,2&{none}")
        assert (
            "№ 2 : "
            in buyer.text(
                f"/compare?ids=1,2&{none}&".replace("weight_condition=0", "weight_condition=100")
            ).partition("Изчисли")[2][:30]
        )
        assert (
            "№ 1 : "
            in buyer.text(
                f"/compare?ids=1,2&{none}&".replace("weight_location=0", "weight_location=100")
            ).partition("Изчисли")[2][:30]
        )
        buyer.fill("/compare/tick", id="1", back="/compare")
        assert [one["id"] for one in buyer.data("/compare.json")] == [2]


def test_the_renovation_that_was_estimated_counts_in_the_comparison_as_on_the_flats_page(
    tmp_path: Path,
) -> None:
    put_adverts(tmp_path, KNOWN, KNOWN | {"title": "Друг", "area_sqm": 90.0})
    with browser(tmp_path) as buyer:
        buyer.fill("/flat/1/decision", renovation="30000")
        told, compared = buyer.text("/flat/1"), buyer.html("/compare?ids=1,2")
    own, instalment = re.findall(r"Всичко с разноските: (€ [\d ]+) · (€ [\d ]+) на месец", told)[0]
    cells = re.findall(r"<td[^>]*>(€ [\d ]+)</td>", compared)
    assert own in cells
    assert instalment in cells


def test_what_is_ticked_follows_a_flat_that_was_joined_with_another(tmp_path: Path) -> None:
    rooms = ((1, 60_000.0), (2, 120_000.0), (3, 200_000.0))
    put_adverts(tmp_path, *(KNOWN | {"rooms": count, "price_eur": price} for count, price in rooms))
    matching = PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path))
    matching.match_all()
    with browser(tmp_path) as buyer:
        for number in (2, 3):
            buyer.fill("/compare/tick", id=str(number))
        overrides.link(matching, 1, 2)
        assert [flat["id"] for flat in buyer.data("/compare.json")] == [1, 3]
        buyer.fill("/compare/tick", id="1")
        assert [flat["id"] for flat in buyer.data("/compare.json")] == [3], "it can be taken out again"


def test_flats_near_each_other_are_one_cluster_from_afar_and_single_from_near(tmp_path: Path) -> None:
    put_adverts(
        tmp_path,
        KNOWN,
        KNOWN | {"title": "Съсед", "lat": 42.6702},
        KNOWN | {"lat": 42.68, "lon": 23.32},
        KNOWN | {"lat": None, "lon": None},
    )
    with browser(tmp_path) as buyer:
        far, near = (buyer.data(f"/map.json?zoom={zoom}")["pins"] for zoom in (13, 18))
        assert sorted(pin["n"] for pin in far) == [1, 2]
        assert sorted(pin["n"] for pin in near) == [1, 1, 1]
        (inside,) = buyer.data("/map.json?zoom=18&box=42.679,23.319,42.681,23.321")["pins"]
        assert (inside["id"], inside["at"]) == (3, [42.68, 23.32])
        (place,) = buyer.data("/map.json?zoom=12")["places"]
        assert (place["name"], place["n"], place["placed"]) == ("Лозенец", 4, 3)
        base = buyer.data("/map/base.json")
    assert {line["line"] for line in base["metro"]} == {"M1", "M2", "M3", "M4"}
    assert next(one for one in base["places"] if one["name"] == "Лозенец")["rings"]


def test_a_rent_stands_on_its_pin_as_it_is(tmp_path: Path) -> None:
    rent = KNOWN | {"deal": "rent", "price_eur": 650.0}
    put_adverts(tmp_path, KNOWN, rent)
    with browser(tmp_path) as buyer:
        pins = [buyer.data(f"/map.json?zoom=18&deal={deal}")["pins"] for deal in ("sale", "rent")]
    assert [[pin["price"] for pin in found] for found in pins] == [["200k"], ["650"]]


SOUTH = "42.66,23.30;42.675,23.30;42.675,23.36;42.66,23.36"
"""Half of Лозенец, the flat at 42.67, 23.32 in it."""


def test_an_area_is_asked_by_the_address_kept_and_refused_in_one_sentence(tmp_path: Path) -> None:
    away, lost = KNOWN | {"lat": 42.677, "lon": 23.325}, KNOWN | {"lat": None, "lon": None}
    put_adverts(tmp_path, KNOWN, away, lost, lost | {"neighbourhood": "Бояна"})
    with browser(tmp_path) as buyer:
        asked = f"polygon={SOUTH}"
        found = buyer.data(f"/search.json?{asked}")
        assert ([one["id"] for one in found["flats"]], found["unknown"]) == ([1], 1)
        assert "Начертана област: 4 върха" in buyer.text(f"/search?{asked}")
        assert len(list(csv.DictReader(io.StringIO(buyer.get(f"/search.csv?{asked}").text)))) == 2
        near = buyer.data("/search.json?near=42.677,23.325&near_m=50")
        assert ([one["id"] for one in near["flats"]], near["unknown"]) == ([2], 1)
        assert buyer.data("/search.json?within=lozenets")["count"] == 3
        buyer.fill("/search/save", name="юг", polygon=SOUTH, near="42.67,23.32", near_m="900", back="/search")
        wrong = buyer.text("/search?polygon=42.66,23.30;42.675,23.36;42.675,23.30;42.66,23.36")
        assert "страните на областта се пресичат" in wrong
        assert "границите на Редута не са известни" in buyer.text("/search?within=Редута")
        (refused,) = buyer.get("/map.json?polygon=1,1").json()["errors"]
        assert "е на повече от 35 км от центъра на София" in refused
    db = store(tmp_path)
    (saved,) = db.run_read(list_searches)
    passed = search(db, SearchQuery.of(saved.query), now=time.time()).passed
    assert [one.flat.property_id for one in passed] == [1]


def test_what_is_picked_on_the_map_has_a_chip_of_its_own_also_without_scripts(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN, KNOWN | {"neighbourhood": "Изток", "lat": None, "lon": None})
    with browser(tmp_path) as buyer:
        html = buyer.html(f"/map?neighbourhood=Лозенец&neighbourhood=Изток&rooms=3&polygon={SOUTH}")
        chips = re.findall(r'<a class="chip" href="(/map\?[^"]+)">([^<]+) <', html)
        assert [text for _, text in chips] == [
            "Лозенец",
            "Изток",
            "Начертана област (4 върха)",
            "Стаи: тристаен",
        ]
        left = buyer.html(unescape(chips[1][0]))
        assert re.findall(r'<a class="chip" [^>]+>([^<]+) <', left) == [
            "Лозенец", "Начертана област (4 върха)", "Стаи: тристаен",
        ]  # fmt: skip
        found = buyer.data("/map.json?zoom=12&neighbourhood=Лозенец")
        assert (found["count"], found["found"]) == (1, "Намерени: 1 имот")
        # The others can be picked, too.
        assert {one["name"]: (one["n"], one["chosen"]) for one in found["places"]} == {
            "Лозенец": (1, True), "Изток": (1, False),
        }  # fmt: skip
        assert "1 с неизвестно условие" in buyer.text(f"/map?polygon={SOUTH.replace('23.36', '23.35')}")


def test_imported_districts_and_parks_are_on_the_map_at_once(tmp_path: Path) -> None:
    ring = [[23.32, 42.67], [23.33, 42.67], [23.33, 42.68], [23.32, 42.67]]
    area = {"properties": {"name": "Лозенец", "neighbourhoods": []},
            "geometry": {"type": "Polygon", "coordinates": [ring]}}  # fmt: skip
    put_adverts(tmp_path, KNOWN | {"lat": 42.66}, KNOWN | {"lat": 42.672, "lon": 23.328})
    with browser(tmp_path) as buyer:
        before = version(buyer)
        assert (buyer.data("/map/base.json")["districts"], buyer.data("/map/base.json")["parks"]) == ([], [])
        for kind in ("districts", "parks"):
            imported.keep(tmp_path, kind, {"features": [area]})
        base = buyer.data("/map/base.json")
        drawn = [[[lat, lon] for lon, lat in ring]]
        assert (base["districts"], base["parks"]) == ([drawn], [drawn])
        assert version(buyer) != before  # or a browser would not ask again
        assert buyer.data("/search.json?within=район+Лозенец")["flats"][0]["id"] == 2
    imported.use(tmp_path / "nothing")


def version(buyer: Browser) -> str:
    """Of the map, under which a browser keeps it."""
    found = re.search(r'id="map" data-version="([^"]+)"', buyer.html("/map"))
    assert found is not None
    return found[1]


def test_a_reload_shows_what_a_crawl_stored_meanwhile(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        assert "€ 200 000" in buyer.text("/search")
        now = time.time()
        with store(tmp_path).write() as connection:
            connection.execute(update(listings).values(price_eur=175_000.0, last_seen_at=now))
            touch(connection, connection.scalars(select(listings.c.id)))
        told = buyer.text("/search")
    assert "€ 175 000" in told
    assert "€ 200 000" not in told


def test_the_language_is_switched_by_the_address_and_stays(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        for path in ("/search?lang=en", "/search"):
            told = buyer.text(path)
            assert "Found: 1 property" in told
            assert "3 rooms · Floor 3/8 · brick" in told
        assert "Намерени: 1 имот" in buyer.text("/search?lang=bg")


def test_the_demo_world_is_counted_as_the_database_has_it(demo_world: Path) -> None:
    with store(demo_world).read() as connection:
        flats = {flat.property_id: flat for flat in read_flats(connection)}
    found = search(store(demo_world), SearchQuery(), now=time.time())
    with browser(demo_world) as buyer:
        page = buyer.data("/search.json")
        told = [
            one for n in range(page["pages"]) for one in buyer.data(f"/search.json?page={n + 1}")["flats"]
        ]
    assert page["count"] == len(found.passed) == len(told)
    assert {one["id"]: one["price_eur"] for one in told} == {
        one["id"]: flats[one["id"]].price_eur for one in told
    }


def test_what_never_changes_is_packed_for_who_reads_that_and_plain_for_others(tmp_path: Path) -> None:
    with browser(tmp_path) as buyer:
        for path, begins in (("/static/app.css", "/* Colours"), ("/map/base.json", '{"roads":')):
            for accepted, packed in (("gzip", "gzip"), ("identity", None)):
                answer = buyer.get(path, headers={"accept-encoding": accepted})
                assert answer.headers.get("content-encoding") == packed
                assert (answer.text.startswith(begins), answer.headers["vary"]) == (True, "Accept-Encoding")


def test_the_history_of_a_flat_tells_a_renovation_of_nothing_from_an_unknown_one(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with browser(tmp_path) as buyer:
        assert "– → € 0" in buyer.fill("/flat/1/decision", renovation="0", back="/flat/1")


def test_a_message_too_long_for_its_cookie_is_told_in_part(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    names = [f"канал {number} " + "я" * 40 for number in range(30)]
    channels = dict.fromkeys(names, "json://127.0.0.1:9/x")
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump({"channels": channels}, allow_unicode=True), "utf-8")
    with browser(tmp_path) as buyer:
        answer = buyer.post("/flat/1/tell", data={"back": "/flat/1"}, follow_redirects=False)
        assert max(len(cookie) for cookie in answer.headers.get_list("set-cookie")) < 4096
        assert "Ще ви казваме по: канал 0 " in buyer.text("/flat/1")
