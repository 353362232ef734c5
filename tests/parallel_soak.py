"""The same crawl again and again by the same processes: what grows?"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from parallel_world import Party
from sale_sofia.scraping.planning import JobPlan
from sale_sofia.scraping.redis_keys import result_url
from sale_sofia.services.redis_client import connect
from sale_sofia.websites.registry import get_scraper

WAITING = {"sale_sofia", "unacked", "unacked_index"}
"""Of Celery: there while a message waits or is being read, gone with the last one."""


@dataclass(frozen=True, slots=True)
class Size:
    """What the processes and their Redis hold, between two crawls."""

    lasting_keys: frozenset[str]
    """Keys of Redis that never go away by themselves; the others do, in a day at most."""
    open_files: int
    """Of the process that has most."""
    resident_mb: float
    """Of the process that has most."""


def crawl_again(crawl: Party, seconds: float) -> None:
    """One more crawl of the whole portal, as a new job."""
    site = crawl.simulator.config.sites[0]
    urls = tuple(crawl.simulator.start_urls(site))
    crawl.dispatch_plans([JobPlan(get_scraper(site), urls, limit=None, fresh=True, everything=True)])
    crawl.wait(seconds)


def measure(crawl: Party) -> Size:
    """Now."""
    processes = [*crawl.processes(), *(beat.pid for beat in crawl.beats)]
    return Size(
        _lasting_keys(crawl.redis.url) | _lasting_keys(result_url(crawl.redis.url)),
        max(map(_open_files, processes)),
        max(map(_resident_mb, processes)),
    )


def _lasting_keys(url: str) -> frozenset[str]:
    with connect(url) as client:
        return frozenset(str(key) for key in client.scan_iter() if client.ttl(key) == -1) - WAITING


def _open_files(pid: int) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return 0


def _resident_mb(pid: int) -> float:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))
    return 0.0
