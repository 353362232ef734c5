"""A database of release 1.0.0, once upgraded: every command that lists something does, every page answers."""

from pathlib import Path

import pytest
from starlette.routing import Route

from commands_here import Command, commands
from release_1_0 import REVISION, make_release_database
from sale_sofia.app.server import routes
from sale_sofia.storage.migrate import HEAD
from web_pages import browser

JOB = "bazar.bg-20261117-185305-967a30"
"""The portal's newest; its circuit was open for long."""
PLACE = "Горна баня"
FLAT = 5
"""In that place, on two portals; on the shortlist, with a note and a viewing."""
ADVERT = "bazar.bg/50000113"
"""One of its two; it came down from 180 675 € to 171 641 €."""
RULES = """
channels:
  phone: ntfy://127.0.0.1/flats
buyer:
  - {name: mine, search: mine, channels: [phone]}
"""
LISTED = {
    "report": "the circuit was open for 900 seconds",
    "report --json": "circuit_open_long",
    f"report {JOB}": "requests",
    "report --html report.html": "",
    "status": "imot.bg",
    "status --json": "bazar.bg",
    "jobs": JOB,
    "jobs --json": JOB,
    "changes --since 2026-11-01": PLACE,
    "changes --since 2026-11-01 --json": "171641",
    f"price-history {ADVERT}": "180 675",
    f"price-history {ADVERT} --json": "180675",
    "sweeps": "limited to 7 adverts",
    "sweeps --json": JOB,
    "properties": PLACE,
    "properties --json": PLACE,
    f"properties show {FLAT}": PLACE,
    f"properties show {FLAT} --json": "50000113",
    "properties review": "",
    "search": "171",
    "search --json": PLACE,
    "search saved": "mine",
    "search run mine": PLACE,
    "shortlist": PLACE,
    f"note {FLAT}": "светла кухня",
    f"evaluation {FLAT}": "renovation_eur: 5000",
    f"evaluation {FLAT} --json": "светла кухня",
    "evaluation 3": "noise",
    "viewing list": "planned",
    "viewing agenda": PLACE,
    "viewing export viewings.ics": "",
    "score": PLACE,
    "score --json": PLACE,
    f"score {FLAT}": PLACE,
    "profiles": "default",
    "profiles show default": "budget",
    "profiles check": "",
    "profiles learnt": "1 of 1 rejected",
    "market": "Лозенец",
    "market --json": "Лозенец",
    f"value {FLAT}": "",
    f"value {FLAT} --json": f'"property": {FLAT}',
    "agencies": "КЕРЕМИДЕНО ПТИЧЕ ХАУС",
    "agencies --json": "КЕРЕМИДЕНО ПТИЧЕ ХАУС",
    "people list": "",
    "share list": "",
    "sites list": "imot.bg",
    "sites drift": "bazar.bg",
    "sites drift --json": "bazar.bg",
    "sites learnt": "",
    "errors": "",
    "proxies list": "",
    "proxies sources": "",
    "proxies stats": "",
    "alerts rules": "mine",
    "alerts rules --preview": "mine",
    "alerts channels": "phone",
    "alerts log": PLACE,
    "alerts log --json": "no answer within 30 seconds",
    "alerts log --limit 1": "bazar.bg",
    "metrics --once": "imot.bg",
    "backup list": "",
    "export adverts.csv": "",
    "export adverts.jsonl": "",
    "export prices.csv --prices": "",
    "export all.parquet --all-generations": "",
    "match": "",
    "prune": "",
    "db check": "sound",
}
"""The commands, and what each has to name of the database of then; nothing where it prints none of it."""
SHOWN = {
    "/alerts": "no answer within 30 seconds", "/health": "900", "/search": "171 641",
    f"/flat/{FLAT}": "светла кухня", "/market": "Лозенец", "/mine": PLACE, "/agenda": PLACE,
}  # fmt: skip
"""Pages in English, and what each has to show of it."""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder that release 1.0.0 left, with rules for alerts."""
    make_release_database(tmp_path / "sale_sofia.db")
    (tmp_path / "alerts.yaml").write_text(RULES, "utf-8")
    return tmp_path


@pytest.mark.slow
def test_every_command_shows_what_was_there(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.chdir(data)
    command = commands(data, monkeypatch, capsys)
    wrong = {line: found for line, named in LISTED.items() if (found := _amiss(command, line, named))}
    assert wrong == {}
    assert command("circuits").code == 2  # they are in Redis, and none runs
    assert PLACE in (data / "adverts.csv").read_text("utf-8")
    assert "171641" in (data / "prices.csv").read_text("utf-8")


def _amiss(command: Command, line: str, named: str) -> str:
    """What is not as it should be with this command; nothing when all is."""
    told = command(*line.split())
    sound = told.code == 0 and named in told.out and "Traceback" not in told.out
    return "" if sound else f"{told.code}: {told.out}{told.err}"


@pytest.mark.slow
def test_every_page_is_there(data: Path) -> None:
    addresses = {
        one.path.replace("{number:id}", str(FLAT))
        for one in routes()
        if isinstance(one, Route) and one.methods and "GET" in one.methods
    }
    with browser(data) as buyer:
        buyer.cookies.set("sale_sofia_language", "en")
        there = {one: buyer.get(one).status_code for one in addresses if "{" not in one}
        assert {one: code for one, code in there.items() if code != 200} == {}
        assert there.keys() >= SHOWN.keys()
        assert {one: buyer.text(one) for one, named in SHOWN.items() if named not in buyer.text(one)} == {}


@pytest.mark.slow
def test_the_upgrade_says_from_where_to_where(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    for folder, said in (
        (data, f"upgraded from version {REVISION} to {HEAD}"),
        (data, f"already the newest version, {HEAD}"),
        (data / "new", f"made, version {HEAD}"),
    ):
        told = commands(folder, monkeypatch, capsys)("db", "upgrade")
        assert told == (0, f"{folder / 'sale_sofia.db'}: {said}\n", "")
