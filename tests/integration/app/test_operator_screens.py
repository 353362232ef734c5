"""Health, market, same flat elsewhere, criteria and alerts: the values they show, also of nothing at all."""

import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from sqlalchemy import delete, func, insert, select, update

from app_runs import open_screen, put_adverts, spaced, store, table, words
from sale_sofia.advice.elsewhere import cheaper_elsewhere
from sale_sofia.advice.market.market import Cell, read_market
from sale_sofia.advice.scoring.profile import load_profile
from sale_sofia.app import formatting as shown
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.flats import overrides
from sale_sofia.flats.rows import read_flats
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import listing_sources, match_links
from sale_sofia.flats.views import review_queue
from sale_sofia.history.jobs import JobState
from sale_sofia.history.tables import listings
from sale_sofia.settings.model import Settings, load_settings
from sale_sofia.settings.words import Said
from sale_sofia.telemetry.incidents import IncidentKind, Trouble, open_incident

SCREENS = ("market", "cross_site", "criteria", "alerts", "health")
KNOWN = {
    "deal": "sale", "property_type": "apartment", "rooms": 3, "title": "Тристаен", "price_eur": 200_000.0,
    "vat": "included", "area_sqm": 100.0, "floor": 3, "floors_total": 8, "construction": "brick",
    "year_built": 2015, "condition": "renovated", "act_status": "act16", "city": "София",
    "neighbourhood": "Лозенец", "elevator": True,
    "description": "x", "seller_kind": "agency", "seller_name": "Агенция",
}  # fmt: skip


