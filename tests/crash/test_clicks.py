"""The dashboard's server killed between click and answer: at every point, and the real process by SIGKILL.

Two people click one after the other. What each state of the folder holds is read by SQL alone: every click
that was answered is kept, and who repeats the one without an answer has what would be there without the kill.
"""

import json
import os
import shutil
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from app_runs import put_adverts
from crash_points import Enumeration, count_points
from dashboards import PATIENCE, Served, running_dashboard
from web_pages import Browser, browser, plain

ADVERT = {"deal": "sale", "property_type": "apartment", "title": "Тристаен", "price_eur": 100_000.0}
NOON = "15.06.2031"
Snapshot = Mapping[str, Any]
Wait = Callable[[], bool]
Click = tuple[str, str, dict[str, str], Callable[[Snapshot], bool]]
CLICKS: tuple[Click, ...] = (
    ("Ана", "status", {"status": "shortlist"}, lambda now: now["opinions"][1, "Ана"] == ("liked", None)),
    (
        "Борис",
        "status",
        {"status": "rejected", "reason": "noise"},
        lambda now: now["opinions"][1, "Борис"] == ("rejected", "noise"),
    ),
    ("Ана", "note", {"text": "light kitchen"}, lambda now: ("Ана", "light kitchen") in now["notes"]),
    ("Борис", "note", {"text": "light kitchen"}, lambda now: ("Борис", "light kitchen") in now["notes"]),
    ("Борис", "status", {"status": "shortlist"}, lambda now: now["opinions"][1, "Борис"] == ("liked", None)),
    ("Ана", "viewing", {"day": NOON, "hour": "12:00", "agent": "Иван"}, lambda now: len(now["viewings"]) > 0),
    (
        "Борис",
        "viewing/1",
        {"state": "done", "positive": "sun", "negative": "lift"},
        lambda now: now["viewings"] == [("done", ["sun"], ["lift"])],
    ),
    (
        "Ана",
        "decision",
        {"status": "offer", "was_status": "viewing"},
        lambda now: now["said"]["status"] == "offer",
    ),
    ("Борис", "decision", {"renovation": "9000"}, lambda now: now["said"]["renovation_eur"] == 9000),
    ("Ана", "correct", {"fact": "floor", "value": "4"}, lambda now: now["corrections"] == {"floor": 4}),
    ("Борис", "share", {"days": "7"}, lambda now: now["shared"] > 0),
)


def snapshot(data: Path) -> Snapshot:
    """What is kept, by SQL alone."""
    with closing(sqlite3.connect(data / "sale_sofia.db")) as db:
        said = db.execute(
            "SELECT property_id, name, opinion, reason FROM opinions"
            " JOIN people ON people.id = person_id ORDER BY opinions.id"
        )
        viewings = db.execute("SELECT state, positives, negatives FROM viewings ORDER BY id").fetchall()
        changes = db.execute("SELECT field, new FROM evaluation_changes WHERE viewing_id IS NULL ORDER BY id")
        corrections = db.execute("SELECT fact, value FROM corrections ORDER BY id")
        return {
            "opinions": {(flat, name): (opinion, reason) for flat, name, opinion, reason in said},
            "notes": db.execute("SELECT written_by, text FROM property_notes ORDER BY id").fetchall(),
            "viewings": [(state, json.loads(good), json.loads(bad)) for state, good, bad in viewings],
            "said": {field: json.loads(str(new)) if new is not None else None for field, new in changes},
            "corrections": {fact: json.loads(str(value)) for fact, value in corrections},
            "shared": db.execute("SELECT count(*) FROM shared_links").fetchone()[0],
        }


def click(opened: Browser, sessions: Mapping[str, str], one: Click) -> None:
    who, path, fields, _ = one
    headers = {
        "origin": str(opened.base_url).rstrip("/"),
        "accept": "application/json",
        "cookie": f"sale_sofia_session={sessions[who]}",
    }
    address = f"{opened.base_url}/flat/1/{path}"
    answer = httpx.post(address, data=fields, headers=headers, timeout=60, trust_env=False)
    assert answer.status_code == 200, answer.text


def household(data: Path) -> dict[str, str]:
    """Two people, each with the cookie of a session."""
    put_adverts(data, ADVERT)
    sessions = {}
    with browser(data) as ana:
        ana.fill("/people/add", name="Ана", language="en")
        ana.fill("/people/add", name="Борис", language="en", role="buyer")
        sessions["Ана"] = str(ana.cookies["sale_sofia_session"])
        origin = {"origin": str(ana.base_url).rstrip("/")}
        entered = httpx.post(link_for(ana, "Борис"), headers=origin, timeout=60, trust_env=False)
        sessions["Борис"] = entered.cookies["sale_sofia_session"]
    return sessions


