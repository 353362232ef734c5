"""What the processes of `test_error_log` do."""

import random
from pathlib import Path

from sale_sofia.crawl.resilience.errors import Action, CrawlError, NetworkTimeout
from sale_sofia.telemetry.error_log import ErrorLog, Failure

LINES = 400


def failure(
    error: CrawlError, *, url: str | None = "https://x/1", delay: float | None = 2.0, attempt: int = 1
) -> Failure:
    return Failure(
        error=error,
        action=Action.BACKOFF,
        next_delay=delay,
        domain="imot.bg",
        job="job",
        url=url,
        attempt=attempt,
        max_attempts=5,
        strategy="proxy",
        proxy="http://anna:secret@proxy:1",
    )


def fill(path: Path, name: int, seed: str, max_bytes: int) -> None:
    rng, log = random.Random(seed), ErrorLog(path, max_bytes)
    for number in range(LINES):
        log.write(failure(NetworkTimeout(f"{name}:{number}:" + "x" * rng.randrange(300))), now=0.0)
