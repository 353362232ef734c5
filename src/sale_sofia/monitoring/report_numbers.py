"""The numbers of a report: of one run, of several together, of one domain. Shares are parts of one."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sale_sofia.data.sweeps import Sweep
from sale_sofia.monitoring.comparison import Comparison
from sale_sofia.monitoring.metrics import DomainMetrics
from sale_sofia.monitoring.run_facts import RunFacts, block_share, share
from sale_sofia.monitoring.sketch import TimeSketch

Numbers = dict[str, Any]
_SHARE_DIGITS = 4
_SECOND_DIGITS = 3


def summary(runs: Sequence[RunFacts]) -> Numbers:
    """Runs taken together. What is committed with the pages comes from there, the rest from the counters."""
    counted = DomainMetrics()
    for run in runs:
        counted.merge(run.all_domains)
    done, failed = sum(run.pages.done for run in runs), sum(run.pages.failed for run in runs)
    return {
        "run_seconds": _seconds(sum(run.seconds for run in runs)),
        "pages_done": done,
        "pages_failed": failed,
        "pages_open": sum(run.pages.open for run in runs),
        "failure_share": _share(share(failed, done + failed)),
        "adverts": sum(run.pages.adverts for run in runs),
        "new": sum(run.job.new_listings for run in runs),
        "held_back": sum(run.held_back for run in runs),
        "changed": sum(run.job.changed_listings for run in runs),
        "unchanged": counted.unchanged,
        "requests": sum(run.job.requests for run in runs),
        "circuit_open_seconds": _seconds(sum(run.circuit_open_seconds for run in runs)),
        **_traffic(counted),
    }


def domain_numbers(run: RunFacts, counted: DomainMetrics) -> Numbers:
    """One domain of a run, all by its counters."""
    return {
        "requests": counted.requests,
        "verdicts": dict(sorted(counted.verdicts.items(), key=lambda item: (-item[1], item[0]))),
        "new": counted.new,
        "changed": counted.changed,
        "unchanged": counted.unchanged,
        "failed": counted.failed,
        "circuit_open_seconds": _seconds(run.open_seconds(counted)),
        **_traffic(counted),
    }


def coverage_numbers(sweep: Sweep | None) -> Numbers | None:
    """How far a run came through its searches; None for one of single adverts, or before its end."""
    if sweep is None or sweep.finished_at is None:
        return None
    names = ("complete", "announced", "reachable", "opened", "stored", "missing")
    return {"seen": sweep.adverts, **{name: getattr(sweep, name) for name in names}, "line": sweep.figures}


def comparison_numbers(comparison: Comparison | None) -> Numbers | None:
    """What is usual, and this run's share of it."""
    if comparison is None:
        return None
    return {name: _share(value) for name, value in asdict(comparison).items()}


def _traffic(counted: DomainMetrics) -> Numbers:
    return {
        "block_share": _share(block_share(counted)),
        "bytes": counted.bytes,
        "retries": counted.retries,
        "limiter_waits": counted.waits,
        "limiter_wait_seconds": _seconds(counted.waited_seconds),
        "response_seconds": _response(counted.response),
    }


def _response(times: TimeSketch) -> Numbers:
    return {
        "count": times.count,
        "mean": _seconds(times.mean()),
        "p50": _seconds(times.quantile(0.5)),
        "p95": _seconds(times.quantile(0.95)),
        "p99": _seconds(times.quantile(0.99)),
    }


def _seconds(value: float | None) -> float | None:
    return None if value is None else round(value, _SECOND_DIGITS)


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, _SHARE_DIGITS)
