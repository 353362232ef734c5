"""Figures as Prometheus reads them. Labels are portals and words of few, never an address."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from threading import Lock
from typing import Any, Final, Generic, Self, TypeVar

from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, select

from sale_sofia.crawl.fetch.archive import PageArchive
from sale_sofia.crawl.resilience.breaker import CircuitState
from sale_sofia.crawl.runners.progress import LiveState, read_live_state
from sale_sofia.crawl.tables import frontier, jobs
from sale_sofia.history.jobs import FINISHED_STATES
from sale_sofia.history.tables import listings, sweeps
from sale_sofia.installation import open_archive
from sale_sofia.operations.settings import LIVE_SECONDS, RESPONSE_BOUNDS, SETTLED_SECONDS, STORED_SECONDS
from sale_sofia.settings.errors import ServiceError
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.telemetry.metrics import MICROSECONDS, DomainMetrics
from sale_sofia.telemetry.settings import STREAMED_ROWS
from sale_sofia.telemetry.tables import incidents, run_metrics
from sale_sofia.websites.registry import AVAILABLE_SITES

# What the database says at this moment, for metrics: jobs, pages that wait, incidents, adverts.

Counts = Mapping[tuple[str, ...], int]
"""A domain and a word of few, and how many there are of it."""
_FINISHED = sorted(state.value for state in FINISHED_STATES)


@dataclass(frozen=True, slots=True)
class Figures:
    """What is cheap to look up at every scrape."""

    jobs_open: Counts = field(default_factory=dict)
    jobs_ended: Counts = field(default_factory=dict)
    frontier: Counts = field(default_factory=dict)
    """Pages of the open jobs by state."""
    incidents: Counts = field(default_factory=dict)
    """Open ones by kind."""
    gone: Mapping[str, int] = field(default_factory=dict)
    """Adverts that sweeps found to be gone, ever."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The adverts of one portal."""

    offered: int
    """On the market."""
    newest_at: float
    """When the newest was first seen, in seconds since 1970."""
    seen_at: float
    """When any was last seen."""


def read_figures(connection: Connection) -> Figures:
    """All of them, in one transaction; changes nothing."""
    ended = jobs.c.state.in_(_FINISHED)
    return Figures(
        jobs_open=_pairs(connection, _counted(jobs.c.site, jobs.c.state, ~ended)),
        jobs_ended=_pairs(connection, _counted(jobs.c.site, jobs.c.state, ended)),
        frontier=_pairs(connection, _open_pages(~ended)),
        incidents=_pairs(
            connection, _counted(incidents.c.site, incidents.c.kind, incidents.c.closed_at.is_(None))
        ),
        gone=_gone(connection),
    )


def read_stored(connection: Connection) -> dict[str, Stored]:
    """Each portal's adverts; looks at every one."""
    there = case((and_(listings.c.gone_at.is_(None), listings.c.closed_at.is_(None)), 1), else_=0)
    newest, seen = func.max(listings.c.first_seen_at), func.max(listings.c.last_seen_at)
    rows = select(listings.c.site, func.sum(there), newest, seen).group_by(listings.c.site)
    return {site: Stored(int(offered), *moments) for site, offered, *moments in connection.execute(rows)}


def _counted(domain: Any, word: Any, which: ColumnElement[bool]) -> Select[Any]:  # noqa: ANN401 - columns
    return select(domain, word, func.count()).where(which).group_by(domain, word)


def _open_pages(is_open: ColumnElement[bool]) -> Select[Any]:
    return _counted(jobs.c.site, frontier.c.state, is_open).join_from(frontier, jobs)


def _pairs(connection: Connection, rows: Select[Any]) -> dict[tuple[str, ...], int]:
    return {(domain, word): count for domain, word, count in connection.execute(rows)}


def _gone(connection: Connection) -> dict[str, int]:
    rows = select(sweeps.c.site, func.sum(sweeps.c.gone)).group_by(sweeps.c.site)
    return {site: int(count or 0) for site, count in connection.execute(rows)}


# What all runs counted together: sums that only grow, and cost what is new to read.


@dataclass(slots=True)
class DomainTotals:
    """One domain's counters over many runs."""

    counted: DomainMetrics = field(default_factory=DomainMetrics)
    """All but the open circuits: what was open in two runs at once counts for each."""
    open_seconds: float = 0.0

    def add(self, run: DomainMetrics) -> None:
        """Take in one run."""
        spans, run.circuit_open.spans = run.circuit_open.spans, ()
        self.counted.merge(run)
        self.open_seconds += sum(until - since for since, until in spans) / 1000

    def joined(self, more: Self) -> None:
        """Take in other runs."""
        self.counted.merge(more.counted)
        self.open_seconds += more.open_seconds


Totals = dict[str, DomainTotals]


