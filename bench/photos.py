"""Photos as evidence: precision and recall of matching without and with them, and what they cost.

Two simulated portals on which some flats are sold by a second agency in its own words, at its own price and
measure. Most of these take the photos that they find: packed again, cropped, marked, mirrored. Some pictures
stand for many flats. Photos are fetched from the portals through the gate, as after a crawl.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

import matching
import matching_world
import measure
from sale_sofia.crawl.photos.running import PhotoRun
from sale_sofia.flats.runs import PropertyMatching
from sale_sofia.flats.tables import listing_sources
from sale_sofia.settings.model import Settings
from sale_sofia.storage.database import Database
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.running import start_in_process
from sale_sofia_simulator.simulation import FAMILY, Simulation, SimulatorConfig

PROPERTIES, QUICK_PROPERTIES, SEED = 4000, 1000, 1
GOAL_POINTS, GOAL_REQUESTS = 0.03, 0.3
Result = dict[str, Any]


def main() -> None:
    """Measure, print, and end with one JSON object."""
    options = measure.options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        found = run(Path(folder), QUICK_PROPERTIES if options.quick else PROPERTIES, SEED)
    for name in ("without", "with"):
        print(f"{name} photos: precision {found[name]['precision']}, recall {found[name]['recall']}")
    print(f"{found['requests_per_advert']} photo requests for each of {found['adverts']} adverts")
    measure.finish({"bench": "photos", **found}, met=met(found), check=options.check)


def met(found: Result) -> bool:
    """Whether recall is 3 points better, precision no worse, for 0.3 requests an advert or fewer."""
    before, after = found["without"], found["with"]
    return bool(
        after["recall"] - before["recall"] >= GOAL_POINTS
        and after["precision"] >= before["precision"]
        and found["requests_per_advert"] <= GOAL_REQUESTS
    )


def run(folder: Path, properties: int, seed: int) -> Result:
    """Match a world without photos, fetch those in doubt, and match again."""
    options = dict.fromkeys(FAMILY, PortalOptions(photos=True))
    config = SimulatorConfig(properties=properties, seed=seed, rivals=True, port=0, options=options)
    rates = dict.fromkeys(FAMILY, 60_000.0)
    settings = Settings(data_dir=folder, domain_rate_limits=rates, photo_seconds=86_400)
    database = Database(f"sqlite:///{folder / 'x.db'}", busy_timeout_seconds=30, busy_retries=3)
    with start_in_process(config) as simulator:
        portals = Simulation(config, simulator.urls).portals
        rows = [truth for portal in portals.values() for truth in portal.truths()]
        flats = [
            portal.stock.advert(number).home.number
            for portal in portals.values()
            for number in range(len(portal.stock))
        ]
        matching_world.fill_database(database, rows, 1)
        PropertyMatching(settings, database).match_all()
        without = _judged(database, flats)
        started = time.perf_counter()
        summary = PhotoRun(settings, database).run()
    return {
        "adverts": len(rows),
        "without": without,
        "with": _judged(database, flats),
        "photos": summary._asdict(),
        "requests_per_advert": round(summary.requests / len(rows), 3),
        "seconds": round(time.perf_counter() - started, 1),
    }


def _judged(database: Database, flats: list[int]) -> Result:
    with database.read() as connection:
        homes = dict(
            connection.execute(select(listing_sources.c.listing_id, listing_sources.c.property_id)).all()
        )
    groups = np.array([homes[number] for number in range(1, len(flats) + 1)])
    return matching.judge(groups, np.array(flats))


if __name__ == "__main__":
    main()
