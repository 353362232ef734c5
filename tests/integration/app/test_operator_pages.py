"""Health: what to do comes first, its numbers are those of the database, what portals sent stays inert."""

import json
import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from sqlalchemy import insert, select, update

from app_runs import put_adverts, store
from command_lines import fault
from sale_sofia.app import errands
from sale_sofia.app import formatting as fmt
from sale_sofia.app.pages import health
from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.jobs import JobState
from sale_sofia.history.pages import PageRecord, record_pages
from sale_sofia.history.runs.health import REASONS
from sale_sofia.history.tables import listings, scopes, sweeps
from sale_sofia.operations.portals import FILLED, read_portals, read_runs
from sale_sofia.settings.model import Settings
from sale_sofia.settings.words import LANGUAGES, Said, dictionary
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident
from sale_sofia.websites.registry import AVAILABLE_SITES
from sale_sofia_simulator.render import RenderedPage, render_world
from sale_sofia_simulator.world import make_world
from web_pages import browser, harm, spaced

KNOWN = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "title": "Тристаен", "price_eur": 200_000.0,
    "area_sqm": 100.0, "city": "София", "neighbourhood": "Лозенец",
}  # fmt: skip
HOSTILE = "<script>alert(1)</script><b>55</b>"
INERT = "default-src 'none'; sandbox; frame-ancestors 'none'"


def test_before_the_first_crawl_it_says_how_to_begin(tmp_path: Path) -> None:
    with browser(tmp_path) as operator:
        html = operator.html("/health")
        assert "Още няма нито една обява." in operator.text("/health")
    tree = LexborHTMLParser(html)
    assert _tasks(html) == [(site, f"sale-sofia crawl {site}") for site in AVAILABLE_SITES]
    (folded,) = tree.css("main details")
    assert "open" in folded.attributes


def test_the_numbers_are_those_of_the_database(demo_world: Path) -> None:
    settings = Settings(data_dir=demo_world)
    read = partial(read_portals, sites=AVAILABLE_SITES, settings=settings, now=time.time())
    rows = {row.site: row for row in store(demo_world).run_read(read) if row.runs}
    runs = store(demo_world).run_read(read_runs)
    with browser(demo_world) as operator:
        html, data = operator.html("/health"), operator.data("/health.json")
    assert {
        site: (state, found, stored) for site, state, _, found, *_, stored in _table(html, "portals")
    } == {
        site: ("✓ пресни", f"{row.runs[0].adverts} / {fmt.number(row.expected)}", str(row.adverts))
        for site, row in rows.items()
    }
    assert _table(html, "fill") == [
        [site, *(spaced(fmt.percent(row.fill[name])) for name in FILLED)] for site, row in rows.items()
    ]
    told = [
        (site, began, new, gone) for site, began, *_, new, _, gone, _, _ in _table(html, "runs", last=True)
    ]
    assert told == [(run.site, fmt.moment(run.started_at), str(run.new), str(run.gone)) for run in runs]
    assert {one["site"]: one["adverts"] for one in data["portals"] if one["adverts"]} == {
        site: row.adverts for site, row in rows.items()
    }


def test_nothing_to_do_is_said_and_unused_portals_come_last_and_folded(demo_world: Path) -> None:
    with browser(demo_world) as operator:
        html = operator.html("/health")
        english = operator.text("/health?lang=en")
    tree = LexborHTMLParser(html)
    assert "✓ Няма нищо за правене." in html
    parts = tree.css("main > section, main > details")
    assert parts[0].attributes["aria-labelledby"] == "tasks"
    assert parts[-1].tag == "details"
    assert "open" not in parts[-1].attributes
    unused = [site for site, _ in _tasks(html)]
    assert set(unused) == set(AVAILABLE_SITES) - {"imot.bg", "bazar.bg"}
    assert "There is nothing to do." in english


