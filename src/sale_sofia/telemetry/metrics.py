"""Counters of a run, per domain: as small after a million pages as after ten."""

import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal, Self, TypeAlias

from sqlalchemy import Connection, select, update

from sale_sofia.crawl.fetch.base import Response, VerdictKind
from sale_sofia.crawl.resilience import errors as tree
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.storage.database import Database
from sale_sofia.storage.errors import DatabaseError
from sale_sofia.storage.upserts import insert_into
from sale_sofia.telemetry import settings as fixed
from sale_sofia.telemetry.settings import METRICS_FLUSH_SECONDS, METRICS_WRITERS_MAX
from sale_sofia.telemetry.tables import run_metrics

RequestVerdict = VerdictKind | Literal["client_error", "unreadable", "no_answer", "refused"]
"""Beyond the classifier's: a 4xx, a page we cannot parse, no whole answer, an answer we refused."""

# The first class that matches wins, so subclasses come first.
_VERDICTS: Final[tuple[tuple[type[CrawlError], RequestVerdict], ...]] = (
    (tree.HttpRateLimit, "rate_limited"),
    (tree.HttpBlocked, "blocked"),
    (tree.HttpServer, "server_error"),
    (tree.HttpError, "client_error"),
    (tree.ParseError, "unreadable"),
    (tree.ServiceProxy, "proxy_fault"),
    (tree.NetworkBroken, "truncated"),
    (tree.NetworkError, "no_answer"),
)


def verdict_of(error: CrawlError) -> RequestVerdict:
    """Return the verdict of a failed request; `refused` is what we rejected ourselves, such as a zip bomb."""
    return next((word for kind, word in _VERDICTS if isinstance(error, kind)), "refused")


MICROSECONDS: Final = 1_000_000
_GROWTH: Final = (1 + fixed.SKETCH_RELATIVE_ERROR) / (1 - fixed.SKETCH_RELATIVE_ERROR)
_LOG_GROWTH: Final = math.log(_GROWTH)
_LEAST: Final = fixed.SKETCH_LEAST_SECONDS * MICROSECONDS
_MOST: Final = fixed.SKETCH_MOST_SECONDS * MICROSECONDS


def microseconds(seconds: float) -> int:
    """Round to whole microseconds, at least 0: sums of integers do not depend on the order."""
    return max(0, round(seconds * MICROSECONDS))


