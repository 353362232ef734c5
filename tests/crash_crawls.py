"""Small crawls in this process, on a clock of the test's own, and what must be true of them after a crash."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Select, func, select

from crawls import Row, differences, truth
from forked_simulators import start_forked
from ready_files import put_ready_file
from sale_sofia.advice.scoring.runs import ScoreRun, score_all
from sale_sofia.advice.tables import scores
from sale_sofia.alerts import delivery
from sale_sofia.alerts.channels import channels_of
from sale_sofia.alerts.delivery import Delivery
from sale_sofia.alerts.looking import Looking
from sale_sofia.alerts.outbox import Delivered
from sale_sofia.alerts.rules import load_alerts
from sale_sofia.alerts.running import Alerts
from sale_sofia.crawl.fetch.base import Response
from sale_sofia.crawl.frontier import sweeping
from sale_sofia.crawl.frontier.frontier import Claim
from sale_sofia.crawl.frontier.planning import JobPlan, plan_job
from sale_sofia.crawl.runners import lane, local
from sale_sofia.crawl.runners.local import LocalRunner
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.crawl.visit import assembly
from sale_sofia.crawl.visit.judging import Judge
from sale_sofia.crawl.visit.outcomes import Outcome
from sale_sofia.descriptions import enrichment
from sale_sofia.descriptions.dictionary import read_description
from sale_sofia.descriptions.tables import description_reads
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import flats, listing_sources
from sale_sofia.history.export import export_listings
from sale_sofia.history.runs.reports import SessionReportGenerator
from sale_sofia.history.sightings import CARD
from sale_sofia.history.tables import (
    listing_changes,
    listings,
    market_events,
    pages,
    price_points,
    scrape_history,
    sweeps,
)
from sale_sofia.installation import open_database
from sale_sofia.settings.model import DATABASE_FILE, Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.telemetry.metrics import MetricsCollector, MetricsFlusher
from sale_sofia.websites.registry import get_scraper
from sale_sofia.websites.site_file import known_starts
from sale_sofia_simulator.running import RunningSimulator
from sale_sofia_simulator.simulation import SimulatorConfig

SITE = "imot.bg"
SEED = 2266
VISITS = scrape_history.outerjoin(listings, listings.c.id == scrape_history.c.listing_id)
VISITED = func.coalesce(scrape_history.c.url_key, "listing:" + listings.c.external_id).label("visited")
"""The key of the page: a visit of an advert names its listing instead."""
"""On its third day one advert is new, one is cheaper, and one has been missed twice."""
ADVERTS = 12
DAY = 86_400.0
MORNING = 1_790_000_000.0
LEASE = 600.0
"""Longer than a test may take, so that none is renewed in between."""
LATER = 2 * LEASE
"""So long after a crash the next run begins."""
RATES = {SITE: 60_000.0}
Knowledge = dict[str, Counter[str]]
"""Of each table what its rows say, without our own ids and moments."""
_WITH_A_CLOCK: tuple[Any, ...] = (
    Alerts.__init__,
    Delivery.__init__,
    Looking.__init__,
    MetricsCollector.__init__,
    MetricsFlusher.__init__,
    PropertyMatching.__init__,
    ScoreRun.run,
    SessionReportGenerator.__init__,
    score_all,
)
"""What goes by the time of day unless it is told otherwise; imported here, before another time is told."""


@dataclass(slots=True)
class Clock:
    """The time of day; it stands still until it is told otherwise."""

    now: float = MORNING

    def __call__(self) -> float:
        return self.now


class JudgeHere:
    """Reads pages in this process: to fork it for each crawl takes longer than the crawl."""

    def __init__(self, judge: Judge, _bounds: object) -> None:
        self.site, self._judge = judge.site, judge

    async def outcome(self, claim: Claim, response: Response, now: datetime) -> Outcome:
        return self._judge.outcome(claim, response, now)

    def close(self) -> None:
        pass


@contextmanager
def own_clock() -> Iterator[Clock]:
    """This process goes by a clock of its own, and is spared what would take longer than all its crawls.

    The collector is not called, site files and descriptions, which do not change, are read once, and pages
    are read here.
    """
    clock, real = Clock(), time.time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", clock)
        for function in _WITH_A_CLOCK:
            given, named = function.__defaults__ or (), function.__kwdefaults__ or {}
            patch.setattr(function, "__defaults__", tuple(clock if one is real else one for one in given))
            patch.setattr(
                function,
                "__kwdefaults__",
                {name: clock if one is real else one for name, one in named.items()},
            )
        patch.setattr(sweeping, "known_starts", cache(known_starts))
        patch.setattr(enrichment, "read_description", cache(read_description))
        patch.setattr(assembly, "JudgeApart", JudgeHere)
        for runner in (local, lane):
            patch.setattr(runner, "calm_collector", nullcontext)
        yield clock


@contextmanager
def portal(folder: Path, adverts: int = ADVERTS) -> Iterator[RunningSimulator]:
    """The simulated portal; its log and its truth are in the folder."""
    (folder / "log").touch()
    config = SimulatorConfig(
        sites=(SITE,), properties=adverts, seed=SEED, port=0, log=folder / "log", truth=folder / "truth"
    )
    with start_forked(config) as simulator:
        yield simulator


def asked(simulator: RunningSimulator) -> tuple[str, ...]:
    """The pages that the portal was asked for until now, by its own log."""
    assert simulator.log is not None
    paths = map(_path_in, simulator.log.read_text("utf-8").splitlines())
    return tuple(path for path in paths if path != "/robots.txt")


@cache
def _path_in(line: str) -> str:
    """The path in a line of the log, which is read at every point."""
    return str(json.loads(line)["path"])


def fetched_again(whole: tuple[str, ...], before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """How many pages were asked for once more because of a crash, before and after it.

    Who crashed when all pages had been asked for may have ended the crawl: then the next one looks at the
    searches anew, and must find nothing to open.
    """
    again = Counter(before + after) - Counter(whole)
    return sum(count for path, count in again.items() if before != whole or path.startswith("/obiava-"))


def check_requests(whole: tuple[str, ...], seen: Iterable[tuple[str, ...]]) -> None:
    """Of all requests, by the portal's log, each was between two points: there is a state without it."""
    counts = [len(pages) for pages in seen]
    assert counts[-1] == len(whole)
    assert all(later - earlier <= 1 for earlier, later in pairwise(counts))


