"""Three hosts under fire: is anything lost, doubled, stuck, too fast, or written by one who lost its lease?

Redis, PostgreSQL, the portal and beat are on one host, workers on two others, each with a network, an address
and process numbers of its own on this machine (it needs root for that). One host of workers is cut off for 30
seconds and comes back; the other is killed at once with all its processes and comes back; three times over.
The judges are the portal's request log, its truth, and the database: never a count of our own.
"""

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
from hosts import why_not
from hosts_crawl import SITE, three_hosts
from hosts_scenario import begin, cut_off, findings, kill_and_restart
from sale_sofia_simulator.simulation import SimulatorConfig

PATIENCE_SECONDS = 900.0


def main() -> None:
    """Crawl, cut, kill, and judge."""
    options = measure.options(__doc__)
    if reason := why_not():
        raise SystemExit(reason)
    adverts, turns, seconds = (250, 1, 10.0) if options.quick else (1500, 3, 30.0)
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    config = SimulatorConfig(
        sites=(SITE,), properties=adverts, seed=seed, port=0, faults="slow:0.2", slow_seconds=1.0
    )
    held: dict[int, int] = {}
    with tempfile.TemporaryDirectory(prefix="bench-hosts-") as name, three_hosts(Path(name), config) as crawl:
        begin(crawl)
        for _ in range(turns):
            held |= cut_off(crawl, seconds)
            kill_and_restart(crawl)
        crawl.until(lambda: crawl.state() == "COMPLETE", PATIENCE_SECONDS, "end")
        found = findings(crawl, held)
        measured = {"requests": len(crawl.pages()), "held_when_cut": len(held), "fenced": crawl.fenced("b")}
    result = {"bench": "three_hosts", "seed": seed, "adverts": adverts, "turns": turns}
    told = {what: str(details)[:200] for what, details in found.items()}
    measure.finish(
        {**result, "cut_seconds": seconds, **measured, "found": told}, met=not found, check=options.check
    )


if __name__ == "__main__":
    main()
