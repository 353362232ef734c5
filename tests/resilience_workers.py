"""Workers in processes of their own: they go through the shared gate and write down what they did."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, repeat
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Self, TextIO

from new_processes import FORKED
from sale_sofia.crawl.resilience.factory import get_gate
from sale_sofia.crawl.resilience.fallback import FallbackGate
from sale_sofia.crawl.resilience.gate import Admission, Outcome, Refusal
from sale_sofia.settings.model import Settings

PATIENCE_SECONDS = 120.0
POLL_SECONDS = 0.05
OUTCOMES = {"ok": Outcome.ok(), "failure": Outcome.failure(), "block": Outcome.blocked("captcha")}
# The clock and the numbers must be other ones before anything that uses them is imported.
BOOT = """
import os, time
os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT), 2)
wall = time.time
time.time = lambda: wall() + plan["clock_off"]
time.time_ns = lambda: int(time.time() * 1e9)
from sale_sofia.crawl.resilience import settings
vars(settings).update(plan["numbers"])
from resilience_workers import Plan, work
work(Plan(**plan), end)
"""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one worker is to do."""

    url: str
    domain: str = "imot.bg"
    per_minute: float = 1200.0
    limit: int = 4
    hold: float = 0.0
    """Seconds that each of its requests takes."""
    outcomes: list[str] = field(default_factory=list)
    """Of its first requests; all others go well."""
    settings: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    """Fixed numbers of `crawl/resilience/settings.py` that are other ones for it."""
    clock_off: float = 0.0
    log: str = ""


class Crew:
    """Some workers, at work until the block ends. Each `row` is one request, or one refusal."""

    def __init__(self, folder: Path, plans: Sequence[Plan]) -> None:
        self._logs = [folder / f"worker-{number}.jsonl" for number in range(len(plans))]
        self._said = [log.with_suffix(".err") for log in self._logs]
        self._plans = [{**asdict(plan), "log": str(log)} for plan, log in zip(plans, self._logs, strict=True)]
        self.workers: list[ForkServerProcess] = []
        self._ends: list[Connection] = []

    def __enter__(self) -> Self:
        for plan, log, said in zip(self._plans, self._logs, self._said, strict=True):
            log.touch()
            said.touch()
            end, ours = FORKED.Pipe(duplex=False)
            worker = FORKED.Process(target=exec, args=(BOOT, {"plan": plan, "said": str(said), "end": end}))
            worker.start()
            end.close()
            self.workers.append(worker)
            self._ends.append(ours)
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            end.close()
        for worker in self.workers:
            worker.join(PATIENCE_SECONDS)
            worker.kill()
            worker.join()

    @property
    def complaints(self) -> str:
        """What went wrong in the workers, beyond the loss of Redis that each tells of once."""
        said = "".join(path.read_text("utf-8") for path in self._said)
        return "" if "Traceback" not in said and "never retrieved" not in said else said

    @property
    def codes(self) -> list[int | None]:
        return [worker.exitcode for worker in self.workers]

    def rows(self) -> list[Row]:
        """Everything so far, in the order in which it happened."""
        found = [
            {"worker": number, **json.loads(line)}
            for number, log in enumerate(self._logs)
            for line in log.read_text("utf-8").splitlines(keepends=True)
            if line.endswith("\n")
        ]
        return sorted(found, key=lambda row: float(row["t"]))

    def wait_until(self, enough: Callable[[list[Row]], bool]) -> list[Row]:
        """The rows as soon as they are enough."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not enough(rows := self.rows()):
            assert time.monotonic() < end, f"waited in vain; the last rows: {rows[-5:]} {self.complaints}"
            time.sleep(POLL_SECONDS)
        return rows


def of_each(
    workers: Sequence[int], kind: str, after: float = 0.0, times: int = 1
) -> Callable[[list[Row]], bool]:
    """Whether each of the workers has done that often, since then, what `kind` says."""
    return lambda rows: all(
        sum(row["kind"] == kind and row["t"] > after for row in rows if row["worker"] == worker) >= times
        for worker in workers
    )


def work(plan: Plan, end: Connection) -> None:
    """The life of one worker: request after request until nobody has the other side of `end`."""
    with Path(plan.log).open("a", encoding="utf-8", buffering=1) as log:
        asyncio.run(_work(plan, end, log))


async def _work(plan: Plan, end: Connection, log: TextIO) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_reader(end.fileno(), stop.set)
    both = {"redis_circuit_breaker_enabled": True, "redis_rate_limiter_enabled": True}
    settings = Settings.model_validate({**plan.settings, **both})
    gate = get_gate(settings, lambda _: plan.per_minute, lambda _: plan.limit, plan.url)
    assert isinstance(gate, FallbackGate)
    for outcome in chain(plan.outcomes, repeat("ok")):
        await _request(gate, plan, OUTCOMES[outcome], log)
        if stop.is_set():
            break
    loop.remove_reader(end.fileno())
    await gate.close()


async def _request(gate: FallbackGate, plan: Plan, outcome: Outcome, log: TextIO) -> None:
    start = time.monotonic()
    async with gate.request(plan.domain, 5.0) as entry:
        now = time.monotonic()
        if isinstance(entry, Refusal):
            _note(log, t=now, kind="refused", why=entry.why, stall=now - start)
            await asyncio.sleep(min(entry.retry_after_seconds, POLL_SECONDS))
            return
        _note(log, t=now, stall=now - start - entry.wait_seconds, **_told(gate, entry))
        await asyncio.sleep(plan.hold)
        done = time.monotonic()
        await gate.report(entry, outcome)
        told = time.monotonic()
        _note(log, t=now, kind="reported", stall=told - done, at=told)


def _told(gate: FallbackGate, entry: Admission) -> Row:
    local = entry.place in gate._local_places  # noqa: SLF001
    given = entry.permission
    return {"kind": "local" if local else "shared", "probe": given.probe, "generation": given.generation}


def _note(log: TextIO, **row: object) -> None:
    log.write(json.dumps(row) + "\n")
