"""The world that crawlers are measured in: a simulated portal on one core, a crawler on the other."""

import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import crawler
import peers
from sale_sofia.settings.model import DATABASE_FILE
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.running import RunningSimulator, start_in_process
from sale_sofia_simulator.simulation import SimulatorConfig

HERE = Path(__file__).parent
SITE = "imot.bg"
PORTAL_CORE, CRAWLER_CORE = 0, 1
DISTINCT = 300
"""Rendered adverts; the others are copies of them under ids and addresses of their own."""
NO_CAP = 1_000_000
ADVERT_PATH = "/obiava-"
PROGRAMS = {"sale-sofia": "our_engine.py", "Scrapy": "scrapy_peer.py", "Crawlee": "crawlee_peer.py"}
FILES = {"sale-sofia": DATABASE_FILE, "Scrapy": crawler.ITEMS_FILE, "Crawlee": crawler.ITEMS_FILE}


@contextmanager
def core(number: int) -> Iterator[None]:
    """Processes started inside run on this core alone (of those we may use)."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(allowed)[number % len(allowed)]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@dataclass(slots=True)
class World:
    """A running portal, the truth of its adverts, and what it was asked for."""

    simulator: RunningSimulator
    truths: Mapping[str, Mapping[str, Any]]
    """The compared fields of each advert by its id; empty when no truth was asked for."""
    urls: list[str]
    _log: Path
    _read: int = 0

    def fetched(self) -> Counter[str]:
        """How often each advert was asked for since `forget`."""
        with self._log.open("rb") as file:
            file.seek(self._read)
            lines = file.read().rpartition(b"\n")[0].splitlines()
        paths = (json.loads(line)["path"] for line in lines)
        return Counter(path for path in paths if path.startswith(ADVERT_PATH))

    def forget(self) -> None:
        """Count anew from here."""
        self._read = self._log.stat().st_size


@contextmanager
def world(adverts: int, folder: Path, *, truth: bool = True) -> Iterator[World]:
    """A portal of so many adverts; what it shows of a search is not capped."""
    folder.mkdir()
    config = SimulatorConfig(
        sites=(SITE,),
        properties=adverts,
        distinct=min(adverts, DISTINCT),
        port=0,
        options={SITE: PortalOptions(most_results=NO_CAP)},
        log=folder / "requests.jsonl",
        truth=folder / "truth.jsonl" if truth else None,
    )
    with core(PORTAL_CORE):
        simulator = start_in_process(config)
    with simulator:
        truths = _truths(folder / "truth.jsonl") if truth else {}
        yield World(simulator, truths, simulator.start_urls(SITE), folder / "requests.jsonl")


def _truths(path: Path) -> dict[str, dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        read = [json.loads(line) for line in file]
    return {truth["external_id"]: peers.only_fields(truth) for truth in read}


def start(
    command: Sequence[str], environment: Mapping[str, str] | None = None, output: int = subprocess.PIPE
) -> subprocess.Popen[str]:
    """A crawler in a fresh process on its own core."""
    with core(CRAWLER_CORE):
        return subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.PIPE if output == subprocess.PIPE else output,
            text=True,
            env={**os.environ, **(environment or {})},
        )


def command_of(name: str, folder: Path, concurrency: int, urls: Sequence[str]) -> list[str]:
    """How a crawler is started, also for the second time."""
    return [sys.executable, str(HERE / PROGRAMS[name]), str(folder), str(concurrency), *urls]


def stored(name: str, folder: Path) -> dict[str, dict[str, Any]]:
    """The compared fields of every advert in a crawler's database, by id."""
    path = folder / FILES[name]
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(f"SELECT {', '.join(crawler.FIELDS)} FROM listings").fetchall()  # noqa: S608
    read = [dict(zip(crawler.FIELDS, row, strict=True)) for row in rows]
    found = {row["external_id"]: row | {"photo_urls": json.loads(row["photo_urls"])} for row in read}
    if len(found) != len(rows):
        raise SystemExit(f"{name} stored an advert twice")
    return found


def check_stored(name: str, folder: Path, truths: Mapping[str, Mapping[str, Any]]) -> None:
    """Every advert exactly once, every compared field true; anything else ends the benchmark."""
    found = stored(name, folder)
    if found.keys() != truths.keys():
        raise SystemExit(
            f"{name} stored {len(found)} adverts, {len(truths.keys() - found.keys())} are missing"
        )
    for external_id, truth in truths.items():
        if found[external_id] != truth:
            raise SystemExit(f"{name} read {found[external_id]} where the truth is {truth}")
