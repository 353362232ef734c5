"""Sweeps of portals as large as the real ones, with their caps: how much is seen, and for how many requests.

Pages are made and read in one process, in virtual time; frontier, judge and writer are the real ones. The
peer is whoever lists every advert once, without a cap: as many requests as pages. The goal: at least 98 % of
the adverts, for at most 1.3 times those requests, in sweeps that call themselves complete.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
from large_portals import BASE_URL, large_portal
from sale_sofia.storage.database import Database
from sale_sofia.storage.migrate import initialize_database
from swept_portals import SearchSweep

SEEN = 0.98
MOST_REQUESTS = 1.3


class Large(NamedTuple):
    """Adverts in Sofia, how many a page shows, and where a sweep begins."""

    adverts: int
    per_page: int
    start: str


PORTALS = {
    "homes.bg": Large(11_000, 100, "/api/offers?typeId=ApartmentSell&locationId=1&startIndex=0&stopIndex=99"),
    "bazar.bg": Large(17_500, 68, "/obiavi/prodazhba-apartamenti/sofia"),
    "imoti.net": Large(11_000, 30, "/bg/obiavi/r/prodava/sofia/"),
    "imot.bg": Large(33_500, 40, "/obiavi/prodazhbi/grad-sofiya/ednostaen?type_home=2~3~4~5~6~"),
}
QUICK = ("homes.bg",)


def main() -> None:
    """Sweep, print a row for each portal, and end with one JSON object."""
    options = measure.options(__doc__)
    names = QUICK if options.quick else tuple(PORTALS)
    found = {name: swept(name, PORTALS[name]) for name in names}
    measure.finish(
        {"bench": "coverage", "portals": found}, met=all(map(meets, found.values())), check=options.check
    )


def swept(name: str, portal: Large) -> dict[str, Any]:
    """What one sweep of the portal came to."""
    with tempfile.TemporaryDirectory(prefix="bench-coverage-") as folder:
        database = Database(f"sqlite:///{folder}/sweeps.db", busy_timeout_seconds=5, busy_retries=2)
        initialize_database(database)
        sweep = SearchSweep(database, large_portal(name, portal.adverts))
        done = sweep.run([BASE_URL + portal.start])
        database.dispose()
    listing = -(-portal.adverts // portal.per_page)
    found = {
        "adverts": portal.adverts,
        "seen": round((done.adverts or 0) / portal.adverts, 4),
        "requests": len(sweep.asked),
        "over_one_listing": round(len(sweep.asked) / listing, 3),
        "complete": done.complete,
    }
    print(f"{name:12}" + "".join(f"{key} {value}  " for key, value in found.items()), flush=True)
    return found


def meets(found: dict[str, Any]) -> bool:
    """Whether a portal's sweep is within the goal."""
    return bool(found["complete"] and found["seen"] >= SEEN and found["over_one_listing"] <= MOST_REQUESTS)


if __name__ == "__main__":
    main()
