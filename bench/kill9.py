"""What `kill -9` costs: sale-sofia, Scrapy's JOBDIR and Crawlee's queue on disk, all on one simulated portal.

Each crawler goes from search pages to adverts, is killed with SIGKILL when the portal's own log shows that a
random share of about 40 % of the adverts was fetched, and is started again with the same command until it
ends by itself. Lost is an advert that is then not in its database or not read truly; repeated is a fetch of
an advert beyond its first, by the portal's log. sale-sofia runs twice: as its command, with the concurrency
of its site file, and with the peers' concurrency.

The goal is that sale-sofia loses nothing and repeats at most as many pages as it fetches at once.

`--storm 30` instead kills one crawl of sale-sofia's command so often, at random moments, its starts included.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import crawling
import measure
from crawling import World
from sale_sofia.websites.site_file import load_site_config

CONCURRENCY = 16
EARLIEST, LATEST = 0.30, 0.50
MOST_STARTS = 10
STORM_SECONDS = 2.0
"""A run in a storm lives so long at most."""
PAGES_PAST = 6
"""A page that kills five runs is given up: every third run gets past the first ones that it asks for."""
POLL_SECONDS = 0.02
LONGEST_RUN_SECONDS = 600
COMMAND = "sale-sofia (command)"
RATES = {"DOMAIN_RATE_LIMITS": json.dumps({crawling.SITE: 60_000}), "ROBOTS_OBEYED": "false"}


class System(NamedTuple):
    """A crawler under test."""

    program: str
    concurrency: int
    ours: bool = False


def systems() -> dict[str, System]:
    """Everybody, by the name in the table."""
    polite = load_site_config(crawling.SITE).politeness.concurrency
    return {
        COMMAND: System("sale-sofia", polite, ours=True),
        "sale-sofia": System("sale-sofia", CONCURRENCY, ours=True),
        "Scrapy JOBDIR": System("Scrapy", CONCURRENCY),
        "Crawlee file system": System("Crawlee", CONCURRENCY),
    }


class Trial(NamedTuple):
    """One crawl that was killed once."""

    killed_at: int
    """Adverts fetched when the kill was sent."""
    lost: int
    repeated: int
    starts: int
    seconds: float
    """From the kill to the end of the crawl."""


def main() -> None:
    """Run the trials, print a row for each, and end with one JSON object."""
    options = measure.options(__doc__, {"storm": "only so many kills of one crawl"})
    adverts, rounds = (300, 1) if options.quick else (1500, 3)
    seed = int(os.environ.get("KILL9_SEED") or random.SystemRandom().randrange(1_000_000))
    print(f"{adverts} adverts, seed {seed} (KILL9_SEED repeats it)", flush=True)
    chance = random.Random(seed)
    if options.storm:
        found, met = storm(adverts, int(options.storm), chance)
        measure.finish({"bench": "kill9 --storm", "seed": seed, **found}, met=met, check=options.check)
        return
    tested = systems()
    trials: dict[str, list[Trial]] = {name: [] for name in tested}
    with tempfile.TemporaryDirectory(prefix="bench-kill9-") as name:
        folder = Path(name)
        with crawling.world(adverts, folder / "world") as world:
            for turn in range(rounds):
                for who, system in tested.items():
                    trial = run_trial(who, system, folder / f"{turn} {who}", world, chance)
                    trials[who].append(trial)
                    show(who, trial, adverts)
    result = {"bench": "kill9", "adverts": adverts, "seed": seed, "systems": figures(trials, tested)}
    measure.finish(
        result, met=all(is_met(trials[who], one) for who, one in tested.items()), check=options.check
    )


def storm(adverts: int, kills: int, chance: random.Random) -> tuple[dict[str, Any], bool]:
    """One crawl killed again and again; what was lost and repeated, and whether that is within its word."""
    system = systems()[COMMAND]
    with (
        tempfile.TemporaryDirectory(prefix="bench-kill9-") as name,
        crawling.world(adverts, Path(name) / "world") as world,
    ):
        folder = Path(name) / "storm"
        folder.mkdir()
        for number in range(kills):
            process = begin(COMMAND, system, folder, world)
            before = world.fetched().total() + PAGES_PAST
            while number % 3 == 0 and process.poll() is None and world.fetched().total() < before:
                time.sleep(POLL_SECONDS)
            time.sleep(chance.uniform(0, STORM_SECONDS))
            process.kill()
            process.wait()
        finish(COMMAND, system, folder, world)
        fetched = world.fetched()
        lost = count_lost(system.program, folder, world.truths)
    repeated = fetched.total() - len(fetched)
    print(f"{kills} kills, lost {lost} of {adverts}, repeated {repeated}", flush=True)
    found = {"adverts": adverts, "kills": kills, "lost": lost, "repeated": repeated}
    return found, lost == 0 and repeated <= kills * system.concurrency


def run_trial(who: str, system: System, folder: Path, world: World, chance: random.Random) -> Trial:
    """Crawl, kill, start again until it ends by itself, count."""
    folder.mkdir()
    world.forget()
    wanted = round(len(world.truths) * chance.uniform(EARLIEST, LATEST))
    process = begin(who, system, folder, world)
    kill_when_fetched(process, wanted, world)
    killed_at, killed = world.fetched().total(), time.monotonic()
    starts = 1 + finish(who, system, folder, world)
    seconds = time.monotonic() - killed
    fetched = world.fetched()
    lost = count_lost(system.program, folder, world.truths)
    return Trial(killed_at, lost, fetched.total() - len(fetched), starts, seconds)


def begin(who: str, system: System, folder: Path, world: World) -> "subprocess.Popen[str]":
    """The same command every time."""
    if who != COMMAND:
        command = crawling.command_of(system.program, folder, system.concurrency, world.urls)
        return crawling.start(command, output=subprocess.DEVNULL)
    urls = [argument for url in world.urls for argument in ("--start-url", url)]
    script = str(Path(sys.executable).with_name("sale-sofia"))
    environment = {**RATES, "DATA_DIR": str(folder), "DATABASE_URL": ""}
    return crawling.start([script, "crawl", crawling.SITE, *urls], environment, subprocess.DEVNULL)


def kill_when_fetched(process: "subprocess.Popen[str]", wanted: int, world: World) -> None:
    """SIGKILL once the portal has been asked for so many adverts."""
    while world.fetched().total() < wanted:
        if process.poll() is not None:
            raise SystemExit("a crawler ended before it could be killed: the trial is void")
        time.sleep(POLL_SECONDS)
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        raise SystemExit("a crawler ended before it could be killed: the trial is void")


def finish(who: str, system: System, folder: Path, world: World) -> int:
    """Start again until it ends by itself without an error; returns how often that was."""
    for again in range(1, MOST_STARTS + 1):
        process = begin(who, system, folder, world)
        try:
            if process.wait(LONGEST_RUN_SECONDS) == 0:
                return again
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise SystemExit(f"{who} did not end in {LONGEST_RUN_SECONDS} s") from None
    raise SystemExit(f"{who} failed {MOST_STARTS} times")


def count_lost(program: str, folder: Path, truths: Mapping[str, Mapping[str, Any]]) -> int:
    """Adverts that are not stored, or not as they are."""
    found = crawling.stored(program, folder)
    return sum(found.get(external_id) != truth for external_id, truth in truths.items())


def show(who: str, trial: Trial, adverts: int) -> None:
    """A row of the table."""
    print(
        f"{who:22}killed at {trial.killed_at:5}, lost {trial.lost:5} of {adverts}, "
        f"repeated {trial.repeated:3}, {trial.starts} starts, {trial.seconds:6.1f} s after the kill",
        flush=True,
    )


def figures(trials: Mapping[str, list[Trial]], tested: Mapping[str, System]) -> dict[str, Any]:
    """Every figure of every trial."""
    return {
        who: {
            "concurrency": tested[who].concurrency,
            "killed_at": [one.killed_at for one in done],
            "lost": [one.lost for one in done],
            "repeated": [one.repeated for one in done],
            "starts": [one.starts for one in done],
            "seconds_after_kill": [round(one.seconds, 1) for one in done],
        }
        for who, done in trials.items()
    }


def is_met(trials: list[Trial], system: System) -> bool:
    """Whether one of ours kept its word; the peers gave none."""
    kept = all(one.lost == 0 and one.repeated <= system.concurrency for one in trials)
    return kept or not system.ours


if __name__ == "__main__":
    main()