@dataclass(slots=True)
class Crawler:
    """`sale-sofia crawl` with one visitor, in this process."""

    data: Path
    start_urls: tuple[str, ...]
    settings: Settings
    database: Database

    @classmethod
    def of(cls, data: Path, simulator: RunningSimulator, **more: Any) -> "Crawler":  # noqa: ANN401 - settings
        """A crawler of the portal, with these settings too."""
        put_ready_file(data / DATABASE_FILE)
        settings = Settings(data_dir=data, domain_rate_limits=RATES, lease_seconds=LEASE, **more)
        return cls(data, tuple(simulator.start_urls(SITE)), settings, open_database(settings))

    def crawl(self) -> None:
        """As the command does it: an unfinished crawl goes on, else one begins."""
        site = get_scraper(SITE)
        alone = site.config.politeness.model_copy(update={"concurrency": 1})
        config = site.config.model_copy(update={"politeness": alone})
        initialize_database(self.database)
        try:
            plan = JobPlan(site, self.start_urls, limit=None, fresh=False)
            job = plan_job(self.settings, self.database, plan)
            runner = LocalRunner(self.settings, self.database, configs={SITE: config})
            asyncio.run(runner.run([job], asyncio.Event()))
        finally:
            self.database.dispose()

    def faults(self, simulator: RunningSimulator) -> list[str]:
        """What is not as it must be when a crawl has ended, however often it was begun."""
        try:
            found = self.database.run_read(partial(_faults, archive=self.data / "archive"))
            true = truth(simulator)
            wrong = differences([row for row in self._stored() if (SITE, row["external_id"]) in true], true)
            return [*self.database.faults(), *found, *map(str, wrong.items())]
        finally:
            self.database.dispose()

    def _stored(self) -> list[Row]:
        path = self.data / "stored.jsonl"
        export_listings(self.database, path)
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]

    def gone(self) -> list[str]:
        """The adverts that are known to be gone."""
        found = select(listings.c.external_id).where(listings.c.gone_at.is_not(None))
        return self.database.run_read(lambda connection: list(connection.execute(found).scalars()))

    def knowledge(self) -> Knowledge:
        """All that the crawls have found out and concluded."""
        try:
            return self.database.run_read(knowledge_in)
        finally:
            self.database.dispose()


