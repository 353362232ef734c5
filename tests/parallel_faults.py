"""What the tests of faults share: a small portal, who holds which of its pages, and tasks sent by hand."""

import json
import os
import signal
from pathlib import Path

from sqlalchemy import select

from crawls import ALONE, site_folder
from parallel_crawls import until
from parallel_world import Party, Team
from sale_sofia.crawl.tables import frontier
from sale_sofia.operations.services.celery import sender
from sale_sofia.websites.site_file import load_site_config
from sale_sofia_simulator.portal import PortalOptions
from sale_sofia_simulator.simulation import SimulatorConfig
from seeds import SEED

SITE = "imot.bg"
PER_MINUTE = 900
TASK = "sale_sofia.crawl.runners.tasks."
SURROUNDINGS = {
    **ALONE,
    "ARCHIVE_ENABLED": "false",
    "DOMAIN_RATE_LIMITS": json.dumps({SITE: PER_MINUTE}),
    "RETRY_BASE_DELAY": "0.05",
    "RETRY_MAX_DELAY": "0.5",
}
IN_FLIGHT = load_site_config(SITE).politeness.concurrency
"""Pages of the portal that all its visitors have in hand at once."""


def small_portal(
    folder: Path, adverts: int, faults: str = "", slow_seconds: float = 1.0, redirects: int = 0
) -> SimulatorConfig:
    """One portal, with a log and a truth."""
    return SimulatorConfig(
        sites=(SITE,),
        properties=adverts,
        seed=SEED,
        port=0,
        faults=faults,
        slow_seconds=slow_seconds,
        options={SITE: PortalOptions(redirects=redirects)},
        log=folder / "requests.jsonl",
        truth=folder / "truth.jsonl",
    )


PLACES = 8


def with_places(folder: Path) -> dict[str, str]:
    """Settings with which the portal has more places: those that a stopped process holds block nobody."""
    polite = load_site_config(SITE).politeness.model_dump() | {"concurrency": PLACES}
    return {"SITES_DIR": str(site_folder(folder / "sites", SITE, politeness=polite))}


def begin(crawl: Party, workers: int = 1) -> None:
    """Workers at work, a beat, and the portal's job under way."""
    crawl.forked = True
    for _ in range(workers):
        crawl.start_worker()
    crawl.start_beat()
    crawl.wait_until_ready()
    crawl.dispatch()


def answered(crawl: Party, pages: int) -> None:
    """Wait until so many pages were answered."""
    until(lambda: len(crawl.requests()) >= pages, f"{pages} pages{crawl.tail()}")


def holders(team: Team) -> dict[str, int]:
    """The process that holds each leased page."""
    leased = select(frontier.c.url, frontier.c.lease_owner).where(frontier.c.state == "leased")
    with team.database.read() as connection:
        return {row.url: int(row.lease_owner.split("|")[1]) for row in connection.execute(leased)}


def busy_process(team: Team) -> int:
    """A process of a pool that has pages in hand."""
    found: dict[str, int] = {}
    until(lambda: found.update(holders(team)) or found, "somebody at work")
    return next(iter(found.values()))  # by now they may have handed their pages back


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def send(team: Team, task: str, *arguments: object) -> None:
    """A message as one of ours sends it."""
    with sender(team.redis.url) as app:
        app.send_task(TASK + task, args=arguments)


def said(team: Team) -> str:
    """Everything that the processes say."""
    return "".join(log.read_text("utf-8", "replace") for log in sorted(team.folder.glob("*.log")))
