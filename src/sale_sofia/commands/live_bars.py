"""Live bars of the parallel mode: what is done, how fast, how long it will take, and the portal's circuit."""

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from redis import RedisError
from rich.console import Console
from rich.progress import TaskID, TextColumn

from sale_sofia.commands.progress import make_bars
from sale_sofia.config.monitoring import LIVE_RATE_SECONDS
from sale_sofia.config.settings import Settings
from sale_sofia.resilience.circuit_breaker import CircuitStatus
from sale_sofia.resilience.errors import ServiceRedis
from sale_sofia.resilience.factory import get_circuit_breaker
from sale_sofia.resilience.redis_client import connect
from sale_sofia.scraping.progress import Progress

_MINUTE = 60.0


class Pace:
    """How fast a job moved lately."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def per_minute(self, done: int, now: float) -> float | None:
        """Pages per minute over the last while; None before anything can be said."""
        self._seen.append((now, done))
        while self._seen[0][0] < now - LIVE_RATE_SECONDS:
            self._seen.popleft()
        then, before = self._seen[0]
        return (done - before) / (now - then) * _MINUTE if now > then else None


def pace_text(progress: Progress, per_minute: float | None) -> str:
    """Rate and remaining time, as far as the pages known by now tell."""
    left = progress.total_urls - progress.result_count - progress.error_count
    if not per_minute:
        return "?/min"
    return f"{per_minute:.0f}/min, {_span(left / per_minute * _MINUTE)} left"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}"


class LiveBars:
    """A bar per portal on a terminal, nothing elsewhere; it only reads."""

    def __init__(self, settings: Settings, console: Console) -> None:
        self._settings = settings
        self._bars = make_bars(
            console, TextColumn("{task.fields[pace]}"), TextColumn("circuit {task.fields[circuit]}")
        )
        self._tasks: dict[str, TaskID] = {}
        self._paces: dict[str, Pace] = {}

    def show(self, found: Sequence[Progress], redis_url: str) -> None:
        """Draw the jobs as they are now."""
        if self._bars.disable:
            return
        circuits = circuit_states(self._settings, redis_url)
        for one in found:
            self._draw(one, circuits)

    def _draw(self, progress: Progress, circuits: Mapping[str, CircuitStatus]) -> None:
        done = progress.result_count + progress.error_count
        pace = self._paces.setdefault(progress.job_id, Pace()).per_minute(done, time.monotonic())
        circuit = circuits[progress.site].state.value.lower() if progress.site in circuits else "?"
        told = pace_text(progress, pace)
        if progress.job_id not in self._tasks:
            self._tasks[progress.job_id] = self._bars.add_task(progress.site, pace=told, circuit=circuit)
        task = self._tasks[progress.job_id]
        self._bars.update(task, completed=done, total=progress.total_urls, pace=told, circuit=circuit)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()


def circuit_states(settings: Settings, redis_url: str) -> Mapping[str, CircuitStatus]:
    """The portals' circuits as the workers share them; none while Redis does not answer."""
    try:
        return asyncio.run(_circuit_states(settings, redis_url))
    except (RedisError, ServiceRedis, OSError):
        return {}


async def _circuit_states(settings: Settings, redis_url: str) -> Mapping[str, CircuitStatus]:
    async with connect(redis_url) as redis:
        return await get_circuit_breaker(settings, redis).get_all_states()
