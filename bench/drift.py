"""The alarm for changed pages, in the long form: thirty quiet days of every portal, then every change.

Every simulated portal is crawled over HTTP day after day, as usual (only what may be new is opened), with the
churn of its days: nothing may be raised. Then each change of `src/sale_sofia_simulator/faults.py` is served,
each on the store as it was, to a usual crawl: how many are found in the first run after them, whether a value
is stored that is neither true nor was believed before, whether an advert is gone because of it. The goal: no
false alarm, every change found, nothing wrong, no advert on the market gone.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import drift_days
import measure
from drift_days import DriftDays
from sale_sofia.history.drift.store import last_run
from sale_sofia_simulator.faults import LAYOUTS
from sale_sofia_simulator.truth import REAL

ADVERTS = 300
QUICK_ADVERTS = 60


def main() -> None:
    """Crawl, print a row for each portal, and end with one JSON object."""
    options = measure.options(__doc__, {"adverts": "on each portal", "days": "quiet ones"})
    drift_days.ADVERTS = int(options.adverts or (QUICK_ADVERTS if options.quick else ADVERTS))
    days = int(options.days or (5 if options.quick else 30))
    portals = {site: portal_result(site, days, everything=options.quick) for site in REAL}
    alarms = sum(one["false_alarms"] for one in portals.values())
    missed = [name for one in portals.values() for name in one["missed"]]
    spoilt = [name for one in portals.values() for name in one["spoilt"]]
    result = {
        "bench": "drift",
        "adverts": drift_days.ADVERTS,
        "quiet_runs": days * len(REAL),
        "false_alarms": alarms,
        "layouts": sum(layout.drifts for layout in LAYOUTS.values()),
        "missed": missed,
        "spoilt": spoilt,
    }
    measure.finish(result, met=not (alarms or missed or spoilt), check=options.check)


def portal_result(site: str, days: int, *, everything: bool) -> dict[str, Any]:
    """One portal: its quiet days, then its changes."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-drift-") as folder,
        drift_days.drift_days(Path(folder), site, archive_enabled=False) as portal,
    ):
        alarms = sum(not quiet_day(portal) for _ in range(days))
        portal.keep()
        names = [name for name, layout in LAYOUTS.items() if layout.site == site and layout.drifts]
        found = {name: change(portal, name, everything=everything) for name in names}
    missed = [name for name, (seen, _) in found.items() if not seen]
    spoilt = [name for name, (_, sound) in found.items() if not sound]
    changes = f"{len(found):4} layouts, missed {missed}, spoilt {spoilt}"
    print(f"{site:12}{days:4} quiet runs{alarms:4} alarms{changes}")
    return {"false_alarms": alarms, "missed": missed, "spoilt": spoilt}


def quiet_day(portal: DriftDays) -> bool:
    """One more day as usual; whether nothing was raised."""
    portal.crawl(everything=False)
    with portal.days.database.read() as connection:
        run = last_run(connection, portal.site)
    portal.days.next_day()
    if run is not None and run.findings:
        print(f"  {portal.site}, day {portal.days.day}: {[one['found'] for one in run.findings]}")
    return run is not None and not run.findings


def change(portal: DriftDays, layout: str, *, everything: bool) -> tuple[bool, bool]:
    """Whether a change was found in the first run after it, and whether nothing wrong came of it."""
    portal.restore()
    before, lost = portal.values(), portal.lost()  # some come back on this day
    portal.crawl(layout, everything=everything)
    return bool(portal.drift()), not portal.wrong(before) and portal.lost() <= lost


if __name__ == "__main__":
    main()