@dataclass(slots=True)
class TimeSketch:
    """Times counted in exponentially growing buckets: small, however many, and right to one per cent.

    Merging loses nothing, in any order.
    """

    total: int = 0
    """Microseconds."""
    least: int | None = None
    most: int | None = None
    buckets: Counter[int] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        """The number of times added."""
        return sum(self.buckets.values())

    def add(self, seconds: float) -> None:
        """Add one time."""
        time = microseconds(seconds)
        bucket = math.ceil(math.log(min(max(time, _LEAST), _MOST)) / _LOG_GROWTH)
        self._take(time, time, time)
        self.buckets[bucket] += 1

    def merge(self, other: Self) -> None:
        """Add all times of another sketch."""
        if other.least is not None and other.most is not None:
            self._take(other.total, other.least, other.most)
        self.buckets.update(other.buckets)

    def mean(self) -> float | None:
        """Return the exact mean in seconds; None without times."""
        return self.total / self.count / MICROSECONDS if self.buckets else None

    def quantile(self, share: float) -> float | None:
        """Return the quantile in seconds, at most one per cent wrong; None without times."""
        if self.least is None or self.most is None:
            return None
        rank, passed, estimate = share * (self.count - 1), 0, 0.0
        for bucket in sorted(self.buckets):
            estimate = _middle(bucket)
            passed += self.buckets[bucket]
            if passed > rank:
                break
        return min(max(estimate, self.least), self.most) / MICROSECONDS

    def count_within(self, seconds: float) -> int:
        """Count times up to these seconds; those within one per cent may be on either side."""
        most = seconds * MICROSECONDS
        return sum(count for bucket, count in self.buckets.items() if _middle(bucket) <= most)

    def to_dict(self) -> dict[str, Any]:
        """Return the sketch as JSON."""
        buckets = {str(bucket): self.buckets[bucket] for bucket in sorted(self.buckets)}
        return {"total": self.total, "least": self.least, "most": self.most, "buckets": buckets}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore a sketch from `to_dict`."""
        buckets = Counter({int(bucket): count for bucket, count in stored["buckets"].items()})
        return cls(stored["total"], stored["least"], stored["most"], buckets)

    def _take(self, total: int, least: int, most: int) -> None:
        self.total += total
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)


def _middle(bucket: int) -> float:
    """Return the value with the same relative distance to both edges of the bucket."""
    return 2 * _GROWTH**bucket / (_GROWTH + 1)


_MILLISECONDS: Final = 1000
Span = tuple[int, int]


@dataclass(slots=True)
class TimeSpans:
    """Disjoint spans of milliseconds since 1970. Merging is their union.

    Beyond `OPEN_SPANS_MAX` spans the smallest gaps are filled, to bound their number.
    """

    spans: tuple[Span, ...] = ()

    def add(self, start: float, seconds: float) -> None:
        """Add a span of `seconds` from `start` (seconds since 1970)."""
        end = start + seconds
        if seconds > 0:
            self.spans = _united([*self.spans, (round(start * _MILLISECONDS), round(end * _MILLISECONDS))])

    def merge(self, other: Self) -> None:
        """Add the spans of another."""
        self.spans = _united([*self.spans, *other.spans])

    def seconds_within(self, start: float, end: float) -> float:
        """Return the seconds covered between two moments."""
        low, high = start * _MILLISECONDS, end * _MILLISECONDS
        return (
            sum(max(0.0, min(high, until) - max(low, since)) for since, until in self.spans) / _MILLISECONDS
        )

    def to_list(self) -> list[list[int]]:
        """Return the spans as JSON."""
        return [list(span) for span in self.spans]

    @classmethod
    def from_list(cls, stored: Iterable[list[int]]) -> Self:
        """Restore spans from `to_list`."""
        return cls(tuple((since, until) for since, until in stored))


def _united(spans: Iterable[Span]) -> tuple[Span, ...]:
    united: list[Span] = []
    for since, until in sorted(spans):
        if united and since <= united[-1][1]:
            united[-1] = (united[-1][0], max(until, united[-1][1]))
        else:
            united.append((since, until))
    while len(united) > fixed.OPEN_SPANS_MAX:
        gaps = [later[0] - earlier[1] for earlier, later in pairwise(united)]
        at = gaps.index(min(gaps))
        united[at : at + 2] = [(united[at][0], united[at + 1][1])]
    return tuple(united)


Stretch = tuple[str, float, float]
"""A domain, when its circuit opened, and for how many seconds it was open."""


@dataclass(slots=True)
class OpenCircuits:
    """Open circuits; predicted open time counts once it has passed without a request getting through."""

    _open: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Since when, and until when it is predicted to last."""

    def refused(self, domain: str, now: float, seconds: float) -> list[Stretch]:
        """Record that the circuit is open for `seconds`; return what has passed of earlier predictions."""
        _, until = self._open.get(domain, (now, now))
        passed = self._take(domain, now)
        self._open[domain] = (now, max(until, now + seconds))
        return passed

    def let_through(self, domain: str, when: float) -> list[Stretch]:
        """Record that a request got through: the circuit was open until then at most."""
        passed = self._take(domain, when)
        self._open.pop(domain, None)
        return passed

    def passed(self, now: float) -> Iterable[Stretch]:
        """Return what has passed until now; the rest is counted later."""
        return [stretch for domain in list(self._open) for stretch in self._take(domain, now)]

    def _take(self, domain: str, now: float) -> list[Stretch]:
        if domain not in self._open:
            return []
        since, until = self._open.pop(domain)
        if until > now:
            self._open[domain] = (max(since, now), until)
        end = min(now, until)
        return [(domain, since, end - since)] if end > since else []


_COUNTERS: Final = (
    "bytes", "new", "changed", "unchanged", "failed", "retries", "waits", "waited_microseconds",
)  # fmt: skip


