"""What stands beside a bar: rate, remaining time, and the portal's circuit."""

import asyncio
import io
import time

from rich.console import Console

from sale_sofia.cli.parallel import LiveBars, Pace, circuit_states, pace_text
from sale_sofia.crawl.resilience.breaker import CircuitState
from sale_sofia.crawl.resilience.factory import get_circuit_breaker
from sale_sofia.crawl.resilience.scripts import connect
from sale_sofia.crawl.runners.progress import Progress
from sale_sofia.settings.model import load_settings

SETTINGS = load_settings().model_copy(update={"parallel_scraping": True, "circuit_breaker_fail_max": 2})


def progress(done: int, failed: int, total: int) -> Progress:
    counts = (total, done, failed, 1, 0, 1.0, None, 0, 0, done, None, None)
    return Progress("job", "imot.bg", "PROCESSING", *counts)


def test_a_pace_is_of_the_last_minute() -> None:
    pace = Pace()
    assert pace.per_minute(0, 0.0) is None
    assert pace.per_minute(10, 10.0) == 60
    assert pace.per_minute(10, 50.0) == 12
    assert pace.per_minute(20, 110.0) == 10
    assert pace_text(progress(95, 5, 200), 40.0) == "40/min, 0:02:30 left"
    assert pace_text(progress(0, 0, 90_000), 20.0) == "20/min, 75:00:00 left"
    assert pace_text(progress(0, 0, 5), None) == pace_text(progress(0, 0, 5), 0.0) == "?/min"


async def open_the_circuit(redis_url: str) -> None:
    async with connect(redis_url) as redis:
        breaker = get_circuit_breaker(SETTINGS, redis)
        for _ in range(2):
            permission = await breaker.allow("imot.bg", time.time())
            await breaker.record("imot.bg", permission, ok=False, now=time.time())


def test_circuits_are_those_the_workers_share(redis_url: str) -> None:
    assert circuit_states(SETTINGS, redis_url) == {}
    asyncio.run(open_the_circuit(redis_url))
    assert circuit_states(SETTINGS, redis_url)["imot.bg"].state is CircuitState.OPEN
    assert circuit_states(SETTINGS, "redis://127.0.0.1:9/0") == {}


def test_a_bar_on_a_terminal_and_nothing_elsewhere(redis_url: str) -> None:
    asyncio.run(open_the_circuit(redis_url))
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=120)
        with LiveBars(SETTINGS, console) as bars:
            bars.show([progress(3, 1, 8)], redis_url)
        assert isinstance(console.file, io.StringIO)
        drawn = console.file.getvalue()
        assert ("imot.bg" in drawn and "4/8" in drawn and "circuit open" in drawn) is terminal
        assert bool(drawn) is terminal
