"""Crawls as a person runs them, against simulated portals in a process of their own."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from command_server import COLUMNS, COMMAND, Begun, ForkedProcess, shared_commands
from ready_files import put_ready_file
from sale_sofia.history.export import export_listings
from sale_sofia.storage.database import Database
from sale_sofia.websites.site_file import CONFIG_FOLDER
from sale_sofia_simulator.running import RunningSimulator

PATIENCE_SECONDS = 240.0
FAST = {"DOMAIN_RATE_LIMITS": json.dumps({"imot.bg": 60_000, "bazar.bg": 60_000})}
IMPATIENT = {
    **FAST,
    "RETRY_BASE_DELAY": "0.05",
    "RETRY_MAX_DELAY": "0.5",
    "RETRY_MAX_ATTEMPTS": "30",
    "CIRCUIT_BREAKER_RESET_TIMEOUT": "0.2",
}

ALONE = {"READ_AFTER_CRAWL": "false", "MATCH_AFTER_CRAWL": "false", "SCORE_AFTER_CRAWL": "false"}
"""A crawl after which nothing is concluded of what it found: half of the work of a small one."""

Row = dict[str, Any]


def environment(data: Path, more: Mapping[str, str]) -> dict[str, str]:
    return {**os.environ, "DATA_DIR": str(data), "COLUMNS": COLUMNS, **more}


def run(data: Path, *arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """One command to its end, as a process of its own that does not wait for its libraries."""
    words = [str(one) for one in arguments]
    _spare_the_migrations(data, words, more)
    return shared_commands().run(words, environment(data, more), Path.cwd(), PATIENCE_SECONDS)


def _spare_the_migrations(data: Path, arguments: Sequence[str | Path], more: Mapping[str, str]) -> None:
    """A crawl that is the first of its folder finds an empty database there: to make it takes longer."""
    if arguments[0] == "crawl" and "DATABASE_URL" not in more and not data.exists():
        put_ready_file(data / "sale_sofia.db")


def answer(told: subprocess.CompletedProcess[str]) -> Row:
    """The JSON that a command printed, which went well."""
    assert told.returncode == 0, told.stderr
    found: Row = json.loads(told.stdout)
    return found


def start(data: Path, *arguments: str | Path, **more: str) -> subprocess.Popen[str]:
    """A command in the background, for killing."""
    _spare_the_migrations(data, arguments, more)
    return subprocess.Popen(
        [COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(data, more),
    )


def fork(data: Path, *arguments: str | Path, **more: str) -> ForkedProcess:
    """The same without the start of an interpreter."""
    return ForkedProcess(shared_commands(), in_background(data, *arguments, **more))


def in_background(data: Path, *arguments: str | Path, said: str = "", **more: str) -> Begun:
    """A command in the background, which does not wait for its libraries; `end_of` it has to be looked at."""
    words = [str(one) for one in arguments]
    _spare_the_migrations(data, words, more)
    return shared_commands().begin(words, environment(data, more), Path.cwd(), said)


def end_of(begun: Begun, seconds: float = PATIENCE_SECONDS) -> subprocess.CompletedProcess[str]:
    """All that such a command has said, once it has ended; killed when that does not come in time."""
    code = shared_commands().ended(begun, seconds)
    if code is None:
        os.killpg(begun.pid, signal.SIGKILL)
    assert code is not None, f"no end in {seconds} s: {begun.told()}"
    out, err = (path.read_text("utf-8") for path in (begun.output, begun.errors))
    return subprocess.CompletedProcess([COMMAND], code, out, err)


def crawl_arguments(simulator: RunningSimulator, site: str) -> list[str]:
    """`crawl SITE` from every search that leads to the simulated adverts."""
    urls = [part for url in simulator.start_urls(site) for part in ("--start-url", url)]
    return ["crawl", site, *urls, "--json"]


def site_folder(folder: Path, site: str, *, one_visitor: bool = False, **more: object) -> Path:
    """A folder with the portal's file, in which these keys are said."""
    content = yaml.safe_load((CONFIG_FOLDER / "sites" / f"{site}.yaml").read_text("utf-8"))
    content["politeness"]["concurrency"] = 1 if one_visitor else content["politeness"]["concurrency"]
    folder.mkdir(exist_ok=True)
    told = yaml.safe_dump({**content, **more}, allow_unicode=True)
    (folder / f"{site}.yaml").write_text(told, "utf-8")
    return folder


def truth(simulator: RunningSimulator) -> dict[tuple[str, str], Row]:
    """Every advert of the simulated portals as it really is."""
    assert simulator.config.truth is not None
    rows = [json.loads(line) for line in simulator.config.truth.read_text("utf-8").splitlines()]
    return {(row["site"], row["external_id"]): row for row in rows if row["kind"] == "listing"}


def stored(data: Path) -> list[Row]:
    """Every stored advert."""
    return stored_at(f"sqlite:///{data / 'sale_sofia.db'}", data)


def stored_at(url: str, folder: Path) -> list[Row]:
    """Every advert stored in a database; the folder is for a file in between."""
    database = Database(url, busy_timeout_seconds=10, busy_retries=3)
    path = folder / "stored.jsonl"
    export_listings(database, path)
    database.dispose()
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def differences(rows: list[Row], true: dict[tuple[str, str], Row]) -> dict[Any, Any]:
    """What is missing, twice there, or not as it should be; empty when all is right."""
    counts = Counter((row["site"], row["external_id"]) for row in rows)
    wrong: dict[Any, Any] = dict.fromkeys(true.keys() - counts.keys(), "missing")
    wrong |= {key: f"stored {count} times" for key, count in counts.items() if count != 1 or key not in true}
    for row in rows:
        told = true.get((row["site"], row["external_id"]), {})
        if fields := {key: (told[key], row[key]) for key in told if row.get(key) != told[key]}:
            wrong[row["site"], row["external_id"]] = fields
    return wrong


def requests(log: Path) -> list[Row]:
    """The simulator's own record of what it was asked; a line that is just being written is left out."""
    return [json.loads(line) for line in log.read_text("utf-8").rpartition("\n")[0].splitlines()]
