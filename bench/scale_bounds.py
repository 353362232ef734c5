"""What saturates first: each part's own limit in pages a second, from what a page was measured to cost it."""

import os
from collections.abc import Mapping
from typing import Any

from sale_sofia.crawl.settings import RECONCILE_SECONDS
from scale_costs import Measured, StoreCost
from scale_redis import per_page
from scale_world import SECONDS_PER_MINUTE, shipped_politeness

PORTALS = (7, 100, 1000, 10_000)
SLOTS = 1000


def limits(measured: Measured) -> dict[str, float]:
    """Pages a second at which each part is busy all the time."""
    redis, usual = per_page(measured.redis), measured.sqlite.usual
    found = {
        "one Redis": 1e6 / redis["server_us"],
        "one SQLite (one writer)": 1000 / (usual.claim_ms + usual.commit_ms),
        "one worker's CPU": 1000 / (usual.cpu_ms + redis["client_us"] / 1000),
        f"{SLOTS} worker processes, a lane each": SLOTS * mean_rate(),
    }
    if measured.postgres:
        found[f"one PostgreSQL of {os.cpu_count()} cores"] = _of_server(measured.postgres)
    found |= {f"{count} portals' rates": count * mean_rate() for count in PORTALS}
    return {name: round(value, 1) for name, value in sorted(found.items(), key=lambda one: one[1])}


def _of_server(store: StoreCost) -> float:
    return 1000 * (os.cpu_count() or 1) / store.server_cpu_ms


def mean_rate() -> float:
    """Pages a second of a portal, on average over the shipped ones."""
    rates = [per_minute for per_minute, _ in shipped_politeness()]
    return sum(rates) / len(rates) / SECONDS_PER_MINUTE


def most_jobs(store: StoreCost) -> int:
    """Unfinished jobs that one reconciler gets through before its next look."""
    return int(1000 * RECONCILE_SECONDS / store.reconcile_ms)


def figures(measured: Measured) -> dict[str, Any]:
    """What a page costs, as the last line shows it."""
    stores: Mapping[str, StoreCost | None] = {"sqlite": measured.sqlite, "postgres": measured.postgres}
    return {
        "redis_per_page": _rounded(per_page(measured.redis)),
        "redis_steps": {step: _rounded(one._asdict()) for step, one in measured.redis.items()},
        **{name: _store(store) for name, store in stores.items() if store},
        "limits": limits(measured),
    }


def _store(store: StoreCost) -> dict[str, Any]:
    return {
        "new": {str(visitors): _rounded(one._asdict()) for visitors, one in store.new.items()},
        "same": {str(visitors): _rounded(one._asdict()) for visitors, one in store.same.items()},
        "server_cpu_ms": round(store.server_cpu_ms, 3),
        "wal_bytes": round(store.wal_bytes),
        "reconcile_ms": round(store.reconcile_ms, 3),
        "most_jobs": most_jobs(store),
    }


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in values.items()}
