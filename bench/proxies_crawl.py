"""URLs fetched through a fleet under one policy, and what was wasted on the way."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from proxies_policies import Policy
from sale_sofia.crawl.fetch.base import RequestTimeouts
from sale_sofia.proxies.checker import get
from sale_sofia.proxies.model import Proxy
from sale_sofia.proxies.tunnel import TunnelFailed, tunnel

PATIENCE = RequestTimeouts(1.0, 2.0)
TRIES = 3


@dataclass
class Tally:
    """What became of the URLs."""

    name: str
    asked: int = 0
    had: int = 0
    wasted: int = 0
    wasted_seconds: float = 0.0
    seconds: float = 0.0
    by_time: list[tuple[float, bool, int]] = field(default_factory=list)
    """When each URL ended, whether it was had, and how many tries were wasted on it."""

    @property
    def share(self) -> float:
        """Of the URLs that were had."""
        return self.had / self.asked

    def figures(self) -> dict[str, float | str]:
        """For the table and the JSON."""
        return {
            "policy": self.name,
            "success": round(self.share, 4),
            "wasted_per_success": round(self.wasted / max(1, self.had), 3),
            "wasted_seconds": round(self.wasted_seconds, 1),
            "seconds": round(self.seconds, 1),
        }


async def crawl(
    policy: Policy, urls: int, per_second: float, lanes: int, at: Callable[[float], None] = lambda _: None
) -> Tally:
    """So many URLs at the portal's rate, each with three tries at most."""
    tally = Tally(policy.name)
    started = time.monotonic()
    todo = iter(range(urls))

    async def lane() -> None:
        for number in todo:
            await asyncio.sleep(max(0.0, started + number / per_second - time.monotonic()))
            at(time.monotonic() - started)
            await _one_url(policy, tally, started)

    async with asyncio.TaskGroup() as group:
        for _ in range(lanes):
            group.create_task(lane())
    tally.seconds = time.monotonic() - started
    return tally


async def _one_url(policy: Policy, tally: Tally, started: float) -> None:
    tried: tuple[str, ...] = ()
    for _ in range(TRIES):
        proxy = await policy.pick(tried)
        began = time.monotonic()
        kind = await _try(proxy)
        took = time.monotonic() - began
        await policy.report(proxy, kind, took)
        if kind == "ok":
            break
        tried = (*tried, proxy.id)
        tally.wasted += 1
        tally.wasted_seconds += took
    tally.asked += 1
    tally.had += kind == "ok"
    tally.by_time.append((time.monotonic() - started, kind == "ok", len(tried)))


async def _try(proxy: Proxy) -> str:
    try:
        async with (
            asyncio.timeout(PATIENCE.seconds),
            tunnel(proxy.address, "portal-a.test", 80, PATIENCE) as far,
        ):
            status, _ = await get(far, "/advert", "portal-a.test")
    except (TunnelFailed, TimeoutError, OSError):
        return "transport"
    return "ok" if status == 200 else "blocked"