@dataclass(slots=True)
class RunTotals:
    """Sums over all runs, by domain. Runs that ended long ago are read once and remembered."""

    _settled: Totals = field(default_factory=dict)
    _known: set[str] = field(default_factory=set)
    """The runs in `_settled`."""

    def read(self, connection: Connection, *, now: float) -> Totals:
        """The sums as the database has them now; changes nothing there."""
        found = connection.execute(select(jobs.c.id, jobs.c.finished_at)).all()
        self._settle(connection, [job for job in found if _has_settled(job, now)])
        totals: Totals = {}
        _join(totals, self._settled)
        _join(totals, _sums(connection, [job.id for job in found if not _has_settled(job, now)]))
        return totals

    def _settle(self, connection: Connection, ended: Iterable[Row[Any, Any]]) -> None:
        new = [job.id for job in ended if job.id not in self._known]
        _join(self._settled, _sums(connection, new))
        self._known.update(new)


def _has_settled(job: Row[Any, Any], now: float) -> bool:
    return job.finished_at is not None and job.finished_at <= now - SETTLED_SECONDS


def _sums(connection: Connection, job_ids: Sequence[str]) -> Totals:
    totals: Totals = {}
    for start in range(0, len(job_ids), STREAMED_ROWS):
        some = job_ids[start : start + STREAMED_ROWS]
        rows = select(run_metrics.c.domain, run_metrics.c.counters).where(run_metrics.c.job_id.in_(some))
        for row in connection.execute(rows):
            if row.counters:
                totals.setdefault(row.domain, DomainTotals()).add(DomainMetrics.from_dict(row.counters))
    return totals


def _join(totals: Totals, more: Totals) -> None:
    for domain, sums in more.items():
        totals.setdefault(domain, DomainTotals()).joined(sums)


PREFIX: Final = "sale_sofia_"
DOMAIN: Final = "domain"
Samples = Mapping[tuple[str, ...], float]
"""A domain, or a domain and a word of few, and its value."""
_CHANGES: Final = ("new", "changed", "unchanged")
_SUMS: Final[tuple[tuple[str, str, Callable[[DomainTotals], float]], ...]] = (
    ("received_bytes", "Bytes of the answers.", lambda one: one.counted.bytes),
    ("pages_failed", "Pages that were given up.", lambda one: one.counted.failed),
    ("retries", "Requests for a page that was asked for before.", lambda one: one.counted.retries),
    ("rate_waits", "Requests that waited for their turn.", lambda one: one.counted.waits),
    (
        "rate_wait_seconds",
        "Time that requests waited for their turn.",
        lambda one: one.counted.waited_seconds,
    ),
    ("circuit_open_seconds", "Time that runs saw the circuit open.", lambda one: one.open_seconds),
)


def run_families(totals: Totals) -> Iterator[Metric]:
    """What all runs counted: nothing of it ever falls."""
    verdicts: Samples = {
        (domain, verdict): count
        for domain, one in totals.items()
        for verdict, count in one.counted.verdicts.items()
    }
    yield counter("requests", "Requests by what came of each.", verdicts, "verdict")
    changes: Samples = {
        (domain, change): getattr(one.counted, change)
        for domain, one in totals.items()
        for change in _CHANGES
    }
    yield counter("listings_stored", "Adverts that were read, by what was new.", changes, "change")
    for name, sentence, of in _SUMS:
        yield counter(name, sentence, by_domain({domain: of(one) for domain, one in totals.items()}))
    yield _response_times(totals)


def figure_families(figures: Figures) -> Iterator[Metric]:
    """How the jobs are."""
    yield gauge("jobs_open", "Jobs that have not ended.", figures.jobs_open, "state")
    yield counter("jobs_ended", "Jobs that have ended.", figures.jobs_ended, "state")
    yield gauge("frontier_pages", "Pages of the jobs that have not ended.", figures.frontier, "state")
    yield gauge("incidents_open", "Incidents that are open.", figures.incidents, "kind")
    gone = by_domain(figures.gone)
    yield counter("listings_gone", "Adverts that were found to be gone.", gone)


def stored_families(stored: Mapping[str, Stored], archive_bytes: int) -> Iterator[Metric]:
    """What there is."""
    offered = by_domain({domain: one.offered for domain, one in stored.items()})
    yield gauge("listings", "Adverts that are on the market.", offered)
    newest = by_domain({domain: one.newest_at for domain, one in stored.items()})
    yield gauge("listing_newest_timestamp_seconds", "When the newest advert was first seen.", newest)
    seen = by_domain({domain: one.seen_at for domain, one in stored.items()})
    yield gauge("listing_seen_timestamp_seconds", "When any advert was last seen.", seen)
    yield single("archive_bytes", "Size of the page archive on this machine.", archive_bytes)


def counter(name: str, sentence: str, counts: Samples, word: str | None = None) -> Metric:
    """A sum that never falls, for each domain, and for each word where there is one."""
    family = CounterMetricFamily(PREFIX + name, sentence, labels=_labels(word))
    for labels in sorted(counts):
        family.add_metric(labels, counts[labels])
    return family


def gauge(name: str, sentence: str, values: Samples, word: str | None = None) -> Metric:
    """A value as it is now, for each domain, and for each word where there is one."""
    family = GaugeMetricFamily(PREFIX + name, sentence, labels=_labels(word))
    for labels in sorted(values):
        family.add_metric(labels, values[labels])
    return family


