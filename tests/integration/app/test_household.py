"""Two people of one household, over HTTP: three weeks of acting at the same moment, and nobody as another.

What each was told and what is kept is compared with what each did, as this test noted it.
"""

import random
import re
import sqlite3
import stat
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest
from starlette.requests import Request

from alert_servers import BOT, HOST, alert_servers
from alert_world import DAY, AlertWorld, facts_in
from app_runs import put_adverts
from browser_pages import PAGES
from commands_here import commands
from contract.storage.helpers import ready_database
from crash_crawls import delivering_here, own_clock
from dashboards import running_dashboard
from release_1_0 import make_release_database
from sale_sofia.alerts.running import Alerts
from sale_sofia.app import application
from sale_sofia.app.visit import AppState, PageVisit
from sale_sofia.listings.dates import SOFIA
from sale_sofia.settings.model import Settings
from web_pages import Browser, browser, plain

NOON = datetime(2026, 5, 4, 12, tzinfo=SOFIA).timestamp()
ADVERT = {"deal": "sale", "property_type": "apartment", "title": "Тристаен", "price_eur": 100_000.0}
SHOWN = re.compile(r'value="(http://[^"]+)"')
REASONS = ("noise", "floor", "street")
SESSION = "sale_sofia_session"


@contextmanager
def another(known: Browser) -> Iterator[Browser]:
    """A browser that nobody knows yet."""
    with Browser(known.base_url) as opened:
        opened.cookies.set("sale_sofia_language", "en")
        yield opened


def origin(opened: Browser) -> dict[str, str]:
    return {"origin": str(opened.base_url).rstrip("/")}


def shown_link(asks: Browser, path: str, **fields: str) -> str:
    """The link that a page shows after this form."""
    answer = asks.post(path, data=fields, headers=origin(asks))
    found = SHOWN.search(answer.text)
    assert found, plain(answer.text)
    return found[1]


def send(opened: Browser, path: str, **fields: str) -> None:
    """A click, as the pages' script sends it."""
    answer = opened.post(path, data=fields, headers={**origin(opened), "accept": "application/json"})
    assert answer.status_code == 200, answer.text


@contextmanager
def couple(data: Path) -> Iterator[tuple[Browser, Browser]]:
    """Ана, who operates, on a phone, and Борис at a desk."""
    with browser(data) as ana, another(ana) as boris:
        ana.cookies.set("sale_sofia_language", "en")
        ana.headers["user-agent"] = "Mozilla/5.0 (Linux; Android 14) Chrome/140.0 Mobile Safari/537.36"
        ana.fill("/people/add", name="Ана", language="en")
        ana.fill("/people/add", name="Борис", language="en", role="buyer")
        boris.post(shown_link(ana, "/people/link", name="Борис"), headers=origin(boris))
        yield ana, boris


@dataclass
class Life:
    """What one of them did."""

    name: str
    opened: Browser
    chance: random.Random
    opinions: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    notes: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    viewings: list[float] = field(default_factory=list)

    def day(self, number: int, flats: list[int], seen_at: int) -> None:
        """Two opinions, two notes, and a viewing now and then; one after the other, as a person does."""
        for turn in range(2):
            flat = self.chance.choice(flats)
            self._decide(flat)
            text = f"{self.name} {number}.{turn}"
            send(self.opened, f"/flat/{flats[0]}/note", text=text)
            self.notes[flats[0]].append(text)
        if number % 4 == len(self.name) % 4:
            at = datetime.fromtimestamp(NOON + (number + 5) * DAY, SOFIA)
            hour = f"{8 + len(self.name)}:{number:02}"
            send(self.opened, f"/flat/{seen_at}/viewing", day=f"{at:%d.%m.%Y}", hour=hour, agent=self.name)
            hours, minutes = map(int, hour.split(":"))
            self.viewings.append(at.replace(hour=hours, minute=minutes).timestamp())

    def _decide(self, flat: int) -> None:
        status = self.chance.choice(("shortlist", "rejected", "new"))
        reason = self.chance.choice(REASONS) if status == "rejected" else ""
        send(self.opened, f"/flat/{flat}/status", status=status, reason=reason)
        self.opinions.pop(flat, None)
        if status != "new":
            self.opinions[flat] = ("liked" if status == "shortlist" else "rejected", reason or None)


def at_once(*works: Callable[[], None]) -> None:
    """All of them begin at the same moment."""
    gate = threading.Barrier(len(works))

    def begin(work: Callable[[], None]) -> None:
        gate.wait(60)
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(begin, works))


def visit_now(state: AppState, request: Request, form: Mapping[str, str] | None = None) -> PageVisit:
    """A request at the moment that the test's clock shows."""
    return PageVisit(state, request, form or {}, now=time.time())


