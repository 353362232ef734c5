"""Two people in their own browsers, over HTTP: each is let in as themselves alone, and writes by name."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, update

from app_runs import put_adverts, store
from sale_sofia.buyer.evaluations import By, evaluation_of, mark, notes_of
from sale_sofia.buyer.opinions import MATCHING
from sale_sofia.buyer.people import digest_of
from sale_sofia.buyer.settings import SIGN_IN_AGAIN_SECONDS
from sale_sofia.buyer.tables import sign_ins
from sale_sofia.flats import overrides
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.history.market_events import set_gone
from sale_sofia.history.revisions import touch
from sale_sofia.history.tables import listings, market_events, price_points
from sale_sofia.settings.model import Settings
from web_pages import Browser, browser, form_fields, plain

ADVERT = {
    "deal": "sale", "property_type": "apartment", "title": "Тристаен", "price_eur": 100_000.0,
    "seller_name": "Агенция", "phones": ["+359888123456"],
}  # fmt: skip
LINK = re.compile(r'value="(http://[^"]+/enter/[^"]+)"')
WORD, HOUSE = "a long password", "the house"


@pytest.fixture
def first(tmp_path: Path) -> Iterator[Browser]:
    """The browser of who sets the household up."""
    put_adverts(tmp_path, ADVERT)
    with browser(tmp_path) as opened:
        opened.cookies.set("sale_sofia_language", "en")
        yield opened


@contextmanager
def another(first: Browser) -> Iterator[Browser]:
    """A browser that nobody knows yet."""
    with Browser(first.base_url) as opened:
        opened.cookies.set("sale_sofia_language", "en")
        yield opened


def link_for(asks: Browser, name: str) -> str:
    """What the page shows when a link is asked for."""
    origin = {"origin": str(asks.base_url).rstrip("/")}
    answer = asks.post("/people/link", data={"name": name}, headers=origin)
    found = LINK.search(answer.text)
    assert found, plain(answer.text)
    return found[1]


def use(opened: Browser, link: str) -> int:
    origin = {"origin": str(opened.base_url).rstrip("/")}
    return opened.post(link, headers=origin).status_code


def test_who_adds_the_first_person_stays_in_and_strangers_are_out(first: Browser) -> None:
    assert "Nobody yet" in first.text("/people")
    told = first.fill("/people/add", name="Ана", language="en")
    assert "Ана (me) · operator · here since" in told
    with another(first) as stranger:
        for path in ("/", "/search", "/flat/1", "/people", "/search.csv", "/today.json", "/static/app.js"):
            answer = stranger.get(path)
            assert (answer.status_code, "Име" in answer.text or "Name" in answer.text) == (401, True), path
        assert stranger.get("/healthz").text == "ok"


def test_a_link_is_looked_at_often_and_used_once(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="bg")
    first.fill("/people/add", name="Борис", language="en", role="buyer")
    link = link_for(first, "Борис")
    with another(first) as boris, another(first) as thief:
        assert "Борис" in boris.get(link).text
        assert "Борис" in boris.get(link).text, "looking uses nothing up"
        assert boris.get("/people").status_code == 401
        assert use(boris, link) == 200
        assert "Борис (me) · buyer" in boris.text("/people")
        assert use(thief, link) == 410
        assert use(thief, f"{link[:-3]}abc") == 410
        assert thief.get("/people").status_code == 401
    assert "Ана (me)" in first.text("/people?lang=en")


def test_a_browser_that_heard_nothing_is_answered_again_for_a_while(first: Browser, tmp_path: Path) -> None:
    first.fill("/people/add", name="Ана", language="en")
    assert "sale_sofia_door" not in first.cookies, "who has the answer needs no more of it"
    link = link_for(first, "Ана")

    def again(door: str | None) -> tuple[int, str | None]:
        """The same click, by a browser that has this secret and has heard nothing."""
        with another(first) as phone:
            phone.cookies.set("sale_sofia_door", door or "")
            return use(phone, link), phone.cookies.get("sale_sofia_session")

    with another(first) as looks, another(first) as strange:
        door, other = (one.get(link).cookies["sale_sofia_door"] for one in (looks, strange))
    status, session = again(door)
    assert (status, again(door)) == (200, (200, session)), "the same session, not another"
    used = (410, None)
    assert [again(one) for one in (other, None, door[::-1])] == [used] * 3
    db = store(tmp_path)
    with db.write() as connection:
        connection.execute(update(sign_ins).values(made_at=time.time() - SIGN_IN_AGAIN_SECONDS))
    assert again(door) == used, "not for ever"
    with db.write() as connection:
        connection.execute(update(sign_ins).values(made_at=time.time()))
    assert again(door) == (200, session)
    with db.write() as connection:
        connection.execute(delete(sign_ins).where(sign_ins.c.digest == digest_of(session or "")))
    assert again(door) == used, "nor once it was signed out"
    db.dispose()


def test_what_is_seen_and_which_language_is_spoken_is_each_persons_own(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/add", name="Борис", language="en", role="buyer")
    with another(first) as boris, another(first) as phone:
        use(boris, link_for(first, "Борис"))
        use(phone, link_for(first, "Ана"))
        first_visit = "First visit"
        assert [first_visit in one.text("/") for one in (first, boris)] == [True, True]
        first.fill("/today/seen", back="/", shown_at=time.time())
        assert [first_visit in one.text("/") for one in (phone, boris)] == [False, True]
        assert "no language &#39;xx&#39;" in boris.post("/people/language", data={"language": "xx"}).text
        assert "Моят език" in boris.fill("/people/language", language="bg")
        told = [(one["name"], one["language"]) for one in first.data("/people.json")["people"]]
        assert told == [("Ана", "en"), ("Борис", "bg")]
        assert "My language" in phone.text("/people")


def test_each_writes_under_their_own_name(first: Browser, tmp_path: Path) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/add", name="Борис", language="en", role="buyer")
    with another(first) as boris:
        use(boris, link_for(first, "Борис"))
        boris.fill("/flat/1/note", text="light kitchen")
        first.fill("/flat/1/note", text="no parking")
    db = store(tmp_path)
    found = db.run_read(lambda connection: notes_of(connection, 1))
    assert [(one.written_by, one.text) for one in found] == [
        ("Борис", "light kitchen"),
        ("Ана", "no parking"),
    ]
    db.dispose()


def test_the_card_shows_both_opinions_and_each_sees_their_own_list(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/add", name="Борис", language="en", role="buyer")
    with another(first) as boris:
        use(boris, link_for(first, "Борис"))
        first.fill("/flat/1/status", status="shortlist")
        boris.fill("/flat/1/status", status="rejected", reason="noise")
        assert "Ана ★ · Борис ✗ noise" in first.text("/flat/1")
        shown = [len(one.data("/search.json?unknown=ok&profile=default")["flats"]) for one in (first, boris)]
        assert shown == [1, 0], "who rejected it is not shown it again"
        (card,) = first.data("/search.json?unknown=ok")["flats"]
        assert [one["opinion"] for one in card["opinions"]] == ["liked", "rejected"]
        boris.fill("/flat/1/status", status="new")
        told = first.text("/flat/1")
        assert "Борис ✗ noise" not in told
        assert "Борис · opinion: ✗ → –" in told, "the history keeps who said what"


@pytest.mark.parametrize("people", [["Ана"], ["Ана", "Борис"]])
def test_a_rejection_undone_leaves_all_as_it_was(first: Browser, tmp_path: Path, people: list[str]) -> None:
    """Of what was begun the household's status says nothing of what each of them thinks."""
    for name in people:
        first.fill("/people/add", name=name, language="en", role="operator")
    first.fill("/flat/1/status", status="shortlist", reason="light")
    first.fill("/flat/1/step", step="viewing")
    first.fill("/flat/1/decide_by", decide_by="25.11.2099")
    database = store(tmp_path)

    def known() -> tuple[object, ...]:
        now = database.run_read(partial(evaluation_of, property_id=1))
        (own,) = first.data("/flat/1.json")["opinions"]
        return now.status, now.reason, now.decision, now.decide_by, own["opinion"], own["reason"]

    before = known()
    assert before == ("viewing", "light", None, "2099-11-25", "liked", "light")
    rejected = {"status": "rejected", "reason": "noise"}
    answer = first.post("/flat/1/status", data=rejected, headers={"accept": "application/json"}).json()
    assert known()[4:] == ("rejected", "noise")
    action = answer["undo"].pop("action")
    first.fill(action, **answer["undo"])
    assert known() == before
    database.dispose()


