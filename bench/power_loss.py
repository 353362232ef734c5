"""The power goes at any moment of a day's work: alerts, profiles, a crawl, notes, exports, backups.

    bench/power_loss.py --states 500

Everything that the commands do to files below one folder is noted by a library loaded before the C library's
(tests/power_shim.c). Then, at moments drawn by lot, a disk is made of it as a power cut may leave it
(tests/power_disk.py): what was never synced is gone, or its names are there with no bytes, or with zeros, or
some of it, torn at sectors. The goal is that nothing is lost that a command had said to be done, that no
half-written file is taken for a whole one, that the database is sound, and that every tenth disk goes on by
`sale-sofia resume`. In short: tests/integration/test_power_loss.py.
"""

import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import measure
from crawls import FAST, run
from power_disk import make
from power_work import SITE, Work, broken_promises, states, watched
from sale_sofia_simulator.running import start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig

STATES, QUICK_STATES = 500, 60
RESUMED = 10
"""Every so many disks are gone on with."""


def main() -> None:
    """Work, then state after state; one JSON object at the end."""
    options = measure.options(
        __doc__, {"states": "how many disks, 500 unless told", "seed": "of an earlier run"}
    )
    seed = int(options.seed or random.SystemRandom().randrange(10**6))
    print(f"seed {seed}", flush=True)
    count = int(options.states or (QUICK_STATES if options.quick else STATES))
    with tempfile.TemporaryDirectory() as folder:
        config = SimulatorConfig(
            sites=(SITE,),
            properties=6,
            seed=seed,
            port=0,
            log=Path(folder) / "log",
            truth=Path(folder) / "truth",
        )
        with start_in_process(config) as simulator:
            work = watched(Path(folder), simulator)
            broken = try_all(work, Path(folder) / "left", random.Random(seed), count)
    result = {"bench": "power_loss", "seed": seed, "notes": len(work.notes), "disks": count, "broken": broken}
    measure.finish(result, met=not broken, check=options.check)


def try_all(work: Work, left: Path, rng: random.Random, count: int) -> int:
    """How many promises were broken; each is printed."""
    broken = 0
    for number, (sentence, marks, disk, variant) in enumerate(states(work, rng, count)):
        make(disk.left(variant, rng), left)
        found = list(broken_promises(left, work.told, marks))
        if number % RESUMED == 0 and (left / "data").is_dir():
            found += resumed(left / "data")
        broken += len(found)
        for one in found:
            print(f"{sentence}: {one}", flush=True)
    return broken


def resumed(data: Path) -> list[str]:
    """What a person does next."""
    doctor, resume = run(data, "doctor", "--json"), run(data, "resume", **FAST)
    told = [f"doctor ends with {doctor.returncode}: {doctor.stdout}"] if doctor.returncode else []
    return told + ([f"resume ends with {resume.returncode}: {resume.stderr}"] if resume.returncode else [])


if __name__ == "__main__":
    main()
