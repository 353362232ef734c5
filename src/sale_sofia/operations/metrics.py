"""Metrics for Prometheus. Labels are portals and words of a short fixed list, never an address."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from threading import Lock
from typing import Any, Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select

from sale_sofia.crawl.resilience.breaker import CircuitState
from sale_sofia.crawl.runners.progress import LiveState, read_live_state
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.jobs import FINISHED_STATES
from sale_sofia.history.runs.reports import count_photos
from sale_sofia.history.tables import listings, sweeps
from sale_sofia.installation import open_archive
from sale_sofia.operations.settings import LIVE_SECONDS, RESPONSE_BOUNDS, SETTLED_SECONDS, STORED_SECONDS
from sale_sofia.settings.errors import ServiceUnavailable
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.telemetry.metrics import MICROSECONDS, DomainMetrics
from sale_sofia.telemetry.settings import STREAMED_ROWS
from sale_sofia.telemetry.tables import incidents, run_metrics
from sale_sofia.websites.registry import AVAILABLE_SITES

T = TypeVar("T")
PREFIX: Final = "sale_sofia_"
Samples = Mapping[tuple[str, ...], float]
"""The value of each domain, or of each domain and word of a short list."""


def _family(
    kind: Callable[..., Any], name: str, sentence: str, values: Samples | Mapping[str, float], *words: str
) -> Metric:
    """A metric family with a value for each domain, or for each domain and word."""
    family = kind(PREFIX + name, sentence, labels=("domain", *words))
    by_labels = {key if isinstance(key, tuple) else (key,): value for key, value in values.items()}
    for labels in sorted(by_labels):
        family.add_metric(labels, by_labels[labels])
    metric: Metric = family
    return metric


counter = partial(_family, CounterMetricFamily)
"""A sum that never falls."""
gauge = partial(_family, GaugeMetricFamily)
"""A value as it is now."""


def single(name: str, sentence: str, value: float) -> Metric:
    """A gauge without a domain."""
    return GaugeMetricFamily(PREFIX + name, sentence, value=value)


# Figures of the database as it is now.


def figure_families(connection: Connection) -> list[Metric]:
    """The states of jobs, pages and incidents: cheap enough for every scrape."""

    def count_by(domain: Any, word: Any, which: ColumnElement[bool]) -> Select[Any]:  # noqa: ANN401 - columns
        return select(domain, word, func.count()).where(which).group_by(domain, word)

    def read(rows: Select[Any]) -> Samples:
        return {(domain, word): count for domain, word, count in connection.execute(rows)}

    ended = jobs.c.state.in_(sorted(state.value for state in FINISHED_STATES))
    pages = count_by(jobs.c.site, frontier.c.state, ~ended).join_from(frontier, jobs)
    is_open = incidents.c.closed_at.is_(None)
    gone = select(sweeps.c.site, func.sum(sweeps.c.gone)).group_by(sweeps.c.site)
    gone_by_site = {site: int(count or 0) for site, count in connection.execute(gone)}
    return [
        gauge(
            "jobs_open",
            "Jobs that have not ended.",
            read(count_by(jobs.c.site, jobs.c.state, ~ended)),
            "state",
        ),
        counter(
            "jobs_ended", "Jobs that have ended.", read(count_by(jobs.c.site, jobs.c.state, ended)), "state"
        ),
        gauge("frontier_pages", "Pages of the jobs that have not ended.", read(pages), "state"),
        gauge(
            "incidents_open",
            "Incidents that are open.",
            read(count_by(incidents.c.site, incidents.c.kind, is_open)),
            "kind",
        ),
        counter("listings_gone", "Adverts that were found to be gone.", gone_by_site),
    ]


def stored_families(connection: Connection, archive_bytes: int) -> list[Metric]:
    """Counts of stored adverts, photos and pages; scans every advert."""
    on_market = case((and_(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None)), 1), else_=0)
    newest, seen = func.max(listings.c.first_seen_at), func.max(listings.c.last_seen_at)
    chosen = select(listings.c.site, func.sum(on_market), newest, seen).group_by(listings.c.site)
    rows = connection.execute(chosen).all()
    names = (
        ("listings", "Adverts that are on the market."),
        ("listing_newest_timestamp_seconds", "When the newest advert was first seen."),
        ("listing_seen_timestamp_seconds", "When any advert was last seen."),
    )
    return [
        *(
            gauge(name, sentence, {row[0]: row[place] for row in rows})
            for place, (name, sentence) in enumerate(names, 1)
        ),
        *photo_families(connection),
        single("archive_bytes", "Size of the page archive on this machine.", archive_bytes),
    ]


def photo_families(connection: Connection) -> Iterator[Metric]:
    """Requests for photos of adverts, and their results."""
    counts = count_photos(connection)
    sent = {site: count.requests for site, count in counts.items()}
    yield counter("photo_requests", "Requests for photos of adverts.", sent)
    states: Samples = {
        (site, state): getattr(count, state) for site, count in counts.items() for state in ("kept", "failed")
    }
    yield gauge("photos", "Photos that were asked for, by what came of each.", states, "state")


# Sums over all runs: they only grow, and only new runs are read.


@dataclass(slots=True)
class DomainTotals:
    """One domain's counters over many runs."""

    counted: DomainMetrics = field(default_factory=DomainMetrics)
    """All but the time of open circuits, which counts for each run that saw them open."""
    open_seconds: float = 0.0

    def add(self, run: DomainMetrics, now: float) -> None:
        """Add the counters of one run; open time that is only foretold counts once it has passed."""
        self.open_seconds += run.circuit_open.seconds_within(0.0, now)
        run.circuit_open.spans = ()
        self.counted.merge(run)