def by_domain(values: Mapping[str, float]) -> Samples:
    """What has no word beside its domain."""
    return {(domain,): value for domain, value in values.items()}


def single(name: str, sentence: str, value: float) -> Metric:
    """A value that no domain has for itself."""
    return GaugeMetricFamily(PREFIX + name, sentence, value=value)


def _labels(word: str | None) -> tuple[str, ...]:
    return (DOMAIN,) if word is None else (DOMAIN, word)


def _response_times(totals: Totals) -> Metric:
    name, sentence = f"{PREFIX}response_seconds", "Response times; a bound is right to one per cent."
    family = HistogramMetricFamily(name, sentence, labels=(DOMAIN,))
    for domain, one in sorted(totals.items()):
        times = one.counted.response
        within = [(str(bound), float(times.count_within(bound))) for bound in RESPONSE_BOUNDS]
        family.add_metric((domain,), [*within, ("+Inf", times.count)], times.total / MICROSECONDS)
    return family


# What Prometheus reads: figures of the database, and of Redis where there is one.

T = TypeVar("T")
_DATABASE: Final = ("database_up", "Whether the database could be read.")
_REDIS: Final = ("redis_up", "Whether there is a Redis that answers; a crawl in one process needs none.")


@dataclass(slots=True)
class _Remembered(Generic[T]):
    """What is dear to find out is found out again when it is old."""

    seconds: float
    look: Callable[[], T]
    _found: tuple[float, T] | None = None

    def get(self) -> T:
        now = time.monotonic()
        if self._found is None or now - self._found[0] >= self.seconds:
            self._found = now, self.look()
        return self._found[1]


@dataclass(slots=True, eq=False)
class Exporter:
    """A collector of prometheus_client. A scrape reads and never writes; scrapes at once take turns."""

    settings: Settings
    database: Database
    clock: Callable[[], float] = time.time
    _totals: RunTotals = field(default_factory=RunTotals)
    _turn: Lock = field(default_factory=Lock)
    _archive: PageArchive = field(init=False)
    _live: _Remembered[LiveState] = field(init=False)
    _stored: _Remembered[tuple[dict[str, Stored], int]] = field(init=False)

    def __post_init__(self) -> None:
        self._archive = open_archive(self.settings)
        self._live = _Remembered(LIVE_SECONDS, lambda: read_live_state(self.settings, AVAILABLE_SITES))
        self._stored = _Remembered(STORED_SECONDS, self._read_stored)

    def collect(self) -> Iterable[Metric]:
        """Every family; those of a store that does not answer are missing, and it is said to be down."""
        with self._turn:
            return [_about(), *self._from_database(), *live_families(self._live.get())]

    def text(self) -> str:
        """All of it in Prometheus' text format."""
        return generate_latest(self.registry()).decode("utf-8")

    def registry(self) -> CollectorRegistry:
        """For a server: this collector, and none of Python's own figures."""
        registry = CollectorRegistry()
        registry.register(self)
        return registry

    def describe(self) -> Iterable[Metric]:
        """Nothing is read only because somebody registers us."""
        return []

    def _from_database(self) -> list[Metric]:
        try:
            # Not `run_read`, which waits for a database that is away: whoever scrapes is to hear of it.
            with self.database.read() as connection:
                totals = self._totals.read(connection, now=self.clock())
                figures = read_figures(connection)
            stored = self._stored.get()
        except DatabaseError:
            return [single(*_DATABASE, 0)]
        families = (run_families(totals), figure_families(figures), stored_families(*stored))
        return [single(*_DATABASE, 1), *(family for some in families for family in some)]

    def _read_stored(self) -> tuple[dict[str, Stored], int]:
        with self.database.read() as connection:
            return read_stored(connection), self._archive.size()


def live_families(live: LiveState) -> Iterator[Metric]:
    """What the workers share; nothing of it is known without Redis."""
    yield single(*_REDIS, int(live.redis))
    yield gauge(
        "rate_limit_per_minute", "Requests per minute that a portal is asked at most.", by_domain(live.rates)
    )
    if live.redis:
        if live.workers is not None:
            yield single("workers", "Celery workers that are connected to Redis.", len(live.workers))
        yield single("queue_messages", "Messages that no worker has taken yet.", live.waiting or 0)
        yield gauge(
            "rate_next_turn_seconds", "Time until a portal may be asked again.", by_domain(live.waits)
        )
        states: Samples = {
            (domain, state.value.lower()): int(circuit.state is state)
            for domain, circuit in live.circuits.items()
            for state in CircuitState
        }
        yield gauge("circuit_state", "1 for the state that a portal's circuit is in.", states, "state")


def _about() -> Metric:
    family = GaugeMetricFamily(f"{PREFIX}build_info", "The version that is installed.", labels=("version",))
    family.add_metric((version("sale-sofia"),), 1)
    return family


# The address at which Prometheus finds the metrics.


@contextmanager
def serve_metrics(registry: CollectorRegistry, host: str, port: int) -> Iterator[str]:
    """Serve them by threads of this process until the block ends; gives the URL.

    Raises:
        ServiceError: nobody can listen there.
    """
    try:
        server, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise ServiceError(
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