def test_what_to_do_comes_first_the_worst_above(demo_copy: Path) -> None:
    """The last run is complete; yet one portal's adverts are old, and the other's prices are in doubt."""
    with store(demo_copy).write() as connection:
        old = update(listings).where(listings.c.site == "bazar.bg")
        connection.execute(old.values(last_seen_at=time.time() - 40 * 3600))
        for kind, site in (
            (IncidentKind.DISK_LOW, "sale-sofia"),
            (IncidentKind.PRICE_MEANING, "imot.bg"),
            (IncidentKind.DRIFT_FILL, "imot.bg"),
        ):
            open_incident(connection, Trouble(kind, site, Said.of(HOSTILE)), now=time.time())
    with browser(demo_copy) as operator:
        html, told = operator.html("/health"), operator.text("/health")
        data = operator.data("/health.json")
    wanted = [
        ("imot.bg", "sale-sofia sites drift imot.bg"),
        ("bazar.bg", "sale-sofia crawl bazar.bg"),
        ("sale-sofia", "sale-sofia prune"),
        ("imot.bg", "sale-sofia sites probe imot.bg"),
    ]
    assert _tasks(html)[:4] == wanted
    assert [(one["site"], one["command"]) for one in data["tasks"]] == wanted
    assert "последната обява е видяна преди 40 ч" in told
    assert "отворен инцидент: по-малко попълнени полета" in told
    states = {row[0]: row[1] for row in _table(html, "portals")}
    assert states == {"bazar.bg": "! закъсняват", "imot.bg": "✗ отказват"}
    assert {row[3] for row in _table(html, "incidents")} == {HOSTILE}
    assert harm(html) == []


def test_a_crawl_that_does_not_move_is_told_once(tmp_path: Path) -> None:
    put_adverts(tmp_path, KNOWN)
    with store(tmp_path).write() as connection:
        stuck = Trouble(IncidentKind.STUCK_JOB, "imot.bg", Said.of("x"))
        open_incident(connection, stuck, now=time.time())
    with browser(tmp_path) as operator:
        html = operator.html("/health")
    assert [one for one in _tasks(html) if one[0] == "imot.bg"] == [("imot.bg", "sale-sofia resume")]


def test_today_tells_what_the_crawl_does_how_the_last_ended_and_when_the_next_begins(tmp_path: Path) -> None:
    now = time.time()
    put_adverts(tmp_path, KNOWN)
    common = {"created_at": now - 7200, "started_at": now - 7200, "start_urls": []}
    crawls: dict[str, dict[str, object]] = {
        "imot.bg": {"state": "PROCESSING", "runner": "local", "new_listings": 2},
        "bazar.bg": {"state": "EMPTY", "finished_at": now - 3 * 3600},
        "homes.bg": {"state": "PROCESSING"},
        "olx.bg": {"state": "COMPLETE", "finished_at": now - 5 * 3600, "listing_limit": 10},
    }
    with store(tmp_path).write() as connection:
        for site, own in crawls.items():
            connection.execute(insert(jobs).values(id=site, site=site, **common, **own))
        for number, state in enumerate(("done", "done", "leased")):
            row = {"job_id": "imot.bg", "kind": "listing", "state": state, "lease_until": now + 60}
            connection.execute(insert(frontier).values(url=f"u{number}", url_key=f"u{number}", **row))
        connection.execute(insert(scopes).values(id=1, site="olx.bg", digest="d", start_urls=[]))
        few = {"complete": False, "adverts": 10, "reason": Said("sweep.limited", adverts=10)}
        place = {"job_id": "olx.bg", "scope_id": 1, "site": "olx.bg", "started_at": now - 7200}
        connection.execute(insert(sweeps).values(**place, **few))
    (tmp_path / "schedule.yaml").write_text('crawls:\n- {name: x, at: "03:30"}\n', "utf-8")
    with browser(tmp_path) as buyer:
        told, data = buyer.text("/"), buyer.data("/today.json")
    assert "Събира се сега: imot.bg · спряно преди края: homes.bg · ⚠ не всичко е наред: bazar.bg" in told
    assert "imot.bg : 3 видени, 2 отворени, 0 може да подхождат, 2 нови;" in told
    assert "homes.bg : спряно, преди да свърши; започна преди 2 ч" in told
    assert "bazar.bg : свърши преди 3 ч · ✗ празно" in told
    assert "olx.bg : свърши преди 5 ч: 10 обяви, от тях нови 0" in told
    found = {one["site"]: (one["state"], one["wrong"]) for one in data["crawls"]}
    assert found["bazar.bg"] == ("ended", ["✗ празно"])
    assert found["olx.bg"] == ("ended", [])
    assert now < data["next_crawl_at"] <= now + 25 * 3600


