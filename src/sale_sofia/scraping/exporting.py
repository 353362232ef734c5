"""What Prometheus reads: figures of the database, and of Redis where there is one."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from threading import Lock
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from sale_sofia.config.metrics import LIVE_SECONDS, STORED_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.data.database import Database
from sale_sofia.data.errors import DatabaseError
from sale_sofia.fetching.archive import PageArchive
from sale_sofia.monitoring.families import (
    PREFIX,
    Samples,
    by_domain,
    figure_families,
    gauge,
    run_families,
    single,
    stored_families,
)
from sale_sofia.monitoring.figures import Stored, read_figures, read_stored
from sale_sofia.monitoring.run_totals import RunTotals
from sale_sofia.resilience.circuit import CircuitState
from sale_sofia.scraping.live_state import LiveState, read_live_state
from sale_sofia.scraping.store import open_archive
from sale_sofia.websites.registry import AVAILABLE_SITES

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