def test_three_weeks_of_two_people_who_act_at_the_same_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with alert_servers() as servers, own_clock() as clock, delivering_here():
        clock.now = NOON
        monkeypatch.setattr(application, "PageVisit", visit_now)
        database = ready_database(tmp_path / "sale_sofia.db")
        world = AlertWorld(Settings(data_dir=tmp_path), database, NOON)
        world.begin(servers, flats=8)
        world.match()
        alerts = Alerts(world.settings, database)
        alerts.run(60)
        told_before = len(servers.came)
        flats = [world.property_id(f"old{number}") for number in range(4)]
        cheaper, seen_at, unwanted, followed = (world.property_id(f"old{number}") for number in range(4, 8))
        with couple(tmp_path) as (phone, desk):
            lives = [
                Life("Ана", phone, random.Random(1)), Life("Борис", desk, random.Random(2))
            ]  # fmt: skip
            for number in range(21):
                clock.now = world.now = NOON + number * DAY
                if number == 2:
                    send(desk, f"/flat/{followed}/status", status="shortlist")
                    ways = (partial(send, one.opened, f"/flat/{unwanted}/status") for one in lives)
                    at_once(*(partial(way, status="rejected") for way in ways))
                if number % 7 == 3:
                    world.seen(f"n{number}", 100 + number)
                    world.expect("new", f"n{number}")
                if number == 8:
                    world.cut("old4", 10)
                    world.cut("old6", 10)  # which both rejected: nobody is told
                    world.expect("cut", "old4")
                if number == 15:
                    world.gone("old7")
                    world.expect("gone", "old7")
                world.match()
                at_once(*(partial(life.day, number, flats, seen_at) for life in lives))
                alerts.run(60)
                upcoming = {at for life in lives for at in life.viewings if at + 1800 > clock.now}
                if number % 7 == 6:
                    for life in lives:
                        found = life.opened.data("/mine.json")["viewings"]
                        assert {one["starts_at"] for one in found} == upcoming
            check_flats(lives, flats)
            ended = phone.data(f"/flat/{unwanted}.json")
            assert (ended["status"], len(ended["opinions"])) == ("rejected", 2)
            assert [one.data(f"/flat/{followed}.json")["status"] for one in (phone, desk)] == [
                "new",
                "shortlist",
            ]
            assert phone.data(f"/flat/{cheaper}.json")["previous_price_eur"] is not None
            calendar = desk.get("/mine/viewings.ics").text
            assert calendar.count("BEGIN:VEVENT") == sum(len(life.viewings) for life in lives)
        database.dispose()
        told = sorted(fact for one in servers.came[told_before:] for fact in facts_in(one))
        assert told == sorted(world.expected.elements())
    written = rows(tmp_path, "SELECT written_by, text FROM property_notes ORDER BY id")
    for life in lives:
        assert [text for who, text in written if who == life.name] == life.notes[flats[0]]


def check_flats(lives: list[Life], flats: list[int]) -> None:
    """Each flat as each sees it: both opinions, all notes, and a status of their own."""
    for flat in flats:
        said = [(life.name, *life.opinions[flat]) for life in lives if flat in life.opinions]
        noted = sorted(text for life in lives for text in life.notes[flat])
        kinds = {life.opinions[flat][0] for life in lives if flat in life.opinions}
        for life in lives:
            found = life.opened.data(f"/flat/{flat}.json")
            assert [(one["person"], one["opinion"], one["reason"]) for one in found["opinions"]] == said
            assert sorted(one["text"] for one in found["notes"]) == noted
            own = {"liked": "shortlist", "rejected": "rejected"}.get(
                life.opinions.get(flat, ("new",))[0], "new"
            )
            assert found["status"] == own, (flat, kinds)


def rows(data: Path, sql: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(data / "sale_sofia.db")) as db:
        return db.execute(sql).fetchall()


def test_nothing_of_one_persons_session_reaches_another(tmp_path: Path) -> None:
    put_adverts(tmp_path, ADVERT)
    with couple(tmp_path) as (ana, boris):
        mine = re.compile(r'<a class="language" href="/people">([^<]*)</a>')

        def look(opened: Browser, name: str) -> None:
            for path in ("/people", "/mine", "/flat/1", "/search") * 3:
                answer = opened.get(path)
                assert mine.findall(answer.text) == [name], path
                assert answer.headers["cache-control"] == "no-store"

        at_once(*(partial(look, *one) for one in ((ana, "Ана"), (boris, "Борис")) * 3))
        sessions = {name: str(one.cookies[SESSION]) for name, one in (("Ана", ana), ("Борис", boris))}
        link = shown_link(ana, "/people/link", name="Ана")
        shared = shown_link(ana, "/flat/1/share", days="7")
        tokens = [one.rpartition("/")[2].partition("?")[0] for one in (link, shared)]
        with another(ana) as thief:
            digests = [digest for (digest,) in rows(tmp_path, "SELECT digest FROM sign_ins")]
            for wrong in (*tokens, *digests, sessions["Ана"][:-1], f"{sessions['Ана']}x", "", "1", "Ана"):
                thief.cookies.set(SESSION, wrong.encode().hex() if not wrong.isascii() else wrong)
                assert thief.get("/people").status_code == 401
                thief.cookies.delete(SESSION)
            for wrong in (*sessions.values(), tokens[1], *digests):
                assert thief.get(f"/enter/{wrong}").status_code == 410
                assert thief.get(f"/shared/{wrong}").status_code == (200 if wrong == tokens[1] else 410)
        with closing(sqlite3.connect(tmp_path / "sale_sofia.db")) as db:
            db.execute("UPDATE sign_ins SET ends_at = ? WHERE kind = 'link'", (time.time() - 1,))
            db.execute(
                "UPDATE sign_ins SET ends_at = ? WHERE kind = 'session' AND person_id ="
                " (SELECT id FROM people WHERE name = 'Борис')",
                (time.time() - 1,),
            )
            db.commit()
        assert ana.post(link, headers=origin(ana)).status_code == 410
        assert (boris.get("/people").status_code, ana.get("/people").status_code) == (401, 200)


