"""The same crawl again and again by the same processes: what grows?"""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from parallel_crawls import until
from parallel_world import Party
from process_sizes import Held, children, held_by
from sale_sofia.crawl.frontier.planning import JobPlan
from sale_sofia.crawl.runners.dispatching import result_url
from sale_sofia.history.sightings import CARD
from sale_sofia.history.tables import scrape_history
from sale_sofia.operations.services.redis import connect
from sale_sofia.websites.registry import get_scraper

WAITING = {"sale_sofia", "unacked", "unacked_index"}
"""Of Celery: there while a message waits or is being read, gone with the last one."""


@dataclass(frozen=True, slots=True)
class Size:
    """What the processes, their Redis and their database hold, between two crawls."""

    lasting_keys: frozenset[str]
    """Keys of Redis that never go away by themselves; the others do, in a day at most."""
    most: Held
    """Of each the most that one process has."""
    together: Held
    database_bytes: int
    visits: int
    """Pages that were fetched and written down, of which the database grows."""


def crawl_again(crawl: Party, seconds: float) -> None:
    """One more crawl of the whole portal, as a new job."""
    site = crawl.simulator.config.sites[0]
    urls = tuple(crawl.simulator.start_urls(site))
    crawl.dispatch_plans([JobPlan(get_scraper(site), urls, limit=None, fresh=True, everything=True)])
    crawl.wait(seconds)


def measure(crawl: Party) -> Size:
    """When the lanes have ended: while one runs, its process shares memory with the one that reads pages."""
    until(lambda: not any(map(children, _pool(crawl))), "the end of all lanes")
    found = [held_by(pid) for pid in (*crawl.processes(), *(beat.pid for beat in crawl.beats))]
    return Size(
        _lasting_keys(crawl.redis.url) | _lasting_keys(result_url(crawl.redis.url)),
        Held(
            max(one.megabytes for one in found),
            max(one.own_megabytes for one in found),
            max(one.open_files for one in found),
            max(one.threads for one in found),
        ),
        sum(found, Held()),
        crawl.database.run_read(database_bytes),
        crawl.database.run_read(count_visits),
    )


def _pool(crawl: Party) -> list[int]:
    mains = {worker.pid for worker in crawl.workers}
    return [pid for pid in crawl.processes() if pid not in mains]


def database_bytes(connection: Connection) -> int:
    """Of the pages that are in use; what waits to be written into the file is counted too."""
    words = ("page_count", "freelist_count", "page_size")
    pages, free, size = (int(connection.exec_driver_sql(f"PRAGMA {one}").scalar_one()) for one in words)
    return (pages - free) * size


def count_visits(connection: Connection) -> int:
    """Pages that were fetched and written down."""
    pages = select(func.count()).where(scrape_history.c.verdict != CARD)
    return int(connection.execute(pages).scalar_one())


def _lasting_keys(url: str) -> frozenset[str]:
    with connect(url) as client:
        return frozenset(str(key) for key in client.scan_iter() if client.ttl(key) == -1) - WAITING