def test_today_tells_what_the_last_crawl_brought(demo_world: Path) -> None:
    (run, *_) = store(demo_world).run_read(partial(read_runs, site="imot.bg"))
    with browser(demo_world) as buyer:
        told = buyer.text("/")
    assert f": {fmt.number(run.adverts)} обяви, от тях нови {fmt.number(run.new)}" in told
    assert "няма насрочено следващо" in told


def test_whatever_is_wrong_has_a_sentence_and_a_command_that_is_there() -> None:
    assert set(health.REMEDIES) == set(IncidentKind)
    assert set(health.BY_REASON) == set(REASONS) - {"incident", "seen"}
    for word, command in {*health.REMEDIES.values(), *health.BY_REASON.values()}:
        assert set(dictionary()[f"web.do.{word}"]) == set(LANGUAGES)
        assert fault(command.format(site="imot.bg")) is None


@pytest.mark.parametrize("name", health.TRENDS)
def test_the_chart_shows_the_number_that_was_chosen(name: str, demo_world: Path) -> None:
    runs = store(demo_world).run_read(partial(read_runs, site="imot.bg"))
    with browser(demo_world) as operator:
        html = operator.html(f"/health?trend={name}")
    points = [
        (day, value)
        for site, day, value in (
            [cell.text() for cell in row.css("td")]
            for row in LexborHTMLParser(html).css("section .data tbody tr")
        )
        if site == "imot.bg"
    ]
    assert points == [(fmt.day(run.started_at), str(getattr(run, name))) for run in reversed(runs)]


def _listing() -> RenderedPage:
    return next(
        page
        for page in render_world(make_world(2, 5))
        if page.truth["kind"] == "listing" and page.site == "imot.bg"
    )


def _put_failed(data: Path, url: str, kind: str = "listing", body: bytes | None = None) -> int:
    """A page that a run gave up, with what was kept of it; its number."""
    now, database = time.time(), store(data)
    with database.write() as connection:
        if connection.scalar(select(jobs.c.id)) is None:
            job = {"id": "j1", "site": "imot.bg", "state": JobState.COMPLETE.value, "start_urls": []}
            connection.execute(insert(jobs).values(**job, created_at=now, started_at=now, finished_at=now))
        row = {"kind": kind, "url": url, "url_key": url[:400], "state": "failed", "attempts": 3}
        made = insert(frontier).values(job_id="j1", code="ParseSelector", reason=HOSTILE, **row)
        number = connection.execute(made.returning(frontier.c.id)).scalar_one()
        if body is not None:
            digest = PageArchive(data / "archive", 10**9).put(body)
            page = PageRecord("imot.bg", url, "listing", digest, "text/html; charset=windows-1251", now)
            record_pages(connection, [page])
    database.dispose()
    return int(number)


def test_a_page_that_could_not_be_read_is_seen_as_text_that_does_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, KNOWN)
    body = f"<html><body>{HOSTILE} Лозенец</body></html>"
    kept = _put_failed(tmp_path, "https://www.imot.bg/x", body=body.encode("cp1251"))
    search = _put_failed(tmp_path, "https://www.imot.bg/search", kind="search")
    with browser(tmp_path) as operator:
        html = operator.html("/health")
        page = operator.get(f"/health/page/{kept}")
        assert "От тази страница не е запазено нищо." in operator.text(f"/health/page/{search}", 404)
        assert "От тази страница не е запазено нищо." in operator.text("/health/page/999", 404)
        monkeypatch.setattr(health, "FAILED_PAGES_SHOWN", 1)
        few = operator.html("/health")
    assert len(_table(few, "failed-pages")) == 1
    assert all("Страници, които не можаха да се прочетат: 2." in text for text in (html, few))
    first, second = _table(html, "failed-pages")
    assert (first[0], first[2:5], first[6]) == (
        "imot.bg", ["обява", f"ParseSelector: {HOSTILE}", "3"], "https://www.imot.bg/x",
    )  # fmt: skip
    assert second[1:3] == ["не", "търсене"]
    assert page.text == body
    assert page.headers["content-type"] == "text/plain; charset=utf-8"
    assert page.headers["content-security-policy"] == INERT
    assert page.headers["x-content-type-options"] == "nosniff"
    assert harm(html) == []


