"""A crawl asks only for what may be new, and misses nothing that a card shows."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from sqlalchemy import select

from crawls import ALONE, FAST, crawl_arguments, requests, run, truth
from forked_simulators import start_forked
from passing_days import DAY, PassingDays, passing_days
from sale_sofia.history.tables import listings, market_events, scrape_history
from sale_sofia.websites.site_file import load_site_config
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "imot.bg"
ADVERTS = 80
DAYS = 5
"""Thirty of them: bench/history_crawls.py."""


def pages(log: Path) -> int:
    return sum(row["path"] != "/robots.txt" for row in requests(log))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_commands_of_a_buyer_over_two_days(tmp_path: Path) -> None:
    """The first crawl, the same again, a day later, in full: what each asks for, what the commands say."""
    data, log = tmp_path / "data", tmp_path / "log"
    config = SimulatorConfig(
        sites=(SITE,), properties=ADVERTS, seed=3, port=0, truth=tmp_path / "truth.json", log=log
    )
    asked: list[int] = []
    with start_forked(config) as simulator:
        before = truth(simulator)
        crawl = crawl_arguments(simulator, SITE)

        def crawled(*more: str) -> dict[str, Any]:
            told = run(data, *crawl, *more, **ALONE, **FAST)
            asked.append(pages(log) - sum(asked))
            job: dict[str, Any] = json.loads(told.stdout)["jobs"][0]
            assert (told.returncode, job["state"]) == (0, "COMPLETE"), told.stderr
            return job

        assert crawled()["new"] == ADVERTS
        assert (again := crawled())["adverts"] == ADVERTS
        assert (again["new"], again["changed"]) == (0, 0)
        first_day = run(data, "changes", "--since", "24h", "--json")
        simulator.advance()
        after = truth(simulator)
        job = crawled()
        later = lines(run(data, "changes", "--since", "24h", "--json").stdout)
        crawled("--full")
    assert len(lines(first_day.stdout)) == ADVERTS
    assert asked[1] <= 0.06 * asked[0]
    assert asked[2] <= 0.10 * asked[0]
    assert asked[3] >= len(after)

    came = {key for key in after if key not in before}
    stayed = [(key, before[key], after[key]) for key in before if key in after]
    reused = {key for key, old, new in stayed if differs(old, new, "area_sqm") and differs(old, new, "floor")}
    repriced = {key for key, old, new in stayed if differs(old, new, "price_eur")} - reused
    assert ids(later, "new") == {external_id for _, external_id in (*before, *came)}
    assert ids(later, "price") == {external_id for _, external_id in repriced}
    assert len(repriced) >= 1
    assert ids(later, "gone") == {external_id for _, external_id in reused}
    assert job["changed"] >= len(repriced)
    assert job["new"] == len(came) + len(reused) > 0

    some = next(iter(repriced))
    told = json.loads(run(data, "price-history", f"{SITE}/{some[1]}", "--json").stdout)["listings"][0]
    points = [(point["price_eur"], point["kind"]) for point in told["points"]]
    assert points == [(before[some]["price_eur"], "first"), (after[some]["price_eur"], "price")]
    assert told["price_per_sqm"] == after[some]["price_eur"] / after[some]["area_sqm"]
    shown = run(data, "price-history", after[some]["url"])
    assert "first seen" in shown.stdout
    assert (shown.returncode, shown.stderr) == (0, "")
    table = run(data, "changes", "--since", "today", "--kind", "price")
    assert f"{len(repriced)} price" in table.stdout
    sweeps = json.loads(run(data, "sweeps", "--json").stdout)["sweeps"]
    assert [(one["complete"], one["everything"]) for one in sweeps] == [
        (True, True),
        (True, False),
        (True, False),
        (True, False),
    ]
    assert sweeps[0]["adverts"] == len(after)
    assert "yes" in run(data, "sweeps").stdout


def differs(old: dict[str, Any], new: dict[str, Any], field: str) -> bool:
    return bool(old[field] != new[field])


def ids(found: list[dict[str, Any]], kind: str) -> set[str]:
    return {one["external_id"] for one in found if one["kind"] == kind}


def test_days_of_crawls(tmp_path: Path) -> None:
    with passing_days(tmp_path, SITE, properties=60, seed=8) as days:
        _, first = days.crawl()
        there = [set(truth(days.simulator))]
        costs = []
        for _ in range(DAYS):
            days.next_day()
            report, asked = days.crawl()
            assert report.state == "COMPLETE"
            costs.append(len(asked) / len(first))
            now = truth(days.simulator)
            there.append(set(now))
            assert wrong_cards(days, now) == {}
        assert sum(costs) / len(costs) <= 0.20
        assert max(costs) <= 0.25
        assert removals(days) == expected_removals(there) != []


def wrong_cards(days: PassingDays, now: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    """What a card shows of each advert on the market, and how it is stored."""
    names = ("price_eur", "area_sqm", "floor")
    found = select(listings.c.external_id, *(listings.c[name] for name in names)).where(
        listings.c.closed_at.is_(None), listings.c.gone_at.is_(None)
    )
    with days.database.read() as connection:
        stored = {row[0]: tuple(row[1:]) for row in connection.execute(found)}
    true = {key: tuple(row[name] for name in names) for (_, key), row in now.items()}
    return {key: (told, stored.get(key)) for key, told in true.items() if stored.get(key) != told}


def removals(days: PassingDays) -> list[tuple[str, int]]:
    began = market_events.c.at
    found = (
        select(listings.c.external_id, began)
        .join_from(market_events, listings)
        .where(market_events.c.kind == "gone", market_events.c.reason == "missed")
    )
    with days.database.read() as connection:
        start = connection.execute(
            select(listings.c.first_seen_at).order_by(listings.c.id).limit(1)
        ).scalar_one()
        return sorted((row[0], round((row[1] - start) / DAY)) for row in connection.execute(found))


def expected_removals(there: list[set[tuple[str, str]]]) -> list[tuple[str, int]]:
    """Whoever is away on two days in a row went on the first of them."""
    return sorted(
        (key, day)
        for day in range(1, len(there) - 1)
        for _, key in there[day - 1] - there[day] - there[day + 1]
    )


def test_what_the_portal_calls_unmodified_is_not_sent_again(tmp_path: Path) -> None:
    with passing_days(tmp_path, SITE, properties=12, seed=4, etag=True) as days:
        plain = load_site_config(SITE)
        asking = plain.model_copy(update={"history": plain.history.model_copy(update={"conditional": True})})
        days.config = asking
        days.crawl()
        with days.database.read() as connection:
            before = connection.execute(select(listings)).mappings().all()
        days.day = 40  # every advert is due, and none has changed
        report, asked = days.crawl()
        adverts = [row for row in asked if "/obiava-" in row["path"]]
        assert {(row["status"], row["bytes"]) for row in adverts} == {(304, 0)}
        assert len(adverts) == report.adverts == 12
        with days.database.read() as connection:
            after = connection.execute(select(listings)).mappings().all()
            verdicts = select(scrape_history.c.verdict).where(scrape_history.c.listing_id.is_not(None))
            seen = Counter(connection.execute(verdicts).scalars())
            assert seen == {"card": 12, "ok": 12, "not_modified": 12}
    assert [row["consecutive_unchanged"] for row in after] == [1] * 12
    assert all(
        new["revisit_seconds"] > old["revisit_seconds"] for old, new in zip(before, after, strict=True)
    )
    assert [row["content_hash"] for row in after] == [row["content_hash"] for row in before]