Totals = dict[str, DomainTotals]


@dataclass(slots=True)
class RunTotals:
    """Sums over all runs, by domain. Runs that ended long ago are read once and remembered."""

    _settled: Totals = field(default_factory=dict)
    _settled_jobs: set[str] = field(default_factory=set)
    """The runs in `_settled`."""

    def read(self, connection: Connection, *, now: float) -> Totals:
        """The sums as the database has them now; changes nothing there."""
        settled, moving = [], []
        for job in connection.execute(select(jobs.c.id, jobs.c.finished_at)):
            if job.finished_at is None or job.finished_at > now - SETTLED_SECONDS:
                moving.append(job.id)
            elif job.id not in self._settled_jobs:
                settled.append(job.id)
        totals = deepcopy(self._settled)
        _add_runs(totals, connection, settled, now)
        # Remembered only once all were read: those of a read that broke off are read again.
        self._settled, totals = totals, deepcopy(totals)
        self._settled_jobs.update(settled)
        _add_runs(totals, connection, moving, now)
        return totals


def _add_runs(totals: Totals, connection: Connection, job_ids: Sequence[str], now: float) -> None:
    for start in range(0, len(job_ids), STREAMED_ROWS):
        batch = job_ids[start : start + STREAMED_ROWS]
        rows = select(run_metrics.c.domain, run_metrics.c.counters).where(run_metrics.c.job_id.in_(batch))
        for row in connection.execute(rows):
            if row.counters:
                run = DomainMetrics.from_dict(row.counters)
                totals.setdefault(row.domain, DomainTotals()).add(run, now)


_SUMS: Final[tuple[tuple[str, str, Callable[[DomainTotals], float]], ...]] = (
    ("received_bytes", "Bytes of the answers.", lambda totals: totals.counted.bytes),
    ("pages_failed", "Pages that were given up.", lambda totals: totals.counted.failed),
    ("retries", "Requests for a page that was asked for before.", lambda totals: totals.counted.retries),
    ("rate_waits", "Requests that waited for their turn.", lambda totals: totals.counted.waits),
    (
        "rate_wait_seconds",
        "Time that requests waited for their turn.",
        lambda totals: totals.counted.waited_seconds,
    ),
    ("circuit_open_seconds", "Time that runs saw the circuit open.", lambda totals: totals.open_seconds),
)


