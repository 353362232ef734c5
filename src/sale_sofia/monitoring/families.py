"""Figures as Prometheus reads them. Labels are portals and words of few, never an address."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from sale_sofia.config.metrics import RESPONSE_BOUNDS
from sale_sofia.monitoring.figures import Figures, Stored
from sale_sofia.monitoring.run_totals import DomainTotals, Totals
from sale_sofia.monitoring.sketch import MICROSECONDS

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