def link_for(ana: Browser, name: str) -> str:
    """A link that lets this person in."""
    origin = {"origin": str(ana.base_url).rstrip("/")}
    shown = ana.post("/people/link", data={"name": name}, headers=origin).text
    return "http://" + shown.partition('value="http://')[2].partition('"')[0]


def test_an_answered_click_is_kept_and_another_may_be_repeated(tmp_path: Path) -> None:
    data, place, alone = tmp_path / "data", tmp_path / "place", tmp_path / "alone"
    data.mkdir()
    sessions = household(data)
    shutil.copytree(data, alone)
    answered: list[Snapshot] = []
    points = Enumeration(data, tmp_path / "states", lambda: len(answered))

    def work(folder: Path, seen: list[Snapshot]) -> None:
        with browser(folder) as opened:
            for one in CLICKS:
                click(opened, sessions, one)
                seen.append(snapshot(folder))

    counted = count_points(alone, partial(work, alone, []))
    points.run(partial(work, data, answered))
    assert [one[:3] for one, after in zip(CLICKS, answered, strict=True) if not one[3](after)] == []
    points.check_complete(counted, least=200)
    assert len(points.states) > len(CLICKS), "a state before each commit, and one after the last"
    for state in points.recovered(place):
        found = snapshot(place)
        lost = [one[:3] for one in CLICKS[: state.last][-1:] if not one[3](found)]
        assert lost == [], state
        if state.first == len(CLICKS):
            continue
        with browser(place) as opened:
            click(opened, sessions, CLICKS[state.first])
        again, once = snapshot(place), answered[state.first]
        assert {**again, "shared": 0} == {**once, "shared": 0}, state
        assert again["shared"] - once["shared"] in {0, 1}, "beside it one that nobody was told of"
    shutil.rmtree(tmp_path / "states")


def door_at(data: Path, path: str) -> str:
    """The secret that a new browser is given when it looks there."""
    with browser(data) as opened:
        return str(opened.get(path).cookies["sale_sofia_door"])


def enter(opened: Browser, path: str, door: str | None, fields: Mapping[str, str]) -> tuple[int, str]:
    """Send the form as a browser that has this secret and no session; what it then sees of the people."""
    with Browser(opened.base_url) as own:
        if door:
            own.cookies.set("sale_sofia_door", door)
        answer = own.post(path, data=fields, headers={"origin": str(own.base_url).rstrip("/")})
        return answer.status_code, plain(own.get("/people?lang=en").text)


def sessions_in(data: Path) -> int:
    with closing(sqlite3.connect(data / "sale_sofia.db")) as db:
        found = db.execute("SELECT count(*) FROM sign_ins WHERE kind = 'session'").fetchone()
    return int(found[0])


def let_in_once(tmp_path: Path, path: str, fields: Mapping[str, str], me: str) -> None:
    """Killed at every point of entering: who asks again is in by one session, and nobody else is."""
    data, place, alone = tmp_path / "data", tmp_path / "place", tmp_path / "alone"
    door, before = door_at(data, path.removesuffix("/add")), sessions_in(data)
    shutil.copytree(data, alone)
    points = Enumeration(data, tmp_path / "states", lambda: None)

    def work(folder: Path) -> None:
        with browser(folder) as opened:
            status, seen = enter(opened, path, door, fields)
            assert (status, f"{me} (me)" in seen) == (200, True)

    counted = count_points(alone, partial(work, alone))
    points.run(partial(work, data))
    points.check_complete(counted, least=20)
    spent = 0
    for state in points.recovered(place):
        committed = sessions_in(place) > before
        with browser(place) as opened:
            if committed:
                spent += 1
                for other in ("another-secret-of-another-browser", None):
                    status, seen = enter(opened, path, other, fields)
                    assert (status in {401, 410, 429}, "(me)" in seen) == (True, False), state
            for _ in range(2):
                status, seen = enter(opened, path, door, fields)
                assert (status, f"{me} (me)" in seen) == (200, True), state
        assert sessions_in(place) == before + 1, state
    assert 0 < spent < len(points.states), "killed before and after the commit"
    shutil.rmtree(tmp_path / "states")