def test_a_kept_page_is_read_again_from_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    put_adverts(tmp_path, KNOWN)
    page = _listing()
    good = _put_failed(tmp_path, page.url, body=page.body)
    bad = _put_failed(tmp_path, "https://www.imot.bg/bad", body=b"<html></html>")
    gone = _put_failed(tmp_path, "https://www.imot.bg/gone")
    with browser(tmp_path) as operator:
        told = {
            number: operator.fill(f"/health/page/{number}/reparse", back="/health")
            for number in (good, bad, gone)
        }
    assert "Страницата е прочетена и запазена." in told[good]
    assert "Страницата все още не може да се прочете." in told[bad]
    assert "От тази страница не е запазено нищо." in told[gone]
    with store(tmp_path).read() as connection:
        stored = set(connection.scalars(select(listings.c.external_id)))
    assert stored == {"1b1", page.truth["external_id"]}


def _tasks(html: str) -> list[tuple[str, str]]:
    """Who waits for the operator, with the command that helps."""
    found = LexborHTMLParser(html).css("ul.tasks > li")
    return [
        (site.text(), command.text())
        for one in found
        if (site := one.css_first("strong")) and (command := one.css_first("code"))
    ]


def _table(html: str, section: str, *, last: bool = False) -> list[list[str]]:
    """The first or the last table of a section, row by row."""
    tables = LexborHTMLParser(html).css(f'section[aria-labelledby="{section}"] table')
    rows = tables[-1 if last else 0].css("tbody tr")
    return [[cell.text().strip() for cell in row.css("th, td")] for row in rows]


def test_a_portal_is_crawled_and_probed_from_the_page_once_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands are stood in for: they wait until they are let go, and answer as the real ones do."""
    put_adverts(tmp_path, KNOWN)
    go = tmp_path / "go"
    probed = {"probes": [{"verdict": "reads in part", "reasons": ["no phones", HOSTILE]}]}
    wait = "import os,sys,time\nwhile not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
    asked: list[tuple[str, str]] = []

    def command(kind: errands.Kind, site: str) -> list[str]:
        asked.append((kind, site))
        end = f"print({json.dumps(json.dumps(probed))})" if kind == "probe" else "sys.exit('portal is busy')"
        return [sys.executable, "-c", f"{wait}{end}", str(go)]

    monkeypatch.setattr(errands.Errands.__init__, "__defaults__", (command,))
    with browser(tmp_path) as operator:
        back = {"site": "imot.bg", "back": "/health"}
        assert "Започна: Събери сега, imot.bg." in operator.fill("/health/run", **back)
        assert "Вече тече: Събери сега, imot.bg." in operator.fill("/health/run", **back)
        assert "imot.bg · Провери: тече от " in operator.fill("/health/probe", **back)
        assert "Няма такъв портал." in operator.fill("/health/run", site="nowhere.bg", back="/health")
        stranger = operator.post("/health/run", data=back, headers={"origin": "http://evil.example"})
        assert stranger.status_code == 403
        assert asked == [("run", "imot.bg"), ("probe", "imot.bg")]
        go.touch()
        ended = time.monotonic() + 60
        while any(one["ended_at"] is None for one in operator.data("/health.json")["errands"]):
            assert time.monotonic() < ended, "the errands did not end"
            time.sleep(0.02)
        told, html = operator.text("/health"), operator.html("/health")
        assert "imot.bg · Провери: ! чете се отчасти no phones; <script>" in told
        assert "imot.bg · Събери сега: ✗ не успя portal is busy" in told
        assert harm(html) == []
        assert "Започна: Събери сега, imot.bg." in operator.fill("/health/run", **back)
    assert asked[2:] == [("run", "imot.bg")]


def test_what_was_started_from_the_page_ends_with_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, KNOWN)
    pid = tmp_path / "pid"
    script = f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)"
    sleeping = [sys.executable, "-c", script]
    monkeypatch.setattr(errands.Errands.__init__, "__defaults__", (lambda _kind, _site: sleeping,))
    with browser(tmp_path) as operator:
        operator.fill("/health/probe", site="imot.bg", back="/health")
        while not (pid.exists() and pid.read_text()):
            time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_the_commands_of_the_buttons_are_there() -> None:
    for words in errands.COMMANDS.values():
        assert fault(f"sale-sofia {' '.join(words)} imot.bg --json") is None


def test_the_demo_asks_no_real_portal(demo_copy: Path) -> None:
    with browser(demo_copy) as operator:
        told = operator.fill("/health/run", site="imot.bg", back="/health")
        assert "Това е демото: порталите му са измислени" in told
        assert operator.data("/health.json")["errands"] == []
