"""Over HTTP: what each role may do, and that every change of what is shared is kept with who made it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from app_runs import store
from sale_sofia.buyer.changes import SharedChange, latest_changes
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.settings.model import Settings
from web_pages import Browser, form_fields, plain

OWN = {"deal": "sale", "property_type": "apartment", "city": "София", "neighbourhood": "Център"}
ADVERTS = [
    OWN | {"title": "Двустаен", "rooms": 2, "price_eur": 100_000.0},
    OWN | {"title": "Тристаен", "rooms": 3, "price_eur": 150_000.0},
]
REFUSED = ("Only that person, or an operator, can do this.", "Only whose channel it is may do this")
HOOK, RULES = "json://127.0.0.1:9/hook", "channels:\n  hand: json://127.0.0.1:9/hook\n"


@contextmanager
def entered(ana: Browser, name: str, role: str) -> Iterator[Browser]:
    """Somebody else, in a browser of their own."""
    ana.fill("/people/add", name=name, language="en", role=role)
    shown = ana.post("/people/link", data={"name": name}).text
    with Browser(ana.base_url) as opened:
        opened.cookies.set("sale_sofia_language", "en")
        opened.post(f"/enter/{shown.partition('/enter/')[2].partition('?')[0]}")
        yield opened


@pytest.fixture
def boris(ana: Browser) -> Iterator[Browser]:
    with entered(ana, "Борис", "buyer") as opened:
        yield opened


OPERATED: Mapping[str, dict[str, str]] = {
    "/people/add": {"name": "", "language": "en"},
    "/people/link": {"name": "Ана"},
    "/people/remove": {"name": "Ана"},  # who is the only one of her kind, or is refused before that
    "/health/run": {"site": "nowhere.bg"},
    "/health/probe": {"site": "nowhere.bg"},
    "/health/page/1/reparse": {},
    "/channels/mail": {"address": "", "host": "127.0.0.1"},
    "/channels/ntfy": {"topic": "не така", "server": "http://127.0.0.1:9"},
    "/channels/other": {"url": "no address"},
    "/channels/test": {"channel": "hand"},
    "/alerts/test": {"channel": "hand"},
}
"""What is for who operates; sent so that nothing comes of it when it is let through."""


@pytest.mark.parametrize("path", OPERATED)
def test_only_operators_do_what_is_theirs(path: str, ana: Browser, boris: Browser, tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text(RULES, "utf-8")
    told = [boris.post(path, data=OPERATED[path]), ana.post(path, data=OPERATED[path])]
    refused = [any(one in plain(answer.text) for one in REFUSED) for answer in told]
    assert refused == [True, False], [plain(answer.text)[:300] for answer in told]


def test_a_buyer_sees_no_button_that_is_not_theirs(ana: Browser, boris: Browser, tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text(RULES, "utf-8")
    for path, form in (
        ("/health", "/health/run"),
        ("/people", "/people/add"),
        ("/people", "/people/remove"),
        ("/channels", "/channels/other"),
        ("/channels", "/channels/test"),
        ("/alerts", "/alerts/test"),
    ):
        seen = [f'action="{form}"' in opened.html(path) for opened in (boris, ana)]
        assert seen == [False, True], form


def test_a_buyer_decides_all_that_is_the_households(ana: Browser, boris: Browser, tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text(RULES, "utf-8")
    clicks: Mapping[str, dict[str, str]] = {
        "/flat/1/status": {"status": "shortlist"},
        "/flat/1/stars": {"stars": "4"},
        "/flat/1/note": {"text": "light"},
        "/flat/1/step": {"step": "contacted"},
        "/flat/1/decide_by": {"decide_by": "2099-01-02"},
        "/flat/1/viewing": {"day": "01.12.2030", "hour": "10:00"},
        "/flat/1/viewing/1": {"day": "02.12.2030", "hour": "11:00"},
        "/flat/1/correct": {"fact": "floor", "value": "4"},
        "/flat/1/share": {"days": "7"},
        "/flat/1/tell": {},
        "/search/save": {"name": "Наше", "rooms": "3"},
        "/agenda/subscribe": {},
        "/criteria?profile=default": form_fields(
            boris.html("/criteria?profile=default"), "form:has(input[value='money'])"
        ),
    }
    for path, fields in clicks.items():
        answer = boris.post(path, data=fields)
        wrong = re.search(r'role="alert"[^>]*>\s*([^<\s][^<]*)', answer.text)
        assert (answer.status_code, wrong and wrong[1]) == (200, None), (path, plain(answer.text)[:300])
    (flat,) = ana.data("/mine.json")["board"]["viewing"]
    assert flat["id"] == 1


def test_every_change_of_what_is_shared_keeps_who_made_it(
    ana: Browser, boris: Browser, tmp_path: Path
) -> None:
    (tmp_path / "alerts.yaml").write_text(RULES, "utf-8")
    boris.fill("/search/save", name="Наше", rooms="3", back="/search")
    assert re.search(r"Наше saved by Борис, \d\d\.\d\d\.20\d\d", ana.text("/search"))
    ana.fill("/search/save", name="Наше", rooms="2", replace="on", back="/search")
    assert "Наше saved by Ана, " in boris.text("/search")
    boris.fill("/search/tell", rooms="2", back="/search")
    assert "added by Борис, " in ana.text("/alerts").partition("Наше")[2]
    stamp = form_fields(ana.html("/alerts"), "form[action='/alerts/switch']")["stamp"]
    ana.fill("/alerts/switch", stamp=stamp, enabled="false")
    assert "changed by Ана, " in boris.text("/alerts").partition("Наше")[2]
    stamp = form_fields(ana.html("/alerts"), "form[action='/alerts/remove']")["stamp"]
    boris.fill("/alerts/remove", stamp=stamp)
    ana.fill("/search/forget", name="Наше", back="/search")
    page = "/criteria?profile=default"
    money = form_fields(boris.html(page), "form:has(input[value='money'])") | {"budget_eur": "200000"}
    boris.fill(page, **money)
    assert "changed by Борис, " in ana.text(page)
    boris.fill(page, section="another", name="ours")
    ana.fill("/flat/1/share", days="7")
    boris.fill("/shared_links/end", link="1", back="/flat/1")
    ana.fill("/people/add", name="Вера", language="en", role="buyer")
    ana.fill("/people/remove", name="Вера")
    database = store(tmp_path)
    found = database.run_read(lambda connection: latest_changes(connection, 100))
    database.dispose()
    assert [_told(one) for one in reversed(found)] == [
        "Ана person Ана made",
        "Ана person Борис made",
        "Борис search Наше made",
        "Ана search Наше changed",
        "Борис rule Наше made",
        "Ана rule Наше changed",
        "Борис rule Наше removed",
        "Ана search Наше removed",
        "Борис profile default changed",
        "Борис profile ours made",
        "Ана share 1 made",
        "Борис share 1 removed",
        "Ана person Вера made",
        "Ана person Вера removed",
    ]
    told = boris.text("/people").partition("Who changed what")[2]
    for line in ("link to flat 1: removed by Борис, ", "profile “default”: changed by Борис, "):
        assert line in told, told


def _told(one: SharedChange) -> str:
    return f"{one.changed_by} {one.about} {one.name} {one.what}"


def test_every_change_of_a_flat_keeps_who_made_it(ana: Browser, boris: Browser, tmp_path: Path) -> None:
    database = store(tmp_path)
    PropertyMatching(Settings(data_dir=tmp_path), database).match_new()
    database.dispose()
    boris.fill("/flat/1/correct", fact="floor", value="4", back="/flat/1")
    ana.fill("/flat/1/correct", fact="floor", value="", back="/flat/1")
    ana.fill("/cross_site/answer", one="1", two="2", answer="different", back="/flat/1")
    boris.fill("/cross_site/answer", one="1", two="2", answer="same", back="/flat/1")
    ana.fill("/flat/1/split", listing="2", back="/flat/1")
    boris.fill("/flat/1/viewing", day="01.12.2030", hour="10:00", back="/flat/1")
    ana.fill("/flat/1/viewing/1", day="02.12.2030", hour="11:00", back="/flat/1")
    boris.fill("/flat/1/viewing/1", state="cancelled", back="/flat/1")
    ana.fill("/flat/1/step", step="offer", back="/flat/1")
    told = boris.text("/flat/1")
    for line in (
        "Борис · Floor: 4",
        "Ана · Floor: –",
        "Ана · not the same flat as 2",
        "Борис · viewing: when: – → 01.12.2030 10:00",
        "Ана · viewing: when: 01.12.2030 10:00 → 02.12.2030 11:00",
        "Борис · viewing: state: planned → cancelled",
        "Ана · status: viewing → offer",
    ):
        assert line in told, (line, told.partition("History")[2] or told)
    changes = ana.text("/people").partition("Who changed what")[2]
    assert [one.split(", ")[2] for one in re.findall(r"flats 1, 2: [^:]+?, \d", changes)] == [
        "says Ана", "says Борис", "says Ана",
    ], changes  # fmt: skip
    data = boris.data("/flat/1.json")
    assert [(one["said_by"], one["value"]) for one in data["facts_said"]] == [("Борис", 4), ("Ана", None)]
    assert [(one["said_by"], one["other"], one["same"]) for one in data["pairs_said"]] == [("Ана", 2, False)]


def test_a_channel_of_the_file_says_for_whom_it_is(ana: Browser, boris: Browser, tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text(RULES, "utf-8")
    said = "hand · json://*** · of the file of rules · for all of the household; so without links"
    assert [said in one.text("/channels") for one in (ana, boris)] == [True, True]