@pytest.mark.parametrize("name", SCREENS)
def test_an_empty_database_is_said_to_be_empty(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = words(open_screen(name, tmp_path, monkeypatch))
    expected = {
        "market": "Няма имоти, от които да се смята.",
        "cross_site": "Още няма нито една обява.",
        "criteria": "**0 → 0 минават**",
        "alerts": "Още няма правила. Започнете тук, или с: sale-sofia alerts init",
        "health": 'imot.bg</strong> <span class="ss-small">– не се събират</span> · още не е събирано',
    }
    assert expected[name] in told


@pytest.mark.parametrize("advert", [KNOWN, {}], ids=["one advert", "everything unknown"])
def test_one_advert(advert: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, advert)
    known = bool(advert)
    health = open_screen("health", tmp_path, monkeypatch)
    assert table(health)[0] == {
        "Портал": "imot.bg", "Състояние": "✓ пресни", "Последна обява": "току-що",
        "Намерени / обичайно": "? / ?", "Нови": "?", "Променени": "?", "Свалени": "?", "На пазара": "1",
    }  # fmt: skip
    market = open_screen("market", tmp_path, monkeypatch)
    assert ("? · n = 1" in words(market)) == known
    assert ("Няма имоти" in words(market)) != known
    criteria = words(open_screen("criteria", tmp_path, monkeypatch))
    assert ("**1 → 1 минават**" if known else "**1 → 0 минават; за 1 не се знае**") in criteria
    assert "по-евтино от друг: **0**" in words(open_screen("cross_site", tmp_path, monkeypatch))


def test_the_demo_world_is_counted_as_the_database_has_it(
    demo_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store(demo_world).read() as connection:
        there = select(listings.c.site, func.count()).where(
            listings.c.gone_at.is_(None), listings.c.closed_at.is_(None)
        )
        offered: dict[str, int] = dict(connection.execute(there.group_by(listings.c.site)).all())
        runs = connection.execute(select(jobs).order_by(jobs.c.created_at.desc()).limit(2)).mappings().all()
    health = open_screen("health", demo_world, monkeypatch)
    shown = {row["Портал"]: row for row in table(health)}
    assert {site: row["На пазара"] for site, row in shown.items()} == {k: str(v) for k, v in offered.items()}
    assert {row["Състояние"] for row in shown.values()} == {"✓ пресни"}
    for run in runs:
        found = shown[run["site"]]
        counted = (str(run["new_listings"]), str(run["changed_listings"]))
        assert (found["Нови"], found["Променени"]) == counted
    history = table(health, 2)
    assert len(history) == 14
    assert {row["Край"] for row in history} == {"✓ завършено"}


def test_the_state_comes_from_the_data_and_not_from_the_last_run(
    demo_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last run is complete; yet one portal's adverts are old, and the other's prices are in doubt."""
    with store(demo_copy).write() as connection:
        old = update(listings).where(listings.c.site == "bazar.bg")
        connection.execute(old.values(last_seen_at=time.time() - 40 * 3600))
        trouble = Trouble(IncidentKind.PRICE_MEANING, "imot.bg", Said.of("<b>55</b> € where 55000 € was"))
        open_incident(connection, trouble, now=time.time())
    health = open_screen("health", demo_copy, monkeypatch)
    states = {row["Портал"]: row["Състояние"] for row in table(health)}
    assert states == {"bazar.bg": "! закъсняват", "imot.bg": "✗ отказват"}
    told = words(health)
    assert "последната обява е видяна преди 40 ч" in told
    assert "отворен инцидент: цените значат друго" in told
    (incident,) = table(health, 2)
    assert (incident["Състояние"], incident["Защо"]) == ("● отворен", "<b>55</b> € where 55000 € was")


def test_a_failed_page_is_listed_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_adverts(tmp_path, KNOWN)
    now = time.time()
    with store(tmp_path).write() as connection:
        job = {"id": "j1", "site": "imot.bg", "state": JobState.COMPLETE.value, "start_urls": []}
        connection.execute(insert(jobs).values(**job, created_at=now, started_at=now, finished_at=now))
        row = {"kind": "listing", "url": "https://www.imot.bg/x", "url_key": "x", "state": "failed"}
        connection.execute(insert(frontier).values(job_id="j1", reason="LayoutChanged: no price", **row))
    health = open_screen("health", tmp_path, monkeypatch)
    (page,) = table(health, 3)
    assert (page["Вид"], page["Защо"], page["Адрес"]) == (
        "обява", "LayoutChanged: no price", "https://www.imot.bg/x",
    )  # fmt: skip


def test_a_flat_cheaper_elsewhere_counts_vat_on_both_sides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = KNOWN | {"title": "На друг портал", "seller_name": "Друга"}
    bazar = {"site": "bazar.bg", "external_id": "5000", "url": "https://bazar.bg/obiava-5000/x"}
    put_adverts(tmp_path, KNOWN | {"price_eur": 200_000.0, "vat": "excluded"})
    _put_beside(tmp_path, there | bazar | {"price_eur": 220_000.0, "vat": "included"})
    told = words(open_screen("cross_site", tmp_path, monkeypatch))
    assert "по-евтино от друг: **1**" in told
    assert "<strong>€ 220 000 (bazar.bg)</strong> вместо <s>€ 200 000 без ДДС (imot.bg)</s>" in told
    assert "▼ −€ 20 000 с ДДС (−8,3 %)" in told


def _put_beside(data: Path, advert: dict[str, object]) -> None:
    """A second advert, of the flat that is there: the buyer says so."""
    put_adverts(data, advert)
    matching = PropertyMatching(Settings(data_dir=data), store(data))
    matching.match_all()
    with matching.database.read() as connection:
        one, two = connection.scalars(
            select(listing_sources.c.property_id).order_by(listing_sources.c.listing_id)
        )
    if one != two:
        overrides.link(matching, one, two)


def test_an_unsure_pair_goes_to_the_end_of_the_queue_and_stays_there_after_a_reload(
    demo_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store(demo_copy).read() as connection:
        before = review_queue(connection, limit=200)
    assert len(before) > 1
    screen = open_screen("cross_site", demo_copy, monkeypatch)
    assert f"Чакат отговор: **{len(before)}**" in words(screen)
    assert "Не сте сигурни от" not in words(screen)
    screen.button(key="cross_unsure").click().run()
    with store(demo_copy).read() as connection:
        after = review_queue(connection, limit=200)
    assert [line[:5] for line in after] == [line[:5] for line in (*before[1:], before[0])]
    for _ in before[1:]:
        screen = open_screen("cross_site", demo_copy, monkeypatch)
        assert "Не сте сигурни от" not in words(screen)
        screen.button(key="cross_unsure").click().run()
    told = words(open_screen("cross_site", demo_copy, monkeypatch))
    assert f"Чакат отговор: **{len(before)}**" in told
    assert f"Не сте сигурни от {shown.moment(after[-1].unsure_since)}." in told


def test_the_demo_has_flats_that_are_cheaper_elsewhere_and_pairs_to_review(
    demo_world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store(demo_world).read() as connection:
        cheaper = cheaper_elsewhere(read_flats(connection))
    told = words(open_screen("cross_site", demo_world, monkeypatch))
    assert f"по-евтино от друг: **{len(cheaper)}**" in told
    assert "<strong>€ 330 299 (bazar.bg)</strong> вместо <s>€ 355 160 (imot.bg)</s>" in told
    assert "▼ −€ 24 861 (−7,0 %)" in told
    assert "Чакат отговор: **4**. За тази двойка вероятността е 98 %." in told


@pytest.mark.parametrize(("answer", "flats", "left"), [("same", 1, 0), ("different", 2, 0), ("unsure", 2, 1)])
def test_a_pair_is_the_same_different_or_left_open(
    answer: str, flats: int, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_adverts(tmp_path, KNOWN, KNOWN | {"floor": 6, "price_eur": 260_000.0, "area_sqm": 70.0})
    matching = PropertyMatching(Settings(data_dir=tmp_path), store(tmp_path))
    matching.match_all()
    with matching.database.write() as connection:
        low, high = sorted(connection.scalars(select(listings.c.id)))
        connection.execute(delete(match_links))
        connection.execute(insert(match_links).values(low=low, high=high, probability=0.62, kind=0))
    screen = open_screen("cross_site", tmp_path, monkeypatch)
    assert "Чакат отговор: **1**. За тази двойка вероятността е 62 %." in words(screen)
    assert [list(row) for row in screen.table[0].value[["A", "", "B"]].values][1] == [
        "100\xa0m²",
        "≠",
        "70\xa0m²",
    ]
    screen.button(key=f"cross_{answer}").click().run()
    assert ("Чакат отговор: **1**" in words(screen)) == bool(left)
    with matching.database.read() as connection:
        found = connection.scalars(select(listing_sources.c.property_id).distinct()).all()
    assert len(found) == flats


def test_a_changed_criterion_is_previewed_saved_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = KNOWN | {"metro_distance_m": 300}, KNOWN | {"metro_distance_m": 3000}
    put_adverts(tmp_path, near, far | {"external_id": "2"})
    criteria = open_screen("criteria", tmp_path, monkeypatch)
    assert "**2 → 2 минават**" in words(criteria)
    criteria.number_input(key="criteria:default:must.metro_most_minutes").set_value(10).run()
    assert "**2 → 1 минават; 1 отпадат само заради: метро**" in words(criteria)
    assert load_profile(tmp_path, "default").must.metro_most_minutes is None
    criteria.button(key="save").click().run()
    assert "Профилът „default“ е запазен." in words(criteria)
    assert load_profile(tmp_path, "default").must.metro_most_minutes == 10
    again = open_screen("criteria", tmp_path, monkeypatch)
    assert again.number_input(key="criteria:default:must.metro_most_minutes").value == 10


def test_wrong_criteria_are_said_and_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    criteria = open_screen("criteria", tmp_path, monkeypatch)
    criteria.number_input(key="criteria:default:budget_eur").set_value(0).run()
    assert "Бюджет с всичко" in criteria.error[0].value
    assert not (tmp_path / "profiles").exists()
    assert [button.key for button in criteria.button if button.key == "save"] == []


def test_alerts_show_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = {
        "channels": {"phone": "json://user:TopSecret77@127.0.0.1:9/token-Secret88"},
        "quiet_hours": {"from": "22:30", "to": "08:00"},
        "buyer": [{"name": "Моят", "profile": "default", "channels": ["phone"], "digest": "08:30"}],
        "operator": [{"name": "Crawls", "incidents": ["collapse"], "channels": ["phone"]}],
    }
    (tmp_path / "alerts.yaml").write_text(yaml.safe_dump(rules, allow_unicode=True), "utf-8")
    alerts = open_screen("alerts", tmp_path, monkeypatch)
    told = words(alerts)
    assert "**phone** · `json://***` · Моят, Crawls" in told
    assert "Тихи часове: 22:30–08:00" in told
    assert [(row["Правило"], row["Кога"], row["Казва"]) for row in table(alerts)] == [
        ("Моят", "веднъж дневно в 08:30", "нови, поевтинели, отново на пазара, свалени, по-евтини другаде"),
        ("Crawls", "веднага", "срив на броя обяви"),
    ]
    alerts.button(key="test:phone").click().run()
    assert len(alerts.error) == 1
    everything = words(alerts) + str([table(alerts)])
    assert "Secret77" not in everything
    assert "Secret88" not in everything


def test_the_language_can_be_switched(demo_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    health = open_screen("health", demo_world, monkeypatch, lang="en")
    assert health.title[0].value == "Scraper health"
    assert {row["State"] for row in table(health)} == {"✓ fresh"}


def test_market_figures_are_those_of_the_command(demo_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    market = open_screen("market", demo_world, monkeypatch)
    with store(demo_world).read() as connection:
        found = read_market(connection, load_settings(), now=datetime.now(UTC).timestamp())
    city = found.cells[Cell(None, None)]
    assert city.eur_sqm is not None
    first = table(market)[0]
    assert (first["Квартал"], first["n"], first["На пазара"]) == ("цяла София", city.prices, city.stock)
    assert first["Медиана €/m²"] == spaced(f"€ {city.eur_sqm.median:,.0f}/m²".replace(",", " "))
