"""100 000 adverts scored for three profiles, and scored again after a crawl that changed one in a hundred.

Everything counts: reading the adverts from SQLite, merging them to flats, measuring neighbourhoods, scoring
and storing. Goal: 10 s of CPU time; afterwards only flats that changed are touched, and those of
neighbourhoods that really moved. Beside it the plain way: each flat read by itself for each profile, and
scored with nothing remembered; timed on some of them and multiplied.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

import measure
import scoring_world
from sale_sofia.advice.scoring.profile import Profile, load_profile
from sale_sofia.advice.scoring.runs import ScoreRun
from sale_sofia.advice.scoring.scoring import Scorer, look
from sale_sofia.advice.scoring.store import read_yardsticks
from sale_sofia.advice.scoring.yardsticks import Yardstick
from sale_sofia.flats.rows import read_flats
from sale_sofia.history.revisions import touch
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database

ADVERTS = 100_000
QUICK_ADVERTS = 10_000
GOAL_SECONDS = 10.0
SAMPLE = 300
CHANGED_SHARE = 0.01
CUT = text(
    "update listings set price_eur = price_eur * 0.97, content_hash = 'x' || substr(content_hash, 2) "
    "where id % 100 = 7 returning id"
)
ALL = text("select id from listings")


def main() -> None:
    """Measure, and end with one JSON object."""
    options = measure.options(__doc__)
    adverts = QUICK_ADVERTS if options.quick else ADVERTS
    with tempfile.TemporaryDirectory(prefix="bench-scoring-") as name:
        result, met = _run(Path(name), adverts)
    measure.finish({"bench": "scoring", "adverts": adverts, **result}, met=met, check=options.check)


def _run(folder: Path, adverts: int) -> tuple[dict[str, Any], bool]:
    database = Database(f"sqlite:///{folder / 'x.db'}", busy_timeout_seconds=30, busy_retries=5)
    properties = scoring_world.fill(database, adverts)
    database.run_write(lambda connection: touch(connection, connection.scalars(ALL)))
    profiles = _profiles(folder)
    run = ScoreRun(Settings(data_dir=folder), database, profiles)
    first = _timed(run.run)
    unchanged = _timed(run.run)
    database.run_write(lambda connection: touch(connection, connection.scalars(CUT)))
    after = _timed(run.run)
    naive = _timed(partial(database.run_read, partial(_naive, profiles=profiles)))
    result = {
        "properties": properties,
        "first": first,
        "unchanged": unchanged,
        "after_a_crawl": after,
        "plain_cpu_seconds": round(naive["cpu_seconds"] / SAMPLE * properties, 1),
    }
    touched = after["scored"] <= 5 * CHANGED_SHARE * first["scored"] and unchanged["scored"] == 0
    return result, first["cpu_seconds"] <= GOAL_SECONDS * adverts / ADVERTS and touched


def _profiles(folder: Path) -> Mapping[str, Profile]:
    """The shipped one, a strict and a rich one."""
    shipped = load_profile(folder, "default").model_dump()
    strict = {
        "metro_most_minutes": 15,
        "bathrooms_least": 1,
        "orientation": ["S", "SE"],
        "balcony_or_garden": True,
    }
    return {
        "default": Profile.model_validate(shipped),
        "strict": Profile.model_validate({**shipped, "must": {**shipped["must"], **strict}}),
        "rich": Profile.model_validate({**shipped, "budget_eur": 600_000, "must": {"rooms_least": 4}}),
    }


def _timed(work: Callable[[], Any]) -> dict[str, Any]:
    began, cpu = time.perf_counter(), time.process_time()
    done = work()
    used = {"seconds": time.perf_counter() - began, "cpu_seconds": time.process_time() - cpu}
    counts = {name: getattr(done, name) for name in ("changed", "scored", "removed") if hasattr(done, name)}
    return {**{name: round(value, 2) for name, value in used.items()}, **counts}


def _naive(connection: Connection, profiles: Mapping[str, Profile]) -> None:
    """Some flats, each read by itself and scored with nothing remembered."""
    yardsticks = read_yardsticks(connection)
    ids = connection.scalars(
        text("select distinct property_id from listing_sources limit :most"), {"most": SAMPLE}
    )
    for number in list(ids):
        for profile in profiles.values():
            for flat in read_flats(connection, [number]):
                Scorer(profile).score(look(flat, lambda cell: yardsticks.get(cell, Yardstick())))


if __name__ == "__main__":
    main()
