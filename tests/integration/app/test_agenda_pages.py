"""The agenda over HTTP: viewings added, moved, cancelled, done; and each person's calendar address."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from app_runs import put_adverts, store
from sale_sofia.app import application
from sale_sofia.app.visit import PageVisit
from sale_sofia.buyer.tables import sign_ins
from sale_sofia.listings.dates import SOFIA
from web_pages import Browser, browser, plain

SERDIKA, NEAR = {"lat": 42.6977, "lon": 23.3219}, {"lat": 42.7, "lon": 23.325}
FLAT = {"deal": "sale", "property_type": "apartment", "city": "София", "price_eur": 100_000.0}
ADVERTS = [
    FLAT | SERDIKA | {"title": "Двустаен", "rooms": 2, "neighbourhood": "Център"},
    FLAT | NEAR | {"title": "Тристаен", "rooms": 3, "neighbourhood": "Център"},
    FLAT | {"title": "Мезонет", "rooms": 5, "neighbourhood": "Лозенец"},
]
ADDRESS = re.compile(r'value="http://[^/"]+(/calendar/[^"]+\.ics)"')


def headers(who: Browser) -> dict[str, str]:
    return {"origin": str(who.base_url).rstrip("/")}


@contextmanager
def signed_in(ana: Browser, name: str) -> Iterator[Browser]:
    """A browser of their own, let in by a link that Ана gives them."""
    ana.fill("/people/add", name=name, language="en", role="buyer")
    answer = ana.post("/people/link", data={"name": name}, headers=headers(ana))
    found = re.search(r'value="(http://[^"]+/enter/[^"]+)"', answer.text)
    assert found
    with Browser(ana.base_url) as other:
        other.cookies.set("sale_sofia_language", "en")
        assert other.post(found[1], headers=headers(other)).status_code == 200
        yield other


def new_address(who: Browser) -> str:
    found = ADDRESS.search(who.post("/agenda/subscribe", headers=headers(who)).text)
    assert found
    return found[1]


def test_viewings_of_a_day_have_the_way_between_them(ana: Browser) -> None:
    assert "No viewing is to come." in ana.text("/agenda")
    assert "First mark a flat" in ana.fill(
        "/agenda/add", flat="", day="1.12.2030", hour="10:00", back="/agenda"
    )
    for number, hour in ((1, "10:00"), (2, "10:40"), (3, "11:00")):
        ana.fill("/agenda/add", flat=str(number), day="1.12.2030", hour=hour, agent="Иван")
    told = ana.text("/agenda")
    assert "6 min on foot from the one before" in told
    assert "way from the one before: unknown" in told
    assert "you will be late: they overlap by 10 min" in told
    (day,) = ana.data("/agenda.json")["days"]
    assert day["day"] == "2030-12-01"
    assert [(one["way"], one["late"]) for one in day["viewings"]] == [
        (None, False),
        ({"minutes": 6, "on_foot": True}, False),
        (None, True),
    ]
    board = ana.data("/mine.json")["board"]
    assert [one["id"] for one in board["viewing"]] == [3, 2, 1], "a viewing sets the status"
    moved = ana.fill("/flat/3/viewing/3", day="02.12.2030", hour="9:00", back="/agenda")
    assert "01.12.2030" in moved
    assert "02.12.2030 09:00" in moved.replace("Move Day Hour Move", "")
    assert [one["day"] for one in ana.data("/agenda.json")["days"]] == ["2030-12-01", "2030-12-02"]
    wrong = ana.fill("/flat/3/viewing/3", day="41.12.2030", hour="9:00", back="/agenda")
    assert "is no date with a time" in wrong or "write it like" in wrong, wrong


def test_a_viewing_is_cancelled_or_looked_back_on_and_one_in_the_past_is_not_to_come(ana: Browser) -> None:
    ana.fill("/agenda/add", flat="1", day="01.12.2030", hour="10:00")
    ana.fill("/agenda/add", flat="2", day="01.12.2020", hour="10:00")
    found = ana.data("/agenda.json")
    assert [one["property_id"] for one in found["unsaid"]] == [2]
    assert [one["property_id"] for day in found["days"] for one in day["viewings"]] == [1]
    told = ana.fill(
        "/flat/2/viewing/2", state="done", positive="light\r\n\r\nquiet", negative="dear", outcome="offer",
        back="/agenda",
    )  # fmt: skip
    assert "How was it?" not in told
    ana.fill("/flat/1/viewing/1", state="cancelled")
    found = ana.data("/agenda.json")
    assert (found["days"], found["unsaid"]) == ([], [])
    assert [(one["state"], one["positives"], one["negatives"]) for one in found["past"]] == [
        ("cancelled", [], []),
        ("done", ["light", "quiet"], ["dear"]),
    ]
    assert ana.data("/mine.json")["viewings"] == []


def test_a_calendar_address_shows_viewings_to_who_has_it_and_nothing_else(
    ana: Browser, tmp_path: Path
) -> None:
    ana.fill("/agenda/add", flat="1", day="01.12.2030", hour="10:00", agent="Иван")
    address = new_address(ana)
    token = address.removeprefix("/calendar/").removesuffix(".ics")
    with Browser(ana.base_url, follow_redirects=False) as calendar:
        answer = calendar.get(address)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/calendar; charset=utf-8")
        assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == (
            "no-store",
            "nosniff",
        )
        assert "DTSTART:20301201T080000Z" in answer.text
        assert "set-cookie" not in answer.headers
        calendar.cookies.set("sale_sofia_session", token)
        assert calendar.get("/mine").status_code == 401, "it is no session"
        calendar.cookies.clear()
        assert calendar.get(f"/enter/{token}").status_code == 410, "and no link"
        session = ana.cookies["sale_sofia_session"]
        for forged in (f"{token[:-3]}abc", session, "x" * 43, "", "../mine", f"{token}.ics/x"):
            answer = calendar.get(f"/calendar/{forged}.ics")
            assert (answer.status_code, "BEGIN" in answer.text) in {(404, False), (401, False)}, forged
        assert calendar.post(address).status_code == 404, "it changes nothing"
        assert "calendar of viewings" in ana.text("/people")
        kept = store(tmp_path)
        with kept.read() as connection:
            rows = [tuple(row) for row in connection.execute(sign_ins.select())]
        kept.dispose()
        assert token not in str(rows), "only its digest is stored"
        for path in ("/agenda", "/people", "/agenda.json", "/mine"):
            assert token not in ana.get(path).text, path
        again = new_address(ana)
        assert (calendar.get(address).status_code, calendar.get(again).status_code) == (404, 200), (
            "one at a time"
        )
        assert "no longer works" in ana.fill("/agenda/unsubscribe")
        assert calendar.get(again).status_code == 404


def test_an_address_ends_with_its_person_and_is_not_anothers_to_end(ana: Browser) -> None:
    with (
        signed_in(ana, "Борис") as boris,
        Browser(ana.base_url, follow_redirects=False) as calendar,
    ):
        hers, his = new_address(ana), new_address(boris)
        boris.fill("/agenda/unsubscribe")
        assert [calendar.get(one).status_code for one in (hers, his)] == [200, 404]
        his = new_address(boris)
        assert calendar.get(his).status_code == 200
        ana.fill("/people/remove", name="Борис")
        assert [calendar.get(one).status_code for one in (hers, his)] == [200, 404]
        assert boris.get("/agenda").status_code == 401


def test_two_who_act_at_the_same_moment_lose_nothing(ana: Browser) -> None:
    acts = [
        ("/flat/1/status", {"status": "shortlist"}),
        ("/flat/1/stars", {"stars": "4"}),
        ("/flat/1/note", {"text": "a note"}),
        ("/flat/1/viewing", {"day": "01.12.2030", "hour": "10:00"}),
        ("/flat/1/stars", {"stars": "4"}),  # pressed again, as no answer had come
    ]
    with signed_in(ana, "Борис") as boris, ThreadPoolExecutor(2) as pool:
        begin = Barrier(2)

        def act(who: Browser) -> list[int]:
            begin.wait()
            return [who.post(path, data=form, headers=headers(who)).status_code for path, form in acts]

        answers = list(pool.map(act, (ana, boris)))
        assert answers == [[200] * len(acts)] * 2
        found = boris.data("/flat/1.json")
    both = ["Ана", "Борис"]
    assert [(one["person"], one["opinion"], one["stars"]) for one in found["opinions"]] == [
        (name, "liked", 4) for name in both
    ]
    assert sorted(one["by"] for one in found["notes"]) == both
    assert len(found["viewings"]) == 1, "of one flat at one moment there is one viewing"
    said = [(one["changed_by"], one["field"]) for one in found["history"]]
    assert sorted(one for one in said if one[1] in {"opinion", "stars"}) == [
        (name, field) for name in both for field in ("opinion", "stars")
    ]


def test_a_viewing_of_this_morning_is_not_to_come(ana: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    evening = datetime(2031, 6, 15, 18, tzinfo=SOFIA).timestamp()
    monkeypatch.setattr(application, "PageVisit", partial(PageVisit, now=evening))
    for hour in ("12:00", "17:45", "20:00"):
        ana.fill("/flat/1/viewing", day="15.06.2031", hour=hour)
    for path in ("/", "/mine"):
        found = set(re.findall(r"(\d\d:\d\d) · ", ana.text(path)))
        assert found == {"17:45", "20:00"}


def test_without_people_there_is_the_file_alone(tmp_path: Path) -> None:
    put_adverts(tmp_path, *ADVERTS)
    with browser(tmp_path) as alone:
        alone.cookies.set("sale_sofia_language", "en")
        alone.fill("/agenda/add", flat="1", day="01.12.2030", hour="10:00")
        assert "Each person has an address" in alone.text("/agenda")
        answer = alone.post("/agenda/subscribe", headers=headers(alone))
        assert "Each person has an address" in plain(answer.text)
        assert "BEGIN:VEVENT" in alone.get("/mine/viewings.ics").text
        assert alone.get("/calendar/xxxxxxxxxxxxxxxxxxxxxxxxx.ics").status_code == 404
