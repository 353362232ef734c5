"""How long a search takes among 100 000 adverts: what the database leaves over is judged flat by flat.

The usual searches of a buyer have a goal; one that asks nothing, or only for words, reads all there is.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import measure
import scoring_world
from sale_sofia.advice.search.query import SHOWN_FLATS, SearchQuery
from sale_sofia.advice.search.run import search
from sale_sofia.storage.database import Database

ADVERTS, QUICK_ADVERTS = 100_000, 20_000
GOAL_SECONDS = 2.0
NOW = 2e9
ROUNDS = 3
USUAL: Mapping[str, Mapping[str, Any]] = {
    "budget, rooms, area": {"price_max": 150_000, "rooms": (3,), "area_min": 80},
    "and floor, no panel": {
        "price_max": 150_000, "rooms": (3,), "area_min": 80, "not_ground": True, "not_last": True,
        "no_panel": True,
    },
    "budget, rooms, metro, act, year": {
        "price_max": 150_000, "rooms": (2, 3), "metro_minutes": 10, "act": "act15", "year_min": 2000,
    },
    "€/m², elevator, by price": {"eur_sqm_max": 1_500, "elevator": True, "sort": "price"},
    "budget, rooms, a word": {"price_max": 120_000, "rooms": (2,), "word": ("парка",)},
}  # fmt: skip
BROAD: Mapping[str, Mapping[str, Any]] = {"everything": {}, "a word, nothing else": {"word": ("парка",)}}


def main() -> None:
    """Measure, print, and end with one JSON object."""
    options = measure.options(__doc__)
    adverts = QUICK_ADVERTS if options.quick else ADVERTS
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'x.db'}", busy_timeout_seconds=30, busy_retries=3)
        properties = scoring_world.fill(database, adverts)
        print(f"{adverts} adverts of {properties} properties")
        usual = {name: _measure(database, name, query) for name, query in USUAL.items()}
        broad = {name: _measure(database, name, query) for name, query in BROAD.items()}
    slowest = max(one["seconds"] for one in usual.values())
    result = {"bench": "searching", "adverts": adverts, "usual": usual, "broad": broad, "slowest": slowest}
    measure.finish(result, met=slowest <= GOAL_SECONDS, check=options.check)


def _measure(database: Database, name: str, conditions: Mapping[str, Any]) -> dict[str, float]:
    query = SearchQuery.of(conditions)
    rounds = [_timed(database, query) for _ in range(ROUNDS)]
    best = min(rounds, key=lambda one: one["seconds"])
    times = f"{best['seconds']:6.2f} s  CPU {best['cpu']:6.2f} s"
    print(f"{name:34} {times}  {best['passed']} found, {best['unknown']} not known")
    return best


def _first(_total: int) -> slice:
    """As many as the command shows."""
    return slice(SHOWN_FLATS)


def _timed(database: Database, query: SearchQuery) -> dict[str, float]:
    began, cpu = time.perf_counter(), time.process_time()
    found = search(database, query, now=NOW, part=_first, unknown_part=_first)
    return {
        "seconds": round(time.perf_counter() - began, 3),
        "cpu": round(time.process_time() - cpu, 3),
        "passed": found.total,
        "unknown": found.unknown_total,
    }


if __name__ == "__main__":
    main()
