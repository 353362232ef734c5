"""What happens to three hosts during a crawl, and what the portal and the database say of it afterwards."""

import time
from typing import Any

from hosts_crawl import PER_MINUTE, PROCESSES, SITE, ThreeHosts
from sale_sofia.websites.site_file import load_site_config
from windows import excess

SETTLE_SECONDS = 1.0
"""After so long nothing is on its way any more: what was sent before a cut has arrived."""
PATIENCE_SECONDS = 120.0
FIRST_PAGES = 20


def begin(crawl: ThreeHosts) -> None:
    """Workers on `b` and `c`, beat on `a`, and a crawl under way."""
    for name in ("b", "c"):
        crawl.start_worker(name)
    crawl.start_beat()
    crawl.wait_until_ready()
    crawl.dispatch()
    crawl.until(lambda: len(crawl.pages()) > FIRST_PAGES, PATIENCE_SECONDS, "first pages")


def cut_off(crawl: ThreeHosts, seconds: float) -> dict[int, int]:
    """Cut `b` off while it has pages in hand, until others took them; gives those, with their fences."""
    held: dict[int, int] = {}
    while not held:
        crawl.network.mend("b")
        crawl.until(lambda: bool(crawl.held_by("b")), PATIENCE_SECONDS, "page in the hands of b")
        crawl.network.cut("b")
        time.sleep(SETTLE_SECONDS)
        held = crawl.held_by("b")
    time.sleep(seconds)
    crawl.until(lambda: not not_taken(crawl, held), PATIENCE_SECONDS, "other host that took what b held")
    crawl.network.mend("b")
    return held


def not_taken(crawl: ThreeHosts, held: dict[int, int]) -> list[int]:
    """Rows of these that nobody was given since."""
    fences = {row.id: row.fence for row in crawl.rows()}
    return [row for row, fence in held.items() if fences[row] <= fence]


def kill_and_restart(crawl: ThreeHosts) -> None:
    """All of `c` is gone at once, while it has pages in hand, and comes back."""
    crawl.until(lambda: bool(crawl.held_by("c")), PATIENCE_SECONDS, "page in the hands of c")
    crawl.hosts["c"].kill()
    time.sleep(SETTLE_SECONDS)
    crawl.start_worker("c")


def findings(crawl: ThreeHosts, held: dict[int, int]) -> dict[str, Any]:
    """What is not as it should be, by name; nothing when all is right."""
    rows = {row.id: row for row in crawl.rows()}
    in_flight = load_site_config(SITE).politeness.concurrency
    allowed = 1 + 2 * PROCESSES + in_flight
    found = {
        "wrong adverts": crawl.wrong(),
        "rows that are not done": [row for row in rows.values() if row.state != "done"],
        # What a host had in hand when it was cut off was given to another: its own late word did not count.
        "not fenced": not_taken(crawl, held),
        "over the rate": excess([row["t"] for row in crawl.pages()], PER_MINUTE, allowed),
    }
    return {name: what for name, what in found.items() if what}