def _faults(connection: Connection, archive: Path) -> list[str]:
    return [*_open_ends(connection), *_lost(connection, archive), *_doubled(connection)]


def _open_ends(connection: Connection) -> Iterator[str]:
    open_rows = select(frontier.c.url).where(frontier.c.state.in_(("pending", "leased", "failed")))
    yield from (f"not at its end: {url}" for url in connection.execute(open_rows).scalars())
    for job in connection.execute(select(jobs).where(jobs.c.state != "COMPLETE")):
        yield f"job {job.id} is {job.state}: {job.error}"
    unjudged = select(jobs.c.id).where(jobs.c.id.not_in(select(sweeps.c.job_id).where(sweeps.c.complete)))
    yield from (f"job {job} has no complete sweep" for job in connection.execute(unjudged).scalars())


def _lost(connection: Connection, archive: Path) -> Iterator[str]:
    """Every page that is done has been read, and what was read of it is there."""
    read = select(VISITED).select_from(VISITS).where(scrape_history.c.verdict != CARD)
    done = select(frontier.c.url_key).where(frontier.c.state == "done", frontier.c.url_key.not_in(read))
    yield from (f"done, and was never read: {key}" for key in connection.execute(done).scalars())
    opened = select(listings.c.external_id).where(listings.c.opened_at.is_not(None))
    known = {f"listing:{one}" for one in connection.execute(opened).scalars()}
    visited = select(frontier.c.url_key).where(frontier.c.state == "done", frontier.c.kind == "listing")
    for key in set(connection.execute(visited).scalars()) - known:
        yield f"done, and not stored: {key}"
    for digest in connection.execute(select(pages.c.digest)).scalars():
        if not (archive / digest[:2] / f"{digest[2:]}.zst").exists():
            yield f"its page is not in the archive: {digest}"


def _doubled(connection: Connection) -> Iterator[str]:
    # An advert is seen in one job on its card, and then on its page.
    key = (scrape_history.c.job_id, VISITED, scrape_history.c.verdict == CARD)
    for row in connection.execute(select(*key).select_from(VISITS).group_by(*key).having(func.count() > 1)):
        yield f"read twice in one job: {row.visited}"


def knowledge_in(connection: Connection) -> Knowledge:
    """What a database says of adverts and flats, by the portals' ids."""
    advert = listings.c.external_id
    oldest = listings.alias("oldest")
    home = select(advert, oldest.c.external_id, listing_sources.c.decided_by)
    home = home.select_from(listing_sources.join(listings, listings.c.id == listing_sources.c.listing_id))
    c, p, m, d, s, f = (
        one.c for one in (listing_changes, price_points, market_events, description_reads, scores, flats)
    )
    questions: dict[str, Select[tuple[object, ...]]] = {
        "listings": select(advert, listings.c.generation, listings.c.content_hash, listings.c.gone_at),
        "changes": select(advert, c.field, c.old, c.new).join(listing_changes),
        "prices": select(advert, p.price_eur, p.vat, p.kind).join(price_points),
        "events": select(advert, m.kind, m.reason, m.at).join(market_events),
        "homes": home.join(oldest, oldest.c.id == listing_sources.c.property_id),
        "descriptions": select(advert, d.content_hash, d.attributes).join(description_reads),
        "flats": select(advert, f.offered, f.price_eur, f.area_sqm, f.sites, f.flags).join(
            flats, f.property_id == listings.c.id
        ),
        "scores": select(advert, s.profile, s.value, s.verdict, s.criteria).join(
            scores, s.property_id == listings.c.id
        ),
    }
    return {name: Counter(map(str, connection.execute(one))) for name, one in questions.items()}


def unlike(one: Knowledge, other: Knowledge) -> list[str]:
    """What one says and the other does not."""
    return [
        f"{name}: {one[name] - other[name]} instead of {other[name] - one[name]}"
        for name in one
        if one[name] != other[name]
    ]


def deliver_here(settings: Settings, _seconds: float) -> Delivered:
    """What the process that sends does, in this one."""
    file = load_alerts(settings.data_dir)
    assert file is not None
    database = open_database(settings)
    try:
        return Delivery(settings, database, channels_of(file), file.quiet_hours).run()
    finally:
        database.dispose()


@contextmanager
def delivering_here() -> Iterator[None]:
    """Messages are sent by this process, whose points are told, and not by another one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delivery, "send_out", deliver_here)
        yield
