"""What metrics and logs cost: their share of a crawl's CPU time, and the time of a scrape.

A portal is crawled in this process, by the engine of `bench/engine.py`: without politeness, robots.txt and
archive, so that nothing else makes the share look smaller; every fiftieth answer is a fault, and is logged.
Logs go to a file as in the command. CPU time of all threads is sampled (`sampling.py`); what counts is
everything under the counters, their way into the database, and the log. Goal: 2 %. Beside it stands what else
`telemetry/` does for a crawl: the counts of fields that tell when a portal's pages change, and the report. A
scrape is timed on a database with a year of nightly runs: the first one reads them all, the next ones do not.
"""

import argparse
import tempfile
import time
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sqlalchemy import insert, select

import measure
import our_engine
from crawling import CRAWLER_CORE, DISTINCT, NO_CAP, PORTAL_CORE, SITE, core
from sale_sofia.crawl.tables import jobs
from sale_sofia.installation import open_database
from sale_sofia.operations.metrics import Exporter
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from sale_sofia.telemetry.logs import log_for_person, log_to_file
from sale_sofia.telemetry.tables import run_metrics
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.running import start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig
from sampling import Sampler

GOAL = 0.02
VISITORS = 16
FAULTS = "503:0.01,captcha:0.01"
ADVERTS, QUICK_ADVERTS = 3000, 600
NIGHTS = 365
SCRAPES = 5
METRICS, LOGS, DRIFT, OTHER_MONITORING = "metrics", "logs", "drift", "other monitoring"
_FILES = {
    METRICS: ("telemetry/metrics.py",),
    LOGS: ("logging/__init__.py", "telemetry/logs.py", "telemetry/log_lines.py", "/structlog/"),
    DRIFT: ("history/drift/",),
    OTHER_MONITORING: ("sale_sofia/telemetry/",),
}
"""The first that fits is taken."""
_COUNTING = ("crawl/visit/writer.py", "count")
"""Functions of this file whose names have this word count fields, too."""
_known: dict[CodeType, str | None] = {}


def main() -> None:
    """Crawl, sample, scrape, and end with one JSON object."""
    options = measure.options(__doc__)
    with tempfile.TemporaryDirectory(prefix="bench-metrics-") as name:
        folder = Path(name)
        shares = _crawl(folder, QUICK_ADVERTS if options.quick else ADVERTS)
        scrapes = _scrape(folder)
    share = shares["metrics_and_logs_share"]
    result = {"bench": "metrics", "goal": GOAL, **shares, **scrapes}
    measure.finish(result, met=share <= GOAL, check=options.check)


def _crawl(folder: Path, adverts: int) -> dict[str, Any]:
    config = SimulatorConfig(
        sites=(SITE,),
        properties=adverts,
        distinct=min(adverts, DISTINCT),
        port=0,
        options={SITE: PortalOptions(most_results=NO_CAP)},
        faults=FAULTS,
    )
    with core(PORTAL_CORE):
        simulator = start_in_process(config)
    with simulator, core(CRAWLER_CORE):
        urls = simulator.start_urls(SITE)
        options = argparse.Namespace(folder=folder, concurrency=VISITORS, urls=urls)
        settings = our_engine.settings_for(options)
        database = open_database(settings)
        initialize_database(database)
        log_for_person(settings)
        log = log_to_file(settings, "crawl")
        with Sampler(_room) as sampled:
            our_engine.crawl(options, settings, database)
        database.dispose()
    return _shares(sampled, adverts, log)


def _shares(sampled: Sampler, adverts: int, log: Path) -> dict[str, Any]:
    shares = {name: round(sampled.share(name), 4) for name in _FILES}
    for name, share in shares.items():
        print(f"{name:18}{share:8.2%}")
    return {
        "metrics_and_logs_share": round(sampled.share(METRICS, LOGS), 4),
        "all_of_monitoring_share": round(sampled.share(*_FILES), 4),
        "metrics_share": shares[METRICS],
        "logs_share": shares[LOGS],
        "drift_share": shares[DRIFT],
        "other_monitoring_share": shares[OTHER_MONITORING],
        "adverts": adverts,
        "cpu_seconds": round(sampled.total, 2),
        "looks": sampled.looks,
        "lines": log.read_bytes().count(b"\n"),
    }


def _room(frame: FrameType) -> str | None:
    """What the code of this frame belongs to, if to anything that is measured here."""
    code = frame.f_code
    if code not in _known:
        file = code.co_filename
        counts = _COUNTING[0] in file and _COUNTING[1] in code.co_name
        named = (name for name, ends in _FILES.items() if any(end in file for end in ends))
        _known[code] = DRIFT if counts else next(named, None)
    return _known[code]


def _scrape(folder: Path) -> dict[str, Any]:
    settings = our_engine.settings_for(argparse.Namespace(folder=folder))
    database = open_database(settings)
    runs = _fill(database)
    exporter = Exporter(settings, database)
    times = [_seconds(exporter) for _ in range(1 + SCRAPES)]
    database.dispose()
    print(f"a scrape after {runs} runs: {times[0] * 1000:.0f} ms, then {min(times[1:]) * 1000:.1f} ms")
    return {
        "runs": runs,
        "first_scrape_ms": round(times[0] * 1000, 1),
        "scrape_ms": round(min(times[1:]) * 1000, 1),
    }


def _fill(database: Database) -> int:
    """A year of nights: each portal's runs have the counters of the one that was crawled."""
    with database.write() as connection:
        row = connection.execute(select(run_metrics.c.counters, run_metrics.c.writers)).first()
        if row is None:
            raise SystemExit("the crawl counted nothing")
        past = [
            (f"{site}-{night}", site, night) for night in range(NIGHTS) for site in ("a.bg", "b.bg", "c.bg")
        ]
        ended = {"state": "COMPLETE", "start_urls": [], "created_at": 1.0}
        connection.execute(
            insert(jobs),
            [{**ended, "id": name, "site": site, "finished_at": float(night)} for name, site, night in past],
        )
        counted = {"counters": row.counters, "writers": row.writers, "updated_at": 1.0}
        connection.execute(
            insert(run_metrics), [{**counted, "job_id": name, "domain": site} for name, site, _ in past]
        )
    return len(past)


def _seconds(exporter: Exporter) -> float:
    began = time.perf_counter()
    exporter.text()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
