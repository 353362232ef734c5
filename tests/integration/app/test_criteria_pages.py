"""Criteria: what is changed on the page stands in the profile's file, and the count says what passes then."""

import csv
import io
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import update

from app_runs import put_adverts, store
from commands_here import commands
from sale_sofia.advice.scoring.profile import edit_profile, load_profile
from sale_sofia.app.pages.criteria import SECTIONS, value_of
from sale_sofia.geography.settings import ATTRIBUTION
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings
from sale_sofia.listings.places import neighbourhoods
from sale_sofia.settings.words import dictionary
from tables import each_row
from web_pages import Browser, browser, form_fields, plain, spaced

KNOWN = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "title": "Тристаен", "price_eur": 200_000.0,
    "vat": "included", "area_sqm": 100.0, "floor": 3, "floors_total": 8, "construction": "brick",
    "year_built": 2015, "condition": "renovated", "act_status": "act16", "city": "София",
    "neighbourhood": "Лозенец", "elevator": True,
    "description": "x", "seller_kind": "agency", "seller_name": "Агенция",
}  # fmt: skip
NEAR, FAR = KNOWN | {"metro_distance_m": 300}, KNOWN | {"metro_distance_m": 3000}
DEFAULT = "/criteria?profile=default"
NO_WEIGHTS = {field.key: "0" for field in SECTIONS["weights"]}
CONFLICT = dictionary()["conflict"]["bg"]


@pytest.fixture
def buyer(tmp_path: Path) -> Iterator[Browser]:
    put_adverts(tmp_path, NEAR, FAR)
    with browser(tmp_path) as opened:
        yield opened


def fields(buyer: Browser, section: str, path: str = DEFAULT) -> dict[str, Any]:
    """What a browser would send of the form as it stands on the page."""
    return form_fields(buyer.html(path), f'form:has([name="section"][value="{section}"])')


def send(buyer: Browser, sent: dict[str, Any], path: str = DEFAULT, *, script: bool = False) -> Any:  # noqa: ANN401 - an answer
    return buyer.post(path, data=sent, headers={"accept": "application/json"} if script else {})


def mistakes(html: str) -> list[tuple[str, str]]:
    """Each sentence beside the section that it stands in."""
    found = LexborHTMLParser(html).css("section:has([data-mistake]:not([hidden]))")
    return [(str(one.css("h2")[0].id), plain(one.css("[data-mistake]")[0].html or "")) for one in found]


def counted(buyer: Browser) -> str:
    told = re.search(r'data-told="count">([^<]*)<', buyer.html(DEFAULT))
    assert told
    return told[1]


def test_an_empty_database_and_an_unknown_flat_are_counted(tmp_path: Path) -> None:
    with browser(tmp_path) as opened:
        assert counted(opened) == "Подходящи: 0 от 0"
    put_adverts(tmp_path, {})
    with browser(tmp_path) as opened:
        assert counted(opened) == "Подходящи: 0 от 1; неизвестно за 1"


def test_a_flat_that_is_gone_is_not_counted(tmp_path: Path) -> None:
    put_adverts(tmp_path, NEAR, FAR)
    database = store(tmp_path)
    with database.write() as connection:
        connection.execute(update(listings).where(listings.c.id == 2).values(gone_at=time.time()))
    database.dispose()
    with browser(tmp_path) as opened:
        assert counted(opened) == "Подходящи: 1 от 1"


def test_every_field_shows_what_stands_in_the_profile(buyer: Browser, tmp_path: Path) -> None:
    profile = load_profile(tmp_path, "default")
    for section, members in SECTIONS.items():
        shown = fields(buyer, section)
        for field in members:
            value, there = value_of(profile, field.key), shown.get(field.key)
            if field.kind == "several":
                assert sorted(there or []) == sorted(value), field.key
            elif field.kind == "switch":
                assert (there == ["true"]) is value, field.key
            elif field.kind == "choice":
                assert there == value
            else:
                assert there == ("" if value is None else f"{value:,.0f}".replace(",", " ")), field.key
    assert all(f"criteria.{field.key}" in dictionary() for some in SECTIONS.values() for field in some)