def run_families(totals: Totals) -> Iterator[Metric]:
    """Sums over all runs, none of which ever falls."""
    verdicts: Samples = {
        (domain, verdict): count
        for domain, domain_totals in totals.items()
        for verdict, count in domain_totals.counted.verdicts.items()
    }
    yield counter("requests", "Requests by what came of each.", verdicts, "verdict")
    changes: Samples = {
        (domain, change): getattr(domain_totals.counted, change)
        for domain, domain_totals in totals.items()
        for change in ("new", "changed", "unchanged")
    }
    yield counter("listings_stored", "Adverts that were read, by what was new.", changes, "change")
    for name, sentence, of in _SUMS:
        yield counter(name, sentence, {domain: of(domain_totals) for domain, domain_totals in totals.items()})
    name, sentence = f"{PREFIX}response_seconds", "Response times; a bound is right to one per cent."
    family = HistogramMetricFamily(name, sentence, labels=("domain",))
    for domain, domain_totals in sorted(totals.items()):
        times = domain_totals.counted.response
        within = [(str(bound), float(times.count_within(bound))) for bound in RESPONSE_BOUNDS]
        family.add_metric((domain,), [*within, ("+Inf", times.count)], times.total / MICROSECONDS)
    yield family


def live_families(live: LiveState) -> Iterator[Metric]:
    """What the workers share in Redis; without it only the configured rates."""
    sentence = "Whether there is a Redis that answers; a crawl in one process needs none."
    yield single("redis_up", sentence, int(live.redis))
    sentence = "Requests per minute that a portal is asked at most."
    yield gauge("rate_limit_per_minute", sentence, live.rates)
    if live.redis:
        if live.workers is not None:
            yield single("workers", "Celery workers that are connected to Redis.", len(live.workers))
        yield single("queue_messages", "Messages that no worker has taken yet.", live.waiting or 0)
        sentence = "Time until a portal may be asked again."
        yield gauge("rate_next_turn_seconds", sentence, live.waits)
        states: Samples = {
            (domain, state.value.lower()): int(circuit.state is state)
            for domain, circuit in live.circuits.items()
            for state in CircuitState
        }
        yield gauge("circuit_state", "1 for the state that a portal's circuit is in.", states, "state")


# The exporter: figures of the database, and of Redis if there is one.


@dataclass(slots=True)
class _Cached(Generic[T]):
    """A value that is expensive to read, read again once it is older than `seconds`."""

    seconds: float
    look: Callable[[], T]
    _found: tuple[float, T] | None = None

    def get(self) -> T:
        now = time.monotonic()
        if self._found is None or now - self._found[0] >= self.seconds:
            self._found = now, self.look()
        return self._found[1]


class Exporter:
    """A collector of prometheus_client. A scrape reads and never writes; scrapes at once take turns."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        self._totals = RunTotals()
        self._turn = Lock()
        self._archive = open_archive(settings)
        self._live = _Cached(LIVE_SECONDS, lambda: read_live_state(settings, AVAILABLE_SITES))
        self._stored = _Cached(STORED_SECONDS, self._read_stored)

    def collect(self) -> Iterable[Metric]:
        """Every family; those of a store that does not answer are missing, and its `_up` gauge is 0."""
        build = GaugeMetricFamily(
            f"{PREFIX}build_info", "The version that is installed.", labels=("version",)
        )
        build.add_metric((version("sale-sofia"),), 1)
        with self._turn:
            return [build, *self._from_database(), *live_families(self._live.get())]

    def text(self) -> str:
        """All of it in Prometheus' text format."""
        return generate_latest(self.registry()).decode("utf-8")

    def registry(self) -> CollectorRegistry:
        """A registry of this collector alone, without Python's own metrics."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that registering reads nothing."""
        return []

    def _from_database(self) -> list[Metric]:
        name, sentence = "database_up", "Whether the database could be read."
        try:
            # Not `run_read`, which waits for a database that is away: a scrape must report that.
            with self._database.read() as connection:
                totals = self._totals.read(connection, now=time.time())
                figures = figure_families(connection)
            stored = self._stored.get()
        except DatabaseError:
            return [single(name, sentence, 0)]
        return [single(name, sentence, 1), *run_families(totals), *figures, *stored]

    def _read_stored(self) -> list[Metric]:
        with self._database.read() as connection:
            return stored_families(connection, self._archive.size())


@contextmanager
def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> Iterator[str]:
    """Serve the registry by threads of this process; yields the URL. Raises ServiceUnavailable."""
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ServiceUnavailable(
            f"metrics cannot be served on {host}, port {port}: {error.strerror}; "
            "give another port, or an address of this machine"
        ) from None
    try:
        name = f"[{host}]" if ":" in host else host
        yield f"http://{name}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
