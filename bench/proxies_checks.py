"""Thousands of candidates, nearly all dead, checked in a process of its own: time, memory, findings."""

import asyncio
import multiprocessing
import resource
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from proxies_fleet import FleetProcess
from sale_sofia.proxies.checker import Checker, JudgeClient, Ourselves, ProxyFinding
from sale_sofia.proxies.pool import MemoryProxyPool
from sale_sofia.proxies.refresh import Refresher
from sale_sofia.proxies.settings import PoolRules
from sale_sofia.proxies.sources import Count, ProxySource, read_source

AT_ONCE = 256


def measure_checks(fleet: FleetProcess, listed: Path) -> dict[str, Any]:
    """Check everything in the file."""
    listed.write_text("\n".join(url for url, _, _ in fleet.members))
    return _apart(_check, str(listed), fleet.ca)


def measure_lines(folder: Path, lines: int) -> dict[str, Any]:
    """Read a list of so many lines, every tenth of them malformed."""
    listed = folder / "million"
    with listed.open("w") as file:
        for number in range(lines):
            wrong = "nonsense " if number % 10 == 0 else ""
            file.write(
                f"{wrong}10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:{1 + number % 60_000}\n"
            )
    return _apart(_read, str(listed), "")


def _apart(work: Any, *given: str) -> dict[str, Any]:  # noqa: ANN401
    spawn = multiprocessing.get_context("spawn")  # so that its memory is its own
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_run, args=(work, given, theirs), daemon=True)
    process.start()
    found: dict[str, Any] = ours.recv()
    process.join()
    return found


def _run(work: Any, given: tuple[str, ...], pipe: "Connection[Any, Any]") -> None:  # noqa: ANN401
    began = time.monotonic()
    found = asyncio.run(work(*given))
    found["seconds"] = round(time.monotonic() - began, 1)
    found["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
    pipe.send(found)


async def _check(listed: str, ca: str) -> dict[str, Any]:
    began, times = time.monotonic(), []
    judge = JudgeClient("https://judge.test", "http://judge.test", Path(ca))

    class Open:
        async def __aenter__(self) -> Checker:
            return Checker(judge=judge, ourselves=Ourselves(frozenset({"127.0.0.1"}), frozenset()))

        async def __aexit__(self, *_: object) -> None:
            pass

    async def told(finding: ProxyFinding) -> None:
        if finding.usable:
            times.append(time.monotonic() - began)

    pool = MemoryProxyPool(rules=PoolRules(spacing_seconds=5.0, lease_seconds=30.0))
    refresher = Refresher(pool=pool, sources=[ProxySource(listed)], open_checker=Open, at_once=AT_ONCE)
    sweep = await refresher.run(told)
    return {
        "candidates": sweep.candidates,
        "found": dict(sorted(sweep.labels.items())),
        "first_usable_after": round(min(times), 1),
    }


async def _read(listed: str, _: str) -> dict[str, Any]:
    count = Count()
    for _proxy in await read_source(ProxySource(listed), count):
        pass
    return {"taken": count.taken, "malformed": count.malformed}