def test_no_secret_is_in_a_log_a_page_a_backup_or_the_list_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, word, mailbox = tmp_path / "data", "a long password", "of-the-mailbox-77"
    wrong = {"token": BOT.replace("AAH", "AAX"), "password": "wrong-of-the-mailbox-99"}
    data.mkdir()
    put_adverts(data, ADVERT)
    with (
        alert_servers() as servers,
        running_dashboard(data, ALERT_TELEGRAM_URL=servers.telegram_url) as served,
        Browser(served.url) as ana,
    ):
        door = ana.get("/people").cookies["sale_sofia_door"]
        ana.fill("/people/add", name="Ана", language="en")
        ana.fill("/people/password", password=word)
        links = [
            shown_link(ana, "/people/link", name="Ана"),
            shown_link(ana, "/flat/1/share", days="7"),
            shown_link(ana, "/agenda/subscribe"),
        ]
        tokens = [one.rpartition("/")[2].partition("?")[0].removesuffix(".ics") for one in links]
        used = (*links, f"/shared/{tokens[0]}", f"/do/{tokens[0]}.{tokens[1]}")
        assert [ana.get(one).status_code for one in used] == [200, 200, 200, 410, 410]
        servers.mail_password, servers.chats[77] = mailbox, "Ана"
        server = {"host": HOST, "port": str(servers.mail_port), "mode": "insecure"}
        for token, password in ((wrong["token"], wrong["password"]), (BOT, mailbox)):
            ana.fill("/channels/telegram", token=token)
            ana.fill("/channels/chat", chat="77")
            ana.fill("/channels/mail", address="ana@example.com", password=password, **server)
        assert [one.channel for one in servers.came] == ["telegram", "mail"]
        secrets = [*tokens, str(ana.cookies[SESSION]), door, word, BOT, mailbox, *wrong.values()]
        addresses = [f"/{one}{form}" for one in (*PAGES, "flat/1") for form in ("", ".json")]
        pages = [ana.get(path).text for path in addresses]
        processes = list(command_lines())
        said = [served.told()]
        command = commands(data, monkeypatch, capsys)
        monkeypatch.setenv("BACKUP_DIR", str(tmp_path / "copies"))
        monkeypatch.setenv("ALERT_TELEGRAM_URL", servers.telegram_url)
        asked = ("backup", "backup list", "share list", "people list", "alerts channels", "alerts test")
        answers = [command(*words.split()) for words in asked]
    assert [one.code for one in answers] == [0] * len(asked)
    said += [f"{one.out}{one.err}" for one in answers]
    own = data / "channels.yaml"
    assert (stat.S_IMODE(own.stat().st_mode), BOT in own.read_text("utf-8")) == (0o600, True)
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != own]
    kept = [path.read_bytes().decode(errors="replace") for path in files]
    assert len(kept) > 1
    for place in (pages, processes, said, kept):
        assert [secret for secret in secrets for text in place if secret in text] == []


def command_lines() -> Iterator[str]:
    """Of all processes, as every user of the machine sees them."""
    for one in Path("/proc").iterdir():
        with suppress(OSError):  # it has ended
            yield (one / "cmdline").read_bytes().decode(errors="replace")


def test_what_the_one_buyer_of_release_1_0_said_becomes_the_first_persons(tmp_path: Path) -> None:
    make_release_database(tmp_path / "sale_sofia.db")
    with browser(tmp_path) as ana:
        ana.cookies.set("sale_sofia_language", "en")
        alone = {number: ana.data(f"/flat/{number}.json") for number in (3, 5)}
        assert [alone[number]["status"] for number in (3, 5)] == ["rejected", "shortlist"]
        ana.fill("/people/add", name="Ана", language="en")
        ana.fill("/people/add", name="Борис", language="en", role="buyer")
        with another(ana) as boris:
            boris.post(shown_link(ana, "/people/link", name="Борис"), headers=origin(boris))
            for number, liking, reason in ((3, "rejected", "noise"), (5, "liked", None)):
                first, second = (one.data(f"/flat/{number}.json") for one in (ana, boris))
                said = [(one["person"], one["opinion"], one["reason"]) for one in first["opinions"]]
                assert said == [("Ана", liking, reason)]
                assert (first["status"], second["status"]) == (alone[number]["status"], "new")
                assert first["notes"] == second["notes"] == alone[number]["notes"]
            assert [one["text"] for one in ana.data("/flat/5.json")["notes"]] == ["светла кухня"]
            assert len(ana.data("/flat/5.json")["viewings"]) == 1
