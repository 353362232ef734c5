"""What is measured again and again during a soak, and the line through it."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from sqlalchemy import Connection, func, inspect, select, table

from app_runs import store
from parallel_crawls import running_in
from parallel_soak import WAITING, database_bytes
from parallel_world import OUR_KEYS
from process_sizes import Held, held_by
from sale_sofia.crawl.runners.dispatching import result_url
from sale_sofia.operations.services.redis import RedisServer, connect

ROLES = {
    "beat": " beat",
    "worker": " worker",
    "dashboard": "sale_sofia.app.server",
    "dashboard command": " dashboard ",
    "up": " up",
}
"""Programs that live as long as the soak, by a word of their command; Redis names itself."""
OURS = (*OUR_KEYS, "proxies:")
SECONDS_PER_HOUR = 3600.0
Figures = dict[str, float]


@dataclass(frozen=True, slots=True)
class Sample:
    """Everything at one moment."""

    at: float
    figures: Figures
    """Of processes, Redis and files."""
    rows: Figures
    """Of each table."""


def take_sample(data: Path) -> Sample:
    """Now; best between two crawls."""
    database = store(data)
    rows, used = database.run_read(_count_rows), database.run_read(database_bytes)
    database.dispose()
    files = {"database_bytes": used, "archive_bytes": _bytes(data / "archive"), "log_bytes": _log_bytes(data)}
    return Sample(time.time(), {**_processes(data), **_redis(data), **files}, rows)


def _processes(data: Path) -> Figures:
    found: dict[str, Held] = {}
    for pid, command in running_in(data).items():
        if role := _role(command):
            found[role] = found.get(role, Held()) + held_by(pid)
    held = {**found, "all": sum(found.values(), Held())}
    return {
        f"{role}_{name}": value
        for role, one in held.items()
        for name, value in (("mb", one.megabytes), ("files", one.open_files), ("threads", one.threads))
    }


def _role(command: str) -> str | None:
    if "redis" in command.partition(" ")[0] or "valkey" in command:
        return "redis"
    return next((role for role, word in ROLES.items() if word in command and " crawl " not in command), None)


def _redis(data: Path) -> Figures:
    server = RedisServer.find(data / "redis")
    lives, used, first = dict[str, int](), 0, server.url if server else ""
    for url in (first, result_url(first)):
        with connect(url) as client:
            lives |= {_name(key): int(client.ttl(key)) for key in client.scan_iter()}
            used = int(client.info("memory")["used_memory"])
    lasting = {key for key, seconds in lives.items() if seconds == -1} - WAITING
    return {
        "redis_keys": len(lives.keys() - WAITING),
        "redis_lasting_keys": len(lasting),
        "redis_lasting_keys_of_ours": len([key for key in lasting if key.startswith(OURS)]),
        "redis_bytes": used,
    }


def _name(key: bytes | str) -> str:
    return key.decode() if isinstance(key, bytes) else key


def _count_rows(connection: Connection) -> Figures:
    counted = {
        name: connection.execute(select(func.count()).select_from(table(name))).scalar_one()
        for name in inspect(connection).get_table_names()
    }
    return {name: float(count) for name, count in counted.items() if count}


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _log_bytes(data: Path) -> int:
    return _bytes(data / "logs") + sum(file.stat().st_size for file in data.glob("errors.jsonl*"))


def grown(samples: Sequence[Sample], figures: Iterable[Mapping[str, float]]) -> Figures:
    """By how much each figure grew in these samples, by the line through them."""
    moments = [one.at for one in samples]
    columns = list(figures)
    names = set.intersection(*(set(one) for one in columns))
    span = moments[-1] - moments[0]
    lines = {name: linear_regression(moments, [one[name] for one in columns]) for name in sorted(names)}
    return {name: line.slope * span for name, line in lines.items()}