def test_a_rejection_of_a_hidden_flat_undone_leaves_it_hidden(first: Browser, tmp_path: Path) -> None:
    for name in ("Ана", "Борис"):
        first.fill("/people/add", name=name, language="en", role="operator")
    first.fill("/flat/1/status", status="hidden", reason="sold")
    database = store(tmp_path)
    rejected = {"status": "rejected", "reason": "noise"}
    answer = first.post("/flat/1/status", data=rejected, headers={"accept": "application/json"}).json()
    first.fill(answer["undo"].pop("action"), **answer["undo"])
    now = database.run_read(partial(evaluation_of, property_id=1))
    assert (now.status, now.reason) == ("hidden", "sold")
    database.dispose()


def test_stars_and_filters_are_of_who_is_signed_in(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/add", name="Борис", language="en", role="buyer")

    def found(who: Browser, condition: str) -> int:
        return len(who.data(f"/search.json?unknown=ok&{condition}=true")["flats"])

    with another(first) as boris:
        use(boris, link_for(first, "Борис"))
        first.fill("/flat/1/status", status="shortlist")
        assert [found(one, "waits_for_you") for one in (first, boris)] == [0, 1]
        assert [found(one, "all_like") for one in (first, boris)] == [0, 0]
        boris.fill("/flat/1/stars", stars="5")
        boris.fill("/flat/1/status", status="shortlist")
        assert [found(one, "waits_for_you") for one in (first, boris)] == [0, 0]
        assert [found(one, "all_like") for one in (first, boris)] == [1, 1]
        first.fill("/flat/1/stars", stars="2", back="/flat/1")
        assert "Ана ★ 2/5 · Борис ★ 5/5" in first.text("/flat/1")
        assert "stars go from 1 to 5" in first.fill("/flat/1/stars", stars="9", back="/flat/1")
        boris.fill("/flat/1/stars", stars="")
        (card,) = first.data("/search.json?unknown=ok")["flats"]
        assert [one["stars"] for one in card["opinions"]] == [2, None]
        boris.fill("/flat/1/note", text="light kitchen")
        assert "Борис · " in first.text("/flat/1").partition("Notes")[2]
        assert [one["by"] for one in first.data("/flat/1.json")["notes"]] == ["Борис"]


def test_another_vat_and_an_advert_that_was_gone_are_no_change_of_price_on_the_board(tmp_path: Path) -> None:
    put_adverts(tmp_path, ADVERT | {"vat": "included"}, ADVERT | {"price_eur": 80_000.0, "area_sqm": 90.0})
    db = store(tmp_path)
    matching = PropertyMatching(Settings(data_dir=tmp_path), db)
    matching.match_all()
    overrides.link(matching, 1, 2)
    with db.write() as connection:
        set_gone(connection, {2: time.time()}, now=time.time(), reason="missed")
    with browser(tmp_path) as buyer:
        buyer.fill("/flat/1/status", status="shortlist")
        restated = {"price_eur": 83_333.33, "vat": "excluded"}
        with db.write() as connection:
            connection.execute(update(listings).where(listings.c.id == 1).values(**restated))
            point = {"listing_id": 1, "kind": "vat", "visit_id": 1, "seen_at": time.time()}
            connection.execute(insert(price_points).values(**point, **restated))
            touch(connection, [1])
        (entry,) = buyer.data("/mine.json")["board"]["shortlist"]
    db.dispose()
    assert (entry["price_eur"], entry["changes"]) == (83_333.33, [])


def test_a_status_that_followed_from_matching_names_it_in_words(first: Browser, tmp_path: Path) -> None:
    db = store(tmp_path)
    with db.write() as connection:
        mark(connection, 1, "rejected", By(MATCHING, time.time()))
    db.dispose()
    flat, mine = first.text("/flat/1"), first.text("/mine")
    assert "matching of flats · status: new → rejected" in flat
    assert re.search(r"Last change: [^,]+, matching of flats", flat)
    assert re.search(r"· matching of flats, \d", mine)
    assert "разпознаването на имоти · статус" in first.text("/flat/1?lang=bg")


def test_a_flat_goes_its_way_by_taps_and_the_other_is_asked(first: Browser, tmp_path: Path) -> None:
    assert "No flat is chosen yet." in first.text("/mine?lang=en")
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/add", name="Борис", language="en", role="buyer")
    first.fill("/flat/1/status", status="shortlist")
    db = store(tmp_path)
    with db.write() as connection:
        connection.execute(update(listings).values(price_eur=90_000.0))
        point = {
            "listing_id": 1,
            "price_eur": 90_000.0,
            "kind": "price",
            "visit_id": 1,
            "seen_at": time.time(),
        }
        connection.execute(insert(price_points).values(**point))
        touch(connection, [1])
    db.dispose()
    with another(first) as boris:
        use(boris, link_for(first, "Борис"))
        assert "Waits for your word (1) Тристаен · Ана ★" in boris.text("/mine")
        assert "Waits for your word" not in first.text("/mine")
        told = first.text("/mine")
        for part in (
            "Shortlisted (1)",
            "▼ −10.0 % since",
            "was € 100 000",
            "Call, and arrange a viewing · Агенция",
        ):
            assert part in told, (part, told)
        assert "Contacted (1) Тристаен" in first.fill("/flat/1/status", status="contacted", back="/mine")
        first.fill("/flat/1/viewing", day="01.12.2030", hour="10:00", agent="Иван")
        told = boris.text("/mine")
        assert "Viewings to come Sunday, 01.12.2030" in told
        assert "To view (1)" in told
        assert "Иван" in told
        assert [len(some) for some in boris.data("/mine.json")["board"].values()] == [0, 0, 1, 0, 0]
        assert "BEGIN:VEVENT" in boris.get("/mine/viewings.ics").text


def test_a_card_says_what_to_do_by_when_and_goes_one_step_either_way(first: Browser, tmp_path: Path) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/add", name="Борис", language="en", role="buyer")
    first.fill("/flat/1/status", status="shortlist")

    def steps() -> list[str]:
        pattern = r'name="step" value="(\w+)"'
        return re.findall(pattern, first.html("/mine"))

    assert steps() == ["contacted"]
    assert "Contacted (1) Тристаен" in first.fill("/flat/1/step", step="contacted", back="/mine")
    assert steps() == ["shortlist", "viewing"]
    assert "Shortlisted (1) Тристаен" in first.fill("/flat/1/step", step="shortlist", back="/mine")
    assert "no step 'rejected'" in first.fill("/flat/1/step", step="rejected", back="/mine")
    for day, told in (("2.1.2000", "02.01.2000: that day is over"), ("2099-12-31", "Decide by 31.12.2099")):
        assert told in first.fill("/flat/1/decide_by", decide_by=day, back="/mine")
    assert 'name="decide_by" value="31.12.2099"' in first.html("/mine")
    assert "'soon' is no day" in first.fill("/flat/1/decide_by", decide_by="soon", back="/mine")
    db = store(tmp_path)
    with db.write() as connection:
        gone = {"listing_id": 1, "kind": "back", "at": time.time(), "noted_at": time.time(), "reason": "seen"}
        connection.execute(insert(market_events).values(**gone))
    db.dispose()
    (entry,) = first.data("/mine.json")["board"]["shortlist"]
    assert [one.partition(":")[0] for one in entry["changes"]] == ["↺ back"]
    assert (entry["decide_by"], entry["next"]) == ("2099-12-31", "Call, and arrange a viewing")
    assert entry["phone"] == "+359888123456"
    with another(first) as boris:
        use(boris, link_for(first, "Борис"))
        for who in (first, boris):
            who.fill("/flat/1/status", status="rejected", reason="street")
        assert "Rejected (1) Тристаен · € 100 000 · ✗ street · Борис" in boris.text("/mine")
        (gone_by,) = boris.data("/mine.json")["rejected"]
        assert (gone_by["reason"], gone_by["by"]) == ("street", "Борис")
        boris.fill("/flat/1/status", status="shortlist")
        (again,) = boris.data("/mine.json")["board"]["shortlist"]
        assert again["decide_by"] is None, "a day that was set before it was rejected"


@pytest.mark.parametrize(
    ("form", "fields"),
    [
        ("/people/add", {"name": "", "language": "bg"}),
        ("/people/link", {"name": "Никой"}),
        ("/people/remove", {"name": "Никой"}),
        ("/people/password", {"password": "x"}),
        ("/people/language", {"language": "fr"}),
    ],
)
def test_what_is_refused_is_said_on_the_page_of_the_people(
    first: Browser, form: str, fields: dict[str, str]
) -> None:
    answer = first.post(form, data=fields, headers={"origin": str(first.base_url).rstrip("/")})
    assert ("<h1>People</h1>" in answer.text, 'role="alert"' in answer.text) == (True, True)


def test_a_buyer_lets_nobody_in_as_another(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    for name in ("Борис", "Вера"):
        first.fill("/people/add", name=name, language="en", role="buyer")
    with another(first) as boris:
        use(boris, link_for(first, "Борис"))
        assert "/enter/" in link_for(boris, "Борис"), "for a phone of his own"
        origin = {"origin": str(boris.base_url).rstrip("/")}
        for path, fields in (
            ("/people/link", {"name": "Ана"}),
            ("/people/link", {"name": "Вера"}),  # who was never here, and may be anything
            ("/people/remove", {"name": "Ана"}),
            ("/people/add", {"name": "Г", "language": "bg", "role": "operator"}),
        ):
            answer = boris.post(path, data=fields, headers=origin)
            assert "Only that person, or an operator, can do this." in plain(answer.text), path
        digest = form_fields(first.html("/people"), "form[action='/people/sign_out']")["digest"]
        boris.fill("/people/sign_out", digest=digest)
    assert "Ана (me)" in first.text("/people"), "another's device is not theirs to sign out"


def test_signing_out_and_being_removed_end_it_at_once(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/add", name="Борис", language="en", role="buyer")
    with another(first) as boris:
        use(boris, link_for(first, "Борис"))
        boris.fill("/people/password", password=WORD)
        digest = form_fields(boris.html("/people"), "form[action='/people/sign_out']")["digest"]
        origin = {"origin": str(boris.base_url).rstrip("/")}
        assert boris.post("/people/sign_out", data={"digest": digest}, headers=origin).status_code == 401
        wrong = boris.post("/search", data={"name": "Борис", "password": "wrong"}, headers=origin)
        assert (wrong.status_code, "do not fit" in wrong.text or "не си" in wrong.text) == (401, True)
        slowed = boris.post("/search", data={"name": "Борис", "password": WORD}, headers=origin)
        assert slowed.status_code == 429
        use(boris, link_for(first, "Борис"))
        assert "Борис (me)" in boris.text("/people")
        first.fill("/people/remove", name="Борис")
        assert boris.get("/").status_code == 401


def test_with_the_right_password_one_comes_in_where_one_wanted_to_go(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/password", password=WORD)
    with another(first) as phone:
        phone.headers["user-agent"] = "Mozilla/5.0 (Linux; Android 14) Chrome/140.0 Mobile Safari/537.36"
        origin = {"origin": str(phone.base_url).rstrip("/")}
        answer = phone.post("/flat/1?lang=en", data={"name": "ана", "password": WORD}, headers=origin)
        assert (answer.status_code, answer.url.path) == (200, "/flat/1")
        assert "Android, Chrome · току-що · това устройство" in phone.text("/people?lang=bg")
        cookie = next(one for one in phone.cookies.jar if one.name == "sale_sofia_session")
        assert cookie.has_nonstandard_attr("HttpOnly")
        stranger = phone.post(
            "/flat/1", data={"name": "ана", "password": WORD}, headers={"origin": "http://elsewhere.example"}
        )
        assert stranger.status_code == 403


def test_who_signs_in_where_a_form_was_sent_comes_to_its_page(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    known = {"name": "Ана", "password": "дълга парола 1"}
    first.fill("/people/password", password=known["password"])
    origin = {"origin": str(first.base_url).rstrip("/")}
    with Browser(first.base_url) as signed_out:
        answer = signed_out.post("/flat/1/note", data=known, headers=origin)
        assert (answer.status_code, answer.url.path) == (200, "/flat/1")
        assert signed_out.post("/flat/1", headers=origin).status_code == 405


def test_a_form_sent_without_a_sign_in_is_no_wrong_password(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/password", password=WORD)
    with another(first) as phone:
        origin = {"origin": str(phone.base_url).rstrip("/")}
        for path, fields in (
            ("/flat/1/note", {"text": "sunny"}),
            ("/people/password", {"password": "x" * 12}),
        ):
            answer = phone.post(path, data=fields, headers=origin)
            assert answer.status_code == 401
            assert "You are not signed in, so nothing was stored." in plain(answer.text)
        entered = phone.post("/", data={"name": "Ана", "password": WORD}, headers=origin)
        assert entered.status_code == 200, "nobody gave a wrong password"


def test_who_signs_in_after_another_does_not_wait_for_them(first: Browser) -> None:
    first.fill("/people/add", name="Ана", language="en")
    first.fill("/people/password", password=WORD)
    entered = []
    for _ in range(3):
        with another(first) as phone:
            origin = {"origin": str(phone.base_url).rstrip("/")}
            answer = phone.post("/", data={"name": "Ана", "password": WORD}, headers=origin)
            entered.append(answer.status_code)
    assert entered == [200, 200, 200], "nobody gave a wrong password"


def test_another_password_of_the_house_opens_nothing_once_there_are_people(tmp_path: Path) -> None:
    with browser(tmp_path, dashboard_password=HOUSE) as owner:
        owner.fill("/", password=HOUSE)
        owner.fill("/people/add", name="Ана", language="en")
        assert "Ана" in owner.text("/people")
        with another(owner) as guest:
            origin = {"origin": str(guest.base_url).rstrip("/")}
            assert guest.post("/", data={"password": HOUSE}, headers=origin).status_code == 401
            assert guest.get("/search").status_code == 401
