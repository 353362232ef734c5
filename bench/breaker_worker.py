"""A worker process of `bench/breaker.py`: asks the portal again and again, as far as its breaker lets it."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from typing import Any

from breaker_portal import OK
from breaker_systems import SYSTEMS, Guarded

PAUSE_SECONDS = (0.025, 0.075)
TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What one process is to do."""

    system: str
    redis_url: str
    domain: str
    port: int
    sender: int
    recovery: float
    """When the portal is up again."""
    end: float
    """When to give up waiting for the circuit to close."""


def run(errand: Errand, pipe: "Connection[Any, Any]", wait_for_all: Callable[[], Any]) -> None:
    """Ask until the circuit is closed after the recovery; tell when that was, or None."""
    pipe.send(asyncio.run(_run(errand, wait_for_all)))


async def _run(errand: Errand, wait_for_all: Callable[[], Any]) -> float | None:
    async with SYSTEMS[errand.system](errand.redis_url, errand.domain) as guarded:
        await guarded.closed()
        wait_for_all()
        return await _ask_until_closed(errand, guarded)


async def _ask_until_closed(errand: Errand, guarded: Guarded) -> float | None:
    fetch = partial(_fetch, errand.port, errand.sender)
    while time.time() < errand.end:
        answered = await guarded.ask(fetch)
        if answered and time.time() > errand.recovery and await guarded.closed():
            return time.time()
        await asyncio.sleep(random.uniform(*PAUSE_SECONDS))
    return None


def _fetch(port: int, sender: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", f"/{sender}")
        return connection.getresponse().status == int(OK[:3])
    finally:
        connection.close()