def test_a_change_is_written_and_the_count_says_what_passes_then(buyer: Browser, tmp_path: Path) -> None:
    assert counted(buyer) == "Подходящи: 2 от 2"
    sent = fields(buyer, "must") | {"must.metro_most_minutes": "10"}
    answer = send(buyer, sent, script=True)
    assert answer.status_code == 200
    told = answer.json()
    assert told["said"] == "Профилът „default“ е запазен."
    assert (told["count"], told["only"]) == (
        "Подходящи: 1 от 2",
        "Отпадат само заради едно условие: метро (1)",
    )
    assert told["stamp"] == fields(buyer, "must")["stamp"] != sent["stamp"]
    assert load_profile(tmp_path, "default").must.metro_most_minutes == 10
    data = buyer.data("/criteria.json?profile=default")
    assert data["values"]["must"]["metro_most_minutes"] == 10
    assert data["passing"] == {
        "candidates": 2, "passing": 1, "unknown": 0, "failing": 1, "only": {"metro": 1},
    }  # fmt: skip
    page = spaced(send(buyer, fields(buyer, "must") | {"must.metro_most_minutes": ""}).text)
    assert "Профилът „default“ е запазен." in plain(page)
    assert load_profile(tmp_path, "default").must.metro_most_minutes is None
    assert counted(buyer) == "Подходящи: 2 от 2"


def test_only_what_was_changed_is_written(buyer: Browser, tmp_path: Path) -> None:
    send(buyer, fields(buyer, "money") | {"budget_eur": "300 000", "commission_percent": "2,5"})
    written = yaml.safe_load((tmp_path / "profiles" / "default.yaml").read_text("utf-8"))
    assert written["budget_eur"] == 300_000
    assert written["commission_percent"] == 2.5
    assert written["property_types"] == ["apartment", "maisonette"]
    assert "wishes" in written
    assert "area_net_least_sqm" not in written["must"]
    shown = fields(buyer, "money")
    assert (shown["budget_eur"], shown["commission_percent"]) == ("300 000", "2,5")
    before = (tmp_path / "profiles" / "default.yaml").stat().st_mtime_ns
    for section in SECTIONS:
        assert send(buyer, fields(buyer, section)).status_code == 200
    assert (tmp_path / "profiles" / "default.yaml").stat().st_mtime_ns == before


def test_all_neighbourhoods_can_be_ticked_in_one_tier(buyer: Browser, tmp_path: Path) -> None:
    names = sorted({one.name for one in neighbourhoods()})
    html = buyer.html(DEFAULT)
    offered = [
        str(one.attributes["value"])
        for one in LexborHTMLParser(html).css('input[name="neighbourhoods.poor"]')
    ]
    assert sorted(offered) == names
    stood = load_profile(tmp_path, "default").neighbourhoods
    assert set(offered[: len(stood.poor)]) == set(stood.poor)
    hidden = {key: value for key, value in fields(buyer, "places").items() if key in {"section", "stamp"}}
    send(buyer, hidden | {"neighbourhoods.poor": names, "neighbourhoods.others": "best"})
    tiers = load_profile(tmp_path, "default").neighbourhoods
    assert tiers.best == tiers.good == tiers.fair == ()
    assert tiers.poor == (*stood.poor, *(name for name in names if name not in stood.poor))
    assert tiers.others == "best"