def test_the_first_person_is_not_locked_out(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    put_adverts(tmp_path / "data", ADVERT)
    let_in_once(tmp_path, "/people/add", {"name": "Ана", "language": "en"}, "Ана")


def test_a_link_is_spent_for_who_has_heard_so(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    sessions = household(data)
    with browser(data) as ana:
        ana.cookies.set("sale_sofia_session", sessions["Ана"])
        link = link_for(ana, "Борис")
    let_in_once(tmp_path, urlsplit(link).path, {}, "Борис")


def count(data: Path, sql: str) -> int:
    with closing(sqlite3.connect(data / "sale_sofia.db")) as db:
        return int(db.execute(sql).fetchone()[0])


def kill_unanswered(served: Served, path: str, cookie: str, fields: Mapping[str, str], until: Wait) -> None:
    """Send a click to the real server, wait, and kill it; nobody reads what it may have answered."""
    address, body = urlsplit(served.url), urlencode(fields)
    lines = (
        f"POST {path} HTTP/1.1", f"host: {address.netloc}", f"origin: {served.url}", f"cookie: {cookie}",
        "content-type: application/x-www-form-urlencoded", f"content-length: {len(body)}", "", body,
    )  # fmt: skip
    with socket.create_connection((str(address.hostname), address.port or 0), timeout=60) as line:
        line.sendall("\r\n".join(lines).encode())
        end = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < end, f"{path} was never done"
            time.sleep(0.001)
        os.kill(served.pid, signal.SIGKILL)


def test_the_real_server_is_killed_before_and_after_each_commit(tmp_path: Path) -> None:
    put_adverts(tmp_path, ADVERT)
    ana, boris = httpx.Cookies(), httpx.Cookies()
    clicks: list[tuple[str, httpx.Cookies, dict[str, str], str]] = [
        ("/people/add", ana, {"name": "Ана", "language": "en"}, "SELECT count(*) FROM people"),
        ("/flat/1/note", ana, {"text": "light kitchen"}, "SELECT count(*) FROM property_notes"),
        ("", boris, {}, "SELECT count(*) FROM sign_ins WHERE kind = 'session'"),
    ]

    def send(served: Served, path: str, who: httpx.Cookies, fields: Mapping[str, str]) -> int:
        """The same click again, and its answer heard."""
        headers = {"origin": served.url}
        with Browser(served.url, who, follow_redirects=False) as opened:
            answer = opened.post(path, data=dict(fields), headers=headers)
            who.update(opened.cookies)
            return answer.status_code

    def look(served: Served, path: str, who: httpx.Cookies) -> str:
        with Browser(served.url, who, follow_redirects=False) as opened:
            shown = opened.get(path).text
            who.update(opened.cookies)
            return shown

    def invite(served: Served) -> str:
        send(served, "/people/add", ana, {"name": "Борис", "language": "en", "role": "buyer"})
        with Browser(served.url, ana, follow_redirects=False) as opened:
            path = urlsplit(link_for(opened, "Борис")).path
        look(served, path, boris)
        return path

    for path, who, fields, kept in clicks:
        before = count(tmp_path, kept)
        with running_dashboard(tmp_path) as served:
            if path == "/people/add":
                look(served, "/people", who)
            path = path or invite(served)  # noqa: PLW2901 - the link that is spent
            with closing(sqlite3.connect(tmp_path / "sale_sofia.db", isolation_level=None)) as held:
                held.execute("BEGIN IMMEDIATE")  # so nothing of it can be kept yet
                kill_unanswered(served, path, cookies_of(who), fields, lambda: True)
        assert count(tmp_path, kept) == before
        with running_dashboard(tmp_path) as served:
            kill_unanswered(served, path, cookies_of(who), fields, partial(_more, tmp_path, kept, before))
        with running_dashboard(tmp_path) as served:
            if path.startswith("/enter/"):
                assert send(served, path, httpx.Cookies(), fields) == 410, "it is spent for everybody else"
            assert send(served, path, who, fields) == 303
            assert count(tmp_path, kept) == before + 1, path
            for name, one in (("Ана", ana), ("Борис", boris)):
                if "sale_sofia_session" in one:
                    assert f"<b>{name}</b> (" in look(served, "/people", one), "nobody is locked out"
    assert [name for name, one in (("Ана", ana), ("Борис", boris)) if "sale_sofia_session" in one] == [
        "Ана", "Борис",
    ]  # fmt: skip


def _more(data: Path, sql: str, than: int) -> bool:
    return count(data, sql) > than


def cookies_of(who: httpx.Cookies) -> str:
    return "; ".join(f"{name}={value}" for name, value in who.items())
