"""Single requests: a pause that an answer asks for is obeyed, whatever was asked for."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from sale_sofia.crawl.fetch.base import Request, Response
from sale_sofia.crawl.photos.running import PhotoFetcher, PhotoPlace
from sale_sofia.crawl.resilience.errors import CrawlError
from sale_sofia.crawl.resilience.limiter import MemoryRateLimiter
from sale_sofia.crawl.resilience.memory import memory_gate
from sale_sofia.crawl.resilience.policy import ResilienceConfig
from sale_sofia.crawl.visit.politely import PoliteFetcher
from sale_sofia.settings.model import Settings
from tables import each_row

SITE = "imot.bg"
ROBOTS, PHOTO = f"https://{SITE}/robots.txt", f"https://{SITE}/photos/1.jpg"
DATE = "Wed, 18 Nov 2026 12:00:00 GMT"
PAUSES = [
    {"retry-after": "1200"},
    {"retry-after": "Wed, 18 Nov 2026 12:20:00 GMT", "date": DATE},
]
"""Twenty minutes."""


@dataclass
class Refusing:
    """A portal that refuses one address, and has nothing at all others."""

    url: str
    status: int
    headers: dict[str, str]

    async def fetch(self, request: Request) -> Response:
        status = self.status if request.url == self.url else 404
        return Response(request.url, status, self.headers, b"", 0.0)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("status", [429, 503])
@each_row("headers", PAUSES)
def test_a_robots_txt_that_asks_for_a_pause_gets_it(status: int, headers: dict[str, str]) -> None:
    async def story() -> float:
        config = ResilienceConfig.from_settings(Settings())
        limiter = MemoryRateLimiter(config.limiter, lambda _: 60_000.0)
        polite = PoliteFetcher(
            fetcher=Refusing(ROBOTS, status, headers),
            gate=memory_gate(config, limiter, lambda _: 1),
            domain=SITE,
            longest_wait=1.0,
            most_redirects=1,
        )
        with pytest.raises(CrawlError):
            await polite.fetch(Request(ROBOTS, frozenset({SITE}), 1.0, 1.0, 1000))
        return await limiter.peek(SITE, time.monotonic())

    assert asyncio.run(story()) == pytest.approx(1200.0, abs=5.0)


@each_row("headers", PAUSES)
def test_a_photo_that_asks_for_a_pause_gets_it(tmp_path: Path, headers: dict[str, str]) -> None:
    async def story() -> float | None:
        photos = PhotoFetcher.open(Settings(data_dir=tmp_path), Refusing(PHOTO, 429, headers))
        answer = await photos.fetch(SITE, PhotoPlace(PHOTO, SITE, SITE, 60_000.0))
        await photos.close()
        return answer.error.retry_after_seconds if answer.error else None

    assert asyncio.run(story()) == 1200.0