@pytest.mark.parametrize(
    ("section", "changed", "sentence"),
    [
        ("money", {"budget_eur": "0"}, "Бюджет с всичко (€): '0' не може; позволено е: число над 0"),
        ("money", {"budget_eur": "много"}, "Бюджет с всичко (€): 'много' не може"),
        ("money", {"budget_eur": ""}, "Бюджет с всичко (€): '' не може"),
        ("money", {"budget_eur": "1e999"}, "Бюджет с всичко (€): '1e999' не може"),
        ("money", {"property_types": []}, "Вид имот"),
        ("must", {"must.rooms_least": "2,5"}, "Стаи, поне: '2.5' не може; позволено е: цяло число"),
        ("places", {"neighbourhoods.best": ["Център"]}, "Център: записано в две групи"),
        ("places", {"neighbourhoods.best": ["Атлантида"]}, "'Атлантида' не е квартал на София"),
        ("places", {"neighbourhoods.others": "none"}, "Всички останали са"),
        ("weights", NO_WEIGHTS, "всички тежести са 0"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_its_section_and_nothing_is_written(
    section: str, changed: dict[str, Any], sentence: str, buyer: Browser, tmp_path: Path
) -> None:
    sent = fields(buyer, section) | changed
    page = send(buyer, sent)
    assert page.status_code == 400
    ((place, told),) = mistakes(spaced(page.text))
    assert place == section
    assert sentence in told
    assert str(tmp_path) not in told
    answer = send(buyer, sent, script=True)
    assert (answer.status_code, answer.json()["wrong"], answer.json()["conflict"]) == (400, True, False)
    assert sentence in spaced(answer.json()["said"])
    assert not (tmp_path / "profiles").exists()


def test_what_was_typed_stays_in_the_fields_when_it_is_refused(buyer: Browser) -> None:
    sent = fields(buyer, "money") | {"budget_eur": "много", "renovation_eur": "12 345"}
    page = spaced(send(buyer, sent).text)
    assert 'value="много"' in page
    assert 'value="12 345"' in page


def test_what_somebody_else_changed_is_not_overwritten(buyer: Browser, tmp_path: Path) -> None:
    old = fields(buyer, "must") | {"must.not_last_floor": ["true"]}
    other = fields(buyer, "wishes") | {"wishes.rooms": "4"}
    edit_profile(tmp_path, "default", [("must.not_panel", False)])
    page = send(buyer, old)
    assert page.status_code == 400
    assert mistakes(page.text) == [("must", CONFLICT)]
    shown = fields(buyer, "must")
    assert "must.not_panel" not in shown
    assert "must.not_last_floor" not in shown
    assert send(buyer, old, script=True).json()["conflict"] is True
    send(buyer, other)
    profile = load_profile(tmp_path, "default")
    assert (profile.must.not_panel, profile.must.not_last_floor, profile.wishes.rooms) == (False, False, 4)


def test_sections_that_are_sent_at_once_are_all_kept(buyer: Browser, tmp_path: Path) -> None:
    changes = {
        "money": {"budget_eur": "310 000"}, "must": {"must.rooms_least": "3"},
        "wishes": {"wishes.rooms": "5"}, "weights": {"weights.price": "77"},
    }  # fmt: skip
    forms = [fields(buyer, section) | changed for section, changed in changes.items()]
    with ThreadPoolExecutor(len(forms)) as threads:
        answers = list(threads.map(lambda form: send(buyer, form, script=True), forms))
    assert [answer.status_code for answer in answers] == [200] * len(forms)
    profile = load_profile(tmp_path, "default")
    kept = (profile.budget_eur, profile.must.rooms_least, profile.wishes.rooms, profile.weights.price)
    assert kept == (310_000, 3, 5, 77)


def test_weights_that_are_no_per_cents_are_told_as_shares(buyer: Browser) -> None:
    weights = NO_WEIGHTS | {"weights.price": "30", "weights.rental": "10"}
    told = send(buyer, fields(buyer, "weights") | weights, script=True).json()["remark"]
    assert spaced(told).startswith("Тежестите са общо 40, не 100; броят се като дялове.")
    assert "Наем 25 %" in spaced(told)


def test_a_profile_is_made_like_another_and_changed_by_its_own_address(
    buyer: Browser, tmp_path: Path
) -> None:
    send(buyer, fields(buyer, "money") | {"budget_eur": "111 000"})
    made = buyer.post(DEFAULT, data={"section": "another", "name": "Мария"})
    assert "Профилът „Мария“ е запазен." in plain(made.text)
    assert made.url.params["profile"] == "Мария"
    assert load_profile(tmp_path, "Мария") == load_profile(tmp_path, "default")
    own = "/criteria?profile=Мария"
    send(buyer, fields(buyer, "money", own) | {"budget_eur": "222 000"}, own)
    assert load_profile(tmp_path, "Мария").budget_eur == 222_000
    assert load_profile(tmp_path, "default").budget_eur == 111_000
    assert buyer.data("/criteria.json")["profile"] == "Мария"
    for wrong, sentence in (
        ("Мария", "вече има такъв профил"),
        ("../x", "профил не може да се казва '../x'"),
    ):
        page = buyer.post(DEFAULT, data={"section": "another", "name": wrong})
        assert page.status_code == 400
        ((place, told),) = mistakes(page.text)
        assert (place, sentence in told) == ("another", True)
    assert sorted(path.name for path in (tmp_path / "profiles").iterdir()) == ["default.yaml", "Мария.yaml"]


def test_a_form_of_no_profile_or_no_section_changes_nothing(buyer: Browser, tmp_path: Path) -> None:
    sent = fields(buyer, "money") | {"budget_eur": "1"}
    assert CONFLICT in plain(send(buyer, sent, "/criteria?profile=gone").text)
    assert CONFLICT in plain(send(buyer, sent, "/criteria").text)
    assert CONFLICT in plain(send(buyer, sent | {"section": "nothing"}).text)
    assert CONFLICT in plain(send(buyer, {"section": "x" * 300_000}).text)
    assert not (tmp_path / "profiles").exists()


def test_a_profile_that_cannot_be_used_is_named_and_keeps_none_from_the_others(
    buyer: Browser, tmp_path: Path
) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "broken.yaml").write_text("budget_eur: -5\n", "utf-8")
    assert "Бюджет с всичко (€): '-5' не може" in buyer.text(DEFAULT)
    assert counted(buyer) == "Подходящи: 2 от 2"
    assert buyer.data("/criteria.json")["unusable"] == ["broken"]


OWN = "form:has([name=section][value=own]):has([name=at])"


def test_own_places_are_added_shown_searched_and_removed(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN | {"lat": 42.6737, "lon": 23.3252}, KNOWN | {"neighbourhood": "Бояна"})
    with browser(tmp_path) as buyer:
        place = {"name": " Работа ", "at": "Бизнес парк София", "arrive_by": "9:00"}
        sent = form_fields(buyer.html(DEFAULT), OWN)
        assert send(buyer, sent | place).status_code == 200
        (own,) = load_profile(tmp_path, "default").places
        assert (own.name, own.at, own.arrive_by) == ("Работа", "Бизнес парк София", "09:00")
        assert "Работа: Бизнес парк София, там до часа 09:00" in buyer.text(DEFAULT)

        page = buyer.html("/search?travel=40:работа")
        chosen = LexborHTMLParser(page).css_first("select[name=travel] option[selected]")
        assert chosen is not None
        assert chosen.attributes["value"] == "40:Работа"
        assert "Работа: 35 мин" in spaced(plain(page))
        told = {
            minutes: buyer.data(f"/search.json?travel={minutes}:Работа")["count"] for minutes in (34, 35, 240)
        }
        assert told == {34: 0, 35: 1, 240: 2}
        assert "До Работа с градския транспорт 35 мин" in spaced(buyer.text("/flat/1"))
        assert "До Работа с градския транспорт" in buyer.text("/compare?ids=1,2")
        assert [one["name"] for one in buyer.data("/map.json?zoom=12")["own"]] == ["Работа"]
        assert "Моите места: Работа (Бизнес парк София)" in buyer.text("/map")
        file = csv.DictReader(io.StringIO(buyer.get("/search.csv").content.decode("utf-8-sig")))
        rows = {row["place"]: row for row in file}
        assert spaced(rows["Лозенец"]["До Работа с градския транспорт"]) == "35 мин"
        assert (spaced(rows["Лозенец"]["shop"]), rows["Бояна"]["road"]) == ("5 мин · Минимарт", "")
        assert rows["Бояна"]["attribution"] == ATTRIBUTION

        old = form_fields(buyer.html(DEFAULT), "form:has([name=remove])")
        assert send(buyer, old).status_code == 200
        assert load_profile(tmp_path, "default").places == ()
        assert "В адреса на страницата има грешно условие" in buyer.text("/search?travel=40:Работа")
        page = send(buyer, old).text  # of a page that is not the last any more
        assert mistakes(page) == [("own", CONFLICT)]


@each_row(
    ("place", "sentence"),
    [
        ({"name": "Работа", "at": "Никъде"}, "'Никъде' не е спирка, квартал или ширина/дължина в София"),
        ({"name": "", "at": "Сердика"}, "напишете име на мястото до 40 знака, без запетая"),
        ({"name": "а, б", "at": "Сердика"}, "напишете име на мястото до 40 знака, без запетая"),
        ({"name": "Работа", "at": "Сердика", "arrive_by": "23:00"}, "позволен е час от 07:30 до 09:30"),
        ({"name": "ДОМ", "at": "Сердика"}, "вече има място „Дом“"),
        ({"name": "Далеч", "at": "43.2, 27.9"}, "'43.2, 27.9' не е спирка"),
    ],
)
def test_a_place_that_cannot_be_is_told_at_its_section_and_stays_in_the_fields(
    place: dict[str, str], sentence: str, buyer: Browser, tmp_path: Path
) -> None:
    edit_profile(tmp_path, "default", [("places", [{"name": "Дом", "at": "42.69, 23.32"}])])
    page = send(buyer, form_fields(buyer.html(DEFAULT), OWN) | place)
    assert page.status_code == 400
    ((section, told),) = mistakes(spaced(page.text))
    assert (section, sentence in told) == ("own", True), told
    assert form_fields(page.text, OWN)["at"] == place["at"]
    assert [one.name for one in load_profile(tmp_path, "default").places] == ["Дом"]


@pytest.fixture
def learner(tmp_path: Path) -> Iterator[Browser]:
    """Flats 1 to 4 under the roof, 5 to 9 not; of those the first is chosen."""
    under = KNOWN | {"floor": 8, "floors_total": 8}
    others = [KNOWN | {"floor": 2 + number % 3, "area_sqm": 100.0 + number} for number in range(5)]
    put_adverts(tmp_path, *(under | {"area_sqm": 90.0 + number} for number in range(4)), *others)
    with browser(tmp_path) as opened:
        opened.cookies.set("sale_sofia_language", "en")
        opened.fill("/flat/5/status", status="shortlist")
        yield opened


def reject(buyer: Browser, reasons: dict[int, str]) -> None:
    for number, reason in reasons.items():
        buyer.fill(f"/flat/{number}/status", status="rejected", reason=reason)


def test_what_rejected_flats_have_in_common_is_offered_as_a_condition(
    learner: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "What we learnt" not in learner.text(DEFAULT)
    nothing = {"rejected": 0, "fitting": 9, "lessons": []}
    assert learner.data("/criteria.json?profile=default")["learnt"] == nothing
    reject(learner, {1: "етажът", 2: "The floor!", 3: "the floor", 6: "a noisy street", 7: "mould", 8: ""})
    before = load_profile(tmp_path, "default")
    told = learner.text(DEFAULT)
    assert "3 of 6 rejected: the floor" in told
    assert "Not on the last floor: 3 of them would not have been shown; of 9 that fit 5 stay Apply" in told
    assert "1 of 6 rejected: a noisy street no filter for it yet" in told
    assert "1 of 6 rejected: something else no filter for it yet" in told
    say = commands(tmp_path, monkeypatch, capsys)
    lesson = say("profiles", "learnt", "--json").json()["lessons"][0]
    offer = {"key": "must.not_last_floor", "value": True, "caught": 3, "leaves": 5}
    assert lesson == {"reason": "floor", "flats": 3, "out": 0, "offer": offer}
    command = "sale-sofia profiles edit default 'must.not_last_floor=true'"
    assert command in say("profiles", "learnt").out
    form = form_fields(learner.html(DEFAULT), 'form[action^="/criteria/apply"]')
    learner.fill("/criteria/apply?profile=default", **{**form, "value": "false"})
    assert load_profile(tmp_path, "default") == before, "only what is offered can be applied"
    learner.fill("/criteria/apply?profile=default", **form)
    after = load_profile(tmp_path, "default")
    assert after == before.model_copy(
        update={"must": before.must.model_copy(update={"not_last_floor": True})}
    )
    assert learner.data("/criteria.json?profile=default")["passing"]["passing"] == offer["leaves"]
    assert "3 of 6 rejected: the floor your conditions leave them out already" in learner.text(DEFAULT)


def test_what_would_also_keep_away_a_chosen_flat_is_not_offered(learner: Browser) -> None:
    learner.fill("/flat/4/status", status="shortlist")
    reject(learner, dict.fromkeys((1, 2, 3), "the floor"))
    assert "3 of 3 rejected: the floor no filter for it yet" in learner.text(DEFAULT)


def test_a_lower_budget_is_offered_to_who_finds_flats_too_dear(learner: Browser, tmp_path: Path) -> None:
    db = store(tmp_path)
    with db.write() as connection:
        for number, price in ((1, 215_000), (2, 217_000), (3, 219_000)):
            connection.execute(update(listings).where(listings.c.id == number).values(price_eur=price))
            touch(connection, [number])
    db.dispose()
    reject(learner, dict.fromkeys((1, 2, 3), "too dear"))
    (lesson,) = learner.data("/criteria.json?profile=default")["learnt"]["lessons"]
    offer = lesson["offer"]
    assert (offer["key"], offer["caught"], offer["leaves"]) == ("budget_eur", 2, 7)
    assert 217_000 < offer["value"] < 250_000
    form = form_fields(learner.html(DEFAULT), 'form[action^="/criteria/apply"]')
    learner.fill("/criteria/apply?profile=default", **form)
    assert load_profile(tmp_path, "default").budget_eur == offer["value"]
    assert learner.data("/criteria.json?profile=default")["passing"]["passing"] == 7