@dataclass(slots=True)
class DomainMetrics:
    """One domain's counters. Merging loses nothing, in any order: all are integers."""

    verdicts: Counter[str] = field(default_factory=Counter)
    """Requests by verdict."""
    response: TimeSketch = field(default_factory=TimeSketch)
    circuit_open: TimeSpans = field(default_factory=TimeSpans)
    bytes: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    failed: int = 0
    retries: int = 0
    waits: int = 0
    waited_microseconds: int = 0

    @property
    def requests(self) -> int:
        """All requests, answered or not."""
        return sum(self.verdicts.values())

    @property
    def waited_seconds(self) -> float:
        """Time spent waiting for the rate limiter, over all requests."""
        return self.waited_microseconds / MICROSECONDS

    def merge(self, other: Self) -> None:
        """Add the counters of another."""
        self.verdicts.update(other.verdicts)
        self.response.merge(other.response)
        self.circuit_open.merge(other.circuit_open)
        for name in _COUNTERS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> dict[str, Any]:
        """Return the counters as JSON."""
        return {
            "verdicts": dict(sorted(self.verdicts.items())),
            "response": self.response.to_dict(),
            "circuit_open": self.circuit_open.to_list(),
            **{name: getattr(self, name) for name in _COUNTERS},
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Restore counters from `to_dict`."""
        return cls(
            verdicts=Counter(stored["verdicts"]),
            response=TimeSketch.from_dict(stored["response"]),
            circuit_open=TimeSpans.from_list(stored["circuit_open"]),
            **{name: stored[name] for name in _COUNTERS},
        )


@dataclass(slots=True, eq=False)
class MetricsCollector:
    """Counts for one run, per domain, in one process. No call waits, fails, or keeps a page in memory."""

    run_id: str
    """The job: a crawl of several portals is several runs."""
    clock: Callable[[], float] = time.time
    domains: dict[str, DomainMetrics] = field(default_factory=dict)
    _circuits: OpenCircuits = field(default_factory=OpenCircuits)

    def answered(self, domain: str, verdict: RequestVerdict, size: int, seconds: float) -> None:
        """Count a request with a whole answer, of `size` bytes after `seconds`."""
        counted = self._of(domain)
        counted.verdicts[verdict] += 1
        counted.bytes += size
        counted.response.add(seconds)

    def unanswered(self, domain: str, verdict: RequestVerdict = "no_answer") -> None:
        """Count a request without a whole answer; its time is only our timeout, and is not counted."""
        self._of(domain).verdicts[verdict] += 1

    def stored(
        self, domain: str, *, new: int = 0, changed: int = 0, unchanged: int = 0, failed: int = 0
    ) -> None:
        """Count adverts that were committed or given up."""
        counted = self._of(domain)
        counted.new += new
        counted.changed += changed
        counted.unchanged += unchanged
        counted.failed += failed

    def retried(self, domain: str) -> None:
        """Count a retry of a page."""
        self._of(domain).retries += 1

    def waited(self, domain: str, seconds: float) -> None:
        """Count a request's wait for the rate limiter; to be called for every request, also with no wait."""
        self._cover(self._circuits.let_through(domain, self.clock() - seconds))
        if seconds > 0:
            counted = self._of(domain)
            counted.waits += 1
            counted.waited_microseconds += microseconds(seconds)

    def circuit_open(self, domain: str, seconds: float) -> None:
        """Count a refused request: the circuit is open for `seconds`; repeated calls add nothing."""
        self._cover(self._circuits.refused(domain, self.clock(), seconds))

    def take(self) -> dict[str, DomainMetrics]:
        """Return what was counted since the last call, and start from zero."""
        self._cover(self._circuits.passed(self.clock()))
        domains, self.domains = self.domains, {}
        return domains

    def foretell(self) -> None:
        """Count the predicted time of open circuits too, as this process ends before it passes.

        Time beyond the end of the run is not counted by readers until it has passed.
        """
        self._cover(self._circuits.passed(math.inf))

    def _cover(self, stretches: Iterable[Stretch]) -> None:
        for domain, since, seconds in stretches:
            self._of(domain).circuit_open.add(since, seconds)

    def _of(self, domain: str) -> DomainMetrics:
        if domain not in self.domains:
            self.domains[domain] = DomainMetrics()
        return self.domains[domain]


Meter: TypeAlias = MetricsCollector
NO_METER: Final = MetricsCollector("")
"""For callers that do not count: nobody reads it."""


# Flushing one process's counters into the database, where those of all processes become one row.


@dataclass(slots=True)
class MeasuredRequest:
    """A request under way."""

    verdict: RequestVerdict = "ok"
    """The verdict without an error; the caller sets it for a removed advert."""
    response: Response | None = None
    """Set by the caller as soon as there is one."""


@contextmanager
def measured(meter: Meter, domain: str) -> Iterator[MeasuredRequest]:
    """Count the request of the block once, by its verdict or its error."""
    request = MeasuredRequest()

    def count(verdict: RequestVerdict) -> None:
        if request.response is None:
            meter.unanswered(domain, verdict)
        else:
            meter.answered(domain, verdict, len(request.response.body), request.response.seconds)

    try:
        yield request
    except CrawlError as error:
        count(verdict_of(error))
        raise
    count(request.verdict)


def add_counters(
    connection: Connection,
    run_id: str,
    writer: str,
    sequence: int,
    counted: Mapping[str, DomainMetrics],
    *,
    now: float,
) -> None:
    """Add a writer's counters to the run's rows; a sequence number that is stored already adds nothing."""
    for domain, counters in sorted(counted.items()):
        # Insert an empty row first: only an existing row can be locked.
        row = {"job_id": run_id, "domain": domain, "counters": {}, "writers": {}, "updated_at": now}
        connection.execute(insert_into(connection, run_metrics).values(row).on_conflict_do_nothing())
        chosen = (run_metrics.c.job_id == run_id, run_metrics.c.domain == domain)
        stored = connection.execute(
            select(run_metrics.c.counters, run_metrics.c.writers).where(*chosen).with_for_update()
        ).one()
        if stored.writers.get(writer, 0) >= sequence:
            continue  # the reply to its first attempt was lost
        both = DomainMetrics.from_dict(stored.counters) if stored.counters else DomainMetrics()
        both.merge(counters)
        # Ordered by last flush; the oldest are forgotten.
        others = [(name, last) for name, last in stored.writers.items() if name != writer]
        writers = dict([*others, (writer, sequence)][-METRICS_WRITERS_MAX:])
        values = {"counters": both.to_dict(), "writers": writers, "updated_at": now}
        connection.execute(update(run_metrics).where(*chosen).values(values))


def read_metrics(connection: Connection, run_id: str) -> dict[str, DomainMetrics]:
    """Return what was flushed for a run, per domain; domains without counters are left out."""
    query = select(run_metrics.c.domain, run_metrics.c.counters).where(run_metrics.c.job_id == run_id)
    rows = connection.execute(query.order_by(run_metrics.c.domain))
    return {row.domain: DomainMetrics.from_dict(row.counters) for row in rows if row.counters}


_TURNS = 2
"""What failed before, and what was counted since; an open circuit always leaves something to count."""


@dataclass(slots=True)
class MetricsFlusher:
    """Flushes a collector. A flush that failed, or whose reply was lost, is retried and counts once.

    It belongs to one process. A kill loses what was counted since the last flush, a few seconds' worth.
    """

    database: Database
    collector: MetricsCollector
    clock: Callable[[], float] = time.time
    writer: str = field(default_factory=lambda: secrets.token_hex(8))
    _sequence: int = 0
    _sealed: dict[str, DomainMetrics] = field(default_factory=dict)
    """Not yet confirmed as stored; it keeps its number, and new counts wait for the next one."""
    _flushed_at: float = 0.0

    def flush(self) -> None:
        """Store the counters; after a `DatabaseError` the next flush retries."""
        for _ in range(_TURNS):
            if self._seal():
                self.database.run_write(self._add)
                self._stored()

    async def flush_async(self) -> None:
        """As `flush`, in the database's own thread."""
        for _ in range(_TURNS):
            if self._seal():
                await self.database.run_write_async(self._add)
                self._stored()

    async def tick(self) -> None:
        """Flush when it is due. A database error does not stop the crawl: the flush is retried later."""
        # Less than 0: the clock was set back.
        if not 0 <= self.clock() - self._flushed_at < METRICS_FLUSH_SECONDS:
            self._flushed_at = self.clock()
            with suppress(DatabaseError):
                await self.flush_async()

    def close(self) -> None:
        """Flush for the last time. A database error does not fail the crawl."""
        with suppress(DatabaseError):
            self.flush()

    def _seal(self) -> bool:
        """Whether there is anything to store."""
        if not self._sealed and (counted := self.collector.take()):
            self._sequence += 1
            self._sealed = counted
        return bool(self._sealed)

    def _add(self, connection: Connection) -> None:
        run_id, now = self.collector.run_id, self.clock()
        add_counters(connection, run_id, self.writer, self._sequence, self._sealed, now=now)

    def _stored(self) -> None:
        self._flushed_at, self._sealed = self.clock(), {}
