"""What follows a crawl that changed one advert in a hundred: descriptions, matching, flats, scores, alerts.

Noisy adverts (`tests/noisy_adverts.py`), as many to the quarter whatever their number, in SQLite: 100 000, or
as many as `--adverts` says. All is done once, as after a first crawl. Then one in a hundred gets another
price, and what a crawl does at its end is done again, in a new process.

The goal is 5 s and 400 MB for that, with 100 000 and with 1 000 000 adverts.
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from sqlalchemy import Connection, text

import matching_world
import measure
from noisy_adverts import noisy_adverts
from sale_sofia.advice.scoring.runs import score_new
from sale_sofia.alerts.after_crawl import alert_crawled
from sale_sofia.descriptions.enrichment import read_new
from sale_sofia.flats.runs import match_new
from sale_sofia.history.revisions import touch
from sale_sofia.installation import open_database
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

ADVERTS, QUICK_ADVERTS = 100_000, 10_000
GOAL_SECONDS, GOAL_MB = 5.0, 400
CUT = text(
    "update listings set price_eur = price_eur * 0.97, content_hash = 'x' || substr(content_hash, 2) "
    "where id % 100 = 7 returning id"
)
STEPS: Mapping[str, Callable[[Settings, Database], object]] = {
    "descriptions": lambda _settings, database: read_new(database),
    "matching": match_new,
    "scores": score_new,
    "alerts": alert_crawled,
}


def main() -> None:
    """Measure, and end with one JSON object."""
    options = measure.options(__doc__, {"adverts": "in the database, 100 000 unless told"})
    adverts = int(options.adverts or (QUICK_ADVERTS if options.quick else ADVERTS))
    with tempfile.TemporaryDirectory(prefix="bench-after-crawl-") as name:
        folder = Path(name)
        measure.apart(fill, folder, adverts)
        first = measure.apart(conclude, folder)
        show("all new", first)
        changed = measure.apart(change, folder)
        after = measure.apart(conclude, folder)
        show(f"{changed} changed", after)
    result = {"bench": "after_crawl", "adverts": adverts, "changed": changed}
    result |= {"seconds": after["seconds"], "peak_mb": after["peak_mb"], "first": first, "after": after}
    met = after["seconds"] <= GOAL_SECONDS and after["peak_mb"] <= GOAL_MB
    measure.finish(result, met=met, check=options.check)


def fill(folder: Path, adverts: int) -> None:
    """The adverts as a first crawl leaves them."""
    database = open_database(Settings(data_dir=folder))
    matching_world.fill_database(database, noisy_adverts(adverts, matching_world.SEED).rows(), 1)


def change(folder: Path) -> int:
    """Another price for one in a hundred; how many these are."""
    database = open_database(Settings(data_dir=folder))
    return database.run_write(_cut)


def _cut(connection: Connection) -> int:
    ids = connection.scalars(CUT).all()
    touch(connection, ids)
    return len(ids)


def conclude(folder: Path) -> dict[str, Any]:
    """What a crawl does at its end, step by step."""
    settings = Settings(data_dir=folder)
    database = open_database(settings)
    found: dict[str, Any] = {}
    for name, step in STEPS.items():
        began, cpu = time.perf_counter(), time.process_time()
        step(settings, database)
        found[name] = {"seconds": _since(began, time.perf_counter()), "cpu": _since(cpu, time.process_time())}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    seconds = round(sum(part["seconds"] for part in found.values()), 2)
    return {"seconds": seconds, "peak_mb": peak, "parts": found}


def _since(began: float, now: float) -> float:
    return round(now - began, 2)


def show(name: str, found: Mapping[str, Any]) -> None:
    """One line."""
    print(f"{name}: {json.dumps(found)}", flush=True)


if __name__ == "__main__":
    main()
